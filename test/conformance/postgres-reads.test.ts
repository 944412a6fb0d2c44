/** Reads of one step share a round trip to PostgreSQL, and each returns its own rows. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { Fault } from '../../src/core/domain/fault.ts';
import { retrieve } from '../../src/core/cards/service/card.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { all, one, RetryTransaction, sql, parallel, type Script } from '../../src/database/sql/sql.ts';
import { issueCommand, newStore, testContext } from '../support/fixtures.ts';
import { queryOnce } from '../support/postgres-client.ts';
import { createPostgresDatabase, sharedPostgres } from '../support/postgres-database.ts';
import { openPostgresEngine, postgresFactory } from '../support/postgres.ts';

async function open(cardCount: number) {
  const database = await createPostgresDatabase(await sharedPostgres());
  const storage = openPostgresEngine(database.url);
  await storage.migrate(postgresFactory(null).migrations);
  const ctx = testContext();
  const store = await storage.write(() => createStore(ctx, newStore()));
  const ids: number[] = [];
  const issueCard = () => storage.write(() => issue(ctx, issueCommand(store)));
  // Sequentially, on one connection.
  for (let count = 0; count < cardCount; count += 1) ids.push((await issueCard()).card.id);
  return {
    storage,
    ids,
    issue: issueCard,
    find: (id: number) => storage.read(() => retrieve(store.id, id)),
    /** The number of open connections. */
    async countConnections(): Promise<number> {
      const rows = await queryOnce(
        database.url,
        `select pid from pg_stat_activity where application_name = 'largesse' and datname = current_database()`,
      );
      return rows.length;
    },
    async [Symbol.asyncDispose]() {
      await storage[Symbol.asyncDispose]();
      await database.drop();
    },
  };
}

test('reads that wait together return their own rows, over few connections', async () => {
  await using opened = await open(10);
  const { ids } = opened;
  const found = await Promise.all(
    Array.from({ length: 200 }, (_, place) => opened.find(ids[place % 10] ?? 0)),
  );
  for (const [place, { id }] of found.entries()) assert.equal(id, ids[place % 10]);
  assert.ok((await opened.countConnections()) <= 3);
});

test('an error that a read throws reaches only its caller', async () => {
  await using opened = await open(1);
  const [id = 0] = opened.ids;
  const reads = Array.from({ length: 50 }, (_, place) => opened.find(place % 2 === 0 ? id : 7));
  for (const [place, ending] of (await Promise.allSettled(reads)).entries()) {
    if (place % 2 === 0) assert.equal(ending.status === 'fulfilled' && ending.value.id, id);
    else
      assert.ok(
        ending.status === 'rejected' && ending.reason instanceof Fault && ending.reason.code === 'not-found',
      );
  }
});

test('a statement that the database rejects fails only its own read', async () => {
  await using opened = await open(1);
  const { storage } = opened;
  const [id = 0] = opened.ids;
  const divide = (by: number): Script<unknown> => all(sql`select 1 / cast(${by} as bigint) as quotient`);
  const writing = (): Script<unknown> => all(sql`update stores set name = 'x' returning id`);
  const bad = [() => divide(0), writing];
  const reads = Array.from({ length: 60 }, (_, place) => {
    const script = place % 20 === 7 ? bad[Math.floor(place / 20) % 2] : undefined;
    return script ? storage.read(script) : opened.find(id);
  });
  for (const [place, ending] of (await Promise.allSettled(reads)).entries()) {
    if (place % 20 !== 7) assert.equal(ending.status, 'fulfilled');
    else assert.match(String(ending.status === 'rejected' && ending.reason), /division by zero|read-only/);
  }
});

test('the statements of one step see one state during concurrent commits', async () => {
  await using opened = await open(1);
  const { storage } = opened;
  const count = () => one(sql<{ count: bigint }>`select count(*) as count from gift_cards`);
  const sleep = () => all(sql`select cast(pg_sleep(0.5) as text) as slept`);
  const countTwice = () => parallel(count(), sleep(), count());
  const reads = Promise.all([storage.read(countTwice), storage.read(countTwice)]);
  await wait(100);
  await opened.issue();
  assert.deepEqual(await storage.read(count), { count: 2n });
  for (const [before, , after] of await reads) assert.equal(before.count, after.count);
});

test('a read of several steps sees one state, also when it is started over during other reads', async () => {
  await using opened = await open(3);
  const { storage } = opened;
  const [id = 0] = opened.ids;
  let starts = 0;
  const restarted = function* (): Script<bigint> {
    starts += 1;
    const { count } = yield* one(sql<{ count: bigint }>`select count(*) as count from gift_cards`);
    if (starts === 1) throw new RetryTransaction('started over on purpose');
    return count;
  };
  const [verification, count, ...found] = await Promise.all([
    storage.read(() => verify(10)),
    storage.read(restarted),
    ...Array.from({ length: 20 }, () => opened.find(id)),
  ]);
  assert.deepEqual(verification.mismatches, []);
  assert.equal(count, 3n);
  assert.equal(starts, 2);
  assert.ok(found.every((card) => card.id === id));
});
