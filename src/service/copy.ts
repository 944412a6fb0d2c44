/**
 * Moving house: the scripts by which one database becomes the copy of another one.
 *
 * Terms: the *source* is only read. The *target* bears a mark from before its first row until both have been
 * compared; nothing else opens it meanwhile. A *run* is one start of the command: a later one goes on where the
 * earlier one ended, however it ended, and whatever the earlier one still tries is refused.
 *
 * A page of rows and the proof that the copy is still this run's are one transaction. So the highest key of each
 * table of the target tells how far the copy has come.
 */

import { createHash } from 'node:crypto';
import type { Context } from '../context.ts';
import { sameBytes } from '../keys.ts';
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
import { lastBeat } from '../storage/heartbeat.ts';
import { deleteKeyChecks, listKeyChecks, type KeyCheck } from '../storage/key-check.ts';
import { together, type Script } from '../storage/sql.ts';
import {
  countRows,
  digestOf,
  insertRows,
  isEmpty,
  lastKey,
  readPage,
  sumVersions,
  tables,
  type Page,
  type Row,
  type Table,
} from '../storage/table.ts';
import { verify, type Verification } from './verify.ts';

/** These two databases cannot be copied so: the message says why, and what to do. */
export class CopyError extends Error {
  override readonly name = 'CopyError';
}

/** A name for this database that no other one has, hex. */
export function* identify(): Script<string> {
  return createHash('sha256')
    .update(yield* readOrigin())
    .digest('hex');
}

/** @throws CopyError if the database is the target of a copy that is not complete: nothing may use it. */
export function* refuseHalfCopied(): Script<void> {
  const copy = yield* findCopy();
  if (!copy || copy.state === 'complete') return;
  throw new CopyError(
    copy.state === 'copying'
      ? `this database is a half-made copy of ${copy.sourceShown}: finish it with the same "largesse copy"`
      : `this database is a copy of ${copy.sourceShown} that is not the same: empty it, and copy again`,
  );
}

export type CopyCommand = {
  /** What `identify` answers of the source. */
  readonly source: string;
  /** Where the source is, without a password. */
  readonly sourceShown: string;
  /** Names this run. */
  readonly run: string;
  /** The keys that the source was written with. */
  readonly keyChecks: readonly KeyCheck[];
};

/**
 * Marks an empty database as the target, or goes on with a copy of the same source.
 * @returns whether it goes on with one.
 * @throws CopyError if there is anything else in it.
 */
export function* beginCopy(ctx: Context, command: CopyCommand): Script<boolean> {
  const { source, sourceShown, run } = command;
  const copy = yield* findCopy();
  if (copy && copy.state === 'copying' && copy.source === source) {
    yield* replaceRun(run);
    return true;
  }
  if (copy) {
    throw new CopyError(
      `the target holds ${describe[copy.state]} of ${copy.sourceShown}, begun ${new Date(copy.startedAt).toISOString()}: a copy needs an empty target`,
    );
  }
  const filled = yield* filledTables();
  if (filled.length > 0)
    throw new CopyError(`the target is not empty (${filled.join(', ')}): a copy needs an empty target`);
  yield* replaceKeyChecks(command.keyChecks);
  yield* insertCopy({ source, sourceShown, run, state: 'copying', startedAt: ctx.clock.now() });
  return false;
}

const describe: Readonly<Record<CopyState, string>> = {
  copying: 'a half-made copy of another database,',
  complete: 'a complete copy',
  failed: 'a copy that is not the same',
};

/** The names of the tables that hold anything but what every new database holds. */
function* filledTables(): Script<readonly string[]> {
  const others = tables.filter(({ name }) => name !== 'key_checks');
  const emptiness = yield* together(...others.map(isEmpty));
  return others.filter((_, place) => !emptiness[place]).map(({ name }) => name);
}

/** The target may have been made with the same keys before: the notes of the source take the place of its own. */
function* replaceKeyChecks(ofSource: readonly KeyCheck[]): Script<void> {
  for (const { keyId, digest } of yield* listKeyChecks()) {
    const same = ofSource.find((check) => check.keyId === keyId);
    if (!same || !sameBytes(same.digest, digest))
      throw new CopyError(
        `the target was made with the key "${keyId}", which the source does not know: a copy needs an empty target`,
      );
  }
  yield* deleteKeyChecks();
}

/** Gives the mark back, before anything was copied. */
export function* withdrawCopy(run: string): Script<void> {
  yield* removeCopy(run);
}

/** Whether this database bears the mark of this run. */
export function* bearsMark(run: string): Script<boolean> {
  return (yield* findCopy())?.run === run;
}

/** Where a table's copy goes on; undefined: at its first row. */
export function* findProgress(table: Table): Script<readonly Row[string][] | undefined> {
  const key = yield* lastKey(table);
  return key && [...key];
}

/** How many rows there are in all. */
export function* countAllRows(): Script<number> {
  const counts = yield* together(...tables.map(countRows));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Adds a page of rows. @throws CopyError if another run has taken over. */
export function* addRows(
  run: string,
  { table, rows }: { readonly table: Table; readonly rows: readonly Row[] },
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
}

/** What changes with whatever is written: cheaper than reading everything, and less sure. */
export type Watermark = { readonly rows: number; readonly versions: string; readonly beat: number };

export function* takeWatermark(): Script<Watermark> {
  const [rows, versions, beat] = yield* together(countAllRows(), sumVersions(), lastBeat());
  return { rows, versions, beat };
}

type TableTotals = { readonly table: string; readonly rows: number; readonly digest: string };

/** All that two databases must have in common to be the same. */
export type Inventory = {
  readonly tables: readonly TableTotals[];
  readonly verification: Verification;
  readonly watermark: Watermark;
};

const mismatchesMax = 100;

/**
 * Reads everything, in one transaction, and verifies the ledger.
 * @param onRows is told how many rows have been read so far. It only shows that to somebody.
 */
export function* takeInventory(onRows: (rows: number) => void): Script<Inventory> {
  const totals: TableTotals[] = [];
  let readRows = 0;
  for (const table of tables) {
    const digest = digestOf(table);
    let rows = 0;
    let page: Page = yield* readPage(table, undefined);
    for (;;) {
      digest.add(page.rows);
      rows += page.rows.length;
      readRows += page.rows.length;
      onRows(readRows);
      if (!page.next) break;
      page = yield* readPage(table, page.next);
    }
    totals.push({ table: table.name, rows, digest: digest.hex() });
  }
  const verification = yield* verify(mismatchesMax);
  return { tables: totals, verification, watermark: yield* takeWatermark() };
}

/** What is not the same on both sides, or not sound on one, a line each; nothing if the copy is good. */
export function differencesOf(source: Inventory, target: Inventory): readonly string[] {
  const differing = source.tables.flatMap(({ table, rows, digest }, place) => {
    const other = target.tables[place];
    if (other?.rows !== rows)
      return [`${table} has ${rows} rows in the source, ${other?.rows ?? 0} in the target`];
    return other.digest === digest ? [] : [`${table} has other content in the target than in the source`];
  });
  const totals = isSame(source.verification.stores, target.verification.stores)
    ? []
    : ['the totals of the stores are not the same'];
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
