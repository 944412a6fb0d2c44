/** Idempotency records: the sealed answers to requests that carried a key. */

import { all, first, forUpdate, Rerun, sql, type Script } from './sql.ts';

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
};

/**
 * The record of a key that was first used at `since` or later. It is locked, so that the transaction that answers
 * it again waits for the synchronous standby as the first one did: that may have been told that nobody knows.
 */
export function* findIdempotencyRecord(
  owner: KeyOwner,
  since: number,
): Script<IdempotencyRecord | undefined> {
  return yield* first(sql<IdempotencyRecord>`
    select fingerprint, answer from idempotency_records
    where store_id = ${owner.storeId} and api_client_id = ${owner.apiClientId} and key = ${owner.key}
      and created_at >= ${since} ${forUpdate}`);
}

/**
 * Keeps an answer; takes the place of a record from before `since`, which has run out.
 * @throws Rerun if another transaction kept one for this key meanwhile.
 */
export function* insertIdempotencyRecord(
  owner: KeyOwner,
  { fingerprint, answer }: IdempotencyRecord,
  { now, since }: { readonly now: number; readonly since: number },
): Script<void> {
  const row = yield* first(sql<{ key: string }>`
    insert into idempotency_records (store_id, api_client_id, key, fingerprint, created_at, answer)
    values (${owner.storeId}, ${owner.apiClientId}, ${owner.key}, ${fingerprint}, ${now}, ${answer})
    on conflict (store_id, api_client_id, key) do update
      set fingerprint = excluded.fingerprint, created_at = excluded.created_at, answer = excluded.answer
      where idempotency_records.created_at < ${since}
    returning key`);
  if (!row) throw new Rerun('the idempotency key was used meanwhile');
}

/** Erases up to `limit` records from before `since`, and answers how many. */
export function* eraseIdempotencyRecords(since: number, limit: number): Script<number> {
  const erased = yield* all(sql`
    delete from idempotency_records where (store_id, api_client_id, key) in (
      select store_id, api_client_id, key from idempotency_records
      where created_at < ${since} order by created_at limit ${limit})
    returning key`);
  return erased.length;
}
