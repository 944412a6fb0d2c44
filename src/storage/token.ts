/** Access tokens and their scopes. Only hashes are stored. */

import type { Scope } from '../domain/store.ts';
import { isScope } from '../domain/store.ts';
import { all, first, execute, sql, toNumber, toNumberOrNull, type Script } from './sql.ts';
import { toStoreRecord, type StoreRecord, type StoreRow } from './store.ts';

export type Token = {
  readonly storeId: number;
  readonly id: number;
  /** Unchanged when the token is rotated. */
  readonly apiClientId: number;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
};

type TokenRow = {
  readonly store_id: bigint;
  readonly id: bigint;
  readonly api_client_id: bigint;
  readonly name: string;
  readonly scopes: string;
  readonly created_at: bigint;
  readonly last_used_at: bigint | null;
  readonly revoked_at: bigint | null;
};

function toToken(row: TokenRow): Token {
  return {
    storeId: toNumber(row.store_id),
    id: toNumber(row.id),
    apiClientId: toNumber(row.api_client_id),
    name: row.name,
    scopes: row.scopes.split(' ').filter(isScope),
    createdAt: toNumber(row.created_at),
    lastUsedAt: toNumberOrNull(row.last_used_at),
    revokedAt: toNumberOrNull(row.revoked_at),
  };
}

export type FoundToken = { readonly token: Token; readonly record: StoreRecord };

/** Returns the token with this SHA-256 hash and its store, unless the token was revoked. */
export function* findActiveToken(storeId: number, hash: Uint8Array): Script<FoundToken | undefined> {
  type Row = StoreRow & TokenRow & { readonly token_id: bigint; readonly token_name: string };
  const row = yield* first(sql<Row>`
    select t.store_id, t.id as token_id, t.api_client_id, t.name as token_name, t.scopes, t.created_at,
      t.last_used_at, t.revoked_at, s.id, s.domain, s.name, s.currency, s.time_zone, s.issue_limit,
      s.proxy_secret, s.require_signature, s.customer_search, s.undo_window_minutes, s.expiring_soon_days,
      s.lookup_failures_per_hour, s.demonstration
    from access_tokens t join stores s on s.id = t.store_id
    where t.store_id = ${storeId} and t.hash = ${hash} and t.revoked_at is null`);
  return (
    row && { token: toToken({ ...row, id: row.token_id, name: row.token_name }), record: toStoreRecord(row) }
  );
}

/** Returns a store's tokens, including revoked ones, oldest first. */
export function* listTokens(storeId: number): Script<readonly Token[]> {
  const rows = yield* all(sql<TokenRow>`
    select store_id, id, api_client_id, name, scopes, created_at, last_used_at, revoked_at
    from access_tokens where store_id = ${storeId} order by id`);
  return rows.map(toToken);
}

/** Returns whether a store other than the demonstration store has an active token. */
export function* hasRealTokens(): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    select t.id from access_tokens t join stores s on s.id = t.store_id
    where s.demonstration = 0 and t.revoked_at is null limit 1`);
  return row !== undefined;
}

export function* insertToken(token: Token, hash: Uint8Array): Script<void> {
  yield* execute(sql`
    insert into access_tokens (store_id, id, api_client_id, name, hash, scopes, created_at)
    values (${token.storeId}, ${token.id}, ${token.apiClientId}, ${token.name}, ${hash},
      ${token.scopes.join(' ')}, ${token.createdAt})`);
}

export function* isTokenActive(storeId: number, id: number): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    select id from access_tokens where store_id = ${storeId} and id = ${id} and revoked_at is null`);
  return row !== undefined;
}

/** Revokes a token and returns it. Returns undefined if there is no active token with this id. */
export function* revokeToken(storeId: number, id: number, revokedAt: number): Script<Token | undefined> {
  const row = yield* first(sql<TokenRow>`
    update access_tokens set revoked_at = ${revokedAt}
    where store_id = ${storeId} and id = ${id} and revoked_at is null
    returning store_id, id, api_client_id, name, scopes, created_at, last_used_at, revoked_at`);
  return row && toToken(row);
}

/** Records a use (ms), unless a later one is recorded. */
export function* noteTokenUse(storeId: number, id: number, usedAt: number): Script<void> {
  yield* execute(sql`
    update access_tokens set last_used_at = ${usedAt}
    where store_id = ${storeId} and id = ${id} and (last_used_at is null or last_used_at < ${usedAt})`);
}
