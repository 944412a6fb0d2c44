/** Idempotency records: the sealed answers to requests that carried a key. */

import { all, first, forUpdate, forUpdateSkipLocked, lock, run, sql, toNumber, type Script } from './sql.ts';

/** Who used the key: keys of different callers never meet. */
export type KeyOwner = {
  readonly storeId: number;
  /** 0 where there is no API client. */
  readonly apiClientId: number;
  readonly key: string;
};

export type IdempotencyRecord = {
  readonly fingerprint: Uint8Array;
  readonly answer: Uint8Array;
  /** Instant in ms. */
  readonly createdAt: number;
};

/** The record of a key, run out or not. */
export function* findIdempotencyRecord(owner: KeyOwner): Script<IdempotencyRecord | undefined> {
  const row = yield* first(sql<{ fingerprint: Uint8Array; answer: Uint8Array; created_at: bigint }>`
    select fingerprint, answer, created_at from idempotency_records
    where store_id = ${owner.storeId} and api_client_id = ${owner.apiClientId} and key = ${owner.key}`);
  return row && { fingerprint: row.fingerprint, answer: row.answer, createdAt: toNumber(row.created_at) };
}

/**
 * Locks the record of a key, so that the transaction is one that writes: its commit waits for the synchronous
 * standby, and so for everything before it.
 */
export function* lockIdempotencyRecord(owner: KeyOwner): Script<void> {
  yield* run(lock`
    select key from idempotency_records
    where store_id = ${owner.storeId} and api_client_id = ${owner.apiClientId} and key = ${owner.key} ${forUpdate}`);
}

/** Keeps an answer. If another transaction kept one for this key meanwhile, the key is taken. */
export function* insertIdempotencyRecord(
  owner: KeyOwner,
  { fingerprint, answer, createdAt }: IdempotencyRecord,
): Script<void> {
  yield* run(sql`
    insert into idempotency_records (store_id, api_client_id, key, fingerprint, created_at, answer)
    values (${owner.storeId}, ${owner.apiClientId}, ${owner.key}, ${fingerprint}, ${createdAt}, ${answer})`);
}

/** Erases the record of a key, if it is from before `since`. */
export function* eraseIdempotencyRecord(owner: KeyOwner, since: number): Script<void> {
  yield* run(sql`
    delete from idempotency_records
    where store_id = ${owner.storeId} and api_client_id = ${owner.apiClientId} and key = ${owner.key}
      and created_at < ${since}`);
}

/** Erases up to `limit` records from before `since`, and answers how many. */
export function* eraseIdempotencyRecords(since: number, limit: number): Script<number> {
  const erased = yield* all(sql`
    delete from idempotency_records where (store_id, api_client_id, key) in (
      select store_id, api_client_id, key from idempotency_records
      where created_at < ${since} order by created_at limit ${limit} ${forUpdateSkipLocked})
    returning key`);
  return erased.length;
}
