/** The steps of `largesse copy`: copies the rows page by page, and then compares both databases. */

import type { Context } from '../storage/context.ts';
import {
  addRows,
  assertSameTables,
  beginCopy,
  hasMark,
  concludeCopy,
  CopyError,
  countAllRows,
  differencesOf,
  findProgress,
  identify,
  takeInventory,
  takeWatermark,
  cancelCopy,
  type Inventory,
} from '../service/moves/copy.ts';
import { lastBeat } from '../storage/heartbeat.ts';
import { listKeyChecks } from '../storage/proofs/key-check.ts';
import { loadMigrations } from '../storage/schema/migrate.ts';
import type { Script } from '../storage/sql/sql.ts';
import type { Storage } from '../storage/storage.ts';
import { listStores } from '../storage/stores/store.ts';
import { countInversions } from '../storage/stores/table.ts';
import { listTables, readPage, type Table, type TableRow } from '../storage/sql/table.ts';
import { atTarget, fromSource } from './copy-sides.ts';
import { copyEventsInOrder, copyPages } from './copy-pages.ts';
import type { Progress } from './progress.ts';

/** The two databases of a copy, and this run. */
type Copying = {
  readonly ctx: Context;
  readonly source: Storage;
  readonly target: Storage;
  readonly isTargetFile: boolean;
  readonly run: string;
  readonly progress: Progress;
};

/** What a command copied, and what it found when it compared both databases. */
export type CopyOutcome<SourceInventory = Inventory> = {
  readonly resumed: boolean;
  /** Rows that this run copied, and how long that took. */
  readonly copied: { readonly rows: number; readonly seconds: number };
  readonly source: SourceInventory;
  readonly differences: readonly string[];
  /** Events that the target lists in another order, because a file lists them by their ids. */
  readonly reordered: number;
};

/**
 * Copies the source into the target, or continues an interrupted copy, and compares the two.
 * @param sourceShown the location of the source, without a password.
 * @throws CopyError if the source cannot be copied into the target; CommandError if a database is temporarily
 * unavailable.
 */
export async function copyDatabase(copying: Copying, sourceShown: string): Promise<CopyOutcome> {
  const { ctx, source, target, run } = copying;
  await assertSameSchema(copying);
  const tables = await fromSource(source, listTables);
  assertSameTables(tables, await atTarget(target.read(listTables)));
  const command = {
    source: await fromSource(source, identify),
    sourceShown,
    run,
    keyChecks: await fromSource(source, listKeyChecks),
  };
  const resumed = await atTarget(target.write(() => beginCopy(ctx, command)));
  if (await fromSource(source, () => hasMark(run))) {
    await target.write(() => cancelCopy(run));
    throw new CopyError('the source and the target are the same database');
  }
  const beat = await fromSource(source, lastBeat);
  const copied = await copyTables(copying, { tables, beat });
  // Before the copy is complete, so that the command can be repeated if this fails.
  const reordered = await countReordered(copying);
  return { resumed, copied, reordered, ...(await compare(copying, beat)) };
}

/** Both databases must have the same tables. Migrations of only one engine are ignored, because they create none. */
export async function assertSameSchema({
  source,
  target,
}: Pick<Copying, 'source' | 'target'>): Promise<void> {
  const [ofSource, ofTarget] = await Promise.all([source.applied(), target.applied()]);
  const ofPostgres = new Set(loadMigrations('postgres').map(({ version }) => version));
  const ofBoth = new Set(
    loadMigrations('sqlite')
      .map(({ version }) => version)
      .filter((version) => ofPostgres.has(version)),
  );
  const list = (applied: typeof ofSource): string =>
    applied
      .filter(({ version }) => ofBoth.has(version))
      .map(({ version, name }) => `${version} ${name}`)
      .join(', ');
  if (list(ofSource) !== list(ofTarget))
    throw new CopyError(`the source has the migrations ${list(ofSource)}; the target has ${list(ofTarget)}`);
}

async function copyTables(
  copying: Copying,
  { tables, beat }: { readonly tables: readonly Table[]; readonly beat: number },
): Promise<CopyOutcome['copied']> {
  const { source, target, progress } = copying;
  const startedAt = performance.now();
  const total = await fromSource(source, countAllRows);
  const done = await atTarget(target.read(countAllRows));
  progress.begin('copied', { total, done });
  let rows = 0;
  for (const table of tables) {
    for await (const added of copyTable(copying, table)) {
      rows += added;
      progress.reach(done + rows);
    }
    await assertNotInUse(source, beat);
  }
  progress.end();
  return { rows, seconds: (performance.now() - startedAt) / 1_000 };
}

/** Copies the missing rows of a table, and yields the number of rows of each page. */
async function* copyTable(
  { source, target, isTargetFile, run }: Copying,
  table: Table,
): AsyncGenerator<number> {
  const write = (rows: readonly TableRow[]): Promise<void> =>
    atTarget(target.write(() => addRows(run, { table, rows })));
  if (table.name === 'events' && !isTargetFile) {
    for (const { store } of await fromSource(source, listStores))
      yield* copyEventsInOrder({ source, target }, { events: table, storeId: store.id, write });
    return;
  }
  yield* copyPages({
    read: (after) => fromSource(source, () => readPage(table, after)),
    write,
    after: await atTarget(target.read(() => findProgress(table))),
  });
}

async function countReordered({ source, isTargetFile }: Copying): Promise<number> {
  if (!isTargetFile) return 0;
  let count = 0;
  for (const { store } of await fromSource(source, listStores))
    count += await fromSource(source, () => countInversions(store.id));
  return count;
}

/** Compares both databases, each in one transaction, and records whether the copy is complete. */
async function compare(
  { ctx, source, target, run, progress }: Copying,
  beat: number,
): Promise<Pick<CopyOutcome, 'source' | 'differences'>> {
  const inventoryOf = async (what: string, read: (script: () => Script<Inventory>) => Promise<Inventory>) => {
    const total = await fromSource(source, countAllRows);
    progress.begin(`${what} read`, { total, done: 0 });
    const inventory = await read(() => takeInventory((rows) => progress.reach(rows)));
    progress.end();
    return inventory;
  };
  const ofSource = await inventoryOf('source', (script) => fromSource(source, script));
  const ofTarget = await inventoryOf('target', (script) => atTarget(target.read(script)));
  await assertNotInUse(source, beat);
  const later = await fromSource(source, takeWatermark);
  const { rows, versions } = ofSource.watermark;
  const hasMoved = later.rows !== rows || later.versions !== versions;
  const differences = [
    ...differencesOf(ofSource, ofTarget),
    ...(hasMoved ? ['the source has changed since it was compared'] : []),
  ];
  const state = differences.length === 0 ? 'complete' : 'failed';
  await atTarget(target.write(() => concludeCopy(ctx, { run, state })));
  return { source: ofSource, differences };
}

/**
 * A new heartbeat shows that a service or a command uses the source: they write one when they start and when their
 * readiness is checked.
 */
async function assertNotInUse(source: Storage, beat: number): Promise<void> {
  if ((await fromSource(source, lastBeat)) !== beat)
    throw new CopyError('another process has opened the source: stop it, and run the same command again');
}
