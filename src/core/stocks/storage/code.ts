/** The codes of stocks. One guarded statement sells or voids a code, so both happen at most once. */

import type { Context } from '../../storage/context.ts';
import type { Stock } from '../domain/stock.ts';
import type { Secret } from '../../../platform/secret.ts';
import { findByDigests } from '../../cards/storage/code.ts';
import {
  all,
  execute,
  first,
  parallel,
  RetryTransaction,
  sql,
  toNumber,
  toNumberOrNull,
  type Script,
} from '../../../database/sql/sql.ts';
import { stocks, type StockKey, type StockRow } from './stock.ts';

/** A code of a stock. Instants in ms. */
export type StockedCode = {
  readonly stock: Stock;
  readonly lookup: bigint;
  /** When it was activated or voided; null: it was not. */
  readonly soldAt: number | null;
  readonly voidedAt: number | null;
  /** When a caller who cannot activate it last looked for it. */
  readonly triedAt: number | null;
};

type CodeState = {
  readonly lookup: bigint;
  readonly sold_at: bigint | null;
  readonly code_voided_at: bigint | null;
  readonly tried_at: bigint | null;
};

function toStocked(row: StockRow & CodeState): StockedCode {
  return {
    stock: stocks.read(row),
    lookup: row.lookup,
    soldAt: toNumberOrNull(row.sold_at),
    voidedAt: toNumberOrNull(row.code_voided_at),
    triedAt: toNumberOrNull(row.tried_at),
  };
}

/** A code that the store has used. */
export type UsedChosenCode = {
  /** The place of the code among those that were looked for. */
  readonly place: number;
  /** Its place in stock; null: it never had one. */
  readonly stocked: StockedCode | null;
  /** Whether the service generated it. */
  readonly isGenerated: boolean;
};

/** Returns those of the codes that the store has used, in their order. */
export function* findChosenCodes(
  ctx: Context,
  storeId: number,
  codes: readonly Secret[],
): Script<readonly UsedChosenCode[]> {
  type Row = StockRow & CodeState & { readonly digest: Uint8Array; readonly id: bigint | null };
  const found = yield* findByDigests(ctx, storeId, codes, (lookups) =>
    all(sql<Row>`
      select k.digest, k.lookup, c.sold_at, c.voided_at as code_voided_at, c.tried_at, ${stocks.of('s')}
      from gift_card_codes k
      left join stock_codes c on c.store_id = k.store_id and c.lookup = k.lookup
      left join stocks s on s.store_id = c.store_id and s.id = c.stock_id
      where k.store_id = ${storeId} and k.lookup in (${lookups})`),
  );
  return found.map(({ row, place, isGenerated }) => {
    return { place, stocked: row.id === null ? null : toStocked(row), isGenerated };
  });
}

/** The lookup value of a code of a store. */
export type LookupKey = { readonly storeId: number; readonly lookup: bigint };

/** Returns the code of a stock with a lookup value. */
export function* findStockedCode({ storeId, lookup }: LookupKey): Script<StockedCode | undefined> {
  const row = yield* first(sql<StockRow & CodeState>`
    select c.lookup, c.sold_at, c.voided_at as code_voided_at, c.tried_at, ${stocks.of('s')}
    from stock_codes c join stocks s on s.store_id = c.store_id and s.id = c.stock_id
    where c.store_id = ${storeId} and c.lookup = ${lookup}`);
  return row && toStocked(row);
}

/** @param voidedAt when it was voided before it was added (ms); null: it is left. */
export function* insertStockedCode(
  { storeId, stockId, place, lookup }: StockKey & LookupKey & { readonly place: number },
  voidedAt: number | null,
): Script<void> {
  yield* execute(sql`
    insert into stock_codes (store_id, stock_id, place, lookup, voided_at)
    values (${storeId}, ${stockId}, ${place}, ${lookup}, ${voidedAt})`);
}

/**
 * Makes a code that was left the code of a card, at `now` (ms).
 * @throws RetryTransaction if it was sold or voided since it was read.
 */
export function* sellCode(
  { storeId, lookup }: LookupKey,
  { cardId, now }: { readonly cardId: number; readonly now: number },
): Script<void> {
  const [sold, given] = yield* parallel(
    first(sql<{ place: bigint }>`
      update stock_codes set sold_at = ${now}
      where store_id = ${storeId} and lookup = ${lookup} and sold_at is null and voided_at is null
      returning place`),
    first(sql<{ card_id: bigint }>`
      update gift_card_codes set card_id = ${cardId}
      where store_id = ${storeId} and lookup = ${lookup} and card_id is null
      returning card_id`),
  );
  if (!sold || !given) throw new RetryTransaction('the code was sold or voided since it was read');
}

/** Voids all codes of a stock that are left, and those that are added later, at `now` (ms). @returns their number. */
export function* voidAllCodes({ storeId, stockId }: StockKey, now: number): Script<number> {
  yield* execute(sql`
    update stocks set voided_at = ${now}
    where store_id = ${storeId} and id = ${stockId} and voided_at is null`);
  const rows = yield* all(sql<{ place: bigint }>`
    update stock_codes set voided_at = ${now}
    where store_id = ${storeId} and stock_id = ${stockId} and sold_at is null and voided_at is null
    returning place`);
  return rows.length;
}

/** Voids a code of a stock at `now` (ms). @returns whether it was left. */
export function* voidCode({ storeId, stockId, lookup }: StockKey & LookupKey, now: number): Script<boolean> {
  const row = yield* first(sql<{ place: bigint }>`
    update stock_codes set voided_at = ${now}
    where store_id = ${storeId} and stock_id = ${stockId} and lookup = ${lookup}
      and sold_at is null and voided_at is null
    returning place`);
  return row !== undefined;
}

/** Returns the places of the codes that are left, from a place on, in order. */
export function* listLeftPlaces(
  { storeId, stockId }: StockKey,
  { from, limit }: { readonly from: number; readonly limit: number },
): Script<readonly number[]> {
  const rows = yield* all(sql<{ place: bigint }>`
    select place from stock_codes
    where store_id = ${storeId} and stock_id = ${stockId} and place >= ${from}
      and sold_at is null and voided_at is null
    order by place limit ${limit}`);
  return rows.map(({ place }) => toNumber(place));
}

/** Records that a code which is left was looked for at `now` (ms). @returns its stock; undefined if it is not left. */
export function* recordTry({ storeId, lookup }: LookupKey, now: number): Script<StockKey | undefined> {
  const row = yield* first(sql<{ stock_id: bigint }>`
    update stock_codes set tried_at = ${now}
    where store_id = ${storeId} and lookup = ${lookup} and sold_at is null and voided_at is null
    returning stock_id`);
  return row && { storeId, stockId: toNumber(row.stock_id) };
}
