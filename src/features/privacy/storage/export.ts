/** Reads everything that is stored about a customer, in pages. */

import { columns, integer, text, unchanged, type RowOf } from '../../../database/sql/columns.ts';
import type { WrittenEvent } from '../../../core/events/domain/event.ts';
import type { EventType } from '../../../core/events/domain/event-type.ts';
import type { CustomerKey } from './erasure.ts';
import type { RowRange } from './erasure-walk.ts';
import { all, sql, toNumber, type Script } from '../../../database/sql/sql.ts';

/** A position in the list of a customer's cards. */
export type CardListPlace = { readonly lastCharacters: string; readonly id: number };

export const firstCard: CardListPlace = { lastCharacters: '', id: 0 };

/** Returns the next cards that the customer bought, or received, in the order of their last characters. */
export function* listCardsOf(
  { storeId, customerId }: CustomerKey,
  role: 'customer' | 'recipient',
  { after, limit }: { readonly after: CardListPlace; readonly limit: number },
): Script<readonly CardListPlace[]> {
  type Row = { id: bigint; last_characters: string };
  const rows = yield* all(
    role === 'customer'
      ? sql<Row>`
          select id, last_characters from gift_cards
          where store_id = ${storeId} and customer_id = ${customerId}
            and (last_characters, id) > (${after.lastCharacters}, ${after.id})
          order by last_characters, id limit ${limit}`
      : sql<Row>`
          select id, last_characters from gift_cards
          where store_id = ${storeId} and recipient_id = ${customerId}
            and (last_characters, id) > (${after.lastCharacters}, ${after.id})
          order by last_characters, id limit ${limit}`,
  );
  return rows.map((row) => ({ lastCharacters: row.last_characters, id: toNumber(row.id) }));
}

const events = columns({
  id: integer('id'),
  type: unchanged<EventType>()('type'),
  subject_id: integer('subjectId'),
  subject_version: integer('sequence'),
  created_at: integer('createdAt'),
  data: text('data'),
});

/** Returns the events of a page, in the order of their ids. */
export function* listEventsIn(
  storeId: number,
  { after, upTo }: RowRange,
): Script<readonly (WrittenEvent & { readonly subjectId: number })[]> {
  const rows = yield* all(sql<RowOf<typeof events>>`
    select ${events.names} from events
    where store_id = ${storeId} and id > ${after} and id <= ${upTo} order by id`);
  return rows.map(events.read);
}
