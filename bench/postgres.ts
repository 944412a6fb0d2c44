/**
 * `node bench/postgres.ts`: what the service makes of a PostgreSQL server, against `pgbench` on the same server and
 * a bare `node:http` server on the same core.
 *
 * The server has core 1 to itself; the service's processes and whoever asks, the load generator or `pgbench`, share
 * core 0. So the service pays for its HTTP, its load generator and itself with what `pgbench` has for itself alone.
 *
 *   --cards 10000       cards loaded before anything is measured
 *   --seconds 5         length of a round
 *   --rounds 3          rounds of each, in turn; the median is told
 *   --connections 64    callers
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { queryOnce } from '../test/harness/postgres-client.ts';
import { startPostgres, type PostgresServer } from '../test/harness/postgres-server.ts';
import { load } from './load.ts';
import { createOf, debitOf, loadingOf, type Operation } from './operations.ts';
import { startServer, type Server } from './processes.ts';

const { values: options } = parseArgs({
  options: {
    cards: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
  },
});
const [seconds, rounds, connections] = [options.seconds, options.rounds, options.connections].map(Number) as [
  number,
  number,
  number,
];
const cards = Number(options.cards);
const warmUpSeconds = 2;

/** Moves a process and all its threads to a core. */
function pinTo(core: number, pid: number): void {
  spawnSync('taskset', ['--all-tasks', '--cpu-list', '--pid', String(core), String(pid)]);
}

const folder = mkdtempSync(join(tmpdir(), 'largesse-bench-postgres-'));
try {
  await using postgres = await startPostgres({
    durable: true,
    settings: { shared_buffers: '512MB', max_wal_size: '4GB', min_wal_size: '1GB', autovacuum: 'on' },
  });
  // What it forks from here on stays on its core.
  for (const pid of postgres.processes) pinTo(1, pid);
  pinTo(0, process.pid);
  await measure(postgres);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

type Environment = Readonly<Record<string, string>>;

function command(environment: Environment, ...args: readonly string[]): unknown {
  const commandLine = join(import.meta.dirname, '../src/cli.ts');
  const output = execFileSync(process.execPath, [commandLine, ...args, '--json'], {
    encoding: 'utf8',
    env: environment,
  });
  return JSON.parse(output) as unknown;
}

async function measure(postgres: PostgresServer): Promise<void> {
  const environment = {
    PATH: process.env['PATH'] ?? '',
    DATABASE_URL: postgres.url(),
    KEYS_FILE: join(folder, 'largesse.keys.json'),
    RATE_LIMIT: 'off',
    NODE_ENV: 'production',
  };
  const largesse = (...args: readonly string[]): unknown => command(environment, ...args);
  largesse('store', 'create', 'bench.example', '--currency', 'USD');
  const { token } = largesse('token', 'create', '--store', 'bench.example') as { readonly token: string };
  const start = (place: number): Promise<Server> =>
    startServer({
      script: 'src/cli.ts',
      argument: 'serve',
      environment,
      readiness: '/readyz',
      isPinned: true,
      log: join(folder, `service-${place}.log`),
    });
  await using one = await start(1);
  await using other = await start(2);
  const ids: number[] = [];
  const loading = loadingOf({ cards, token }, (id) => ids.push(id));
  await load({
    port: one.port,
    connections,
    status: 201,
    seconds: Infinity,
    next: () => loading.next().value,
  });
  await postgres.query('vacuum analyze');

  const create = createOf(token);
  const debit = debitOf('debit', ids, token);
  const pgbench = await pgbenchOn(postgres, environment);
  const contests: Readonly<Record<string, (length: number) => Promise<number>>> = {
    'create, 1 process': (length) => rateOf(create, [one], length),
    'create, 2 processes': (length) => rateOf(create, [one, other], length),
    'debit, 1 process': (length) => rateOf(debit, [one], length),
    'debit, 2 processes': (length) => rateOf(debit, [one, other], length),
    'pgbench, as many connections': (length) => pgbench(16, length),
    'pgbench, as many callers': (length) => pgbench(connections, length),
  };
  const rates = new Map<string, number[]>();
  for (const contest of Object.values(contests)) await contest(warmUpSeconds);
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, contest] of Object.entries(contests))
      rates.set(name, [...(rates.get(name) ?? []), await contest(seconds)]);
  }
  console.log(
    `Node.js ${process.versions.node}, ${connections} callers, ${cards} cards, ${rounds} rounds of ${seconds} s`,
  );
  for (const [name, measured] of rates) {
    const sorted = measured.toSorted((left, right) => left - right);
    const [median = Number.NaN] = sorted.slice(Math.floor(sorted.length / 2));
    console.log(
      `${name.padEnd(30)} ${Math.round(median).toString().padStart(6)}/s  (${sorted.map(Math.round).join(', ')})`,
    );
  }
  const { ok } = largesse('verify') as { readonly ok: boolean };
  console.log(ok ? 'the ledger agrees with every balance' : 'THE LEDGER DOES NOT AGREE');
  if (!ok) process.exitCode = 1;
}

/** Requests a second, divided among the processes. */
async function rateOf(operation: Operation, servers: readonly Server[], length: number): Promise<number> {
  const figures = await Promise.all(
    servers.map(({ port }) =>
      load({
        port,
        connections: connections / servers.length,
        status: operation.status,
        seconds: length,
        next: operation.next,
      }),
    ),
  );
  return figures.reduce((sum, { requests, seconds: took }) => sum + requests / took, 0);
}

/**
 * Transactions a second of `pgbench` that do what a debit does to the same tables, in a database of their own (they
 * leave no chain of hashes). NaN where there is no `pgbench`: the npm package of PostgreSQL has none.
 */
async function pgbenchOn(
  postgres: PostgresServer,
  environment: Environment,
): Promise<(clients: number, length: number) => Promise<number>> {
  const program = join(postgres.parts.binaries, 'pgbench');
  if (!existsSync(program)) return async () => Number.NaN;
  await postgres.query('create database pgbench');
  const url = postgres.url('pgbench');
  const store = { ...environment, DATABASE_URL: url, KEYS_FILE: join(folder, 'pgbench.keys.json') };
  command(store, 'store', 'create', 'bench.example', '--currency', 'USD');
  const [{ id } = {}] = await queryOnce(url, 'select id from stores');
  await queryOnce(
    url,
    `insert into gift_cards (store_id, id, version, currency, initial_value, balance, last_characters, created_at)
     select ${String(id)}, card, 1, 'USD', 100000000, 100000000, 'abcd', 1 from generate_series(1, ${cards}) card`,
  );
  await queryOnce(
    url,
    `insert into transfers (store_id, card_id, sequence, id, kind, amount, currency, debit_account, credit_account,
       balance_after, actor, created_at, hash)
     select store_id, id, 1, id, 'issue', balance, 'USD', 'sales', 'card', balance, 'bench', 1, sha256('x')
     from gift_cards`,
  );
  await queryOnce(url, 'vacuum analyze');
  const script = join(folder, 'debit.sql');
  writeFileSync(script, debitScript(String(id)));
  return async (clients, length) => {
    const args = [
      '-n',
      '-M',
      'prepared',
      '-c',
      String(clients),
      '-j',
      '1',
      '-T',
      String(length),
      '-f',
      script,
      url,
    ];
    const { stdout, stderr } = spawnSync('taskset', ['--cpu-list', '0', program, ...args], {
      encoding: 'utf8',
    });
    const [, rate] = /tps = ([\d.]+)/.exec(stdout) ?? [];
    if (rate === undefined) throw new Error(`pgbench: ${stderr}`);
    return Number(rate);
  };
}

/** The statements of a debit without an idempotency key, one after the other. */
function debitScript(storeId: string): string {
  const event = 'x'.repeat(500);
  return `
\\set card random(1, ${cards})
\\set id random(2, 9000000000000)
begin;
update gift_cards set balance = balance - 1, version = version + 1
  where store_id = ${storeId} and id = :card and balance - 1 >= held and disabled_at is null;
select g.*, c.email from gift_cards g left join customers c on c.store_id = g.store_id and c.id = g.customer_id
  where g.store_id = ${storeId} and g.id = :card;
select sequence, hash from transfers where store_id = ${storeId} and card_id = :card order by sequence desc limit 1;
insert into transfers (store_id, card_id, sequence, id, kind, amount, currency, debit_account, credit_account,
    balance_after, actor, created_at, hash)
  values (${storeId}, :card, :id, :id, 'debit', 1, 'USD', 'card', 'redemptions', 1, 'bench', 1, sha256('x'));
insert into events (store_id, id, type, subject_id, subject_version, created_at, data)
  values (${storeId}, :id, 'gift_card.redeemed', :card, 1, 1, '${event}');
commit;
`;
}
