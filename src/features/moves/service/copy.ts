/**
 * The scripts of `largesse copy`. The *source* is only read. The *target* has a mark until both databases were compared,
 * and no other command uses it until then. A *run* is one start of the command. It continues the copy of an earlier run,
 * whose further writes are rejected.
 */

import { createHash } from 'node:crypto';
import type { Context } from '../../../core/storage/context.ts';
import { sameBytes } from '../../../platform/keys.ts';
import {
  endCopy,
  findCopy,
  insertCopy,
  keepRun,
  readOrigin,
  removeCopy,
  replaceRun,
  type CopyState,
} from '../storage/copy.ts';
import { lastBeat } from '../../../database/heartbeat.ts';
import { findSandbox } from '../../sandbox/storage/sandbox.ts';
import { deleteKeyChecks, listKeyChecks, type KeyCheck } from '../../proofs/storage/key-check.ts';
import { listStoreIds } from '../../../core/stores/storage/store.ts';
import { insertWork } from '../../../core/stores/storage/work.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import {
  countRows,
  digestOf,
  insertRows,
  isEmpty,
  lastKey,
  readPage,
  sumVersions,
  listTables,
  schemaDifferences,
  type RowPage,
  type TableRow,
  type Table,
} from '../../../database/sql/table.ts';
import { verify, type Verification } from '../../proofs/service/verify.ts';

/** The databases cannot be copied. The message says why, and what to do. */
export class CopyError extends Error {
  override readonly name = 'CopyError';
}

export const sandboxIsNotCopied =
  'the source is a sandbox, and its gift cards have no value: a sandbox is never copied';

export const nothingIntoSandbox =
  'the target is a sandbox, which never becomes live: copy into a new database';

/** The unique identifier of this database, hex. */
export function* identify(): Script<string> {
  return createHash('sha256')
    .update(yield* readOrigin())
    .digest('hex');
}

/** @throws CopyError if the database is the target of an incomplete copy, which must not be used. */
export function* assertNotHalfCopied(): Script<void> {
  const copy = yield* findCopy();
  if (!copy || copy.state === 'complete') return;
  throw new CopyError(
    copy.state === 'copying'
      ? `this database is an incomplete copy of ${copy.sourceShown}: to finish it, run the same "largesse copy" again`
      : `this database is a failed copy of ${copy.sourceShown}: empty it, and copy again`,
  );
}

export type CopyCommand = {
  /** The identifier of the source, from `identify`. */
  readonly source: string;
  /** The location of the source, without a password. */
  readonly sourceShown: string;
  /** The identifier of this run. */
  readonly run: string;
  /** The key checks of the source. */
  readonly keyChecks: readonly KeyCheck[];
};

/**
 * Marks an empty database as the target, or continues a copy of the same source.
 * @returns whether it continues one.
 * @throws CopyError if the target contains anything else.
 */
export function* beginCopy(ctx: Context, command: CopyCommand): Script<boolean> {
  const { source, sourceShown, run } = command;
  if (yield* findSandbox()) throw new CopyError(nothingIntoSandbox);
  const copy = yield* findCopy();
  if (copy && copy.state === 'copying' && copy.source === source) {
    yield* replaceRun(run);
    return true;
  }
  if (copy) {
    throw new CopyError(
      `the target contains ${describe[copy.state]} of ${copy.sourceShown}, begun ${new Date(copy.startedAt).toISOString()}: the target must be empty`,
    );
  }
  const filled = yield* filledTables();
  if (filled.length > 0) throw new CopyError(`the target is not empty (${filled.join(', ')})`);
  yield* replaceKeyChecks(command.keyChecks);
  yield* insertCopy({ source, sourceShown, run, state: 'copying', startedAt: ctx.clock.now() });
  return false;
}

const describe: Readonly<Record<CopyState, string>> = {
  copying: 'an incomplete copy of another database,',
  complete: 'a complete copy',
  failed: 'a failed copy',
};

/** The names of the tables that contain rows, except `key_checks`, which every new database fills. */
function* filledTables(): Script<readonly string[]> {
  const others = (yield* listTables()).filter(({ name }) => name !== 'key_checks');
  const emptiness = yield* parallel(...others.map(isEmpty));
  return others.filter((_, place) => !emptiness[place]).map(({ name }) => name);
}

/** Deletes the target's key checks, which the copy replaces. @throws CopyError if they differ from the source's. */
function* replaceKeyChecks(ofSource: readonly KeyCheck[]): Script<void> {
  for (const { keyId, digest } of yield* listKeyChecks()) {
    const same = ofSource.find((check) => check.keyId === keyId);
    if (!same || !sameBytes(same.digest, digest))
      throw new CopyError(
        `the target was created with the key "${keyId}", which the source does not have: the target must be empty`,
      );
  }
  yield* deleteKeyChecks();
}

/** Removes the mark, before anything was copied. */
export function* cancelCopy(run: string): Script<void> {
  yield* removeCopy(run);
}

/** Whether this database has the mark of this run. */
export function* hasMark(run: string): Script<boolean> {
  return (yield* findCopy())?.run === run;
}

/** The highest key of a table in the target, after which its copy continues; undefined: at the first row. */
export function* findProgress(table: Table): Script<readonly TableRow[string][] | undefined> {
  const key = yield* lastKey(table);
  return key && [...key];
}

/** The number of rows in all tables. */
export function* countAllRows(): Script<number> {
  const counts = yield* parallel(...(yield* listTables()).map(countRows));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** @throws CopyError if the databases do not have the same tables with the same columns. */
export function assertSameTables(source: readonly Table[], target: readonly Table[]): void {
  const differences = schemaDifferences(source, target);
  if (differences.length > 0)
    throw new CopyError(`the source and the target have different tables: ${differences.join('; ')}`);
}

/** Inserts a page of rows, in the transaction that checks the run. @throws CopyError if another run has taken over. */
export function* addRows(
  run: string,
  { table, rows }: { readonly table: Table; readonly rows: readonly TableRow[] },
): Script<void> {
  if (!(yield* keepRun(run))) throw new CopyError('another "largesse copy" has taken over this target');
  yield* insertRows(table, rows);
}

/** @throws CopyError if another run has taken over. */
export function* concludeCopy(
  ctx: Context,
  { run, state }: { readonly run: string; readonly state: 'complete' | 'failed' },
): Script<void> {
  if (!(yield* endCopy(run, { state, at: ctx.clock.now() })))
    throw new CopyError('another "largesse copy" has taken over this target');
  if (state === 'complete') for (const storeId of yield* listStoreIds()) yield* insertWork(storeId);
}

/** Values that change with most writes. Comparing them is cheaper than comparing all rows, but less reliable. */
export type Watermark = { readonly rows: number; readonly versions: string; readonly beat: number };

export function* takeWatermark(): Script<Watermark> {
  const [rows, versions, beat] = yield* parallel(countAllRows(), sumVersions(), lastBeat());
  return { rows, versions, beat };
}

export type TableTotals = { readonly table: string; readonly rows: number; readonly digest: string };

/** The values that are equal for two identical databases. */
export type Inventory = {
  readonly tables: readonly TableTotals[];
  readonly verification: Verification;
  readonly watermark: Watermark;
};

const mismatchesMax = 100;

/**
 * Reads all rows in one transaction, and verifies the ledger.
 * @param onRows called with the number of rows that were read so far, to show the progress.
 */
export function* takeInventory(onRows: (rows: number) => void): Script<Inventory> {
  const tables = yield* takeTotals(yield* listTables(), onRows);
  const verification = yield* verify(mismatchesMax);
  return { tables, verification, watermark: yield* takeWatermark() };
}

/** Verifies the ledger. */
export function* verifyCopy(): Script<Verification> {
  return yield* verify(mismatchesMax);
}

/**
 * Reads all rows of tables.
 * @param onRows called with the number of rows that were read so far, to show the progress.
 * @param convert changes the rows before they are counted in.
 */
export function* takeTotals(
  tables: readonly Table[],
  onRows: (rows: number) => void,
  convert: (table: Table, rows: readonly TableRow[]) => readonly TableRow[] = (_, rows) => rows,
): Script<readonly TableTotals[]> {
  const totals: TableTotals[] = [];
  let readRows = 0;
  for (const table of tables) {
    const digest = digestOf(table);
    let rows = 0;
    let page: RowPage = yield* readPage(table, undefined);
    for (;;) {
      digest.add(convert(table, page.rows));
      rows += page.rows.length;
      readRows += page.rows.length;
      onRows(readRows);
      if (!page.next) break;
      page = yield* readPage(table, page.next);
    }
    totals.push({ table: table.name, rows, digest: digest.hex() });
  }
  return totals;
}

/** Returns one line per difference, and per problem of either database; none if the copy is correct. */
export function differencesOf(
  source: Omit<Inventory, 'watermark'>,
  target: Omit<Inventory, 'watermark'>,
): readonly string[] {
  const ofTarget = new Map(target.tables.map((totals) => [totals.table, totals]));
  const differing = source.tables.flatMap(({ table, rows, digest }) => {
    const other = ofTarget.get(table);
    if (other?.rows !== rows)
      return [`${table} has ${rows} rows in the source, ${other?.rows ?? 0} in the target`];
    return other.digest === digest ? [] : [`${table} has different content in the source and in the target`];
  });
  const totals = isSame(source.verification.stores, target.verification.stores)
    ? []
    : ['the totals of the stores differ'];
  const unsound = [
    ['source', source],
    ['target', target],
  ] as const;
  const problems = unsound.flatMap(([side, { verification }]) =>
    verification.mismatches.map(
      ({ store, cardId, problem }) =>
        `${side}: ${store ?? 'database'}${cardId === null ? '' : `, gift card ${cardId}`}: ${problem}`,
    ),
  );
  return [...differing, ...totals, ...problems];
}

function isSame(one: unknown, other: unknown): boolean {
  return textOf(one) === textOf(other);
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_, field: unknown) => (typeof field === 'bigint' ? `${field}` : field));
}
