/** Actions of staff with stocks of printed cards: they add stocks, read their codes, and void the rest. */

import { leftOf, type CountedStock, type StockTerms } from '../../../core/stocks/domain/stock.ts';
import type { ChosenCode } from '../../../core/cards/domain/given-code.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { Context } from '../../../core/storage/context.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { recordStockCodesRead } from './codes.ts';
import { startStock, stockKeyOf, voidCodesOf } from './stock.ts';
import { asStaff, type ByStaff } from '../../../core/staff/service/as-staff.ts';

type PrintedCards = {
  readonly name: string | null;
  readonly terms: StockTerms;
  /** The codes of cards that are printed already, or how many are generated. */
  readonly codes: readonly Secret[] | number;
};

/**
 * Stores a stock, whose codes are added afterwards.
 * @returns the id of the stock.
 * @throws Fault those of `asStaff` and `startStock`.
 */
export function* addStock(ctx: Context, by: ByStaff, { name, terms, codes }: PrintedCards): Script<number> {
  const { id } = yield* asStaff(ctx, by, {
    permission: 'issueBatches',
    change: ({ actor }) => startStock(ctx, { store: by.store, name, actor, apiClientId: null, terms, codes }),
    entryOf: () => ({
      action: 'stock-added',
      subjectId: null,
      details: { codes: typeof codes === 'number' ? codes : codes.length },
    }),
  });
  return id;
}

/** Lists that the codes of a stock are read. @throws Fault those of `asStaff` and `recordStockCodesRead`. */
export function* readStockCodes(ctx: Context, by: ByStaff, stockId: number): Script<CountedStock> {
  return yield* asStaff(ctx, by, {
    permission: 'issueBatches',
    change: ({ actor }) =>
      recordStockCodesRead(ctx, stockKeyOf({ storeId: by.store.id, id: stockId }), { actor }),
    entryOf: (found) => ({ action: 'stock-codes-read', subjectId: null, details: { codes: leftOf(found) } }),
  });
}

/**
 * Voids codes of a stock.
 * @param codes null: all that are left.
 * @returns how many were left until then.
 * @throws Fault those of `asStaff` and `voidCodesOf`.
 */
export function* voidStockBy(
  ctx: Context,
  by: ByStaff,
  stockId: number,
  codes: readonly ChosenCode[] | null,
): Script<number> {
  const { voidedNow } = yield* asStaff(ctx, by, {
    permission: 'issueBatches',
    change: ({ actor }) =>
      voidCodesOf(ctx, { key: stockKeyOf({ storeId: by.store.id, id: stockId }), codes, actor }),
    entryOf: ({ voidedNow: count }) =>
      count === 0 ? null : { action: 'stock-voided', subjectId: null, details: { codes: count } },
  });
  return voidedNow;
}
