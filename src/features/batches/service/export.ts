/** The cards of a batch as tables, with their codes as long as they can be read. */

import type { Context } from '../../../core/storage/context.ts';
import { batchCardRecordOf } from '../domain/record.ts';
import { csvOf } from '../../../core/tables/domain/csv.ts';
import type { BatchCardRecord } from '../domain/batch-schemas.ts';
import type { ExportTable, ExportRow } from '../../../core/tables/domain/export-table.ts';
import type { BatchKey } from '../storage/batch.ts';
import type { Storage } from '../../../database/storage.ts';
import { listCardsOfBatch, type BatchCard, type BatchCards, type BatchCardsPage } from './batch-lists.ts';

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

/** For people: what they look for is first, and `line` is the one of their file. */
const spreadsheetColumns = [
  'line',
  'recipient_name',
  'code',
  'initial_value',
  'currency',
  'expires_on',
  'recipient_email',
  'customer_email',
  'note',
  'last_characters',
  'id',
] as const;

/** Cards of one read: other requests run before the next one. */
const cardsInPart = 100;

type Export = { readonly ctx: Context; readonly storage: Pick<Storage, 'read'> };

/** The table of the API. */
export function batchExport(place: Export, key: BatchKey, page: Omit<BatchCardsPage, 'limit'>): ExportTable {
  const { publicIds } = place.ctx.keys;
  const toRow = (each: BatchCard): ExportRow => rowOf(batchCardRecordOf(publicIds, each));
  return { columns, parts: rowsOf(pagesOf(place, key, page), toRow) };
}

/** A table for people, with the names of the recipients and the lines of the file. */
export function batchSpreadsheet(
  place: Export,
  key: BatchKey,
): ExportTable<(typeof spreadsheetColumns)[number]> {
  const { publicIds } = place.ctx.keys;
  const toRow = (each: BatchCard): ExportRow => {
    const record = batchCardRecordOf(publicIds, each);
    return {
      ...rowOf(record),
      initial_value: { decimal: record.initial_value },
      recipient_name: each.card.recipientName,
      line: each.line,
    };
  };
  return {
    columns: spreadsheetColumns,
    parts: rowsOf(pagesOf(place, key, { from: 0, withCodes: true }), toRow),
  };
}

async function* rowsOf(
  pages: AsyncIterable<readonly BatchCard[]>,
  toRow: (card: BatchCard) => ExportRow,
): AsyncGenerator<readonly ExportRow[], void> {
  for await (const cards of pages) yield cards.map(toRow);
}

async function* pagesOf(
  { ctx, storage }: Export,
  key: BatchKey,
  { from, withCodes }: Omit<BatchCardsPage, 'limit'>,
): AsyncGenerator<readonly BatchCard[], void> {
  for (let place: number | null = from; place !== null;) {
    const page: BatchCardsPage = { from: place, limit: cardsInPart, withCodes };
    const { cards, next }: BatchCards = await storage.read(() => listCardsOfBatch(ctx, key, page));
    if (cards.length > 0) yield cards;
    place = next;
  }
}

function rowOf(card: BatchCardRecord): ExportRow {
  return Object.fromEntries(columns.map((column) => [column, card[column]]));
}

/** A file with one card, for the documentation. */
export function batchExportOf(card: BatchCardRecord): string {
  return csvOf(columns, [rowOf(card)]);
}
