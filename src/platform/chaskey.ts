/**
 * Chaskey-12, a message authentication code of additions, rotations and exclusive ors on 32-bit words
 * (Mouha et al., SAC 2014; 12 rounds: ISO/IEC 29192-6). In JavaScript it is faster than a call of `node:crypto`.
 */

/** Four 32-bit words, the least significant first. */
export type Words = readonly [number, number, number, number];

const rounds = 12;

/**
 * @param key 128 random bits.
 * @returns a function that computes the first 32 bits of the code of one block, which has four words.
 */
export function chaskey(
  key: Words,
): (first: number, second: number, third: number, fourth: number) => number {
  const [w0, w1, w2, w3] = timesTwo(key);
  const [k0, k1, k2, k3] = [key[0] ^ w0, key[1] ^ w1, key[2] ^ w2, key[3] ^ w3];
  return (first, second, third, fourth) =>
    (permute(first ^ k0, second ^ k1, third ^ k2, fourth ^ k3) ^ w0) >>> 0;
}

/** Returns the first word of the permuted state. */
function permute(first: number, second: number, third: number, fourth: number): number {
  let [v0, v1, v2, v3] = [first, second, third, fourth];
  for (let round = 0; round < rounds; round += 1) {
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 13) | (v3 >>> 19)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 7) | (v1 >>> 25)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
  }
  return v0;
}

/** Doubles a key in the field of 2^128 elements. */
function timesTwo([k0, k1, k2, k3]: Words): Words {
  return [
    (k0 << 1) ^ (k3 >>> 31 === 1 ? 0x87 : 0),
    (k1 << 1) | (k0 >>> 31),
    (k2 << 1) | (k1 >>> 31),
    (k3 << 1) | (k2 >>> 31),
  ];
}
