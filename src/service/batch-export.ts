/** The cards of a batch as CSV, with their codes as long as they can be read. */

import type { Context } from '../context.ts';
import { batchCardRecordOf } from '../domain/batch-record.ts';
import { csvOf, csvRowsOf, type CsvRow } from '../domain/csv.ts';
import type { BatchCardRecord } from '../domain/schemas.ts';
import type { BatchKey } from '../storage/batch.ts';
import type { Storage } from '../storage/storage.ts';
import { listCardsOfBatch, type BatchCards, type BatchCardsPage } from './batch.ts';

const columns = [
  'index',
  'id',
  'code',
  'initial_value',
  'currency',
  'last_characters',
  'expires_on',
  'customer_email',
  'recipient_email',
  'note',
] as const;

/** Cards of one read: other requests run before the next one. */
const cardsInPart = 100;

/** The parts of the file. */
export async function* batchExport(
  { ctx, storage }: { readonly ctx: Context; readonly storage: Pick<Storage, 'read'> },
  key: BatchKey,
  { from, withCodes }: Omit<BatchCardsPage, 'limit'>,
): AsyncGenerator<string, void> {
  yield csvOf(columns, []);
  for (let place: number | null = from; place !== null;) {
    const page: BatchCardsPage = { from: place, limit: cardsInPart, withCodes };
    const { cards, next }: BatchCards = await storage.read(() => listCardsOfBatch(ctx, key, page));
    const rows = cards.map((each) => rowOf(batchCardRecordOf(ctx.keys.publicIds, each)));
    if (rows.length > 0) yield csvRowsOf(columns, rows);
    place = next;
  }
}

function rowOf(card: BatchCardRecord): CsvRow {
  return Object.fromEntries(columns.map((column) => [column, card[column]]));
}

/** A file with one card, for the documentation. */
export function batchExportOf(card: BatchCardRecord): string {
  return csvOf(columns, [rowOf(card)]);
}
