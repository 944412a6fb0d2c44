/**
 * Stocks of printed codes. The request seals the codes in parts. The background job of a service, or the command, adds one
 * or several parts per transaction: after an interruption, and with several processes, each code is added once.
 */

import assert from 'node:assert/strict';
import type { Context } from '../../../core/storage/context.ts';
import { codeTaken } from '../../../core/cards/domain/code.ts';
import type { ChosenCode } from '../../../core/cards/domain/given-code.ts';
import { findChosen } from '../../../core/stocks/service/activation.ts';
import { stockCompletedEvent, stockVoidedEvent } from '../domain/stock-event.ts';
import { Fault, FieldErrors } from '../../../core/domain/fault.ts';
import {
  stockCodesMax,
  stockCodesMs,
  stockErrorsMax,
  type CountedStock,
  type Stock,
  type StockFailure,
  type StockTerms,
} from '../../../core/stocks/domain/stock.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { Secret } from '../../../platform/secret.ts';
import { insertUnsoldCode } from '../../../core/cards/storage/code.ts';
import { recordEvent } from '../../../core/events/storage/event.ts';
import { parallel, resolved, type Script } from '../../../database/sql/sql.ts';
import {
  findChosenCodes,
  insertStockedCode,
  voidAllCodes,
  voidCode,
} from '../../../core/stocks/storage/code.ts';
import {
  askForStock,
  counted,
  countRunningStocks,
  findStock,
  insertStock,
  insertStockPart,
  listStockFailures,
  listStockParts,
  listStocksAfter,
  listStocksBefore,
  lockRunningStock,
  lockStock,
  openStockPart,
  saveStockFailures,
  saveStockProgress,
  sealStockPart,
  type StockKey,
} from '../../../core/stocks/storage/stock.ts';
import type { Storage } from '../../../database/storage.ts';
import { onePart, type Pace } from '../../batches/service/pace.ts';
import {
  newerPage,
  olderPage,
  type ListPage,
  type PageRequest,
} from '../../../core/money/service/movements.ts';

/** Codes of one part. To add it takes a few milliseconds, and other writes run before the next transaction. */
export const stockPartCodes = 50;

/** Stocks of a store to which codes are being added at the same time. */
const runningMax = 20;

export type NewStock = {
  readonly store: Store;
  readonly name: string | null;
  readonly actor: string;
  readonly apiClientId: number | null;
  readonly terms: StockTerms;
  /** The codes that the caller chose, or how many are generated. */
  readonly codes: readonly Secret[] | number;
};

/**
 * Stores a stock, whose codes are added afterwards.
 * @throws Fault `too-many-requests` if codes are being added to many stocks of the store.
 */
export function* startStock(ctx: Context, { store, codes: sent, terms, ...named }: NewStock): Script<Stock> {
  const isGenerated = typeof sent === 'number';
  const codes = isGenerated
    ? Array.from({ length: sent }, () => ctx.codeCohorts.generate(store.id, ctx))
    : sent;
  assert(codes.length > 0 && codes.length <= stockCodesMax);
  if ((yield* countRunningStocks(store.id, runningMax)) >= runningMax)
    throw new Fault('too-many-requests', {
      detail: `Codes are being added to ${runningMax} stocks of the store: see Retry-After.`,
      retryAfterSeconds: 10,
    });
  const stock: Stock = {
    ...named,
    ...terms,
    storeId: store.id,
    id: ctx.random.id(),
    state: 'running',
    isGenerated,
    currency: store.currency.code,
    codes: codes.length,
    printed: 0,
    failed: 0,
    nextPart: 0,
    createdAt: ctx.clock.now(),
    completedAt: null,
    voidedAt: null,
    codesUntil: null,
  };
  yield* askForStock(store.id);
  yield* insertStock(stock);
  const key = stockKeyOf(stock);
  for (let part = 0; part * stockPartCodes < codes.length; part += 1) {
    const texts = codes
      .slice(part * stockPartCodes, (part + 1) * stockPartCodes)
      .map((code) => code.reveal());
    yield* insertStockPart({ ...key, part }, sealStockPart(ctx, { ...key, part }, JSON.stringify(texts)));
  }
  return stock;
}

export function stockKeyOf({ storeId, id }: Pick<Stock, 'storeId' | 'id'>): StockKey {
  return { storeId, stockId: id };
}

/** The codes of a part. */
export function codesOfPart(
  ctx: Context,
  key: StockKey,
  part: number,
  sealed: Uint8Array,
): readonly Secret[] {
  // The text is authenticated, so it comes from `startStock`.
  const texts = JSON.parse(openStockPart(ctx, { ...key, part }, sealed)) as readonly string[];
  return texts.map((text) => new Secret(text));
}

/** Codes that one read looks up. */
const checkedTogether = 50;

/** The codes that cannot be those of new cards, at most 100 of them. */
export async function checkStock(
  { ctx, storage }: { readonly ctx: Context; readonly storage: Pick<Storage, 'read'> },
  { store, codes }: { readonly store: Store; readonly codes: readonly ChosenCode[] },
): Promise<readonly StockFailure[]> {
  const taken: StockFailure[] = [];
  for (let at = 0; at < codes.length && taken.length < stockErrorsMax; at += checkedTogether) {
    const some = codes.slice(at, at + checkedTogether);
    const found = await storage.read(() =>
      parallel(...some.map((code) => findChosen(ctx, { storeId: store.id, code }, undefined))),
    );
    found.forEach(({ error }, place) => {
      if (error !== null) taken.push({ index: at + place, message: error });
    });
  }
  return taken.slice(0, stockErrorsMax);
}

/**
 * Adds the codes of a stock until it is complete, or another process works on it.
 * @param options.onProgress called after each transaction.
 */
export async function continueStock(
  { ctx, storage }: { readonly ctx: Context; readonly storage: Pick<Storage, 'write'> },
  key: StockKey,
  { pace = onePart, onProgress }: { readonly pace?: Pace; readonly onProgress?: () => void } = {},
): Promise<void> {
  while (await storage.write(() => addParts(ctx, key, pace.nextParts()))) onProgress?.();
}

/** Adds the next parts of a stock. @returns whether there were some. */
function* addParts(ctx: Context, key: StockKey, partsMax: number): Script<boolean> {
  let stock = yield* lockRunningStock(key);
  if (!stock) return false;
  const parts = yield* listStockParts(key, { from: stock.nextPart, limit: partsMax });
  assert(parts.length > 0, 'a running stock has no further part');
  for (const { part, codes } of parts) stock = yield* addPart(ctx, stock, { part, codes });
  yield* saveStockProgress(stock);
  if (stock.state === 'complete') {
    const [found] = yield* counted([stock]);
    assert(found);
    yield* recordEvent(ctx, stockCompletedEvent(found));
  }
  return true;
}

/** Adds the codes of a part. @returns the stock after it. */
function* addPart(
  ctx: Context,
  stock: Stock,
  { part, codes: sealed }: { readonly part: number; readonly codes: Uint8Array },
): Script<Stock> {
  const key = stockKeyOf(stock);
  const { isGenerated } = stock;
  const codes = codesOfPart(ctx, key, part, sealed);
  const lookups = yield* parallel(
    ...codes.map((code) => insertUnsoldCode(ctx, { storeId: stock.storeId, code, isGenerated })),
  );
  const places = lookups.map((lookup, index) => ({ lookup, place: part * stockPartCodes + index }));
  const failures = places.flatMap(({ lookup, place }) =>
    lookup === undefined ? [{ index: place, message: codeTaken }] : [],
  );
  yield* parallel(
    ...places.map(({ lookup, place }) =>
      lookup === undefined
        ? resolved(undefined)
        : insertStockedCode({ ...key, place, lookup }, stock.voidedAt),
    ),
  );
  if (failures.length > 0) yield* saveStockFailures({ ...key, part }, failures);
  const isComplete = (part + 1) * stockPartCodes >= stock.codes;
  return {
    ...stock,
    state: isComplete ? 'complete' : 'running',
    printed: stock.printed + codes.length - failures.length,
    failed: stock.failed + failures.length,
    nextPart: part + 1,
    completedAt: isComplete ? ctx.clock.now() : null,
    codesUntil: isComplete ? ctx.clock.latest() + stockCodesMs : null,
  };
}

/** @throws Fault `not-found`. */
export function* showStock(key: StockKey): Script<CountedStock> {
  const stock = yield* findStock(key);
  const [found] = stock ? yield* counted([stock]) : [];
  if (!found) throw new Fault('not-found');
  return found;
}

/** @throws Fault `invalid-query` if `before` or `after` is not the id of a stock of the store. */
export function* listStoreStocks(
  storeId: number,
  { limit, before, after }: PageRequest,
): Script<ListPage<CountedStock>> {
  const id = after ?? before;
  if (id !== null && !(yield* findStock({ storeId, stockId: id })))
    throw new Fault('invalid-query', {
      errors: { [after === null ? 'before' : 'after']: ['must be the id of an entry in this list'] },
    });
  const page =
    after === null
      ? olderPage(
          yield* listStocksBefore(storeId, { before: before ?? Number.MAX_SAFE_INTEGER, limit: limit + 1 }),
          { limit, isFirst: before === null },
        )
      : newerPage(yield* listStocksAfter(storeId, { after, limit: limit + 1 }), limit);
  return { ...page, items: yield* counted(page.items) };
}

/** The first reasons why codes of a stock were not added. */
export function* listFailedCodes(key: StockKey): Script<readonly StockFailure[]> {
  return (yield* listStockFailures(key, stockErrorsMax)).slice(0, stockErrorsMax);
}

/**
 * Voids codes of a stock, which can then never be sold.
 * @param codes null: all that are left.
 * @returns the stock after it, and how many codes were left until then.
 * @throws Fault `not-found`; `invalid-parameter` if one of the codes is not in the stock or was activated: none is voided.
 */
export function* voidCodesOf(
  ctx: Context,
  {
    key,
    codes,
    actor,
  }: { readonly key: StockKey; readonly codes: readonly ChosenCode[] | null; readonly actor: string },
): Script<CountedStock & { readonly voidedNow: number }> {
  if (!(yield* lockStock(key))) throw new Fault('not-found');
  const now = ctx.clock.now();
  const voidedNow = codes ? yield* voidChosen(ctx, key, codes) : yield* voidAllCodes(key, now);
  const found = yield* showStock(key);
  if (voidedNow > 0) yield* recordEvent(ctx, stockVoidedEvent(found, { actor, codes: voidedNow, now }));
  return { ...found, voidedNow };
}

function* voidChosen(ctx: Context, key: StockKey, codes: readonly ChosenCode[]): Script<number> {
  const now = ctx.clock.now();
  const errors = new FieldErrors();
  let voided = 0;
  for (const [place, { readings }] of codes.entries()) {
    const tried = readings.map(({ code }) => code);
    const stocked = (yield* findChosenCodes(ctx, key.storeId, tried))[0]?.stocked;
    if (stocked?.stock.id !== key.stockId) errors.add(`codes[${place}]`, 'is not in this stock');
    else if (stocked.voidedAt !== null) continue;
    else if (yield* voidCode({ ...key, lookup: stocked.lookup }, now)) voided += 1;
    else errors.add(`codes[${place}]`, 'was activated');
  }
  errors.throwIfAny();
  return voided;
}
