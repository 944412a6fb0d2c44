/** The codes that a store has ever used, as keyed digests. */

import type { Context } from '../context.ts';
import type { Secret } from '../domain/secret.ts';
import { sameBytes } from '../keys.ts';
import { all, first, sql, toNumber, type Script } from './sql.ts';

type CodeRow = { readonly card_id: bigint; readonly digest: Uint8Array };

/** What a code is hashed as: the store is part of it, so that equal codes of two stores do not look alike. */
function digested(storeId: number, code: Secret): string {
  return `${storeId} ${code.reveal()}`;
}

/** The first 64 bits of a digest as an integer: an index of integers is a fraction of one of digests. */
function lookupOf(digest: Uint8Array): bigint {
  return new DataView(digest.buffer, digest.byteOffset, digest.byteLength).getBigInt64(0);
}

/** The id of the card that has, or had, this code. */
export function* findCardIdByCode(ctx: Context, storeId: number, code: Secret): Script<number | undefined> {
  for (const digest of ctx.keys.digests('gift-card-code', digested(storeId, code))) {
    const rows = yield* all(sql<CodeRow>`
      select card_id, digest from gift_card_codes
      where store_id = ${storeId} and lookup = ${lookupOf(digest)}`);
    const row = rows.find((candidate) => sameBytes(candidate.digest, digest));
    if (row) return toNumber(row.card_id);
  }
  return undefined;
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
  if (ctx.keys.ids.length > 1 && (yield* findCardIdByCode(ctx, storeId, code)) !== undefined) return false;
  const digest = ctx.keys.digest('gift-card-code', digested(storeId, code));
  const row = yield* first(sql<{ card_id: bigint }>`
    insert into gift_card_codes (store_id, lookup, digest, card_id)
    values (${storeId}, ${lookupOf(digest)}, ${digest}, ${cardId})
    on conflict (store_id, lookup) do nothing
    returning card_id`);
  return row !== undefined;
}
