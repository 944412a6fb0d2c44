/** Exports of cards as CSV, without codes. */

import type { Context } from '../context.ts';
import { csvOf, csvRowsOf, type CsvRow } from '../domain/csv.ts';
import { detailRecordOf } from '../domain/record.ts';
import type { Store } from '../domain/store.ts';
import type { CardFilter, CardPosition, DetailedCard } from '../storage/card-list.ts';
import type { Storage } from '../storage/storage.ts';
import { sorts } from './card-filter.ts';
import { listCards, type CardListPage } from './card-list.ts';
import { today } from './money.ts';

/** The columns have the names of the fields in the API. */
const columns = [
  'id',
  'last_characters',
  'state',
  'email_status',
  'currency',
  'initial_value',
  'balance',
  'held',
  'available',
  'created_at',
  'expires_on',
  'disabled_at',
  'order_id',
  'customer_email',
  'recipient_email',
  'sender_name',
  'recipient_name',
  'message',
  'note',
  'tags',
] as const;

/** Cards of one statement: it takes about 2 ms, and other requests run before the next one. */
const cardsInPart = 100;

/** The parts of the file, the newest cards first. Cards that are issued while it is read are left out. */
export async function* cardExport(
  { ctx, storage }: { readonly ctx: Context; readonly storage: Pick<Storage, 'read'> },
  store: Store,
  filter: CardFilter,
): AsyncGenerator<string, void> {
  yield csvOf(columns, []);
  const list = { store, filter, sort: sorts['-created_at'], limit: cardsInPart };
  let after: CardPosition | null = null;
  for (;;) {
    const position: CardPosition | null = after;
    const { cards, next }: CardListPage = await storage.read(() =>
      listCards(ctx, { ...list, after: position }),
    );
    const day = today(ctx, store);
    if (cards.length > 0)
      yield csvRowsOf(
        columns,
        cards.map((found) => rowOf(ctx, found, day)),
      );
    if (next === null) return;
    after = next;
  }
}

function rowOf(
  { keys: { publicIds } }: Pick<Context, 'keys'>,
  { card, emailStatus }: DetailedCard,
  day: string,
): CsvRow {
  const { tags, ...record } = detailRecordOf(publicIds, card, { today: day, emailStatus });
  return { ...record, tags: tags.join(', ') };
}
