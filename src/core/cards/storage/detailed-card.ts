/** Cards with what their lists show. */

import type { EmailStatus } from '../domain/state.ts';
import { ownColumnsOf, toCardState, type CardStateRow, type CurrentCard } from './card.ts';
import {
  all,
  first,
  parallel,
  part,
  sql,
  toNumber,
  ValueList,
  type Part,
  type Script,
} from '../../../database/sql/sql.ts';
import { emailStatusAt } from './filter.ts';
import { byKey } from './list.ts';

/** A card with the status of its email. */
export type DetailedCard = CurrentCard & { readonly emailStatus: EmailStatus };

type DetailedRow = CardStateRow & { readonly email_status: Exclude<EmailStatus, 'none'> | null };

const withAddresses = (storeId: number): Part => part`${ownColumnsOf('g')},
  (select nullif(email, '') from customers c where c.store_id = ${storeId} and c.id = g.customer_id) as customer_email,
  (select nullif(email, '') from customers c where c.store_id = ${storeId} and c.id = g.recipient_id) as recipient_email`;

/** Cards that one statement reads. */
const readTogether = 50;

/** Returns the store's cards with the ids, at `now` (ms), in the order of the ids. */
export function* findDetailedCards(
  storeId: number,
  ids: readonly number[],
  now: number,
): Script<readonly DetailedCard[]> {
  const selected = part`
    select ${withAddresses(storeId)}, ${emailStatusAt(storeId, now)} as email_status,
      case when g.held = 0 then 0 else (
        select cast(coalesce(sum(h.amount), 0) as bigint) from holds h
        where h.store_id = ${storeId} and h.card_id = g.id and h.status = 'open' and h.expires_at <= ${now}
      ) end as expired_held
    from gift_cards g ${byKey}`;
  const [id = 0, ...others] = ids;
  if (others.length === 0) {
    const row = yield* first(sql<DetailedRow>`${selected} where g.store_id = ${storeId} and g.id = ${id}`);
    return row ? [toDetailedCard(row)] : [];
  }
  const chunks = Array.from({ length: Math.ceil(ids.length / readTogether) }, (_, place) =>
    ids.slice(place * readTogether, (place + 1) * readTogether),
  );
  const found = yield* parallel(
    ...chunks.map((chunk) => {
      // Each statement has the same number of values; no card has the id 0.
      const padded = new ValueList(Array.from({ length: readTogether }, (_, place) => chunk[place] ?? 0));
      return all(sql<DetailedRow>`${selected} where g.store_id = ${storeId} and g.id in (${padded})`);
    }),
  );
  const cards = new Map(found.flat().map((row) => [toNumber(row.id), toDetailedCard(row)]));
  return ids.flatMap((each) => cards.get(each) ?? []);
}

function toDetailedCard(row: DetailedRow): DetailedCard {
  return { ...toCardState(row), emailStatus: row.email_status ?? 'none' };
}
