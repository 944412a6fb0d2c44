/**
 * `pgbench` running the transactions of a creation and of a debit on the tables of the service, in a database of its
 * own: what a client gets out of the same server that does nothing but send the statements one after the other. It
 * leaves no chain of hashes, so its database is never verified.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { queryOnce } from '../test/harness/postgres-client.ts';
import type { PostgresServer } from '../test/harness/postgres-server.ts';
import type { OperationName } from './operations.ts';
import { pinned } from './processes.ts';
import type { PgbenchMeasured } from './results.ts';
import { serverCore, type Bench, type Rival } from './rounds.ts';
import { makeStore } from './site.ts';

const database = 'pgbench';
/** What it needs to connect and to plan its statements on every connection, which it takes from its own time. */
const connectSeconds = 1;

type Series = PgbenchMeasured & { readonly transactionsPerSecond: number[] };

export type Pgbench = {
  readonly rivalsOf: (operation: OperationName) => readonly Rival[];
  readonly measured: readonly PgbenchMeasured[];
  readonly end: () => Promise<void>;
};

/** Empty where there is no `pgbench`: the npm package of PostgreSQL has none. */
export async function preparePgbench(
  bench: Bench,
  given: { readonly postgres: PostgresServer; readonly cards: number },
): Promise<Pgbench> {
  const program = join(given.postgres.parts.binaries, 'pgbench');
  if (!existsSync(program)) return { rivalsOf: () => [], measured: [], end: () => Promise.resolve() };
  const url = given.postgres.url(database);
  const storeId = await makeTables(bench, given);
  const scripts = { create: createScript(storeId), debit: debitScript(storeId, given.cards) };
  const measured: Series[] = [];
  const rivals = new Map<string, Rival[]>();
  for (const transaction of ['create', 'debit'] as const) {
    const file = join(bench.folder, `${transaction}.sql`);
    writeFileSync(file, scripts[transaction]);
    for (const clients of bench.plan.pgbenchClients) {
      const series: Series = { transaction, clients, transactionsPerSecond: [] };
      measured.push(series);
      const run = (seconds: number): void => {
        series.transactionsPerSecond.push(runPgbench(bench, { program, url, file, clients, seconds }));
      };
      rivals.set(transaction, [...(rivals.get(transaction) ?? []), { run }]);
    }
  }
  return {
    rivalsOf: (operation) => rivals.get(operation) ?? [],
    measured,
    end: async () => void (await given.postgres.query(`drop database ${database}`)),
  };
}

/** A store with as many cards as the service's; answers its id. */
async function makeTables(
  { folder }: Bench,
  { postgres, cards }: { readonly postgres: PostgresServer; readonly cards: number },
): Promise<number> {
  await postgres.query(`create database ${database}`);
  const url = postgres.url(database);
  makeStore({ DATABASE_URL: url, KEYS_FILE: join(folder, `pgbench-${cards}.keys.json`) });
  const [{ id } = {}] = await queryOnce(url, 'select id from stores');
  const storeId = Number(id);
  await queryOnce(
    url,
    `insert into gift_cards (store_id, id, version, currency, initial_value, balance, last_characters, created_at)
     select ${storeId}, card, 1, 'USD', 100000000, 100000000, 'abcd', 1 from generate_series(1, ${cards}) card`,
  );
  await queryOnce(
    url,
    `insert into transfers (store_id, card_id, sequence, id, kind, amount, currency, debit_account, credit_account,
       balance_after, actor, created_at, hash)
     select store_id, id, 1, id, 'issue', balance, 'USD', 'sales', 'card', balance, 'bench', 1, sha256('x')
     from gift_cards`,
  );
  await queryOnce(url, 'vacuum analyze');
  await queryOnce(url, 'checkpoint');
  return storeId;
}

/** Transactions per second. */
function runPgbench(
  bench: Bench,
  given: {
    readonly program: string;
    readonly url: string;
    readonly file: string;
    readonly clients: number;
    readonly seconds: number;
  },
): number {
  const { program, url, file, clients, seconds } = given;
  const wholeSeconds = Math.ceil(seconds) + connectSeconds;
  const settings = ['--no-vacuum', '--protocol=prepared', '--jobs=1'];
  const command = [
    program,
    ...settings,
    `--client=${clients}`,
    `--time=${wholeSeconds}`,
    `--file=${file}`,
    url,
  ];
  const [name, ...args] = pinned(command, serverCore(bench));
  const { stdout, stderr } = spawnSync(name, args, { encoding: 'utf8' });
  const [, rate] = /tps = ([\d.]+)/.exec(stdout) ?? [];
  if (rate === undefined) throw new Error(`pgbench: ${stderr}`);
  return Number(rate);
}

/** As long as the data of an event. */
const event = 'x'.repeat(500);

/** The statements of a creation without customers and without an idempotency key. */
function createScript(storeId: number): string {
  return `
\\set id random(10000000, 9000000000000)
begin;
insert into gift_cards (store_id, id, version, currency, initial_value, balance, last_characters, created_at)
  values (${storeId}, :id, 1, 'USD', 2500, 2500, 'abcd', 1);
insert into gift_card_codes (store_id, lookup, digest, card_id) values (${storeId}, :id, sha256('x'), :id);
insert into transfers (store_id, card_id, sequence, id, kind, amount, currency, debit_account, credit_account,
    balance_after, actor, created_at, hash)
  values (${storeId}, :id, 1, :id, 'issue', 2500, 'USD', 'sales', 'card', 2500, 'bench', 1, sha256('x'));
insert into events (store_id, id, type, subject_id, subject_version, created_at, data)
  values (${storeId}, :id, 'gift_card.created', :id, 1, 1, '${event}');
commit;
`;
}

/** The statements of a debit without an idempotency key. */
function debitScript(storeId: number, cards: number): string {
  return `
\\set card random(1, ${cards})
\\set id random(10000000, 9000000000000)
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
