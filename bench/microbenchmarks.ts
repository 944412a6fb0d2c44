/**
 * `node bench/microbenchmarks.ts`: the processor time of the parts of a request, in µs.
 *
 *   - HTTP: `node:http` alone, Fastify with one route, the service's `/healthz` (what every request costs).
 *   - SQLite: the statements of an operation, prepared, with recorded values, 32 operations in a transaction; without
 *     scripts and without syncs.
 *   - A public id.
 */

import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { publicIdsOf } from '../src/domain/public-id.ts';
import type { Statement } from '../src/storage/sql.ts';
import { connect, sqliteDialect } from '../src/storage/sqlite/connection.ts';
import { embeddedAt, makeTemplate, openStore, type Template } from './fixture.ts';
import { LoadClient } from './load.ts';
import { cpuMicros, otherCore, pinTo, startServer, startService, type Server } from './processes.ts';
import { setResponseLengths } from './rounds.ts';
import { readScripts, writeScripts, type ScriptMaker } from './scripts.ts';
import { lowerQuartile } from './statistics.ts';
import { scriptsPerTransaction } from './writes.ts';

const rounds = 15;
const seconds = 0.4;
const warmUpRequests = 50_000;
const connections = 64;
const cards = 10_000;
const responseBytes = 450;
const operationsPerRound = 2_048;
const idsPerRound = 1_000_000;

const folder = mkdtempSync(join(tmpdir(), 'largesse-microbenchmarks-'));
const log = join(folder, 'server.log');
try {
  pinTo(otherCore);
  const template = await makeTemplate({ folder }, cards);
  for (const variant of ['bare', 'fastify']) {
    const script = { script: 'bench/baseline.ts', arguments: [variant], readiness: '/', log };
    await using server = await startServer(script);
    await setResponseLengths(server, { GET: responseBytes });
    print(`GET, ${variant}`, await costsOf(server, '/gift_card/1'));
  }
  const file = copyOf(template, 'service');
  await using service = await startService(embeddedAt({ ...template, file }), log);
  print('GET /healthz', await costsOf(service, '/healthz'));
  await measureStatements(template);
  measurePublicIds();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function print(what: string, costs: readonly number[]): void {
  console.log(`${what.padEnd(40)} ${lowerQuartile(costs).toFixed(2).padStart(7)} µs`);
}

function copyOf({ file }: Template, name: string): string {
  const copy = join(folder, `${name}.db`);
  copyFileSync(file, copy);
  return copy;
}

/** Processor time of a server per request, in rounds. */
async function costsOf({ port, pid }: Server, path: string): Promise<readonly number[]> {
  const text = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
  const next = () => ({ method: 'GET', text, status: 200, check: null }) as const;
  using client = await LoadClient.connect([port], connections);
  await client.run({ next, requests: warmUpRequests });
  const costs: number[] = [];
  for (let count = 0; count < rounds; count += 1) {
    const before = cpuMicros([pid]);
    const { latenciesMs } = await client.run({ next, seconds });
    costs.push((cpuMicros([pid]) - before) / latenciesMs.length);
  }
  return costs;
}

async function measureStatements(template: Template): Promise<void> {
  const { ctx, store } = await openStore(template);
  const { population } = template;
  const anyCard = (): number => ctx.keys.publicIds.read(population.anyId()) ?? 0;
  const given = { store, anyCard, population };
  for (const [what, script] of Object.entries({ ...readScripts(ctx, given), ...writeScripts(ctx, given) })) {
    const recorded = record(copyOf(template, `${what}, recorded`), script);
    print(`statements of ${what}`, replay(copyOf(template, `${what}, replayed`), recorded));
  }
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

function measurePublicIds(): void {
  const ids = publicIdsOf([1, 2, 3, 4]);
  const round = (): number =>
    cpuPer(idsPerRound, () => {
      for (let id = 0; id < idsPerRound; id += 1) ids.of(id);
    });
  print('a public id', Array.from({ length: rounds }, round)); // prettier-ignore
}

/** Processor time of this process per repetition, in µs. */
function cpuPer(repetitions: number, work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / repetitions;
}
