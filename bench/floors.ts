/**
 * `node bench/floors.ts`: what single parts of a request cost by themselves, in µs of processor time. No request costs
 * less than the sum of the parts that it needs, whatever the rest of the service does:
 *
 *   - a GET through `node:http` alone, and through Fastify with one route;
 *   - the statements of a creation and of a retrieval in SQLite, prepared, with their values at hand: 32 creations in
 *     a transaction, 32 retrievals in another; without scripts, and without waiting for the disk.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { readDatabaseConfig } from '../src/config.ts';
import { openDatabase } from '../src/database.ts';
import { issue, retrieve } from '../src/service/card.ts';
import { requireStore } from '../src/service/store.ts';
import type { Script, Statement } from '../src/storage/sql.ts';
import { sqliteDialect } from '../src/storage/sqlite-connection.ts';
import { load } from './load.ts';
import { canPin, largesse, pinTo, startServer } from './processes.ts';
import { answerLike } from './rounds.ts';
import { spreadOf } from './statistics.ts';

const rounds = 5;
const seconds = 2;
const connections = 64;
const answerBytes = 450;
const scriptsPerRound = 16_000;
const groupSize = 32;
const domain = 'bench.example';

const folder = mkdtempSync(join(tmpdir(), 'largesse-floors-'));
try {
  if (canPin()) pinTo(1);
  for (const script of ['bench/ceiling.ts', 'bench/fastify.ts'])
    tell(`GET, ${script}`, await costsOfServer(script));
  const { creation, retrieval } = await costsInSqlite();
  tell('creation, statements in SQLite', creation);
  tell('retrieval, statements in SQLite', retrieval);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function tell(what: string, costs: readonly number[]): void {
  const { low, median, high } = spreadOf(costs);
  console.log(
    `${what.padEnd(34)} ${median.toFixed(1).padStart(6)} µs (${low.toFixed(1)}–${high.toFixed(1)})`,
  );
}

async function costsOfServer(script: string): Promise<readonly number[]> {
  await using server = await startServer({
    script,
    readiness: '/',
    core: canPin() ? 0 : null,
    log: join(folder, 'server.log'),
  });
  await answerLike(server, { GET: answerBytes });
  const call = {
    method: 'GET',
    request: 'GET /gift_card/1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
    status: 200,
    check: null,
  } as const;
  const round = async (): Promise<number> => {
    const before = server.cpuSeconds();
    const { latenciesMs } = await load({ ports: [server.port], connections, seconds, next: () => call });
    return ((server.cpuSeconds() - before) * 1e6) / latenciesMs.length;
  };
  await round();
  return await inTurn(round);
}

async function inTurn(round: () => Promise<number> | number): Promise<readonly number[]> {
  const costs: number[] = [];
  for (let count = 0; count < rounds; count += 1) costs.push(await round());
  return costs;
}

async function costsInSqlite() {
  const file = join(folder, 'largesse.db');
  const environment = { DATABASE_URL: `file:${file}`, KEYS_FILE: join(folder, 'keys.json') };
  largesse(environment, 'store', 'create', domain, '--currency', 'USD');
  await using opened = await openDatabase(readDatabaseConfig(environment), { prepare: false });
  const { ctx, storage } = opened;
  const { store } = await storage.read(() => requireStore(domain));
  const command = {
    store, value: { minor: 2_500n, currency: store.currency }, apiClientId: 1, actor: 'api_client:1', expiresOn: null,
    customer: null, recipient: null, note: null, message: null, code: null,
  }; // prettier-ignore
  using database = new DatabaseSync(file, { readBigInts: true });
  database.exec('pragma synchronous = normal');
  const ids: number[] = [];
  const creations = (): readonly Statement[][] =>
    Array.from({ length: scriptsPerRound }, () => {
      const { statements, result } = driven(issue(ctx, command));
      ids.push(result.card.id);
      return statements;
    });
  const retrievals = (): readonly Statement[][] =>
    Array.from({ length: scriptsPerRound }, () => {
      const script = retrieve(store.id, ids[Math.floor(Math.random() * ids.length)] ?? 0);
      return [...(script.next([]).value as { readonly statements: readonly Statement[] }).statements];
    });
  return {
    creation: await inTurn(() => costOf(database, creations())),
    retrieval: await inTurn(() => costOf(database, retrievals())),
  };
}

/** Drives a script that looks at no rows. */
function driven<T>(script: Script<T>): { readonly statements: Statement[]; readonly result: T } {
  const statements: Statement[] = [];
  let step = script.next([]);
  while (!step.done) {
    statements.push(...step.value.statements);
    step = script.next(step.value.statements.map(() => []));
  }
  return { statements, result: step.value };
}

/** Processor time of each of the scripts' statements, in µs. */
function costOf(database: DatabaseSync, scripts: readonly (readonly Statement[])[]): number {
  const prepared = new Map<readonly string[], StatementSync>();
  const ready = scripts.map((statements) =>
    statements.map((statement) => {
      const { strings, values } = statement;
      const known = prepared.get(strings) ?? database.prepare(statement.text(sqliteDialect));
      prepared.set(strings, known);
      return { statement: known, values };
    }),
  );
  const before = process.cpuUsage();
  for (let start = 0; start < ready.length; start += groupSize) {
    database.exec('begin immediate');
    for (const statements of ready.slice(start, start + groupSize))
      for (const { statement, values } of statements) statement.all(...values);
    database.exec('commit');
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / ready.length;
}
