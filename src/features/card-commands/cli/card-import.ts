/** `largesse card import` */

import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { InvalidArgumentError, type Command } from 'commander';
import { readDatabaseConfig } from '../../../start/config.ts';
import { openDatabase, type Database } from '../../../start/database.ts';
import {
  batchErrorsMax,
  batchNameLengthMax,
  expectationErrors,
  repeatedRecipients,
  type Batch,
} from '../../batches/domain/batch.ts';
import { batchFileBytesMax } from '../../batches/domain/columns.ts';
import {
  errorsByLine,
  fileAlone,
  linesOfCards,
  parseBatchFile,
  type BatchFile,
  type LineError,
} from '../../batches/domain/table.ts';
import { batchCardRecordOf, batchRecordOf } from '../../batches/domain/record.ts';
import { csvOf, csvRowsOf } from '../../../core/tables/domain/csv.ts';
import { formatMoney } from '../../../core/money/domain/money.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { resultOf } from '../../../core/domain/paused.ts';
import { MalformedTable } from '../../../core/tables/domain/table-text.ts';
import { parseLine } from '../../../core/domain/text.ts';
import { parseWrittenAmount } from '../../../core/tables/domain/written-amount.ts';
import {
  checkBatch,
  continueBatch,
  startBatch,
  findCreatedBatch,
  batchKeyOf,
} from '../../batches/service/batch.ts';
import {
  listCardsOfBatch,
  listFailures,
  showBatch,
  type BatchCards,
  type BatchCardsPage,
} from '../../batches/service/batch-lists.ts';
import { digestOfFile, readTableFile } from '../../batches/service/table-file.ts';
import { writeText } from './card-output.ts';
import { canSendEmails } from '../../emails/cli/can-send.ts';
import { chooseStore, storeOption } from '../../../cli/choose-store.ts';
import { closePastDays, findTrustedUntil } from '../../../cli/closing.ts';
import { CommandError } from '../../../cli/failure.ts';
import { assertCanMake } from '../../../cli/new-file.ts';
import { print, printJson } from '../../../cli/output.ts';
import { showProgress } from '../../../cli/progress.ts';
import { readName } from '../../../cli/read.ts';

type Options = {
  readonly store?: string;
  readonly expectCount?: number;
  readonly expectTotal?: string;
  readonly dryRun?: boolean;
  readonly output?: string;
  readonly key?: string;
  readonly json?: boolean;
};

function readCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a number above 0.');
  return Number(text);
}

export function addImportCommand(card: Command): void {
  card
    .command('import')
    .description(
      'issue the gift cards of a CSV or XLSX file, and print their codes as CSV; after an interruption, the same command continues, and issues each of them once',
    )
    .argument(
      '<file>',
      'CSV or XLSX as spreadsheets write it, whose first line has names of fields, such as initial_value or amount',
    )
    .addOption(storeOption('the store of the gift cards'))
    .option(
      '--expect-count <number>',
      'issue nothing if the file has another number of gift cards',
      readCount,
    )
    .option('--expect-total <amount>', 'issue nothing if the sum of the values differs')
    .option('--dry-run', 'check the file, and issue nothing')
    .option('--output <file>', 'write the codes to a new file')
    .option('--key <name>', 'issue the gift cards of the same file once for each key', readName)
    .option('--json', 'print the batch as JSON; the codes are written only with --output')
    .action(async (file: string, options: Options) => {
      if (options.output !== undefined) assertCanMake(options.output);
      const bytes = await readBatchFile(file);
      const config = readDatabaseConfig();
      await using database = await openDatabase(config, { prepare: false });
      const { ctx, storage } = database;
      const trustedUntil = await findTrustedUntil(database, config);
      const { store } = await storage.read(() => chooseStore(options.store));
      const key = `${digestOfFile(bytes)} ${options.key ?? ''}`;
      const table = await readTable(file, bytes);
      const created = await storage.read(() => findCreatedBatch(ctx, store.id, key));
      const isRepeated = created !== undefined;
      const batch = created ?? (await create(database, { store, table, key, file, options }));
      if (!batch) return;
      await run(database, batch, options);
      await closePastDays(database, config, trustedUntil);
      await report(database, batch, { table, isRepeated, options });
    });
}

async function readBatchFile(file: string): Promise<Uint8Array> {
  const { size } = await stat(file);
  if (size > batchFileBytesMax)
    throw new CommandError(`${file} has more than 4 MiB: divide it into several files`);
  return await readFile(file);
}

/** The text of a file. @throws CommandError if it is not a table. */
async function readTable(file: string, bytes: Uint8Array): Promise<string> {
  try {
    return (await readTableFile(bytes, { decimalSign: '.' })).text;
  } catch (error) {
    if (!(error instanceof MalformedTable)) throw error;
    const { line, message } = error;
    throw rejection(file, { errors: [{ line, field: null, message }], errorCount: 1 });
  }
}

type Import = {
  readonly store: Store;
  readonly table: string;
  readonly key: string;
  readonly file: string;
  readonly options: Options;
};

/** Checks a file and stores its batch; undefined after a dry run. @throws CommandError with all errors. */
async function create(
  { ctx, storage }: Database,
  { store, table, key, file, options }: Import,
): Promise<Batch | undefined> {
  const place = { store, now: ctx.clock.now(), canSend: await canSendEmails(storage, store.id) };
  const parsed = resultOf(parseBatchFile(table, place, fileAlone));
  if (!parsed.ok) throw rejection(file, parsed);
  assertExpected(parsed, { store, options });
  const taken = await checkBatch({ ctx, storage }, { store, cards: parsed.cards });
  if (taken.length > 0)
    throw rejection(file, { errors: errorsByLine(taken, parsed.lines), errorCount: taken.length });
  const { cards, total, lines } = parsed;
  for (const { index, first } of repeatedRecipients(cards).slice(0, batchErrorsMax))
    console.error(
      `  line ${lines[index] ?? 0}: the recipient of line ${lines[first] ?? 0} gets another gift card`,
    );
  if (options.dryRun) {
    const emailed = cards.filter(
      ({ emails, recipient, customer }) => emails && (recipient ?? customer),
    ).length;
    const summary = {
      count: cards.length,
      total: formatMoney(total),
      currency: store.currency.code,
      emailed,
    };
    if (options.json) printJson(summary);
    else
      print(
        `${file} has ${cards.length} gift cards of ${formatMoney(total)} ${store.currency.code} in total, of which ${emailed} would be emailed. Nothing was issued.`,
      );
    return undefined;
  }
  const name = parseLine(basename(file), batchNameLengthMax);
  return await storage.write(() =>
    startBatch(ctx, {
      store,
      name: name.ok ? name.value : null,
      actor: 'command_line',
      apiClientId: null,
      cards,
      total,
      fileLines: lines,
      key,
    }),
  );
}

function rejection(
  file: string,
  { errors, errorCount }: { readonly errors: readonly LineError[]; readonly errorCount: number },
): CommandError {
  const lines = errors.map(
    ({ line, field, message }) => `  line ${line}: ${field === null ? '' : `${field} `}${message}`,
  );
  const others = errorCount > errors.length ? [`  and ${errorCount - errors.length} more errors`] : [];
  return new CommandError([`${file} has errors, and nothing was issued:`, ...lines, ...others].join('\n'));
}

/** @throws CommandError if the file differs from its control figures. */
function assertExpected(
  parsed: Extract<BatchFile, { readonly ok: true }>,
  { store, options }: { readonly store: Store; readonly options: Options },
): void {
  const { expectCount = null, expectTotal } = options;
  const total =
    expectTotal === undefined
      ? null
      : parseWrittenAmount(expectTotal, { currency: store.currency, decimalSign: null, zeroAllowed: true });
  if (total && !total.ok) throw new CommandError(`--expect-total ${total.error}`);
  const errors = expectationErrors(parsed, {
    expectedCount: expectCount,
    expectedTotal: total?.ok === true ? total.value : null,
  });
  const names = { expected_count: '--expect-count', expected_total: '--expect-total' } as const;
  if (errors.length > 0)
    throw new CommandError(
      `${errors.map(([name, message]) => `${names[name]} ${message}`).join('; ')}: nothing was issued`,
    );
}

/** The longest wait while the running service issues the cards. */
const pollMs = 100;

/** Issues the cards of a batch, together with the service if it is running. */
async function run(database: Database, created: Batch, { json = false }: Options): Promise<void> {
  const { ctx, storage } = database;
  const key = batchKeyOf(created);
  const progress = showProgress(process.stderr, { isSilent: json });
  const reach = async (): Promise<Batch> => {
    const batch = await storage.read(() => showBatch(key));
    progress.reach(batch.issued + batch.failed);
    return batch;
  };
  if (created.state === 'complete') return;
  progress.begin('gift cards', { total: created.cards, done: created.issued + created.failed });
  for (;;) {
    await continueBatch({ ctx, storage }, key, { onProgress: () => void reach() });
    if ((await reach()).state === 'complete') break;
    await wait(pollMs);
  }
  progress.end();
}

async function report(
  { ctx, storage }: Database,
  { storeId, id }: Batch,
  {
    table,
    isRepeated,
    options,
  }: { readonly table: string; readonly isRepeated: boolean; readonly options: Options },
): Promise<void> {
  const key = { storeId, batchId: id };
  const batch = await storage.read(() => showBatch(key));
  const { output, json = false } = options;
  if (output !== undefined || !json) await writeText(codesOf({ ctx, storage }, key), output);
  const failures = await storage.read(() => listFailures(key));
  if (json) printJson(batchRecordOf(batch, ctx.clock.earliest()));
  else {
    const { issued, issuedTotal, codesUntil } = batch;
    const done = `${issued} gift cards of ${formatMoney(issuedTotal)} ${issuedTotal.currency.code} in total`;
    console.error(isRepeated ? `This file was imported before: ${done}.` : `Issued ${done}.`);
    if (codesUntil === null)
      console.error('No code is stored: the gift cards were emailed, or 24 hours have passed.');
  }
  if (batch.failed === 0) return;
  const lines = resultOf(linesOfCards(table));
  for (const { line, field, message } of errorsByLine(failures, lines))
    console.error(`  line ${line}: ${field === null ? '' : `${field} `}${message}`);
  throw new CommandError(`${batch.failed} gift cards could not be issued`);
}

const columns = [
  'id',
  'code',
  'initial_value',
  'currency',
  'expires_on',
  'recipient_email',
  'customer_email',
  'note',
];
const cardsInPart = 250;

async function* codesOf(
  { ctx, storage }: Pick<Database, 'ctx' | 'storage'>,
  key: ReturnType<typeof batchKeyOf>,
): AsyncGenerator<string> {
  yield csvOf(columns, []);
  for (let from: number | null = 0; from !== null;) {
    const page: BatchCardsPage = { from, limit: cardsInPart, withCodes: true };
    const { cards, next }: BatchCards = await storage.read(() => listCardsOfBatch(ctx, key, page));
    const records = cards.map((each) => batchCardRecordOf(ctx.keys.publicIds, each));
    if (records.length > 0) yield csvRowsOf(columns, records);
    from = next;
  }
}
