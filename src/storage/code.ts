/** The codes that a store has ever used, as keyed digests. */

import type { Context } from '../context.ts';
import type { Secret } from '../domain/secret.ts';
import { sameBytes } from '../keys.ts';
import { toStanding, type Standing, type StandingRow } from './card.ts';
import { all, constant, first, run, sql, together, toNumber, type Script } from './sql.ts';

type CodeRow = { readonly card_id: bigint; readonly digest: Uint8Array };

/** A code that the store has used, and the card that it was given to. */
export type UsedCode = {
  readonly standing: Standing;
  readonly lookup: bigint;
  /** Whether the card has it; if not, it has got another one since. */
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

/** The id of the card that has, or had, this code. */
export function* findCardIdByCode(ctx: Context, storeId: number, code: Secret): Script<number | undefined> {
  const row = yield* findByDigest(ctx, storeId, code, (lookup) =>
    all(sql<CodeRow>`
      select card_id, digest from gift_card_codes where store_id = ${storeId} and lookup = ${lookup}`),
  );
  return row && toNumber(row.card_id);
}

type UsedRow = StandingRow &
  Pick<CodeRow, 'digest'> & { readonly lookup: bigint; readonly code_lookup: bigint | null };

/** The card that has, or had, this code, as it stands at `now` (ms), or undefined. */
export function* findByCode(
  ctx: Context,
  { storeId, code, now }: { readonly storeId: number; readonly code: Secret; readonly now: number },
): Script<UsedCode | undefined> {
  const row = yield* findByDigest(ctx, storeId, code, (lookup) =>
    all(sql<UsedRow>`
      select g.*, c.email as customer_email, r.email as recipient_email, k.digest, k.lookup,
        case when g.held = 0 then 0 else (
          select cast(coalesce(sum(h.amount), 0) as bigint) from holds h
          where h.store_id = g.store_id and h.card_id = g.id and h.status = 'open' and h.expires_at <= ${now}
        ) end as run_out
      from gift_card_codes k
      join gift_cards g on g.store_id = k.store_id and g.id = k.card_id
      left join customers c on c.store_id = g.store_id and c.id = g.customer_id
      left join customers r on r.store_id = g.store_id and r.id = g.recipient_id
      where k.store_id = ${storeId} and k.lookup = ${lookup}`),
  );
  if (!row) return undefined;
  const { lookup, code_lookup: current } = row;
  return { standing: toStanding(row), lookup, isCurrent: current === null || current === lookup };
}

/** The row that has the code's digest under any of the keys. */
function* findByDigest<Row extends Pick<CodeRow, 'digest'>>(
  ctx: Context,
  storeId: number,
  code: Secret,
  find: (lookup: bigint) => Script<readonly Row[]>,
): Script<Row | undefined> {
  const digests = ctx.keys.digests('gift-card-code', digested(storeId, code));
  const found = yield* together(...digests.map((digest) => find(lookupOf(digest))));
  return found.flat().find((row) => digests.some((digest) => sameBytes(row.digest, digest)));
}

type GivenCode = { readonly storeId: number; readonly cardId: number; readonly code: Secret };

/** Gives a card a random code. One that the store has used before is a key that is taken. */
export function* insertCode(ctx: Context, given: GivenCode): Script<void> {
  const { digest, lookup } = keyed(ctx, given);
  yield* run(sql`
    insert into gift_card_codes (store_id, lookup, digest, card_id)
    values (${given.storeId}, ${lookup}, ${digest}, ${given.cardId})`);
}

/** What a card's row names a code by that was written under the key in use. */
export function codeLookup({ keys }: Context, storeId: number, code: Secret): bigint {
  return lookupOf(keys.digest('gift-card-code', digested(storeId, code)));
}

/**
 * Gives a card a code that the store chose; false if the store has used it before, or one whose
 * digest has the same first 64 bits, which a store cannot tell from it.
 */
export function* insertChosenCode(ctx: Context, given: GivenCode): Script<boolean> {
  const { storeId, cardId, code } = given;
  const { digest, lookup } = keyed(ctx, given);
  const [usedBefore, inserted] = yield* together(
    // The unique key only knows the digests of the key in use.
    ctx.keys.ids.length > 1 ? findCardIdByCode(ctx, storeId, code) : constant(undefined),
    first(sql<{ card_id: bigint }>`
      insert into gift_card_codes (store_id, lookup, digest, card_id)
      values (${storeId}, ${lookup}, ${digest}, ${cardId})
      on conflict (store_id, lookup) do nothing
      returning card_id`),
  );
  return usedBefore === undefined && inserted !== undefined;
}

function keyed(
  { keys }: Context,
  { storeId, code }: GivenCode,
): { readonly digest: Uint8Array; readonly lookup: bigint } {
  const digest = keys.digest('gift-card-code', digested(storeId, code));
  return { digest, lookup: lookupOf(digest) };
}
