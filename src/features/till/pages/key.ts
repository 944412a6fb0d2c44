/**
 * The keys of redemptions. A key contains when it was made, because its result is stored for a day only: with an older key
 * nothing can be redeemed, and nothing is said about whether it was. It proves that the person has found the card: only a
 * search by its code or an address makes one for a person who does not read cards, so the id of a card redeems nothing.
 */

import type { Context } from '../../../core/storage/context.ts';
import { sameBytes } from '../../../platform/keys.ts';
import { isKey } from '../../../pages/kit/once.ts';

const minuteMs = 60_000;
const periodMs = 20 * 60 * minuteMs;
const timeBytes = 4;
const headBytes = 8;
const proofBytes = 8;

/** The card of a redemption, and the member of staff who redeems. */
export type KeyOwner = { readonly storeId: number; readonly staffId: number; readonly cardId: number };

export function newKey({ wallClock, random, keys }: Context, owner: KeyOwner): string {
  const head = Buffer.from(random.bytes(headBytes));
  head.writeUInt32BE(Math.floor(wallClock.now() / minuteMs));
  const proof = keys.digest('till-key', proven(head, owner)).subarray(0, proofBytes);
  return Buffer.concat([head, proof]).toString('base64url');
}

function proven(head: Uint8Array, { storeId, staffId, cardId }: KeyOwner): string {
  return `${head.toBase64()} ${storeId} ${staffId} ${cardId}`;
}

/** Whether a key is so new that its result is stored if there is one. */
export function isCurrent({ wallClock }: Pick<Context, 'wallClock'>, key: string): boolean {
  if (!isKey(key)) return false;
  const bytes = Buffer.from(key, 'base64url');
  if (bytes.length < timeBytes) return false;
  const ageMs = wallClock.now() - bytes.readUInt32BE() * minuteMs;
  return ageMs < periodMs && ageMs > -periodMs;
}

/** Whether a key is current, and was made for this person and this card. */
export function isKeyOf(ctx: Context, key: string, owner: KeyOwner): boolean {
  if (!isCurrent(ctx, key)) return false;
  const bytes = Buffer.from(key, 'base64url');
  const text = proven(bytes.subarray(0, headBytes), owner);
  const proof = bytes.subarray(headBytes);
  return ctx.keys
    .digests('till-key', text)
    .some((digest) => sameBytes(digest.subarray(0, proofBytes), proof));
}
