/** Current and former gift card codes, stored as keyed digests. */

import assert from 'node:assert/strict';
import { tagOfStore } from './code-cohorts.ts';
import type { Context } from '../../storage/context.ts';
import { tagOf } from '../domain/code.ts';
import { readingsMax } from '../domain/given-code.ts';
import type { Secret } from '../../../platform/secret.ts';
import { sameBytes } from '../../../platform/keys.ts';
import { cardColumns, toCardState, withCustomers, type CurrentCard, type CardStateRow } from './card.ts';
import {
  bigInteger,
  bytes,
  columns,
  integer,
  integerOrNull,
  type RowOf,
} from '../../../database/sql/columns.ts';
import {
  all,
  resolved,
  first,
  execute,
  sql,
  parallel,
  toNumberOrNull,
  ValueList,
  type Script,
} from '../../../database/sql/sql.ts';

const codes = columns({
  store_id: integer('storeId'),
  lookup: bigInteger('lookup'),
  digest: bytes('digest'),
  // Null: the code is in a stock, or was voided there.
  card_id: integerOrNull('cardId'),
});

type CodeRow = RowOf<typeof codes>;

/** A code of a stock that is not the code of a card. */
type UnsoldCode = {
  readonly state: null;
  readonly lookup: bigint;
  readonly isCurrent: false;
  /** Whether the service generated it. */
  readonly isGenerated: boolean;
};

/** A current or former code, and its card. */
export type UsedCode = {
  readonly state: CurrentCard;
  readonly lookup: bigint;
  /** Whether it is the card's current code. */
  readonly isCurrent: boolean;
  /** Whether the service generated it. A code of a version without cohorts counts as chosen. */
  readonly isGenerated: boolean;
};

/**
 * The bytes of the digest of a random code that depend only on the tag of its cohort, so that the codes of a cohort are
 * next to each other in the index. The other bytes are the same as in the *plain* digest, which depends on the
 * whole code in every bit. Codes that a store chose have a plain digest, as random codes of earlier versions do.
 */
const tagDigestLength = 3;

/** The hashed text includes the store, so equal codes of two stores have different digests. */
function digested(storeId: number, code: Secret): string {
  return `${storeId} ${code.reveal()}`;
}

/** A digest that a code can be stored under. `key`: the place of its key in the key file. */
type PossibleDigest = { readonly digest: Uint8Array; readonly isPlain: boolean; readonly key: number };

/** The digests that the code can be stored under, with every key of the key file: at most two for each key. */
function digestsOf({ keys }: Context, storeId: number, code: Secret): readonly PossibleDigest[] {
  const plain = keys
    .digests('gift-card-code', digested(storeId, code))
    .map((digest, key) => ({ digest, isPlain: true, key }));
  const tag = tagOf(code);
  if (tag === undefined) return plain;
  const ofTag = keys.digests('gift-card-code-tag', tagOfStore(storeId, tag));
  return plain.flatMap(({ digest, isPlain, key }) => [
    { digest: withTag(digest, ofTag[key] ?? digest), isPlain: false, key },
    { digest, isPlain, key },
  ]);
}

/** The digest of a random code under the key in use. */
function randomDigest({ keys, codeCohorts }: Context, storeId: number, code: Secret): Uint8Array {
  const tag = tagOf(code);
  assert(tag !== undefined, 'the code is not a random one');
  const plain = keys.digest('gift-card-code', digested(storeId, code));
  return withTag(plain, codeCohorts.digestOf(tag, { storeId, keys }));
}

function withTag(plain: Uint8Array, ofTag: Uint8Array): Uint8Array {
  return Buffer.concat([ofTag.subarray(0, tagDigestLength), plain.subarray(tagDigestLength)]);
}

/** The first 64 bits of a digest. An index on integers is much smaller than one on digests. */
function lookupOf(digest: Uint8Array): bigint {
  return new DataView(digest.buffer, digest.byteOffset, digest.byteLength).getBigInt64(0);
}

/** Returns the id of the card that has or had this code; null if it is in a stock, or was voided there. */
export function* findCardIdByCode(
  ctx: Context,
  storeId: number,
  code: Secret,
): Script<number | null | undefined> {
  const [found] = yield* findByDigests(ctx, storeId, [code], (lookups) =>
    all(sql<CodeRow>`
      select ${codes.names} from gift_card_codes where store_id = ${storeId} and lookup in (${lookups})`),
  );
  return found && toNumberOrNull(found.row.card_id);
}

type UsedRow = CardStateRow & CodeRow & { readonly code_lookup: bigint | null };

/** A code that the store has used, and which of the given ones it is. */
type Placed<Code> = Code & { readonly place: number };

/**
 * Returns the first of the codes that a card has or had, or a stock, at `now` (ms); undefined: the store has used none. A
 * code of a stock takes the same statement as an unknown one, and so does any number of codes.
 */
export function* findByCode(
  ctx: Context,
  {
    storeId,
    codes: given,
    now,
  }: { readonly storeId: number; readonly codes: readonly Secret[]; readonly now: number },
): Script<Placed<UsedCode | UnsoldCode> | undefined> {
  const [found] = yield* findByDigests(ctx, storeId, given, (lookups) =>
    all(sql<UsedRow>`
      select ${cardColumns}, k.digest, k.lookup, k.card_id, g.code_lookup,
        case when g.held = 0 then 0 else (
          select cast(coalesce(sum(h.amount), 0) as bigint) from holds h
          where h.store_id = ${storeId} and h.card_id = g.id and h.status = 'open' and h.expires_at <= ${now}
        ) end as expired_held
      from gift_card_codes k
      left join gift_cards g on g.store_id = k.store_id and g.id = k.card_id ${withCustomers}
      where k.store_id = ${storeId} and k.lookup in (${lookups})`),
  );
  if (!found) return undefined;
  const { row, isGenerated, place } = found;
  const { lookup, code_lookup: current } = row;
  if (row.card_id === null) return { state: null, lookup, isCurrent: false, isGenerated, place };
  const isCurrent = current === null || current === lookup;
  return { state: toCardState(row), lookup, isCurrent, isGenerated, place };
}

type Found<Row> = {
  readonly row: Row;
  /** The place of its code among those that were looked for. */
  readonly place: number;
  readonly isGenerated: boolean;
};

/** Digests of one key that one statement looks for. */
const lookupsMax = 2 * readingsMax;

/**
 * Returns the rows with one of the digests of the codes, in the order of the codes. One statement for each key looks for the
 * same number of values, whatever the number of codes.
 */
export function* findByDigests<Row extends Pick<CodeRow, 'digest'>>(
  ctx: Context,
  storeId: number,
  given: readonly Secret[],
  find: (lookups: ValueList) => Script<readonly Row[]>,
): Script<readonly Found<Row>[]> {
  const possible = given.flatMap((code, place) =>
    digestsOf(ctx, storeId, code).map((digest) => ({ ...digest, place })),
  );
  const keys = [...Map.groupBy(possible, ({ key }) => key).values()];
  const found = yield* parallel(
    ...keys.map((ofKey) => {
      const lookups = ofKey.map(({ digest }) => lookupOf(digest));
      assert(lookups.length <= lookupsMax);
      return find(
        new ValueList(Array.from({ length: lookupsMax }, (_, at) => lookups[at] ?? lookups[0] ?? 0n)),
      );
    }),
  );
  const rows = found.flat().flatMap((row): readonly Found<Row>[] => {
    const stored = possible.filter(({ digest }) => sameBytes(row.digest, digest));
    const [named] = stored;
    // Both digests of a chosen code are equal with a probability of 2^-24.
    const isGenerated = !stored.some(({ isPlain }) => isPlain);
    return named ? [{ row, place: named.place, isGenerated }] : [];
  });
  return rows.toSorted((left, right) => left.place - right.place);
}

type GivenCode = { readonly storeId: number; readonly cardId: number; readonly code: Secret };

/**
 * Inserts a random code. The database reports a unique violation if the store has used the
 * code before. It does not compare random codes with chosen ones, which are equal with a probability below 2^-60.
 */
export function* insertCode(ctx: Context, { storeId, cardId, code }: GivenCode): Script<void> {
  const row = rowOf({ storeId, cardId, digest: randomDigest(ctx, storeId, code) });
  yield* execute(sql`
    insert into gift_card_codes (${codes.names}) values (${codes.values(row)})`);
}

/** Lookup of a random code under the current key, as `gift_cards.code_lookup` stores it. */
export function codeLookup(ctx: Context, storeId: number, code: Secret): bigint {
  return lookupOf(randomDigest(ctx, storeId, code));
}

/**
 * Inserts a code that the store chose. Returns false if the store has used the code before, or a code whose
 * digest has the same first 64 bits.
 */
export function* insertChosenCode(ctx: Context, { storeId, cardId, code }: GivenCode): Script<boolean> {
  const row = rowOf({ storeId, cardId, digest: ctx.keys.digest('gift-card-code', digested(storeId, code)) });
  const [usedBefore, inserted] = yield* parallel(
    // The unique index contains one digest of each code.
    digestsOf(ctx, storeId, code).length > 1 ? findCardIdByCode(ctx, storeId, code) : resolved(undefined),
    first(sql<{ card_id: bigint }>`
      insert into gift_card_codes (${codes.names}) values (${codes.values(row)})
      on conflict (store_id, lookup) do nothing
      returning card_id`),
  );
  return usedBefore === undefined && inserted !== undefined;
}

/**
 * Inserts a code without a card, for a stock, unless the store has used it before.
 * @param isGenerated whether `CodeCohorts` has generated it.
 * @returns its lookup value; undefined if it was used.
 */
export function* insertUnsoldCode(
  ctx: Context,
  { storeId, code, isGenerated }: Omit<GivenCode, 'cardId'> & { readonly isGenerated: boolean },
): Script<bigint | undefined> {
  const digest = isGenerated
    ? randomDigest(ctx, storeId, code)
    : ctx.keys.digest('gift-card-code', digested(storeId, code));
  // Before the insert, which is not rolled back if another digest of the code was used.
  if ((yield* findCardIdByCode(ctx, storeId, code)) !== undefined) return undefined;
  const row = rowOf({ storeId, cardId: null, digest });
  const inserted = yield* first(sql<{ lookup: bigint }>`
    insert into gift_card_codes (${codes.names}) values (${codes.values(row)})
    on conflict (store_id, lookup) do nothing
    returning lookup`);
  return inserted?.lookup;
}

function rowOf({
  storeId,
  cardId,
  digest,
}: {
  readonly storeId: number;
  readonly cardId: number | null;
  readonly digest: Uint8Array;
}) {
  return { storeId, lookup: lookupOf(digest), digest, cardId };
}
