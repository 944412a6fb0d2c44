/** Challenges for passkeys, which are not stored. */

import type { Context } from '../../../core/storage/context.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { sameBytes } from '../../../platform/keys.ts';
import { insertFailedLookup } from '../../../core/stores/storage/lookup-throttle.ts';

/** The purpose of a challenge. A response to it is accepted for nothing else. */
export type Ceremony = {
  readonly site: PasskeySite;
  /** The id of the browser, from a cookie. */
  readonly browser: string;
  /** The kind, and the account or session: `sign-in`, `confirm 1 7`. */
  readonly purpose: string;
};

export const challengePeriodMs = 5 * 60 * 1_000;

const randomLength = 16;

const expiryLength = 6;

const digestLength = 32;

export function createChallenge(ctx: Context, ceremony: Ceremony): string {
  const head = Buffer.alloc(randomLength + expiryLength);
  head.set(ctx.random.bytes(randomLength));
  head.writeUIntBE(ctx.wallClock.latest() + challengePeriodMs, randomLength, expiryLength);
  const digest = ctx.keys.digest('passkey-challenge', challengeText(ceremony, head));
  return Buffer.concat([head, digest]).toString('base64url');
}

function challengeText({ site, browser, purpose }: Ceremony, head: Buffer): string {
  return JSON.stringify([head.toString('base64url'), site.origin, browser, purpose]);
}

/** Whether this service created the challenge for the ceremony, at most five minutes ago. */
export function isOpenChallenge(ctx: Context, ceremony: Ceremony, challenge: string): boolean {
  const bytes = Buffer.from(challenge, 'base64url');
  // Another text for the same bytes would be another challenge in `useChallenge`.
  if (
    bytes.length !== randomLength + expiryLength + digestLength ||
    bytes.toString('base64url') !== challenge
  )
    return false;
  const head = bytes.subarray(0, randomLength + expiryLength);
  const leftMs = head.readUIntBE(randomLength, expiryLength) - ctx.wallClock.latest();
  if (leftMs <= 0 || leftMs > challengePeriodMs) return false;
  const digest = bytes.subarray(head.length);
  return ctx.keys
    .digests('passkey-challenge', challengeText(ceremony, head))
    .some((expected) => sameBytes(expected, digest));
}

/** Marks a challenge as used. @returns whether it was not. */
export function* useChallenge(ctx: Context, storeId: number, challenge: string): Script<boolean> {
  const caller = { storeId, caller: `passkey:${challenge.slice(0, 22)}` };
  const budget = {
    shareMs: challengePeriodMs,
    periodMs: challengePeriodMs,
    aheadMaxMs: 2 * challengePeriodMs,
  };
  return (yield* insertFailedLookup(caller, { now: ctx.wallClock.latest(), ...budget })) !== undefined;
}

/** The site of passkeys: a browser uses one only at this origin. */
export type PasskeySite = {
  /** The host name without the port. */
  readonly id: string;
  readonly origin: string;
};
