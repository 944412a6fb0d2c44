/** A run: a database for each tree, engine and number of cards, and everything that is measured with it. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFile, prepare, type Database, type Fixture } from './fixture.ts';
import { measureUnusedFeatures } from './features.ts';
import { measureImport } from './import.ts';
import { inspectMachine } from './machine.ts';
import { measureFixture, measureFixtures } from './measure.ts';
import type { Plan } from './options.ts';
import { createDatabase, startDatabase } from './postgres.ts';
import { canMeasureCpu, canPin, killServers } from './processes.ts';
import type { Comparison, EngineName, Import, Results, Run, UnusedFeatures } from './results.ts';
import type { Bench } from './rounds.ts';
import { openTree, thisTree, type Tree } from './tree.ts';

/** PostgreSQL needs an hour for more cards, so it is measured with more only if it is the only engine. */
const postgresCardsMax = 1_000_000;

/** The service of this tree, in turn with the baseline. */
export async function measure(plan: Plan): Promise<Results> {
  const bench = { plan, folder: makeFolder() };
  return await run(bench, [thisTree], ([fixture]) => {
    assert(fixture);
    return measureFixture(bench, fixture);
  });
}

/** The service of this tree, in turn with that of another folder or commit. */
export async function measureAgainst(plan: Plan, name: string): Promise<Comparison> {
  const bench = { plan, folder: makeFolder() };
  const other = openTree(name, bench);
  const results = await run(bench, [other, thisTree], ([before, after]) => {
    assert(before && after);
    return measureFixtures(plan, { before, after });
  });
  return { ...results, against: other.revision };
}

async function run<T>(
  bench: Bench,
  trees: readonly Tree[],
  measureThem: (fixtures: readonly Fixture[]) => Promise<T>,
): Promise<Run & Omit<Required<Results>, 'fixtures'> & { readonly fixtures: readonly T[] }> {
  if (!canMeasureCpu) throw new Error('the benchmark needs Linux with /proc/<pid>/task/<tid>/schedstat');
  const { folder, plan } = bench;
  const startedAt = performance.now();
  // Before the disk is busy.
  const machine = inspectMachine(folder);
  await using postgres = plan.engines.includes('postgres') ? await startDatabase() : null;
  const open = (engine: EngineName, name: string): Database | Promise<Database> =>
    postgres && engine === 'postgres' ? createDatabase(postgres, name) : createFile(folder);
  const fixtures: T[] = [];
  for (const cards of plan.cards)
    for (const engine of plan.engines) {
      if (engine === 'postgres' && cards > postgresCardsMax && plan.engines.length > 1) continue;
      await using databases = new AsyncDisposableStack();
      const filled: Fixture[] = [];
      for (const [place, tree] of trees.entries()) {
        const database = await open(engine, `cards_${cards}_${place}`);
        filled.push(await prepare(bench, { tree, database: databases.use(database), cards }));
      }
      fixtures.push(await measureThem(filled));
    }
  const imports: Import[] = [];
  for (const engine of plan.importCards > 0 ? plan.engines : []) {
    await using database = await open(engine, 'import');
    imports.push(await measureImport(bench, database));
  }
  const unusedFeatures: UnusedFeatures[] = [];
  for (const engine of plan.featureRounds > 0 ? plan.engines : []) {
    await using without = await open(engine, 'features_without');
    await using within = await open(engine, 'features');
    unusedFeatures.push(...(await measureUnusedFeatures(bench, { without, within })));
  }
  const { connections, rounds, secondsPerRound, warmUpRequests } = plan;
  return {
    revision: thisTree.revision,
    measuredOn: new Date().toISOString().slice(0, 10),
    minutes: (performance.now() - startedAt) / 60_000,
    machine,
    isPinned: canPin,
    connections,
    rounds,
    secondsPerRound,
    warmUpRequests,
    fixtures,
    imports,
    unusedFeatures,
  };
}

/** A folder that is removed when this process ends, after its servers were killed. */
function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'largesse-bench-'));
  process.once('exit', () => {
    killServers();
    rmSync(folder, { recursive: true, force: true });
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => process.exit(128 + constants.signals[signal]));
  return folder;
}
