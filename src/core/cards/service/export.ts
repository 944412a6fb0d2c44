/** Exports of cards as tables, without codes. */

import type { Context } from '../../storage/context.ts';
import { byField, listedFields } from '../domain/fields.ts';
import { detailRecordOf } from '../domain/record.ts';
import type { DetailRecord } from '../domain/schemas.ts';
import type { Store } from '../../stores/domain/store.ts';
import type { ExportTable, ExportRow } from '../../tables/domain/export-table.ts';
import type { CardFilter } from '../storage/filter.ts';
import type { CardPosition } from '../storage/list.ts';
import type { DetailedCard } from '../storage/detailed-card.ts';
import type { Storage } from '../../../database/storage.ts';
import { sorts } from './filter.ts';
import { listCards, type CardListPage } from './list.ts';
import { today } from '../../stores/service/day.ts';

/** Fields of the record without a column: ids that only other systems know. */
type Omitted = 'line_item_id' | 'api_client_id' | 'user_id' | 'customer_id' | 'recipient_id';

/** The columns have the names of the fields in the API, in this order. */
const columnsByName: Readonly<Record<Exclude<keyof DetailRecord, Omitted>, true>> = {
  id: true,
  last_characters: true,
  state: true,
  email_status: true,
  currency: true,
  initial_value: true,
  balance: true,
  held: true,
  available: true,
  created_at: true,
  expires_on: true,
  disabled_at: true,
  suspended_at: true,
  suspend_reason: true,
  order_id: true,
  customer_email: true,
  recipient_email: true,
  ...byField(listedFields, () => true as const),
};

type Column = keyof typeof columnsByName;

const columns = Object.keys(columnsByName) as Column[];

/** Cards of one statement: it takes about 2 ms, and other requests run before the next one. */
const cardsInPart = 100;

const amounts = ['initial_value', 'balance', 'held', 'available'] as const;

type Place = { readonly ctx: Context; readonly storage: Pick<Storage, 'read'> };

/** The newest cards first. Cards that are issued while the table is read are left out. */
export function cardExport(place: Place, store: Store, filter: CardFilter): ExportTable<Column> {
  return { columns, parts: partsOf(place, store, filter) };
}

async function* partsOf(
  { ctx, storage }: Place,
  store: Store,
  filter: CardFilter,
): AsyncGenerator<readonly ExportRow[], void> {
  const list = { store, filter, sort: sorts['-created_at'], limit: cardsInPart };
  let after: CardPosition | null = null;
  for (;;) {
    const position: CardPosition | null = after;
    const { cards, next }: CardListPage = await storage.read(() =>
      listCards(ctx, { ...list, after: position }),
    );
    const day = today(ctx, store);
    yield cards.map((found) => rowOf(ctx, found, day));
    if (next === null) return;
    after = next;
  }
}

function rowOf(
  { keys: { publicIds } }: Pick<Context, 'keys'>,
  { card, emailStatus }: DetailedCard,
  day: string,
): ExportRow {
  const record = detailRecordOf(publicIds, card, { today: day, emailStatus });
  const cells = Object.entries(record).map(
    ([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value] as const,
  );
  const decimals = amounts.map((name) => [name, { decimal: record[name] }] as const);
  return { ...Object.fromEntries(cells), ...Object.fromEntries(decimals) };
}
