/** Current and former gift card codes, stored as keyed digests. */

import type { Context } from '../context.ts';
import type { Secret } from '../domain/secret.ts';
import { sameBytes } from '../keys.ts';
import { cardColumns, toCardState, withCustomers, type CurrentCard, type CardStateRow } from './card.ts';
import { bigInteger, bytes, columns, integer, type RowOf } from './columns.ts';
import { all, resolved, first, execute, sql, parallel, toNumber, type Script } from './sql.ts';

const codes = columns({
  store_id: integer('storeId'),
  lookup: bigInteger('lookup'),
  digest: bytes('digest'),
  card_id: integer('cardId'),
});

type CodeRow = RowOf<typeof codes>;

/** A current or former code, and its card. */
export type UsedCode = {
  readonly state: CurrentCard;
  readonly lookup: bigint;
  /** Whether it is the card's current code. */
  readonly isCurrent: boolean;
};

/** The hashed text includes the store, so equal codes of two stores have different digests. */
function digested(storeId: number, code: Secret): string {
  return `${storeId} ${code.reveal()}`;
}

/** The first 64 bits of a digest. An index on integers is much smaller than one on digests. */
function lookupOf(digest: Uint8Array): bigint {
  return new DataView(digest.buffer, digest.byteOffset, digest.byteLength).getBigInt64(0);
}

/** Returns the id of the card that has or had this code. */
export function* findCardIdByCode(ctx: Context, storeId: number, code: Secret): Script<number | undefined> {
  const row = yield* findByDigest(ctx, storeId, code, (lookup) =>
    all(sql<CodeRow>`
      select ${codes.names} from gift_card_codes where store_id = ${storeId} and lookup = ${lookup}`),
  );
  return row && toNumber(row.card_id);
}

type UsedRow = CardStateRow & Pick<CodeRow, 'digest' | 'lookup'> & { readonly code_lookup: bigint | null };

/** Returns the card that has or had this code, at `now` (ms), or undefined. */
export function* findByCode(
  ctx: Context,
  { storeId, code, now }: { readonly storeId: number; readonly code: Secret; readonly now: number },
): Script<UsedCode | undefined> {
  const row = yield* findByDigest(ctx, storeId, code, (lookup) =>
    all(sql<UsedRow>`
      select ${cardColumns}, k.digest, k.lookup, g.code_lookup,
        case when g.held = 0 then 0 else (
          select cast(coalesce(sum(h.amount), 0) as bigint) from holds h
          where h.store_id = g.store_id and h.card_id = g.id and h.status = 'open' and h.expires_at <= ${now}
        ) end as expired_held
      from gift_card_codes k
      join gift_cards g on g.store_id = k.store_id and g.id = k.card_id ${withCustomers}
      where k.store_id = ${storeId} and k.lookup = ${lookup}`),
  );
  if (!row) return undefined;
  const { lookup, code_lookup: current } = row;
  return { state: toCardState(row), lookup, isCurrent: current === null || current === lookup };
}

/** Returns the row with the code's digest under any key of the key file. */
function* findByDigest<Row extends Pick<CodeRow, 'digest'>>(
  ctx: Context,
  storeId: number,
  code: Secret,
  find: (lookup: bigint) => Script<readonly Row[]>,
): Script<Row | undefined> {
  const digests = ctx.keys.digests('gift-card-code', digested(storeId, code));
  const found = yield* parallel(...digests.map((digest) => find(lookupOf(digest))));
  return found.flat().find((row) => digests.some((digest) => sameBytes(row.digest, digest)));
}

type GivenCode = { readonly storeId: number; readonly cardId: number; readonly code: Secret };

/** Inserts a random code. The database reports a unique violation if the store has used the code before. */
export function* insertCode(ctx: Context, given: GivenCode): Script<void> {
  yield* execute(sql`
    insert into gift_card_codes (${codes.names}) values (${codes.values(keyed(ctx, given))})`);
}

/** Lookup of a code under the current key, as `gift_cards.code_lookup` stores it. */
export function codeLookup({ keys }: Context, storeId: number, code: Secret): bigint {
  return lookupOf(keys.digest('gift-card-code', digested(storeId, code)));
}

/**
 * Inserts a code that the store chose. Returns false if the store has used the code before, or a code whose
 * digest has the same first 64 bits.
 */
export function* insertChosenCode(ctx: Context, given: GivenCode): Script<boolean> {
  const [usedBefore, inserted] = yield* parallel(
    // The unique index contains digests of one key only.
    ctx.keys.ids.length > 1 ? findCardIdByCode(ctx, given.storeId, given.code) : resolved(undefined),
    first(sql<{ card_id: bigint }>`
      insert into gift_card_codes (${codes.names}) values (${codes.values(keyed(ctx, given))})
      on conflict (store_id, lookup) do nothing
      returning card_id`),
  );
  return usedBefore === undefined && inserted !== undefined;
}

function keyed({ keys }: Context, { storeId, cardId, code }: GivenCode) {
  const digest = keys.digest('gift-card-code', digested(storeId, code));
  return { storeId, lookup: lookupOf(digest), digest, cardId };
}
