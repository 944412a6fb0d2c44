/** The codes of a stock that are left, for those who print them: until they are erased, and each time with an event. */

import type { Context } from '../../../core/storage/context.ts';
import { csvOf } from '../../../core/tables/domain/csv.ts';
import type { ExportTable, ExportRow } from '../../../core/tables/domain/export-table.ts';
import { stockCodesReadEvent } from '../domain/stock-event.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { writtenValues, type CountedStock, type Stock } from '../../../core/stocks/domain/stock.ts';
import type { Secret } from '../../../platform/secret.ts';
import { recordEvent } from '../../../core/events/storage/event.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { listLeftPlaces } from '../../../core/stocks/storage/code.ts';
import { listStockParts, type StockKey } from '../../../core/stocks/storage/stock.ts';
import type { Storage } from '../../../database/storage.ts';
import { codesOfPart, showStock, stockKeyOf, stockPartCodes } from './stock.ts';

/** A code that is left. */
type LeftCode = {
  /** Its place in the stock, from 0. */
  readonly index: number;
  readonly code: Secret;
};

export type LeftCodes = {
  readonly codes: readonly LeftCode[];
  /** The place at which the next page begins; null: there is none. */
  readonly next: number | null;
};

/** Whether the codes of a stock can be read: while it is printed, and for a day afterwards. */
function areStockCodesReadable({ clock }: Context, { state, codesUntil }: Stock): boolean {
  return state === 'running' || (codesUntil !== null && clock.earliest() < codesUntil);
}

/** @throws Fault `not-found` if there is no such stock, or its codes can no longer be read. */
export function* findReadable(ctx: Context, key: StockKey): Script<CountedStock> {
  const found = yield* showStock(key);
  if (!areStockCodesReadable(ctx, found.stock)) throw new Fault('not-found', { detail: codesErased });
  return found;
}

/** Records that the codes of a stock are read. @throws Fault as `findReadable` does. */
export function* recordStockCodesRead(
  ctx: Context,
  key: StockKey,
  { actor }: { readonly actor: string },
): Script<CountedStock> {
  const found = yield* findReadable(ctx, key);
  yield* recordEvent(ctx, stockCodesReadEvent(found, { actor, now: ctx.clock.earliest() }));
  return found;
}

const codesErased = 'The codes of the stock can no longer be read: see `codes_until`.';

/** Returns the codes that are left, from a place on. The caller has recorded that they are read. */
export function* listLeftCodes(
  ctx: Context,
  stock: Stock,
  { from, limit }: { readonly from: number; readonly limit: number },
): Script<LeftCodes> {
  if (!areStockCodesReadable(ctx, stock)) return { codes: [], next: null };
  const key = stockKeyOf(stock);
  const places = yield* listLeftPlaces(key, { from, limit: limit + 1 });
  const shown = places.slice(0, limit);
  const [first = 0, last = 0] = [shown.at(0), shown.at(-1)];
  const firstPart = Math.floor(first / stockPartCodes);
  const parts = yield* listStockParts(key, {
    from: firstPart,
    limit: Math.floor(last / stockPartCodes) - firstPart + 1,
  });
  const byPart = new Map(parts.map(({ part, codes }) => [part, codesOfPart(ctx, key, part, codes)]));
  return {
    codes: shown.flatMap((index) => {
      const code = byPart.get(Math.floor(index / stockPartCodes))?.[index % stockPartCodes];
      return code ? [{ index, code }] : [];
    }),
    next: places[limit] ?? null,
  };
}

/** Codes of one read: other requests run before the next one. */
const codesRead = 250;

const columns = ['index', 'code', 'fixed_value', 'minimum_value', 'maximum_value', 'currency'] as const;

type Place = { readonly ctx: Context; readonly storage: Pick<Storage, 'read'> };

/** The codes that are left, from a place on. */
export function stockExport(
  place: Place,
  stock: Stock,
  { from }: { readonly from: number },
): ExportTable<(typeof columns)[number]> {
  return { columns, parts: partsOf(place, stock, from) };
}

async function* partsOf(
  { ctx, storage }: Place,
  stock: Stock,
  from: number,
): AsyncGenerator<readonly ExportRow[], void> {
  const values = Object.entries(writtenValues(stock)).map(([name, decimal]) => [name, { decimal }] as const);
  const numbers: ExportRow = Object.fromEntries(values);
  for (let place: number | null = from; place !== null;) {
    const page: { from: number; limit: number } = { from: place, limit: codesRead };
    const { codes, next }: LeftCodes = await storage.read(() => listLeftCodes(ctx, stock, page));
    yield codes.map(({ index, code }) => ({
      ...numbers,
      index,
      code: code.reveal(),
      currency: stock.currency,
    }));
    place = next;
  }
}

/** A file with one code, for the documentation. */
export function stockExportOf(code: { readonly index: number; readonly code: string }): string {
  const values = { fixed_value: '25.00', minimum_value: null, maximum_value: null, currency: 'USD' };
  return csvOf(columns, [{ ...values, ...code }]);
}
