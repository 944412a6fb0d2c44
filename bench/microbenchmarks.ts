/**
 * `node bench/microbenchmarks.ts`: the processor time of the statements of each operation in SQLite, in µs: prepared, with
 * recorded values, 32 operations in a transaction; without HTTP, without scripts and without syncs.
 */

import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import type { Statement } from '../src/storage/sql.ts';
import { connect, sqliteDialect } from '../src/storage/sqlite/connection.ts';
import { createFile, prepare } from './fixture.ts';
import { readCommand } from './options.ts';
import { openStore, readScripts, writeScripts, type ScriptMaker } from './scripts.ts';
import { lowerQuartile } from './statistics.ts';
import { thisTree } from './tree.ts';
import { scriptsPerTransaction } from './writes.ts';

const rounds = 15;
const cards = 10_000;
const operationsPerRound = 2_048;

const folder = mkdtempSync(join(tmpdir(), 'largesse-microbenchmarks-'));
try {
  await using database = createFile(folder);
  const { plan } = readCommand([]);
  const { environment, population } = await prepare({ plan, folder }, { tree: thisTree, database, cards });
  const { ctx, store } = await openStore(environment);
  const anyCard = (): number => ctx.keys.publicIds.read(population.anyId()) ?? 0;
  const given = { store, anyCard, population };
  const file = fileURLToPath(database.url);
  for (const [what, script] of Object.entries({ ...readScripts(ctx, given), ...writeScripts(ctx, given) })) {
    const recorded = record(copyOf(file, `${what}, recorded`), script);
    const costs = replay(copyOf(file, `${what}, replayed`), recorded);
    console.log(`${what.padEnd(20)} ${lowerQuartile(costs).toFixed(2).padStart(7)} µs`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function copyOf(file: string, name: string): string {
  const copy = join(folder, `${name}.db`);
  copyFileSync(file, copy);
  return copy;
}

/** The statements of each run of a script. */
function record(file: string, script: ScriptMaker): readonly (readonly Statement[])[] {
  using database = connect(file, { readOnly: false }).database;
  const query = querying(database);
  database.exec('begin immediate');
  const recorded = Array.from({ length: operationsPerRound * rounds }, () => {
    const statements: Statement[] = [];
    const running = script();
    let step = running.next([]);
    while (!step.done) {
      statements.push(...step.value.statements);
      step = running.next(step.value.statements.map(query));
    }
    return statements;
  });
  database.exec('commit');
  return recorded;
}

/** Runs recorded statements on an equal database. Returns the processor time per operation, in rounds. */
function replay(file: string, recorded: readonly (readonly Statement[])[]): readonly number[] {
  using database = connect(file, { readOnly: false }).database;
  const query = querying(database);
  return Array.from({ length: rounds }, (_, round) => {
    const operations = recorded.slice(round * operationsPerRound, (round + 1) * operationsPerRound);
    return cpuPer(operations.length, () => {
      for (let start = 0; start < operations.length; start += scriptsPerTransaction) {
        database.exec('begin immediate');
        for (const statements of operations.slice(start, start + scriptsPerTransaction))
          statements.forEach(query);
        database.exec('commit');
      }
    });
  });
}

function querying(database: DatabaseSync): (statement: Statement) => readonly unknown[] {
  const prepared = new Map<readonly string[], StatementSync>();
  return (statement) => {
    const { strings, values } = statement;
    const known = prepared.get(strings) ?? database.prepare(statement.text(sqliteDialect));
    prepared.set(strings, known);
    return known.all(...values);
  };
}

/** Processor time of this process per repetition, in µs. */
function cpuPer(repetitions: number, work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / repetitions;
}
