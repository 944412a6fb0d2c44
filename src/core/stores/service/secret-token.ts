/**
 * Random tokens whose text has the form `<prefix>_<store>_<secret>`. The prefix is for secret scanners. The store's id
 * (base 36) lets a lookup start with the store. A plain SHA-256 of the text is as secure as a slow hash, because the
 * secret is random.
 */

import { hash } from 'node:crypto';
import type { Context } from '../../storage/context.ts';
import { Secret } from '../../../platform/secret.ts';

const symbols = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** A token in a request, before it is looked up. */
export type PresentedToken = { readonly storeId: number; readonly secret: Secret };

export type TokenKind = {
  /** Creates a token of a store. */
  readonly create: (ctx: Pick<Context, 'random'>, storeId: number) => Secret;
  /** Parses a token; undefined if it does not have the form of one, in which case it need not be looked up. */
  readonly parse: (text: string) => PresentedToken | undefined;
};

const form = /^([a-z]{3})_([1-9a-z][0-9a-z]{0,10})_([0-9A-Za-z]{1,64})$/;

/** @param length the number of symbols of base 62 in the secret: 5.95 random bits each. */
export function tokenKind(prefix: string, length: number): TokenKind {
  return {
    create(ctx, storeId) {
      return new Secret(`${prefix}_${storeId.toString(36)}_${randomText(ctx, length)}`);
    },
    parse(text) {
      const [, kind, store, random] = form.exec(text) ?? [];
      if (kind !== prefix || store === undefined || random?.length !== length) return undefined;
      const storeId = Number.parseInt(store, 36);
      return Number.isSafeInteger(storeId) ? { storeId, secret: new Secret(text) } : undefined;
    },
  };
}

/** The SHA-256 hash of a token, base64. It is the key of caches, because text is faster to create than bytes. */
export function tokenDigest({ secret }: Pick<PresentedToken, 'secret'>): string {
  return hash('sha256', secret.reveal(), 'base64');
}

/** The SHA-256 hash of a token, as it is stored. */
export function tokenHash(token: Pick<PresentedToken, 'secret'>): Uint8Array {
  return Buffer.from(tokenDigest(token), 'base64');
}

function randomText({ random }: Pick<Context, 'random'>, length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of random.bytes(64)) {
      // 248 is the largest multiple of 62 in a byte. Bytes from 248 are skipped, because they would favor some symbols.
      if (byte < 248 && text.length < length) text += symbols.charAt(byte % symbols.length);
    }
  }
  return text;
}
