/**
 * Public ids: the ids of gift cards, customers, holds and transactions in the API. A *public id* is 2^52 plus a keyed
 * permutation of an *internal id*, which increases with time and never leaves the service. A guess hits one of a store's
 * n objects with a probability of n ÷ 2^52, even if other public ids and creation times are known.
 */

import { chaskey, type Words } from './chaskey.ts';

declare const isPublic: unique symbol;

/** An id in the API: an integer from 2^52 to 2^53 − 1. Only `PublicIds.of` creates one. */
export type PublicId = number & { readonly [isPublic]: true };

export type PublicIds = {
  /** The public id of an internal id. @throws RangeError if that is not an integer from 0 to 2^52 − 1. */
  of(internalId: number): PublicId;
  /** The internal id of a public id; undefined if the number is not a public id. */
  read(publicId: number): number | undefined;
};

const half = 2 ** 26;
const halfMask = half - 1;
const base = 2 ** 52;
const rounds = 8;

/**
 * The permutation is a balanced Feistel network of 8 rounds over two halves of 26 bits, with Chaskey-12 as the round
 * function (the construction of NIST SP 800-38G, which uses AES).
 * @param key 128 random bits, which never change, because callers store public ids.
 */
export function publicIdsOf(key: Words): PublicIds {
  const code = chaskey(key);
  return {
    of(internalId) {
      if (!Number.isInteger(internalId) || internalId < 0 || internalId >= base)
        throw new RangeError(`the internal id ${internalId} is not an integer from 0 to 2^52 - 1`);
      let left = Math.floor(internalId / half);
      let right = internalId % half;
      for (let round = 0; round < rounds; round += 1) {
        const mixed = left ^ (code(round, right, 0, 0) & halfMask);
        left = right;
        right = mixed;
      }
      // The only cast to a public id.
      return (base + left * half + right) as PublicId;
    },
    read(publicId) {
      if (!Number.isSafeInteger(publicId) || publicId < base) return undefined;
      let left = Math.floor((publicId - base) / half);
      let right = publicId % half;
      for (let round = rounds - 1; round >= 0; round -= 1) {
        const mixed = right ^ (code(round, left, 0, 0) & halfMask);
        right = left;
        left = mixed;
      }
      return left * half + right;
    },
  };
}

/** The id of a row that operators see: the public id or, if the row is damaged, the stored number. */
export function shownId(ids: PublicIds, internalId: number): number {
  const isValid = Number.isInteger(internalId) && internalId >= 0 && internalId < base;
  return isValid ? ids.of(internalId) : internalId;
}

/** The public id of a nullable internal id. */
export function publicIdOrNull(ids: PublicIds, internalId: number | null): PublicId | null {
  return internalId === null ? null : ids.of(internalId);
}
