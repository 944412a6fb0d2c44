/** `largesse stock create|list|void|codes` */

import { csvOfTable } from '../../../core/tables/service/csv-parts.ts';
import { readFile, stat } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseCodeLines } from '../domain/code-lines.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { formatMoney, parseAmount, type Money } from '../../../core/money/domain/money.ts';
import { stockRecordOf } from '../domain/record.ts';
import {
  stockCodesMax,
  stockErrorsMax,
  stockNameLengthMax,
  validMonthsMax,
  valueErrors,
  stockValuesOf,
  type CountedStock,
  type StockFailure,
} from '../../../core/stocks/domain/stock.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { parseLine } from '../../../core/domain/text.ts';
import { limits } from '../../../platform/limits.ts';
import { readChosenCode, readNewCode, type ChosenCode } from '../../../core/cards/domain/given-code.ts';
import { recordStockCodesRead, stockExport } from '../service/codes.ts';
import {
  checkStock,
  continueStock,
  listFailedCodes,
  listStoreStocks,
  showStock,
  startStock,
  stockKeyOf,
  voidCodesOf,
} from '../service/stock.ts';
import type { StockKey } from '../../../core/stocks/storage/stock.ts';
import type { Database } from '../../../start/database.ts';
import { writeText } from '../../card-commands/cli/card-output.ts';
import { storeOption, openStore } from '../../../cli/choose-store.ts';
import { CommandError } from '../../../cli/failure.ts';
import { assertCanMake } from '../../../cli/new-file.ts';
import { print, printFields, printJson, printTable, type OutputRow } from '../../../cli/output.ts';
import { showProgress } from '../../../cli/progress.ts';

type Options = { readonly store?: string; readonly json?: boolean };

type CreateOptions = Options & {
  readonly name?: string;
  readonly count?: number;
  readonly file?: string;
  readonly value?: string;
  readonly minimum?: string;
  readonly maximum?: string;
  readonly validMonths?: number;
};

function integerTo(max: number): (text: string) => number {
  return (text) => {
    const number = /^[1-9]\d{0,5}$/.test(text) ? Number(text) : Number.NaN;
    if (!(number <= max)) throw new InvalidArgumentError(`It must be an integer from 1 to ${max}.`);
    return number;
  };
}

function readId(text: string): number {
  if (!/^[1-9]\d{0,15}$/.test(text)) throw new InvalidArgumentError('It must be the id of a stock.');
  return Number(text);
}

const by = { actor: 'command_line' };

export function addStockCommands(root: Command): void {
  const stock = root.command('stock').description('manage printed cards that were not sold');
  addCreateCommand(stock);
  stock
    .command('list')
    .description('list the stocks: how many of their codes were printed, sold, voided, and are left')
    .addOption(storeOption('the store of the stocks'))
    .option('--json', 'print JSON')
    .action(list);
  stock
    .command('void')
    .description('void all codes of a stock that are left, or those of a file; they can never be sold')
    .argument('<id>', 'the id of the stock', readId)
    .addOption(storeOption('the store of the stock'))
    .option('--file <file>', 'a file with one code on each line; without it, all that are left are voided')
    .option('--json', 'print JSON')
    .action(voidCodes);
  stock
    .command('codes')
    .description('print the codes of a stock that are left as CSV, for 24 hours after it is complete')
    .argument('<id>', 'the id of the stock', readId)
    .addOption(storeOption('the store of the stock'))
    .option('--output <file>', 'write to a new file')
    .action(printCodes);
}

async function list({ store: domain, json }: Options): Promise<void> {
  await using database = await openStore(domain);
  const { ctx, storage, store } = database;
  const found: CountedStock[] = [];
  for (let before: number | null = null, hasMore = true; hasMore;) {
    const page: { limit: number; before: number | null; after: null } = { limit: 50, before, after: null };
    const { items, hasOlder } = await storage.read(() => listStoreStocks(store.id, page));
    found.push(...items);
    before = items.at(-1)?.stock.id ?? null;
    hasMore = hasOlder;
  }
  if (json) printJson(found.map((each) => stockRecordOf(each, ctx.clock.earliest())));
  else printTable(found.map(rowOf), { none: 'There are no stocks.' });
}

async function voidCodes(
  stockId: number,
  { store: domain, file, json }: Options & { readonly file?: string },
): Promise<void> {
  const codes = file === undefined ? null : await readCodes(file, readChosenCode);
  await using database = await openStore(domain);
  const { ctx, storage, store } = database;
  const key = { storeId: store.id, stockId };
  const found = await storage
    .write(() => voidCodesOf(ctx, { key, codes, ...by }))
    .catch((error: unknown) => rejectCodes(error, file));
  if (json) printJson(stockRecordOf(found, ctx.clock.earliest()));
  else print(`Voided ${found.voidedNow} codes.`);
}

async function printCodes(
  stockId: number,
  { store: domain, output }: Options & { readonly output?: string },
): Promise<void> {
  if (output !== undefined) assertCanMake(output);
  await using database = await openStore(domain);
  const { ctx, storage, store } = database;
  const key = { storeId: store.id, stockId };
  const found = await storage.write(() => recordStockCodesRead(ctx, key, by));
  await writeText(csvOfTable(stockExport({ ctx, storage }, found.stock, { from: 0 })), output);
}

function addCreateCommand(stock: Command): void {
  stock
    .command('create')
    .description('add codes of printed cards to the stock; they become gift cards when they are sold')
    .addOption(storeOption('the store of the stock'))
    .option('--name <name>', 'a name of your own')
    .addOption(
      new Option('--count <number>', 'the number of codes to generate').argParser(integerTo(stockCodesMax)),
    )
    .option('--file <file>', 'a file with one code of your own on each line, in place of --count')
    .option('--value <amount>', 'the value of each card; without it, the value is open')
    .option('--minimum <amount>', 'the lowest value of a card')
    .option('--maximum <amount>', "the highest value of a card; default: the store's limit")
    .addOption(
      new Option('--valid-months <number>', 'how many months a card is valid after its sale').argParser(
        integerTo(validMonthsMax),
      ),
    )
    .option('--json', 'print JSON')
    .action(async (options: CreateOptions) => {
      const { count, file, json = false } = options;
      if ((count === undefined) === (file === undefined))
        throw new CommandError('either --count or --file is required');
      const codes = file === undefined ? (count ?? 0) : await readCodes(file, readNewCode);
      const name = parseLine(options.name ?? null, stockNameLengthMax);
      if (!name.ok) throw new CommandError(`--name ${name.error}`);
      await using database = await openStore(options.store);
      const { ctx, storage, store } = database;
      const terms = { ...readValues(options, store), validMonths: options.validMonths ?? null };
      if (typeof codes !== 'number') rejectTaken(await checkStock({ ctx, storage }, { store, codes }), file);
      const named = { store, name: name.value, apiClientId: null, ...by };
      const added = typeof codes === 'number' ? codes : codes.map(({ code }) => code);
      const created = await storage.write(() => startStock(ctx, { ...named, terms, codes: added }));
      const key = stockKeyOf(created);
      await complete(database, key, { isSilent: json, count: created.codes });
      const found = await storage.read(() => showStock(key));
      if (json) printJson(stockRecordOf(found, ctx.clock.earliest()));
      else printFields(rowOf(found));
      if (found.stock.failed > 0) rejectTaken(await storage.read(() => listFailedCodes(key)), file);
    });
}

/** The longest wait while the running service adds the codes. */
const pollMs = 100;

/** Adds the codes of a stock, together with the service if it is running. */
async function complete(
  { ctx, storage }: Database,
  key: StockKey,
  { isSilent, count }: { readonly isSilent: boolean; readonly count: number },
): Promise<void> {
  const progress = showProgress(process.stderr, { isSilent });
  const reach = async (): Promise<boolean> => {
    const { stock } = await storage.read(() => showStock(key));
    progress.reach(stock.printed + stock.failed);
    return stock.state === 'complete';
  };
  progress.begin('codes', { total: count, done: 0 });
  for (;;) {
    await continueStock({ ctx, storage }, key, { onProgress: () => void reach() });
    if (await reach()) break;
    await wait(pollMs);
  }
  progress.end();
}

/** Reads a file with one code on each line. @throws CommandError with all errors, without the codes. */
async function readCodes(
  file: string,
  read: Parameters<typeof parseCodeLines>[1],
): Promise<readonly ChosenCode[]> {
  const { size } = await stat(file);
  if (size > limits.batchBodyBytesMax) throw new CommandError(`${file} has more than 4 MiB`);
  const { codes, errors } = parseCodeLines(await readFile(file, 'utf8'), read);
  if (errors.length > 0) {
    const listed = errors.slice(0, stockErrorsMax).map(({ line, message }) => `  line ${line}: ${message}`);
    throw new CommandError([`${file} has errors:`, ...listed].join('\n'));
  }
  if (codes.length === 0) throw new CommandError(`${file} has no codes`);
  if (codes.length > stockCodesMax) throw new CommandError(`${file} has more than ${stockCodesMax} codes`);
  return codes;
}

/** @throws CommandError if codes were taken. */
function rejectTaken(taken: readonly StockFailure[], file = 'the file'): void {
  if (taken.length === 0) return;
  const lines = taken.map(({ index, message }) => `  code ${index + 1}: ${message}`);
  throw new CommandError([`these codes of ${file} could not be added:`, ...lines].join('\n'));
}

/** @throws CommandError for the codes of a file; otherwise the error. */
function rejectCodes(error: unknown, file = 'the file'): never {
  if (!(error instanceof Fault) || error.code !== 'invalid-parameter') throw error;
  const lines = Object.entries(error.errors ?? {})
    .slice(0, stockErrorsMax)
    .map(([name, messages]) => `  code ${Number(/\d+/.exec(name)?.[0] ?? 0) + 1}: ${messages.join('; ')}`);
  throw new CommandError([`${file} has errors, and nothing was voided:`, ...lines].join('\n'));
}

const optionOf = { fixed_value: '--value', minimum_value: '--minimum', maximum_value: '--maximum' } as const;

/** @throws CommandError if a value is invalid. */
function readValues(
  { value, minimum, maximum }: CreateOptions,
  store: Store,
): ReturnType<typeof stockValuesOf> {
  const read = (option: string, text: string | undefined): Money | undefined => {
    if (text === undefined) return undefined;
    const amount = parseAmount(text, { currency: store.currency, zeroAllowed: false });
    if (!amount.ok) throw new CommandError(`${option} ${amount.error}`);
    return amount.value;
  };
  const fixedValue = read('--value', value);
  const minimumValue = read('--minimum', minimum);
  const maximumValue = read('--maximum', maximum);
  const sent = {
    ...(fixedValue && { fixedValue }),
    ...(minimumValue && { minimumValue }),
    ...(maximumValue && { maximumValue }),
  };
  const [first] = valueErrors(sent, store);
  if (first) throw new CommandError(`${optionOf[first[0]]} ${first[1]}`);
  return stockValuesOf(sent, store);
}

function rowOf({ stock, counts }: CountedStock): OutputRow {
  const { fixedValue, minimumValue, maximumValue } = stock;
  const values = [minimumValue, maximumValue].map((each) => (each ? formatMoney(each) : '')).join('–');
  return {
    id: stock.id,
    name: stock.name,
    value: `${fixedValue ? formatMoney(fixedValue) : values} ${stock.currency}`,
    printed: stock.printed,
    sold: counts.sold,
    left: stock.printed - counts.sold - counts.voided,
    voided: counts.voided,
    valid_months: stock.validMonths,
  };
}
