/** Idempotency records: the sealed responses to requests with an idempotency key. */

import { bytes, columns, integer, type RowOf } from './columns.ts';
import { all, forUpdate, forUpdateSkipLocked, lock, execute, sql, parallel, type Script } from './sql.ts';

/** The caller and the stored form of an idempotency key. Callers do not share keys. */
export type StoredKey = {
  readonly storeId: number;
  /** 0: no API client. */
  readonly apiClientId: number;
  /** Keyed digests under every key of the key file, the current key first. */
  readonly digests: readonly [Uint8Array, ...Uint8Array[]];
  /** The unhashed key, as rows from before migration 5 contain it. */
  readonly plain: Uint8Array;
};

export type IdempotencyRecord = {
  readonly fingerprint: Uint8Array;
  readonly response: Uint8Array;
  /** ms since 1970 UTC. */
  readonly createdAt: number;
};

const records = columns({
  fingerprint: bytes('fingerprint'),
  response: bytes('response'),
  created_at: integer('createdAt'),
});

/** Returns all records of a key, including expired ones. At most one has not expired. */
export function* findIdempotencyRecords(key: StoredKey): Script<readonly IdempotencyRecord[]> {
  // The unique index contains one digest per record. The lock serializes processes that use different keys of
  // the file.
  if (key.digests.length > 1) yield* execute(lock`select pg_advisory_xact_lock(1, ${lockOf(key)})`);
  const found = yield* parallel(
    ...key.digests.map((digest) =>
      // With `in (…)`, PostgreSQL uses only the prefix of the index if it planned the statement on an empty
      // table.
      all(sql<RowOf<typeof records>>`
        select ${records.names} from idempotency_records
        where store_id = ${key.storeId} and api_client_id = ${key.apiClientId} and key_digest = ${digest}
        union all
        select ${records.names} from idempotency_records
        where store_id = ${key.storeId} and api_client_id = ${key.apiClientId} and key_digest = ${key.plain}`),
    ),
  );
  return found.flat().map(records.read);
}

/** Does not depend on the order of the keys in the key file. */
function lockOf({ digests }: StoredKey): number {
  return digests.reduce(
    (number, digest) =>
      number ^ new DataView(digest.buffer, digest.byteOffset, digest.byteLength).getInt32(0),
    0,
  );
}

/**
 * Locks the records of a key. The transaction then counts as a write, and its commit waits until the
 * synchronous standby has everything that was committed before.
 */
export function* lockIdempotencyRecords({ storeId, apiClientId, digests, plain }: StoredKey): Script<void> {
  for (const digest of [...digests, plain]) {
    yield* execute(lock`
      select key_digest from idempotency_records
      where store_id = ${storeId} and api_client_id = ${apiClientId} and key_digest = ${digest}
      ${forUpdate}`);
  }
}

/**
 * Stores a response. The database reports a unique violation if another transaction has stored one for this
 * key.
 */
export function* insertIdempotencyRecord(
  { storeId, apiClientId, digests: [digest] }: StoredKey,
  record: IdempotencyRecord,
): Script<void> {
  yield* execute(sql`
    insert into idempotency_records (store_id, api_client_id, key_digest, ${records.names})
    values (${storeId}, ${apiClientId}, ${digest}, ${records.values(record)})`);
}

/** Deletes a key's records from before `since` (ms). */
export function* eraseIdempotencyRecordsOf(
  { storeId, apiClientId, digests, plain }: StoredKey,
  since: number,
): Script<void> {
  for (const digest of [...digests, plain]) {
    yield* execute(sql`
      delete from idempotency_records
      where store_id = ${storeId} and api_client_id = ${apiClientId} and key_digest = ${digest}
        and created_at < ${since}`);
  }
}

/** Deletes up to `limit` records from before `since` (ms). Returns the number of deleted records. */
export function* eraseIdempotencyRecords(since: number, limit: number): Script<number> {
  const erased = yield* all(sql`
    delete from idempotency_records where (store_id, api_client_id, key_digest) in (
      select store_id, api_client_id, key_digest from idempotency_records
      where created_at < ${since} order by created_at limit ${limit} ${forUpdateSkipLocked})
    returning created_at`);
  return erased.length;
}
