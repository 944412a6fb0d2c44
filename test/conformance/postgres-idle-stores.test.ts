/** An idle service on PostgreSQL does not read more rows when there are more stores. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { limits, type Limits } from '../../src/platform/limits.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { readDatabaseConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { newStore } from '../support/fixtures.ts';
import { deadlineIn } from '../support/deadline.ts';
import type { PostgresAddress } from '../support/postgres-client.ts';
import { createPostgresDatabase, type PostgresDatabase } from '../support/postgres-database.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { emptyFolder, keysFileIn, startOn } from '../support/postgres-service.ts';

/** Every job runs often. The heartbeat is a commit, after which the cursors of the stores are read. */
const often: Partial<Limits> = {
  ...Object.fromEntries(
    Object.keys(limits)
      .filter((name) => name.endsWith('PeriodMs'))
      .map((name) => [name, 20]),
  ),
  heartbeatPeriodMs: limits.heartbeatPeriodMs,
};

type Work = { readonly transactions: number; readonly reads: number };

/** The transactions of a database, and the scans and rows that they have read. */
async function workIn({ name, query }: PostgresDatabase): Promise<Work> {
  const [row] = await query(
    `select
       (select xact_commit from pg_stat_database where datname = $1)::int as transactions,
       (select sum(seq_scan + seq_tup_read) from pg_stat_user_tables)::int
         + (select sum(idx_scan + idx_tup_read) from pg_stat_user_indexes)::int as reads`,
    [name],
  );
  return { transactions: Number(row?.['transactions']), reads: Number(row?.['reads']) };
}

/** The transactions of a measurement. */
const window = 500;

/** Starts a service with stores. Returns how many scans and rows it reads for each of its transactions. */
async function serveStores(
  server: PostgresAddress,
  stores: number,
): Promise<AsyncDisposable & { readonly reads: () => Promise<number> }> {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await createPostgresDatabase(server));
  const folder = stack.use(emptyFolder());
  const environment = { PORT: '0', DATABASE_URL: database.url, KEYS_FILE: keysFileIn(folder) };
  {
    await using opened = await openDatabase(readDatabaseConfig(environment), { prepare: true });
    const { ctx, storage } = opened;
    for (let place = 0; place < stores; place += 1)
      await storage.write(() => createStore(ctx, newStore({ domain: `shop-${place}.example` })));
  }
  await database.query('analyze');
  stack.use(await startOn(environment, often));
  const owned = stack.move();
  return {
    async reads() {
      const begun = await workIn(database);
      for (;;) {
        const ended = await workIn(database);
        const transactions = ended.transactions - begun.transactions;
        if (transactions >= window) return (ended.reads - begun.reads) / transactions;
        await wait(50);
      }
    },
    [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose](),
  };
}

test('the jobs of an idle service read as much with many stores as with few', async () => {
  // The transactions of other tests on a shared server would count as activity.
  await using server = await startPostgres();
  const settled = async (stores: number, readsMax: number): Promise<number> => {
    await using service = await serveStores(server, stores);
    // The server counts what the start has read with a delay.
    for (const deadline = deadlineIn(30_000); ;) {
      const reads = await service.reads();
      if (reads < readsMax || deadline.isOver()) return reads;
    }
  };
  const few = await settled(2, 4);
  const many = await settled(300, few + 1);
  assert.ok(many < few + 1, `${few} and ${many} scans and rows for each transaction`);
});
