/**
 * Access tokens: `lgs_<store>_<secret>`. The prefix is for secret scanners. The store's id (base 36) lets a lookup start
 * with the store. The secret has 40 symbols of base 62: 238 random bits, for which a plain SHA-256 is as secure as a slow
 * hash.
 */

import { hash } from 'node:crypto';
import type { Context } from '../context.ts';
import { Fault } from '../domain/fault.ts';
import { Secret } from '../domain/secret.ts';
import type { Scope, Store } from '../domain/store.ts';
import type { Script } from '../storage/sql.ts';
import { insertToken, revokeToken, type Token } from '../storage/token.ts';

const secretLength = 40;
const symbols = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The form of a token. Other texts are rejected without a lookup. */
const tokenPattern = /^lgs_([1-9a-z][0-9a-z]{0,10})_[0-9A-Za-z]{40}$/;

/** A token in a request, before it is looked up. */
export type PresentedToken = { readonly storeId: number; readonly secret: Secret };

/** Parses a token; undefined if it does not have the form of one. */
export function parseToken(text: string): PresentedToken | undefined {
  const [, store] = tokenPattern.exec(text) ?? [];
  if (store === undefined) return undefined;
  const storeId = Number.parseInt(store, 36);
  return Number.isSafeInteger(storeId) ? { storeId, secret: new Secret(text) } : undefined;
}

/** The SHA-256 hash of a token, base64. It is the key of the token cache, because text is faster to create than bytes. */
export function tokenDigest({ secret }: Pick<PresentedToken, 'secret'>): string {
  return hash('sha256', secret.reveal(), 'base64');
}

/** The SHA-256 hash of a token, as it is stored. */
export function tokenHash(token: Pick<PresentedToken, 'secret'>): Uint8Array {
  return Buffer.from(tokenDigest(token), 'base64');
}

function randomToken({ random }: Context, storeId: number): Secret {
  let secret = '';
  while (secret.length < secretLength) {
    for (const byte of random.bytes(64)) {
      // 248 is the largest multiple of 62 in a byte. Bytes from 248 are skipped, because they would favor some symbols.
      if (byte < 248 && secret.length < secretLength) secret += symbols.charAt(byte % symbols.length);
    }
  }
  return new Secret(`lgs_${storeId.toString(36)}_${secret}`);
}

export type NewToken = { readonly token: Token; readonly secret: Secret };

/** Creates a token with a new API client. The secret is returned only once. */
export function* createToken(
  ctx: Context,
  {
    store,
    name,
    scopes,
  }: { readonly store: Store; readonly name: string; readonly scopes: readonly Scope[] },
): Script<NewToken> {
  return yield* addToken(ctx, { storeId: store.id, apiClientId: ctx.random.id(), name, scopes });
}

function* addToken(
  ctx: Context,
  fields: Pick<Token, 'storeId' | 'apiClientId' | 'name' | 'scopes'>,
): Script<NewToken> {
  const token: Token = {
    ...fields,
    id: ctx.random.id(),
    createdAt: ctx.clock.now(),
    lastUsedAt: null,
    revokedAt: null,
  };
  const secret = randomToken(ctx, token.storeId);
  yield* insertToken(token, tokenHash({ secret }));
  return { token, secret };
}

/**
 * Revokes a token and creates one with a new secret for the same API client, name and scopes. Idempotency keys stay
 * valid, because they belong to the API client.
 * @throws Fault `not-found` if the store has no such active token.
 */
export function* rotateToken(ctx: Context, store: Store, id: number): Script<NewToken> {
  return yield* addToken(ctx, yield* revoke(ctx, store, id));
}

/** @returns the revoked token. @throws Fault `not-found` if the store has no such active token. */
export function* revoke(ctx: Context, store: Store, id: number): Script<Token> {
  const revoked = yield* revokeToken(store.id, id, ctx.clock.now());
  if (!revoked) throw new Fault('not-found');
  return revoked;
}
