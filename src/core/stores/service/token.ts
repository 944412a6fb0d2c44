/** Access tokens: `lgs_<store>_<secret>`, and `lgx_…` in a sandbox, with 238 random bits. */

import type { Context } from '../../storage/context.ts';
import { Fault } from '../../domain/fault.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { Scope, Store } from '../domain/store.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { findToken, insertToken, revokeToken, type Token } from '../storage/token.ts';
import { locationOf } from './location.ts';
import { tokenHash, tokenKind, type TokenKind } from './secret-token.ts';

export { findToken, listNewestTokens } from '../storage/token.ts';

const liveTokens = tokenKind('lgs', 40);
const sandboxTokens = tokenKind('lgx', 40);

/** The tokens of a database: a sandbox and a live service reject each other's. */
export function accessTokensOf({ testClock }: Pick<Context, 'testClock'>): TokenKind {
  return testClock ? sandboxTokens : liveTokens;
}

/** Whether a text is a token of the other kind of database. */
export function isForeignToken({ testClock }: Pick<Context, 'testClock'>, text: string): boolean {
  return (testClock ? liveTokens : sandboxTokens).parse(text) !== undefined;
}

export type NewToken = { readonly token: Token; readonly secret: Secret };

/** @throws Fault `not-found`. */
export function* showToken(storeId: number, id: number): Script<Token> {
  const token = yield* findToken(storeId, id);
  if (!token) throw new Fault('not-found');
  return token;
}

/** The names of tokens by their ids. @param listed tokens that are known already. */
export function* nameTokens(
  storeId: number,
  ids: Iterable<number>,
  listed: readonly Token[] = [],
): Script<ReadonlyMap<number, string>> {
  const names = new Map(listed.map(({ id, name }) => [id, name]));
  const missing = [...new Set(ids)].filter((id) => !names.has(id));
  const found = yield* parallel(...missing.map((id) => findToken(storeId, id)));
  for (const token of found) if (token) names.set(token.id, token.name);
  return names;
}

/**
 * Creates a token with a new API client. The secret is returned only once.
 * @throws Fault `invalid-parameter` if the location is closed or not the store's.
 */
export function* createToken(
  ctx: Context,
  {
    store,
    name,
    scopes,
    periodMs = null,
    locationId = null,
  }: {
    readonly store: Store;
    readonly name: string;
    readonly scopes: readonly Scope[];
    /** Null: it does not expire. */
    readonly periodMs?: number | null;
    /** An open location of the store; null: none. */
    readonly locationId?: number | null;
  },
): Script<NewToken> {
  yield* locationOf(store.id, { own: null, named: locationId });
  const apiClientId = ctx.random.id();
  return yield* addToken(ctx, { storeId: store.id, apiClientId, name, scopes, locationId }, periodMs);
}

function* addToken(
  ctx: Context,
  {
    storeId,
    apiClientId,
    name,
    scopes,
    locationId,
  }: Pick<Token, 'storeId' | 'apiClientId' | 'name' | 'scopes' | 'locationId'>,
  periodMs: number | null,
): Script<NewToken> {
  const now = ctx.wallClock.now();
  const token: Token = {
    storeId,
    id: ctx.random.id(),
    apiClientId,
    name,
    scopes,
    locationId,
    createdAt: now,
    lastUsedAt: null,
    expiresAt: periodMs === null ? null : now + periodMs,
    revokedAt: null,
  };
  const secret = accessTokensOf(ctx).create(ctx, token.storeId);
  yield* insertToken(token, tokenHash({ secret }));
  return { token, secret };
}

/**
 * Revokes a token and creates one with a new secret for the same API client, name, scopes and location, which expires after the
 * same period. Idempotency keys stay valid, because they belong to the API client.
 * @throws Fault `not-found` if the store has no such active token.
 */
export function* rotateToken(ctx: Context, store: Store, id: number): Script<NewToken> {
  const revoked = yield* revoke(ctx, store, id);
  const { createdAt, expiresAt } = revoked;
  return yield* addToken(ctx, revoked, expiresAt === null ? null : expiresAt - createdAt);
}

/** @returns the revoked token. @throws Fault `not-found` if the store has no such active token. */
export function* revoke(ctx: Context, store: Store, id: number): Script<Token> {
  const revoked = yield* revokeToken(store.id, id, ctx.wallClock.now());
  if (!revoked) throw new Fault('not-found');
  return revoked;
}
