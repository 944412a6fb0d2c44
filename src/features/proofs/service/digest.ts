/** Digests of 32 bits. They detect accidental errors only: someone who can change a row can also change its events. */

import { crc32 } from 'node:zlib';

/** A digest of a text. */
export function digestOfText(text: string): number {
  // A checksum alone is linear: sums of checksums are too often equal.
  return digestWith(0, crc32(text));
}

/** Adds a number below 2^53 to a digest. */
export function digestWith(digest: number, value: number): number {
  const low = Math.imul(digest ^ (value | 0), 0x9e37_79b1);
  return Math.imul((low ^ (low >>> 15)) + Math.floor(value / 2 ** 32) + 1, 0x85eb_ca6b) | 0;
}
