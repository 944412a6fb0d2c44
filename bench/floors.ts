/**
 * `node bench/floors.ts`: what parts of a request cost by themselves, in µs of processor time. Nothing costs less than
 * the sum of the parts that it needs, whatever the rest of the service does.
 *
 *   - The way through HTTP: `node:http` alone, Fastify with one route, the service's `/healthz` (which gets what every
 *     request gets, and asks nothing), and its operations.
 *   - The way through SQLite: the statements of an operation, prepared and with their values at hand, 32 operations in
 *     a transaction; without scripts, and without waiting for the disk. And how much they append to its log.
 */

import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { noDetails } from '../src/domain/card.ts';
import { readDatabaseConfig } from '../src/config.ts';
import type { Context } from '../src/context.ts';
import { openDatabase } from '../src/database.ts';
import { parseEmail } from '../src/domain/email.ts';
import { publicIdsOf } from '../src/domain/public-id.ts';
import type { Store } from '../src/domain/store.ts';
import { issue, retrieve, search } from '../src/service/card.ts';
import { fingerprintsOf, once } from '../src/service/idempotency.ts';
import { debit } from '../src/service/spend.ts';
import { requireStore } from '../src/service/store.ts';
import type { Script, Statement } from '../src/storage/sql.ts';
import { connect, sqliteDialect } from '../src/storage/sqlite-connection.ts';
import { load, type Call } from './load.ts';
import type { Population } from './population.ts';
import { canPin, pinTo, startServer, startService, type Server } from './processes.ts';
import { requestWriter, type Request } from './requests.ts';
import { answerLike } from './rounds.ts';
import { embeddedAt, makeMaster, type Master } from './site.ts';
import { spreadOf } from './statistics.ts';

const rounds = 5;
const seconds = 2;
const connections = 64;
const cards = 10_000;
const answerBytes = 450;
const scriptsPerRound = 4_000;
const groupSize = 32;

const folder = mkdtempSync(join(tmpdir(), 'largesse-floors-'));
try {
  if (canPin()) pinTo(1);
  const master = await makeMaster({ folder }, cards);
  await tellBareServers();
  await tellService(master);
  await tellStatements(master);
  tellPublicIds();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function tell(what: string, costs: readonly number[], more = ''): void {
  const { low, median, high } = spreadOf(costs);
  const spread = `(${low.toFixed(1)}–${high.toFixed(1)})`;
  console.log(`${what.padEnd(52)} ${median.toFixed(1).padStart(6)} µs ${spread}${more}`);
}

/** What it costs to make a public id of an internal one. */
function tellPublicIds(): void {
  const ids = publicIdsOf([1, 2, 3, 4]);
  const idsPerRound = 1_000_000;
  const round = (): number => {
    const before = process.cpuUsage();
    for (let id = 0; id < idsPerRound; id += 1) ids.of(id);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / idsPerRound;
  };
  round();
  tell(
    'a thousand public ids',
    Array.from({ length: rounds }, () => round() * 1_000),
  );
}

async function tellBareServers(): Promise<void> {
  const call: Call = {
    method: 'GET',
    request: 'GET /gift_card/1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
    status: 200,
    check: null,
  };
  for (const script of ['bench/ceiling.ts', 'bench/fastify.ts']) {
    await using server = await startServer({ script, readiness: '/', core: serverCore(), log: logFile() });
    await answerLike(server, { GET: answerBytes });
    tell(`GET, ${script}`, await costsOf(server, () => call));
  }
}

async function tellService(master: Master): Promise<void> {
  const file = copyOf(master, 'service');
  await using service = await startService(embeddedAt({ file, keysFile: master.keysFile }), {
    core: serverCore(),
    isProduction: true,
    log: logFile(),
  });
  for (const [what, status, request] of requestsOf(master)) {
    const text = requestWriter(master.credentials);
    const next = (): Call => {
      const given = request();
      return { method: given.method, request: text(given), status, check: null };
    };
    tell(`the service, ${what}`, await costsOf(service, next));
  }
}

function requestsOf({ population }: Master): readonly (readonly [string, number, () => Request])[] {
  const create = {
    method: 'POST',
    path: '/gift_card',
    body: '{"initial_value":25}',
    isSigned: false,
  } as const;
  const retrieval = () => ({ method: 'GET', path: `/gift_card/${population.anyId()}` }) as const;
  let keys = 0;
  return [
    ['GET /healthz', 200, () => ({ method: 'GET', path: '/healthz', isSigned: false })],
    ['retrieve', 200, () => ({ ...retrieval(), isSigned: false })],
    ['retrieve, signed', 200, () => ({ ...retrieval(), isSigned: true })],
    ['create', 201, () => create],
    ['create with an idempotency key', 201, () => ({ ...create, idempotencyKey: `floor-${(keys += 1)}` })],
  ];
}

function serverCore(): number | null {
  return canPin() ? 0 : null;
}

function logFile(): string {
  return join(folder, 'server.log');
}

/** Processor time of a server for each of the calls, in µs, in rounds. */
async function costsOf(server: Server, next: () => Call): Promise<readonly number[]> {
  const round = async (): Promise<number> => {
    const before = server.cpuSeconds();
    const { latenciesMs } = await load({ ports: [server.port], connections, seconds, next });
    return ((server.cpuSeconds() - before) * 1e6) / latenciesMs.length;
  };
  await round();
  const costs: number[] = [];
  for (let count = 0; count < rounds; count += 1) costs.push(await round());
  return costs;
}

async function tellStatements(master: Master): Promise<void> {
  await using opened = await openDatabase(readDatabaseConfig(embeddedAt(master)), { prepare: false });
  const { ctx, storage } = opened;
  const { store } = await storage.read(() => requireStore(master.credentials.domain));
  for (const [what, script] of scriptsOf(ctx, store, master.population)) {
    const recorded = recordAll(copyOf(master, `${what}, recorded`), script);
    const { costs, logBytes } = replay(copyOf(master, `${what}, replayed`), recorded);
    tell(`statements in SQLite, ${what}`, costs, `, ${logBytes.toFixed(0)} bytes of the log`);
  }
}

function scriptsOf(
  ctx: Context,
  store: Store,
  population: Population,
): readonly (readonly [string, () => Script<unknown>])[] {
  const issueOne = () =>
    issue(ctx, {
      store, value: { minor: 2_500n, currency: store.currency }, apiClientId: 1, actor: 'api_client:1',
      details: noDetails, customer: null, recipient: null, code: null,
    }); // prettier-ignore
  const cent = { minor: 1n, currency: store.currency };
  const anyCard = (): number => ctx.keys.publicIds.read(population.anyId()) ?? 0;
  let keys = 0;
  return [
    ['retrieve', () => retrieve(store.id, anyCard())],
    [
      'search',
      () => {
        const { email, lastCharacters } = population.anySearch();
        const address = parseEmail(email);
        if (!address.ok) throw new Error(`an address ${address.refusal}`);
        return search(ctx, { store, address: address.value, lastCharacters, onlyStorefrontCustomerId: null });
      },
    ],
    ['create', issueOne],
    [
      'create with an idempotency key',
      () => {
        const owner = { storeId: store.id, apiClientId: 1, key: `floor-${(keys += 1)}` };
        const use = { owner, fingerprints: fingerprintsOf(ctx, [owner.key]) };
        return once(ctx, use, function* () {
          const { card } = yield* issueOne();
          return { status: 201, headers: {}, body: String(card.id).padEnd(answerBytes) };
        });
      },
    ],
    [
      'debit',
      () =>
        debit(ctx, {
          store, cardId: anyCard(), actor: 'api_client:1', reference: null, note: null, orderId: null,
          versions: null, amount: cent, partial: false,
        }), // prettier-ignore
    ],
  ];
}

function copyOf({ file }: Master, name: string): string {
  const copy = join(folder, `${name}.db`);
  copyFileSync(file, copy);
  return copy;
}

/** Runs scripts on a database, and answers the statements of each. */
function recordAll(file: string, script: () => Script<unknown>): readonly (readonly Statement[])[] {
  using database = connect(file, { readOnly: false }).database;
  const query = querying(database);
  database.exec('begin immediate');
  const recorded = Array.from({ length: scriptsPerRound * rounds }, () => {
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

/**
 * Runs recorded statements on a database that is as the first was.
 * @returns for each script its processor time in µs, in rounds, and what the transactions appended to the log.
 */
function replay(
  file: string,
  recorded: readonly (readonly Statement[])[],
): { readonly costs: readonly number[]; readonly logBytes: number } {
  using database = connect(file, { readOnly: false }).database;
  const query = querying(database);
  const costs = Array.from({ length: rounds }, (_, round) => {
    const scripts = recorded.slice(round * scriptsPerRound, (round + 1) * scriptsPerRound);
    const before = process.cpuUsage();
    for (let start = 0; start < scripts.length; start += groupSize) {
      database.exec('begin immediate');
      for (const statements of scripts.slice(start, start + groupSize)) statements.forEach(query);
      database.exec('commit');
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / scripts.length;
  });
  return { costs, logBytes: statSync(`${file}-wal`).size / recorded.length };
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
