/** The steps of `largesse copy`: copies the rows page by page, and then compares both databases. */

import type { Context } from '../../../core/storage/context.ts';
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
  sandboxIsNotCopied,
  takeInventory,
  takeTotals,
  takeWatermark,
  cancelCopy,
  verifyCopy,
  type Inventory,
} from '../service/copy.ts';
import { rebuildSums } from '../../books/service/rebuild.ts';
import { assertConvertible, convertedTables, convertRows, isCompared } from '../service/earlier-schema.ts';
import { sumRedemptions } from '../../../core/cards/storage/card.ts';
import { lastBeat } from '../../../database/heartbeat.ts';
import { listKeyChecks } from '../../proofs/storage/key-check.ts';
import { isBeforeRelease, loadMigrations } from '../../../database/schema/migrate.ts';
import type { Storage } from '../../../database/storage.ts';
import { listStoreIds, listStores } from '../../../core/stores/storage/store.ts';
import { countInversions } from '../../../core/stores/storage/table.ts';
import { listTables, readPage, type Table, type TableRow } from '../../../database/sql/table.ts';
import { atTarget, fromSource } from './copy-sides.ts';
import { copyEventsInOrder, copyPages } from './copy-pages.ts';
import type { Progress } from '../../../cli/progress.ts';

/** The two databases of a copy, and this run. */
type Copying = {
  readonly ctx: Context;
  readonly source: Storage;
  readonly target: Storage;
  readonly isTargetFile: boolean;
  readonly run: string;
  readonly progress: Progress;
};

/** The copied rows, and the result of the comparison of both databases. */
export type CopyOutcome<SourceInventory = Omit<Inventory, 'watermark'>> = {
  readonly resumed: boolean;
  /** Rows that this run copied, and how long that took. */
  readonly copied: { readonly rows: number; readonly seconds: number };
  readonly source: SourceInventory;
  readonly differences: readonly string[];
  /** Events that the target lists in another order, because a file lists them by their ids. */
  readonly reordered: number;
};

export type DatabaseOutcome = CopyOutcome & {
  /** Whether the source is from before the first release. */
  readonly isConverted: boolean;
};

/**
 * Copies the source into the target, or continues an interrupted copy, and compares the two.
 * @param sourceShown the location of the source, without a password.
 * @throws CopyError if the source cannot be copied into the target; CommandError if a database is temporarily
 * unavailable.
 */
export async function copyDatabase(copying: Copying, sourceShown: string): Promise<DatabaseOutcome> {
  const { ctx, source, target, run } = copying;
  if (ctx.testClock) throw new CopyError(sandboxIsNotCopied);
  const isConverted = isBeforeRelease(await source.applied());
  const tables = isConverted ? await listConverted(copying) : await listEqual(copying);
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
  const copied = await copyTables(copying, { tables, beat, isConverted });
  // Before the copy is complete, so that the command can be repeated if this fails.
  const reordered = await countReordered(copying);
  const compared = isConverted ? await compareConverted(copying, tables) : await compareInventories(copying);
  return { resumed, copied, reordered, isConverted, ...(await conclude(copying, { ...compared, beat })) };
}

/** The tables of two databases of this version. @throws CopyError if they differ. */
async function listEqual({ source, target }: Copying): Promise<readonly Table[]> {
  await assertSameSchema({ source, target });
  const tables = await fromSource(source, listTables);
  assertSameTables(tables, await atTarget(target.read(listTables)));
  return tables;
}

/** The tables of a source from before the first release. @throws CopyError if it cannot be converted. */
async function listConverted({ source, target }: Copying): Promise<readonly Table[]> {
  assertConvertible(await source.applied());
  return convertedTables(await fromSource(source, listTables), await atTarget(target.read(listTables)));
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
  {
    tables,
    beat,
    isConverted,
  }: { readonly tables: readonly Table[]; readonly beat: number; readonly isConverted: boolean },
): Promise<CopyOutcome['copied']> {
  const { source, target, progress } = copying;
  const startedAt = performance.now();
  const total = await fromSource(source, countAllRows);
  const done = await atTarget(target.read(countAllRows));
  progress.begin('copied', { total, done });
  let rows = 0;
  for (const table of tables) {
    for await (const added of copyTable(copying, table, isConverted)) {
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
  isConverted: boolean,
): AsyncGenerator<number> {
  const write = (rows: readonly TableRow[]): Promise<void> =>
    atTarget(
      target.write(() => addRows(run, { table, rows: isConverted ? convertRows(table, rows) : rows })),
    );
  if (table.name === 'events' && !isTargetFile) {
    for (const storeId of await fromSource(source, listStoreIds))
      yield* copyEventsInOrder({ source, target }, { events: table, storeId, write });
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
  for (const storeId of await fromSource(source, listStoreIds))
    count += await fromSource(source, () => countInversions(storeId));
  return count;
}

/** The rows that a comparison has read, and the differences. */
type Compared = {
  readonly source: Omit<Inventory, 'watermark'>;
  readonly watermark: Inventory['watermark'];
  readonly differences: readonly string[];
};

/** Compares two databases of this version, each in one transaction. */
async function compareInventories(copying: Copying): Promise<Compared> {
  const { source, target } = copying;
  const ofSource = await showing(copying, 'source', (reached) =>
    fromSource(source, () => takeInventory(reached)),
  );
  const ofTarget = await showing(copying, 'target', (reached) =>
    atTarget(target.read(() => takeInventory(reached))),
  );
  return { source: ofSource, watermark: ofSource.watermark, differences: differencesOf(ofSource, ofTarget) };
}

/**
 * Compares the rows of a converted source with those of the target, computes the sums of days again, and verifies the
 * target. The rows of the source are those of the target, so the source is not verified.
 */
async function compareConverted(copying: Copying, tables: readonly Table[]): Promise<Compared> {
  const { source, target } = copying;
  const compared = tables.filter(isCompared);
  const ofSource = await showing(copying, 'source', (reached) =>
    fromSource(source, function* () {
      const totals = yield* takeTotals(compared, reached, convertRows);
      return { tables: totals, watermark: yield* takeWatermark() };
    }),
  );
  const ofTarget = await showing(copying, 'target', (reached) =>
    atTarget(target.read(() => takeTotals(compared, reached))),
  );
  for (const { store } of await atTarget(target.read(listStores))) {
    await rebuildSums(target, store);
    await atTarget(target.write(() => sumRedemptions(store.id)));
  }
  const verification = await atTarget(target.read(verifyCopy));
  const { watermark } = ofSource;
  const differences = differencesOf(
    { tables: ofSource.tables, verification: { ...verification, mismatches: [] } },
    { tables: ofTarget, verification },
  );
  return { source: { tables: ofSource.tables, verification }, watermark, differences };
}

async function showing<T>(
  { source, progress }: Copying,
  side: 'source' | 'target',
  read: (reached: (rows: number) => void) => Promise<T>,
): Promise<T> {
  progress.begin(`${side} read`, { total: await fromSource(source, countAllRows), done: 0 });
  const result = await read((rows) => progress.reach(rows));
  progress.end();
  return result;
}

/** Checks that the source has not changed, and records whether the copy is complete. */
async function conclude(
  { ctx, source, target, run }: Copying,
  compared: Compared & { readonly beat: number },
): Promise<Pick<Compared, 'source' | 'differences'>> {
  await assertNotInUse(source, compared.beat);
  const later = await fromSource(source, takeWatermark);
  const { rows, versions } = compared.watermark;
  const hasMoved = later.rows !== rows || later.versions !== versions;
  const differences = [
    ...compared.differences,
    ...(hasMoved ? ['the source has changed since it was compared'] : []),
  ];
  const state = differences.length === 0 ? 'complete' : 'failed';
  await atTarget(target.write(() => concludeCopy(ctx, { run, state })));
  return { source: compared.source, differences };
}

/**
 * A new heartbeat shows that a service or a command uses the source: they write one when they start and when their
 * readiness is checked.
 */
async function assertNotInUse(source: Storage, beat: number): Promise<void> {
  if ((await fromSource(source, lastBeat)) !== beat)
    throw new CopyError('another process has opened the source: stop it, and run the same command again');
}
