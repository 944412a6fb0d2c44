/** Stocks of printed codes, and their parts, whose codes are added in one transaction. Codes are sealed for their row. */

import type { Context } from '../../storage/context.ts';
import { currencyOf } from '../../money/domain/currency.ts';
import type { Money } from '../../money/domain/money.ts';
import { sealNonceLength } from '../../../platform/keys.ts';
import type { CountedStock, Stock, StockCounts, StockFailure, StockState } from '../domain/stock.ts';
import {
  columns,
  flag,
  integer,
  integerOrNull,
  text,
  textOrNull,
  unchanged,
  type Column,
  type RowOf,
} from '../../../database/sql/columns.ts';
import { all, execute, first, parallel, sql, toNumber, type Script } from '../../../database/sql/sql.ts';
import { forUpdate, forUpdateSkipLocked } from '../../../database/sql/fragments.ts';
import { ofOpenStore } from '../../stores/storage/store.ts';

/** An amount in minor units, or null. The row also has its currency. */
function moneyOrNull<Field extends string>(
  field: Field,
): Column<bigint | null, Field, Money | null, { readonly currency: string }> {
  return {
    field,
    read: (minor, { currency }) => (minor === null ? null : { minor, currency: currencyOf(currency) }),
    write: (record) => record[field]?.minor ?? null,
  };
}

export const stocks = columns({
  store_id: integer('storeId'),
  id: integer('id'),
  name: textOrNull('name'),
  actor: text('actor'),
  api_client_id: integerOrNull('apiClientId'),
  state: unchanged<StockState>()('state'),
  generated: flag('isGenerated'),
  currency: text('currency'),
  fixed_value: moneyOrNull('fixedValue'),
  minimum_value: moneyOrNull('minimumValue'),
  maximum_value: moneyOrNull('maximumValue'),
  valid_months: integerOrNull('validMonths'),
  codes: integer('codes'),
  printed: integer('printed'),
  failed: integer('failed'),
  next_part: integer('nextPart'),
  created_at: integer('createdAt'),
  completed_at: integerOrNull('completedAt'),
  voided_at: integerOrNull('voidedAt'),
  codes_until: integerOrNull('codesUntil'),
});

export type StockRow = RowOf<typeof stocks>;

export type StockKey = { readonly storeId: number; readonly stockId: number };

type Sealed = StockKey & { readonly part: number };

function boundTo({ storeId, stockId, part }: Sealed): string {
  return `stock ${storeId} ${stockId} ${part}`;
}

export function sealStockPart({ keys, random }: Context, place: Sealed, plain: string): Uint8Array {
  return keys.seal('stock', Buffer.from(plain), boundTo(place), random.bytes(sealNonceLength));
}

/** @throws Error if it was sealed for another row. */
export function openStockPart({ keys }: Pick<Context, 'keys'>, place: Sealed, sealed: Uint8Array): string {
  return Buffer.from(keys.open('stock', sealed, boundTo(place))).toString();
}

/** Makes the tills of a store ask before they sell a code that is in no stock, unless the store has had a stock. */
export function* askForStock(storeId: number): Script<void> {
  yield* execute(sql`
    update stores set stock_asked = 1
    where id = ${storeId} and stock_asked = 0
      and not exists (select 1 as one from stocks s where s.store_id = ${storeId})`);
}

/** Whether a store has a stock that was not voided. */
export function* hasStock(storeId: number): Script<boolean> {
  const row = yield* first(sql`
    select 1 as one from stocks where store_id = ${storeId} and voided_at is null limit 1`);
  return row !== undefined;
}

export function* insertStock(stock: Stock): Script<void> {
  yield* execute(sql`insert into stocks (${stocks.names}) values (${stocks.values(stock)})`);
}

/** @param codes sealed. */
export function* insertStockPart({ storeId, stockId, part }: Sealed, codes: Uint8Array): Script<void> {
  yield* execute(sql`
    insert into stock_parts (store_id, stock_id, part, codes) values (${storeId}, ${stockId}, ${part}, ${codes})`);
}

export function* findStock({ storeId, stockId }: StockKey): Script<Stock | undefined> {
  const row = yield* first(sql<StockRow>`
    select ${stocks.names} from stocks where store_id = ${storeId} and id = ${stockId}`);
  return row && stocks.read(row);
}

/** Finds a stock, and locks it until the transaction ends: no codes are added to it. */
export function* lockStock({ storeId, stockId }: StockKey): Script<Stock | undefined> {
  const row = yield* first(sql<StockRow>`
    select ${stocks.names} from stocks where store_id = ${storeId} and id = ${stockId} ${forUpdate}`);
  return row && stocks.read(row);
}

/** Locks a running stock until the transaction ends. Undefined: it is complete, or another process has locked it. */
export function* lockRunningStock({ storeId, stockId }: StockKey): Script<Stock | undefined> {
  const row = yield* first(sql<StockRow>`
    select ${stocks.names} from stocks
    where store_id = ${storeId} and id = ${stockId} and state = 'running' ${forUpdateSkipLocked}`);
  return row && stocks.read(row);
}

/** Returns the running stocks of all stores, oldest first. */
export function* listRunningStocks(limit: number): Script<readonly StockKey[]> {
  const rows = yield* all(sql<{ store_id: bigint; id: bigint }>`
    select store_id, id from stocks where state = 'running' and ${ofOpenStore} order by created_at limit ${limit}`);
  return rows.map(toKey);
}

function toKey({ store_id: storeId, id }: { readonly store_id: bigint; readonly id: bigint }): StockKey {
  return { storeId: toNumber(storeId), stockId: toNumber(id) };
}

/** Returns the number of a store's running stocks, at most `limit`. */
export function* countRunningStocks(storeId: number, limit: number): Script<number> {
  const rows = yield* all(sql`
    select 1 as one from stocks where store_id = ${storeId} and state = 'running' limit ${limit}`);
  return rows.length;
}

/** Returns the stocks with ids below `before`, newest first. */
export function* listStocksBefore(
  storeId: number,
  { before, limit }: { readonly before: number; readonly limit: number },
): Script<readonly Stock[]> {
  const rows = yield* all(sql<StockRow>`
    select ${stocks.names} from stocks where store_id = ${storeId} and id < ${before} order by id desc limit ${limit}`);
  return rows.map((row) => stocks.read(row));
}

/** Returns the stocks with ids above `after`, oldest first. */
export function* listStocksAfter(
  storeId: number,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly Stock[]> {
  const rows = yield* all(sql<StockRow>`
    select ${stocks.names} from stocks where store_id = ${storeId} and id > ${after} order by id limit ${limit}`);
  return rows.map((row) => stocks.read(row));
}

/** Counts the sold and voided codes of a stock. It reads only indexes, with an entry for each of these codes. */
function* countCodes({ storeId, id }: Pick<Stock, 'storeId' | 'id'>): Script<StockCounts> {
  const row = yield* first(sql<{ sold: bigint; voided: bigint }>`
    select
      (select count(*) from stock_codes
        where store_id = ${storeId} and stock_id = ${id} and sold_at is not null) as sold,
      (select count(*) from stock_codes
        where store_id = ${storeId} and stock_id = ${id} and voided_at is not null) as voided`);
  return { sold: toNumber(row?.sold ?? 0n), voided: toNumber(row?.voided ?? 0n) };
}

/** Adds the counts to stocks. */
export function* counted(found: readonly Stock[]): Script<readonly CountedStock[]> {
  const counts = yield* parallel(...found.map(countCodes));
  return found.map((stock, place) => ({ stock, counts: counts[place] ?? { sold: 0, voided: 0 } }));
}

type StockPart = {
  readonly part: number;
  /** Sealed. */
  readonly codes: Uint8Array;
};

/** Returns the parts with codes from a part on, in order. */
export function* listStockParts(
  { storeId, stockId }: StockKey,
  { from, limit }: { readonly from: number; readonly limit: number },
): Script<readonly StockPart[]> {
  const rows = yield* all(sql<{ part: bigint; codes: Uint8Array }>`
    select part, codes from stock_parts
    where store_id = ${storeId} and stock_id = ${stockId} and part >= ${from} and codes is not null
    order by part limit ${limit}`);
  return rows.map(({ part, codes }) => ({ part: toNumber(part), codes }));
}

export function* saveStockFailures(
  { storeId, stockId, part }: Sealed,
  failures: readonly StockFailure[],
): Script<void> {
  yield* execute(sql`
    update stock_parts set failures = ${JSON.stringify(failures)}
    where store_id = ${storeId} and stock_id = ${stockId} and part = ${part}`);
}

/** Returns the failures of the first `limit` parts that have some. */
export function* listStockFailures(
  { storeId, stockId }: StockKey,
  limit: number,
): Script<readonly StockFailure[]> {
  const rows = yield* all(sql<{ failures: string }>`
    select failures from stock_parts
    where store_id = ${storeId} and stock_id = ${stockId} and failures is not null order by part limit ${limit}`);
  // `saveStockFailures` has written them.
  return rows.flatMap(({ failures }) => JSON.parse(failures) as readonly StockFailure[]);
}

/** Saves the progress of a stock that the transaction has locked. */
export function* saveStockProgress(stock: Stock): Script<void> {
  const { storeId, id, state, printed, failed, nextPart, completedAt, codesUntil } = stock;
  yield* execute(sql`
    update stocks set state = ${state}, printed = ${printed}, failed = ${failed}, next_part = ${nextPart},
      completed_at = ${completedAt}, codes_until = ${codesUntil}
    where store_id = ${storeId} and id = ${id}`);
}

/** Returns up to `limit` stocks of all stores whose codes could be read until before an instant (ms). */
export function* listStocksWithOldCodes(before: number, limit: number): Script<readonly StockKey[]> {
  const rows = yield* all(sql<{ store_id: bigint; id: bigint }>`
    select store_id, id from stocks where codes_until < ${before} and ${ofOpenStore}
    order by codes_until limit ${limit}`);
  return rows.map(toKey);
}

/** Erases the codes of a stock, whose digests stay. @returns false if another process does it. */
export function* eraseStockCodes({ storeId, stockId }: StockKey): Script<boolean> {
  const rows = yield* all(sql`
    select id from stocks
    where store_id = ${storeId} and id = ${stockId} and codes_until is not null ${forUpdateSkipLocked}`);
  if (rows.length === 0) return false;
  yield* execute(
    sql`
      update stock_parts set codes = null
      where store_id = ${storeId} and stock_id = ${stockId} and codes is not null`,
    sql`update stocks set codes_until = null where store_id = ${storeId} and id = ${stockId}`,
  );
  return true;
}
