/** The codes that a store has ever used, as keyed digests. */

import type { Context } from '../context.ts';
import type { Secret } from '../domain/secret.ts';
import { sameBytes } from '../keys.ts';
import { all, first, sql, toNumber, type Script } from './sql.ts';

type CodeRow = {
  readonly card_id: bigint;
  readonly digest: Uint8Array;
  readonly lookup: bigint;
  readonly code_lookup: bigint | null;
};

/** A code that the store has used. */
export type UsedCode = {
  readonly cardId: number;
  readonly lookup: bigint;
  /** Whether it is what its card has; if not, the card has got another one since. */
  readonly isCurrent: boolean;
};

/** What a code is hashed as: the store is part of it, so that equal codes of two stores do not look alike. */
function digested(storeId: number, code: Secret): string {
  return `${storeId} ${code.reveal()}`;
}

/** The first 64 bits of a digest as an integer: an index of integers is a fraction of one of digests. */
function lookupOf(digest: Uint8Array): bigint {
  return new DataView(digest.buffer, digest.byteOffset, digest.byteLength).getBigInt64(0);
}

/** What the store has used this code for; undefined if it never has. */
export function* findCode(ctx: Context, storeId: number, code: Secret): Script<UsedCode | undefined> {
  for (const digest of ctx.keys.digests('gift-card-code', digested(storeId, code))) {
    const rows = yield* all(sql<CodeRow>`
      select c.card_id, c.digest, c.lookup, g.code_lookup from gift_card_codes c
      join gift_cards g on g.store_id = c.store_id and g.id = c.card_id
      where c.store_id = ${storeId} and c.lookup = ${lookupOf(digest)}`);
    const row = rows.find((candidate) => sameBytes(candidate.digest, digest));
    if (row) {
      const { lookup, code_lookup: current } = row;
      return { cardId: toNumber(row.card_id), lookup, isCurrent: current === null || current === lookup };
    }
  }
  return undefined;
}

/** The id of the card that has, or had, this code. */
export function* findCardIdByCode(ctx: Context, storeId: number, code: Secret): Script<number | undefined> {
  return (yield* findCode(ctx, storeId, code))?.cardId;
}

/** What a card's row names a code by that was written under the key in use. */
export function codeLookup({ keys }: Context, storeId: number, code: Secret): bigint {
  return lookupOf(keys.digest('gift-card-code', digested(storeId, code)));
}

/**
 * Gives a card its code; false if the store has used it before, or one whose digest has the same
 * first 64 bits, which a store cannot tell from it.
 */
export function* insertCode(
  ctx: Context,
  { storeId, cardId, code }: { readonly storeId: number; readonly cardId: number; readonly code: Secret },
): Script<boolean> {
  // The unique key only knows the digests of the key in use.
  if (ctx.keys.ids.length > 1 && (yield* findCode(ctx, storeId, code)) !== undefined) return false;
  const digest = ctx.keys.digest('gift-card-code', digested(storeId, code));
  const row = yield* first(sql<{ card_id: bigint }>`
    insert into gift_card_codes (store_id, lookup, digest, card_id)
    values (${storeId}, ${lookupOf(digest)}, ${digest}, ${cardId})
    on conflict (store_id, lookup) do nothing
    returning card_id`);
  return row !== undefined;
}
