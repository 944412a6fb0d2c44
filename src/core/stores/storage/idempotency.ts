/** Idempotency records: the responses to requests with an idempotency key. */

import { bytes, columns, integer, type RowOf } from '../../../database/sql/columns.ts';
import { inChunks, padded } from '../../../database/sql/chunks.ts';
import { all, lock, execute, sql, parallel, toNumber, type Script } from '../../../database/sql/sql.ts';
import { forUpdate, forUpdateSkipLocked } from '../../../database/sql/fragments.ts';
import { ofOpenStore } from './store.ts';

/** The stored form of an idempotency key and its caller. */
export type StoredKey = {
  readonly storeId: number;
  /**
   * Keyed digests under every key of the key file, the current key first, of `keyDigestLength` bytes. They include the
   * API client, because callers do not share keys.
   */
  readonly digests: readonly [Uint8Array, ...Uint8Array[]];
};

/** Bytes of a stored digest. Two keys of a store have the same with a probability of 2^-128. */
export const keyDigestLength = 16;

/** The first byte of a response in clear. A sealed one starts with the length of its key's id, which is not zero. */
export const responseInClear = 0;

export type IdempotencyRecord = {
  readonly fingerprint: Uint8Array;
  /** In clear, or sealed. */
  readonly response: Uint8Array;
  /** ms since 1970 UTC. */
  readonly createdAt: number;
};

/** A record, and the place of the digest under which it was found: 0 is the current key of the key file. */
export type FoundRecord = IdempotencyRecord & { readonly digestPlace: number };

const records = columns({
  fingerprint: bytes('fingerprint'),
  response: bytes('response'),
  created_at: integer('createdAt'),
});

/** Returns all records of a key, including expired ones. At most one has not expired. */
export function* findIdempotencyRecords(key: StoredKey): Script<readonly FoundRecord[]> {
  const { digests } = key;
  if (digests.length === 1) return read(yield* all(selection(key, digests[0])), 0);
  // The unique index contains one digest per record. The lock serializes processes that use different keys of
  // the file.
  yield* execute(lock`select pg_advisory_xact_lock(1, ${lockNumberOf(digests)})`);
  const found = yield* parallel(...digests.map((digest) => all(selection(key, digest))));
  return found.flatMap(read);
}

// With `in (…)`, PostgreSQL uses only the prefix of the index if it planned the statement on an empty table.
function selection({ storeId }: StoredKey, digest: Uint8Array) {
  return sql<RowOf<typeof records>>`
    select ${records.names} from idempotency_records where store_id = ${storeId} and key_digest = ${digest}`;
}

function read(rows: readonly RowOf<typeof records>[], digestPlace: number): readonly FoundRecord[] {
  return rows.map((row) => ({ ...records.read(row), digestPlace }));
}

/** Does not depend on the order of the keys in the key file. */
export function lockNumberOf(digests: readonly Uint8Array[]): number {
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
export function* lockIdempotencyRecords({ storeId, digests }: StoredKey): Script<void> {
  for (const digest of digests) {
    yield* execute(lock`
      select key_digest from idempotency_records
      where store_id = ${storeId} and key_digest = ${digest} ${forUpdate}`);
  }
}

/**
 * Stores a response. The database reports a unique violation if another transaction has stored one for this
 * key.
 */
export function* insertIdempotencyRecord(
  { storeId, digests: [digest] }: StoredKey,
  record: IdempotencyRecord,
): Script<void> {
  yield* execute(sql`
    insert into idempotency_records (store_id, key_digest, ${records.names})
    values (${storeId}, ${digest}, ${records.values(record)})`);
}

/** Deletes a key's records from before `since` (ms). */
export function* eraseIdempotencyRecordsOf({ storeId, digests }: StoredKey, since: number): Script<void> {
  for (const digest of digests) {
    yield* execute(sql`
      delete from idempotency_records
      where store_id = ${storeId} and key_digest = ${digest} and created_at < ${since}`);
  }
}

export type RecordKey = { readonly storeId: number; readonly digest: Uint8Array };

/** Returns up to `limit` records of all stores from before `since` (ms), the oldest first. */
export function* listOldRecords(since: number, limit: number): Script<readonly RecordKey[]> {
  const rows = yield* all(sql<{ store_id: bigint; key_digest: Uint8Array }>`
    select store_id, key_digest from idempotency_records
    where created_at < ${since} and ${ofOpenStore} order by created_at limit ${limit}`);
  return rows.map((row) => ({ storeId: toNumber(row.store_id), digest: row.key_digest }));
}

/**
 * Deletes those of the records that are from before `since` (ms), except those that another transaction has locked.
 * @returns the number of deleted records.
 */
export function* eraseIdempotencyRecords(found: readonly RecordKey[], since: number): Script<number> {
  const erased = yield* parallel(
    ...inChunks(found).map(({ storeId, chunk }) => {
      const digests = padded(
        chunk.map(({ digest }) => digest),
        noDigest,
      );
      return all(sql`
        delete from idempotency_records where store_id = ${storeId} and key_digest in (
          select key_digest from idempotency_records
          where store_id = ${storeId} and key_digest in (${digests}) and created_at < ${since} ${forUpdateSkipLocked})
        returning created_at`);
    }),
  );
  return erased.flat().length;
}

/** No record has it. */
const noDigest = new Uint8Array();
