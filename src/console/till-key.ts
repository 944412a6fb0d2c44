/**
 * The keys of redemptions. A key contains when it was made, because its result is stored for a day only: with an older key
 * nothing can be redeemed, and nothing is said about whether it was.
 */

import type { Context } from '../context.ts';
import { isKey } from './once.ts';

const minuteMs = 60_000;
const periodMs = 20 * 60 * minuteMs;
const timeBytes = 4;

export function newKey({ clock, random }: Pick<Context, 'clock' | 'random'>): string {
  const bytes = Buffer.from(random.bytes(16));
  bytes.writeUInt32BE(Math.floor(clock.now() / minuteMs));
  return bytes.toString('base64url');
}

/** Whether a key is so new that its result is stored if there is one. */
export function isCurrent({ clock }: Pick<Context, 'clock'>, key: string): boolean {
  if (!isKey(key)) return false;
  const bytes = Buffer.from(key, 'base64url');
  if (bytes.length < timeBytes) return false;
  const ageMs = clock.now() - bytes.readUInt32BE() * minuteMs;
  return ageMs < periodMs && ageMs > -periodMs;
}
