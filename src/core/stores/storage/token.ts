/** Access tokens and their scopes. Only hashes are stored. */

import type { Scope } from '../domain/store.ts';
import { isScope } from '../domain/store.ts';
import { columns, integer, integerOrNull, text, type RowOf } from '../../../database/sql/columns.ts';
import { all, first, execute, sql, type Script } from '../../../database/sql/sql.ts';
import { storeColumns, toStoreRecord, type StoreRecord, type StoreRow } from './store.ts';

export type Token = {
  readonly storeId: number;
  readonly id: number;
  /** Unchanged when the token is rotated. */
  readonly apiClientId: number;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
  /** The location of its movements; null: it belongs to no location. */
  readonly locationId: number | null;
  /** From when on it is rejected (ms); null: never. */
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
};

const tokens = columns({
  store_id: integer('storeId'),
  id: integer('id'),
  api_client_id: integer('apiClientId'),
  name: text('name'),
  scopes: {
    field: 'scopes',
    read: (scopes: string): readonly Scope[] => scopes.split(' ').filter(isScope),
    write: ({ scopes }: Token) => scopes.join(' '),
  },
  created_at: integer('createdAt'),
  last_used_at: integerOrNull('lastUsedAt'),
  revoked_at: integerOrNull('revokedAt'),
  expires_at: integerOrNull('expiresAt'),
  location_id: integerOrNull('locationId'),
});

type TokenRow = RowOf<typeof tokens>;

const toToken: (row: TokenRow) => Token = tokens.read;

export type FoundToken = { readonly token: Token; readonly record: StoreRecord };

/** Returns the token with this SHA-256 hash and its store, unless the token was revoked. It can have expired. */
export function* findActiveToken(storeId: number, hash: Uint8Array): Script<FoundToken | undefined> {
  // If two columns have the same name, a row has the last one.
  type Row = StoreRow & TokenRow & { readonly token_id: bigint; readonly token_name: string };
  const row = yield* first(sql<Row>`
    select ${tokens.of('t')}, ${storeColumns}, t.id as token_id, t.name as token_name
    from access_tokens t join stores s on s.id = t.store_id
    where t.store_id = ${storeId} and t.hash = ${hash} and t.revoked_at is null`);
  return (
    row && { token: toToken({ ...row, id: row.token_id, name: row.token_name }), record: toStoreRecord(row) }
  );
}

/** Whether a store has a token with this SHA-256 hash, which can be revoked. */
export function* hasTokenHash(storeId: number, hash: Uint8Array): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    select id from access_tokens where store_id = ${storeId} and hash = ${hash}`);
  return row !== undefined;
}

/** Returns a store's tokens, including revoked ones, oldest first. */
export function* listTokens(storeId: number): Script<readonly Token[]> {
  const rows = yield* all(sql<TokenRow>`
    select ${tokens.names} from access_tokens where store_id = ${storeId} order by id`);
  return rows.map(toToken);
}

/** The tokens of a store before an id, newest first. */
export function* listNewestTokens(
  storeId: number,
  {
    before,
    limit,
    areRevokedIncluded = false,
  }: { readonly before: number; readonly limit: number; readonly areRevokedIncluded?: boolean },
): Script<readonly Token[]> {
  const rows = yield* all(sql<TokenRow>`
    select ${tokens.names} from access_tokens where store_id = ${storeId} and id < ${before}
      and (${Number(areRevokedIncluded)} = 1 or revoked_at is null)
    order by id desc limit ${limit}`);
  return rows.map(toToken);
}

export function* findToken(storeId: number, id: number): Script<Token | undefined> {
  const row = yield* first(sql<TokenRow>`
    select ${tokens.names} from access_tokens where store_id = ${storeId} and id = ${id}`);
  return row && toToken(row);
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
    insert into access_tokens (${tokens.names}, hash) values (${tokens.values(token)}, ${hash})`);
}

/** Whether a token is neither revoked nor expired at an instant (ms), and its store is open. */
export function* isTokenActive(storeId: number, id: number, now: number): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    select id from access_tokens where store_id = ${storeId} and id = ${id} and revoked_at is null
      and (expires_at is null or expires_at > ${now})
      and exists (select 1 from stores s where s.id = ${storeId} and s.status = 'open')`);
  return row !== undefined;
}

/** Revokes a token and returns it. Returns undefined if there is no active token with this id. */
export function* revokeToken(storeId: number, id: number, revokedAt: number): Script<Token | undefined> {
  const row = yield* first(sql<TokenRow>`
    update access_tokens set revoked_at = ${revokedAt}
    where store_id = ${storeId} and id = ${id} and revoked_at is null
    returning ${tokens.names}`);
  return row && toToken(row);
}

/** Sets where a token belongs to; null: to no location. Returns undefined if there is no active token with this id. */
export function* moveToken(
  storeId: number,
  id: number,
  locationId: number | null,
): Script<Token | undefined> {
  const row = yield* first(sql<TokenRow>`
    update access_tokens set location_id = ${locationId}
    where store_id = ${storeId} and id = ${id} and revoked_at is null
    returning ${tokens.names}`);
  return row && toToken(row);
}

/** Records a use (ms), unless a later one is recorded. */
export function* recordTokenUse(storeId: number, id: number, usedAt: number): Script<void> {
  yield* execute(sql`
    update access_tokens set last_used_at = ${usedAt}
    where store_id = ${storeId} and id = ${id} and (last_used_at is null or last_used_at < ${usedAt})`);
}
