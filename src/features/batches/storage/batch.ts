/** Batches and their parts, whose cards are issued in one transaction. Lines and codes are sealed for their row. */

import type { Context } from '../../../core/storage/context.ts';
import type { Batch, BatchState } from '../domain/batch.ts';
import { sealNonceLength } from '../../../platform/keys.ts';
import {
  columns,
  integer,
  integerOrNull,
  money,
  text,
  textOrNull,
  unchanged,
  writeOnly,
  type RowOf,
} from '../../../database/sql/columns.ts';
import { all, execute, first, sql, toNumber, type Script } from '../../../database/sql/sql.ts';
import { forUpdateSkipLocked } from '../../../database/sql/fragments.ts';
import { ofOpenStore } from '../../../core/stores/storage/store.ts';

const batches = columns({
  store_id: integer('storeId'),
  id: integer('id'),
  name: textOrNull('name'),
  actor: text('actor'),
  api_client_id: integerOrNull('apiClientId'),
  state: unchanged<BatchState>()('state'),
  currency: writeOnly<string>()(({ total }: Pick<Batch, 'total'>) => total.currency.code),
  cards: integer('cards'),
  total: money('total'),
  issued: integer('issued'),
  issued_total: money('issuedTotal'),
  failed: integer('failed'),
  next_part: integer('nextPart'),
  created_at: integer('createdAt'),
  completed_at: integerOrNull('completedAt'),
  codes_until: integerOrNull('codesUntil'),
  location_id: integerOrNull('locationId'),
});

type BatchRow = RowOf<typeof batches>;

export type BatchKey = { readonly storeId: number; readonly batchId: number };

/** A part of a batch. Its lines are null after its cards were issued. */
export type BatchPart = {
  readonly part: number;
  readonly cardIds: readonly (number | null)[];
  /** Sealed; null: no card has a code here, or the codes are erased. */
  readonly codes: Uint8Array | null;
  /** JSON. */
  readonly failures: string | null;
  /** The line of each card in the file; null: the batch has none. */
  readonly fileLines: readonly number[] | null;
};

function boundTo({ storeId, batchId }: BatchKey, part: number, content: 'lines' | 'codes'): string {
  return `batch ${storeId} ${batchId} ${part} ${content}`;
}

type Sealed = BatchKey & { readonly part: number; readonly content: 'lines' | 'codes' };

export function sealBatchPart({ keys, random }: Context, place: Sealed, plain: string): Uint8Array {
  const bound = boundTo(place, place.part, place.content);
  return keys.seal('batch', Buffer.from(plain), bound, random.bytes(sealNonceLength));
}

/** @throws Error if it was sealed for another row. */
export function openBatchPart({ keys }: Pick<Context, 'keys'>, place: Sealed, sealed: Uint8Array): string {
  return Buffer.from(keys.open('batch', sealed, boundTo(place, place.part, place.content))).toString();
}

/** @param keyDigest the caller's key; null: none. The database reports a unique violation if the store has used it. */
export function* insertBatch(batch: Batch, keyDigest: Uint8Array | null): Script<void> {
  yield* execute(sql`
    insert into batches (${batches.names}, key_digest) values (${batches.values(batch)}, ${keyDigest})`);
}

export function* insertBatchPart(
  { storeId, batchId }: BatchKey,
  { part, lines, fileLines }: Pick<BatchPart, 'part' | 'fileLines'> & { readonly lines: Uint8Array },
): Script<void> {
  yield* execute(sql`
    insert into batch_parts (store_id, batch_id, part, lines, file_lines)
    values (${storeId}, ${batchId}, ${part}, ${lines}, ${fileLines && fileLines.join(',')})`);
}

export function* findBatch({ storeId, batchId }: BatchKey): Script<Batch | undefined> {
  const row = yield* first(sql<BatchRow>`
    select ${batches.names} from batches where store_id = ${storeId} and id = ${batchId}`);
  return row && batches.read(row);
}

/** Returns the batch that was created with a key. */
export function* findBatchByKey(storeId: number, keyDigest: Uint8Array): Script<Batch | undefined> {
  const row = yield* first(sql<BatchRow>`
    select ${batches.names} from batches where store_id = ${storeId} and key_digest = ${keyDigest}`);
  return row && batches.read(row);
}

/** Locks a running batch until the transaction ends. Undefined: it is complete, or another process has locked it. */
export function* lockRunningBatch({ storeId, batchId }: BatchKey): Script<Batch | undefined> {
  const row = yield* first(sql<BatchRow>`
    select ${batches.names} from batches
    where store_id = ${storeId} and id = ${batchId} and state = 'running' ${forUpdateSkipLocked}`);
  return row && batches.read(row);
}

/** Returns the running batches of all stores, oldest first. */
export function* listRunningBatches(limit: number): Script<readonly BatchKey[]> {
  const rows = yield* all(sql<{ store_id: bigint; id: bigint }>`
    select store_id, id from batches where state = 'running' and ${ofOpenStore} order by created_at limit ${limit}`);
  return rows.map((row) => ({ storeId: toNumber(row.store_id), batchId: toNumber(row.id) }));
}

/** Returns the number of a store's running batches, at most `limit`. */
export function* countRunningBatches(storeId: number, limit: number): Script<number> {
  const rows = yield* all(sql`
    select 1 as one from batches where store_id = ${storeId} and state = 'running' limit ${limit}`);
  return rows.length;
}

/** Returns the batches with ids below `before`, newest first. */
export function* listBatchesBefore(
  storeId: number,
  { before, limit }: { readonly before: number; readonly limit: number },
): Script<readonly Batch[]> {
  const rows = yield* all(sql<BatchRow>`
    select ${batches.names} from batches where store_id = ${storeId} and id < ${before} order by id desc limit ${limit}`);
  return rows.map((row) => batches.read(row));
}

/** Returns the batches with ids above `after`, oldest first. */
export function* listBatchesAfter(
  storeId: number,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly Batch[]> {
  const rows = yield* all(sql<BatchRow>`
    select ${batches.names} from batches where store_id = ${storeId} and id > ${after} order by id limit ${limit}`);
  return rows.map((row) => batches.read(row));
}

/** Returns the sealed lines of a part; undefined: its cards were issued. */
export function* findBatchLines(
  { storeId, batchId }: BatchKey,
  part: number,
): Script<Uint8Array | undefined> {
  const row = yield* first(sql<{ lines: Uint8Array | null }>`
    select lines from batch_parts where store_id = ${storeId} and batch_id = ${batchId} and part = ${part}`);
  return row?.lines ?? undefined;
}

/** Replaces the lines of a part by its cards. */
export function* saveIssuedPart(
  { storeId, batchId }: BatchKey,
  { part, cardIds, codes, failures }: Omit<BatchPart, 'fileLines'>,
): Script<void> {
  const ids = cardIds.map((id) => id ?? '').join(',');
  yield* execute(sql`
    update batch_parts set lines = null, card_ids = ${ids}, codes = ${codes}, failures = ${failures}
    where store_id = ${storeId} and batch_id = ${batchId} and part = ${part} and lines is not null`);
}

/** Saves the progress of a batch that the transaction has locked. */
export function* saveBatchProgress(batch: Batch): Script<void> {
  const { storeId, id, state, issued, issuedTotal, failed, nextPart, completedAt, codesUntil } = batch;
  yield* execute(sql`
    update batches set state = ${state}, issued = ${issued}, issued_total = ${issuedTotal.minor}, failed = ${failed},
      next_part = ${nextPart}, completed_at = ${completedAt}, codes_until = ${codesUntil}
    where store_id = ${storeId} and id = ${id}`);
}

/** Returns the issued parts from a part on, in order. */
export function* listIssuedParts(
  { storeId, batchId }: BatchKey,
  { from, limit }: { readonly from: number; readonly limit: number },
): Script<readonly BatchPart[]> {
  type Row = {
    part: bigint;
    card_ids: string;
    codes: Uint8Array | null;
    failures: string | null;
    file_lines: string | null;
  };
  const rows = yield* all(sql<Row>`
    select part, card_ids, codes, failures, file_lines from batch_parts
    where store_id = ${storeId} and batch_id = ${batchId} and part >= ${from} and card_ids is not null
    order by part limit ${limit}`);
  return rows.map((row) => ({
    part: toNumber(row.part),
    cardIds: row.card_ids.split(',').map((id) => (id === '' ? null : Number(id))),
    codes: row.codes,
    failures: row.failures,
    fileLines: linesOf(row.file_lines),
  }));
}

function linesOf(list: string | null): readonly number[] | null {
  return list === null ? null : list.split(',').map(Number);
}

/** Whether a part of the batch has codes. */
export function* hasBatchCodes({ storeId, batchId }: BatchKey): Script<boolean> {
  const row = yield* first(sql<{ part: bigint }>`
    select part from batch_parts
    where store_id = ${storeId} and batch_id = ${batchId} and codes is not null limit 1`);
  return row !== undefined;
}

/** Returns the parts of a batch with failures, in order. */
export function* listFailedParts(
  { storeId, batchId }: BatchKey,
  limit: number,
): Script<readonly (Pick<BatchPart, 'part' | 'fileLines'> & { readonly failures: string })[]> {
  const rows = yield* all(sql<{ part: bigint; failures: string; file_lines: string | null }>`
    select part, failures, file_lines from batch_parts
    where store_id = ${storeId} and batch_id = ${batchId} and failures is not null order by part limit ${limit}`);
  return rows.map(({ part, failures, file_lines: lines }) => ({
    part: toNumber(part),
    failures,
    fileLines: linesOf(lines),
  }));
}

/** Returns up to `limit` batches of all stores whose codes could be read until before an instant (ms). */
export function* listBatchesWithOldCodes(before: number, limit: number): Script<readonly BatchKey[]> {
  const rows = yield* all(sql<{ store_id: bigint; id: bigint }>`
    select store_id, id from batches where codes_until < ${before} and ${ofOpenStore}
    order by codes_until limit ${limit}`);
  return rows.map((row) => ({ storeId: toNumber(row.store_id), batchId: toNumber(row.id) }));
}

/** Erases the codes of a batch. @returns false if another process does it. */
export function* eraseBatchCodes({ storeId, batchId }: BatchKey): Script<boolean> {
  const rows = yield* all(sql`
    select id from batches
    where store_id = ${storeId} and id = ${batchId} and codes_until is not null ${forUpdateSkipLocked}`);
  if (rows.length === 0) return false;
  yield* execute(
    sql`
      update batch_parts set codes = null
      where store_id = ${storeId} and batch_id = ${batchId} and codes is not null`,
    sql`update batches set codes_until = null where store_id = ${storeId} and id = ${batchId}`,
  );
  return true;
}
