/** Idempotency records: the sealed answers to requests that carried a key. */

import {
  all,
  forUpdate,
  forUpdateSkipLocked,
  lock,
  run,
  sql,
  together,
  toNumber,
  type Script,
} from './sql.ts';

/** Who used the key, and how it is stored: keys of different callers never meet. */
export type StoredKey = {
  readonly storeId: number;
  /** 0 where there is no API client. */
  readonly apiClientId: number;
  /** Keyed digests under every key of the key file, the one in use first; at least one. */
  readonly digests: readonly [Uint8Array, ...Uint8Array[]];
  /** The bytes of the key itself, as rows from before migration 5 have it. */
  readonly plain: Uint8Array;
};

export type IdempotencyRecord = {
  readonly fingerprint: Uint8Array;
  readonly answer: Uint8Array;
  /** Instant in ms. */
  readonly createdAt: number;
};

type RecordRow = {
  readonly fingerprint: Uint8Array;
  readonly answer: Uint8Array;
  readonly created_at: bigint;
};

/** The records of a key, run out or not. At most one has not. */
export function* findIdempotencyRecords(key: StoredKey): Script<readonly IdempotencyRecord[]> {
  // The unique key only knows one digest: processes that write under different keys of the file wait for each other.
  if (key.digests.length > 1) yield* run(lock`select pg_advisory_xact_lock(1, ${lockOf(key)})`);
  const found = yield* together(
    ...key.digests.map((digest) =>
      // With `in (…)` PostgreSQL uses only the index's prefix if it planned the statement on an empty table.
      all(sql<RecordRow>`
        select fingerprint, answer, created_at from idempotency_records
        where store_id = ${key.storeId} and api_client_id = ${key.apiClientId} and key_digest = ${digest}
        union all
        select fingerprint, answer, created_at from idempotency_records
        where store_id = ${key.storeId} and api_client_id = ${key.apiClientId} and key_digest = ${key.plain}`),
    ),
  );
  return found.flat().map((row) => ({
    fingerprint: row.fingerprint,
    answer: row.answer,
    createdAt: toNumber(row.created_at),
  }));
}

/** A number that does not depend on the order of the keys in the key file. */
function lockOf({ digests }: StoredKey): number {
  return digests.reduce(
    (number, digest) =>
      number ^ new DataView(digest.buffer, digest.byteOffset, digest.byteLength).getInt32(0),
    0,
  );
}

/**
 * Locks the records of a key, so that the transaction is one that writes: its commit waits for the synchronous
 * standby, and so for everything before it.
 */
export function* lockIdempotencyRecords({ storeId, apiClientId, digests, plain }: StoredKey): Script<void> {
  for (const digest of [...digests, plain]) {
    yield* run(lock`
      select key_digest from idempotency_records
      where store_id = ${storeId} and api_client_id = ${apiClientId} and key_digest = ${digest}
      ${forUpdate}`);
  }
}

/** Keeps an answer. If another transaction kept one for this key meanwhile, the key is taken. */
export function* insertIdempotencyRecord(
  { storeId, apiClientId, digests: [digest] }: StoredKey,
  { fingerprint, answer, createdAt }: IdempotencyRecord,
): Script<void> {
  yield* run(sql`
    insert into idempotency_records (store_id, api_client_id, key_digest, fingerprint, created_at, answer)
    values (${storeId}, ${apiClientId}, ${digest}, ${fingerprint}, ${createdAt}, ${answer})`);
}

/** Erases the records of a key that are from before `since`. */
export function* eraseIdempotencyRecordsOf(
  { storeId, apiClientId, digests, plain }: StoredKey,
  since: number,
): Script<void> {
  for (const digest of [...digests, plain]) {
    yield* run(sql`
      delete from idempotency_records
      where store_id = ${storeId} and api_client_id = ${apiClientId} and key_digest = ${digest}
        and created_at < ${since}`);
  }
}

/** Erases up to `limit` records from before `since`, and answers how many. */
export function* eraseIdempotencyRecords(since: number, limit: number): Script<number> {
  const erased = yield* all(sql`
    delete from idempotency_records where (store_id, api_client_id, key_digest) in (
      select store_id, api_client_id, key_digest from idempotency_records
      where created_at < ${since} order by created_at limit ${limit} ${forUpdateSkipLocked})
    returning created_at`);
  return erased.length;
}
