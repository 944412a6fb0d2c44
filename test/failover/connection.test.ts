/**
 * Connections to the server that break, or fall silent, anywhere: what was surely not done is done anew by itself, of
 * what may have been done the caller is told that nobody knows, and nothing is done twice.
 *
 * `FAILOVER_SEED` sets the seed.
 */

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { loadMigrations } from '../../src/storage/migrate.ts';
import { first, sql, type Script } from '../../src/storage/sql.ts';
import { openPostgresEngine } from '../support/postgres.ts';
import { startProxy, type Direction } from '../support/postgres-proxy.ts';
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts';
import {
  assertUnavailable,
  assertVerifies,
  clientOf,
  environmentOn,
  startOn,
  emptyFolder,
} from '../support/postgres-service.ts';
import { seeded } from '../support/seeded.ts';
import { openShop } from '../support/served.ts';
import { addTo, counterOf, insertRow } from '../support/row-counts.ts';

const seed = Number(process.env['FAILOVER_SEED'] ?? Date.now() % 2 ** 31);
const random = seeded(seed);
const positions = Number(process.env['FAILOVER_CUTS'] ?? 30);

let server: PostgresServer;
before(async () => {
  server = await startPostgres();
});
after(() => server[Symbol.asyncDispose]());

test(`of ${positions} requests cut off each way somewhere, those before their commit succeed, and none is done twice`, async (t) => {
  t.diagnostic(`seed ${seed} (FAILOVER_SEED)`);
  using folder = emptyFolder();
  await using proxy = await startProxy(server);
  // One connection, so that the request meets the cut.
  const environment = environmentOn(folder, [proxy], { DATABASE_CONNECTIONS: '1' });
  const token = await openShop(environment, 'flowers.example');
  await using service = await startOn(environment);
  const ask = clientOf(service.url, token);
  const { card } = await ask('POST /gift_card', { initial_value: '100.00' });
  const line = `POST /gift_card/${card?.id}/credit`;
  const credit = (key: string) => ask(line, { amount: '0.01' }, key);
  // What a request costs once all is prepared on the connection.
  let warmings = 0;
  // All of one length, so that each request has as many bytes.
  const keyOf = (kind: string, count: number): string => `${kind}-${count}`.padEnd(16, '-');
  const prepare = async (): Promise<void> => {
    warmings += 1;
    assert.equal((await credit(keyOf('warm', warmings))).status, 201);
  };
  await prepare();
  proxy.cutAfter('sent', Number.MAX_SAFE_INTEGER);
  await prepare();
  const length = { ...proxy.bytes };
  let done = 0;
  const outcomes = { untouched: 0, again: 0, unknown: 0, done: 0 };

  for (const direction of ['sent', 'answered'] as const satisfies readonly Direction[]) {
    const all = length[direction];
    const anywhere = Array.from(
      { length: positions },
      (_, place) => 1 + Math.floor(((place + random()) / positions) * all),
    );
    // The commit and its answer are the last to go out, and short.
    const atCommit = Array.from({ length: 20 }, (_, place) => all - place);
    for (const [place, at] of [...anywhere, ...atCommit].entries()) {
      await prepare();
      const key = keyOf(direction, place);
      proxy.cutAfter(direction, at);
      const told = await credit(key);
      const hasSentCommit = proxy.sent.includes('commit\0');
      const where = `${direction}, cut after ${at} bytes: ${JSON.stringify(told)}`;
      if (!proxy.hasCut) outcomes.untouched += 1;
      if (told.status === 201) {
        // On the second connection it was another transaction.
        assert.equal(told.isReplayed, false, where);
        if (proxy.hasCut) outcomes.again += 1;
      } else {
        assertUnavailable(told, 'unavailable');
        assert.ok(hasSentCommit, where);
        outcomes.unknown += 1;
        proxy.cutAfter(direction, Number.MAX_SAFE_INTEGER);
        const again = await credit(key);
        assert.equal(again.status, 201, where);
        if (again.isReplayed) outcomes.done += 1;
      }
      done += 1;
      proxy.cutAfter(direction, Number.MAX_SAFE_INTEGER);
      const { card: now } = await ask(`GET /gift_card/${card?.id}`);
      assert.equal(now?.balance, ((10_000 + warmings + done) / 100).toFixed(2), where);
    }
  }
  t.diagnostic(
    `a request sends ${length.sent} bytes and is answered ${length.answered}; ${JSON.stringify(outcomes)}`,
  );
  assert.ok(
    outcomes.again > 0 && outcomes.unknown > 0 && outcomes.done > 0 && outcomes.done < outcomes.unknown,
  );
  await assertVerifies(environment);
});

test('a connection that falls silent is broken off in time, with the idle ones beside it; then all is as before', async () => {
  await using proxy = await startProxy(server);
  await using storage = openPostgresEngine(proxy.url(await emptyDatabase('silent')), {
    connectionsMax: 4,
    waitMaxMs: 600,
    scriptMaxMs: 800,
    connectTimeoutMs: 300,
  });
  await storage.migrate(loadMigrations('postgres'));
  await storage.write(() => insertRow(1, 'first'));
  const add = () => storage.write(() => addTo('first', 1));
  await Promise.all(Array.from({ length: 8 }, add));
  proxy.silence();
  const startedAt = performance.now();
  const [outcome] = await Promise.allSettled([add()]);
  assert.match(String(outcome.status === 'rejected' && outcome.reason), /unavailable/);
  // None of the idle connections costs anybody as long again: now it is known that nobody answers.
  const later = await Promise.allSettled(Array.from({ length: 8 }, add));
  assert.ok(later.every(({ status }) => status === 'rejected'));
  assert.ok(performance.now() - startedAt < 6_000, `${performance.now() - startedAt} ms`);
  proxy.resume();
  // What was sent and never answered is delivered now, and its sender gone: it may have been done or not.
  const count = await eventually(() => storage.read(() => counterOf('first')));
  assert.ok(count >= 8 && count <= 17, `${count}`);
  assert.ok((await add()) > count);
});

test('a server that takes connections and never answers does not stop the pool for good', async () => {
  await using proxy = await startProxy(server);
  const url = proxy.url(await emptyDatabase('mute'));
  await using storage = openPostgresEngine(url, { waitMaxMs: 400, connectTimeoutMs: 200 });
  proxy.silence();
  await assert.rejects(
    storage.read(() => counterOf('first')),
    /unavailable/,
  );
  proxy.resume();
  assert.deepEqual(await eventually(() => storage.applied()), []);
});

test('an engine is closed in time although its server is silent', async () => {
  await using proxy = await startProxy(server);
  const storage = openPostgresEngine(proxy.url(await emptyDatabase('closing')));
  await storage.migrate(loadMigrations('postgres'));
  await Promise.all(Array.from({ length: 8 }, () => storage.applied()));
  proxy.silence();
  const startedAt = performance.now();
  await storage[Symbol.asyncDispose]();
  assert.ok(performance.now() - startedAt < 5_000);
});

test('connections that an administrator ends are replaced without anybody noticing', async () => {
  const database = await emptyDatabase('ended');
  await using storage = openPostgresEngine(server.url(database));
  await storage.migrate(loadMigrations('postgres'));
  await storage.write(() => insertRow(1, 'first'));
  let isOver = false;
  const ending = (async () => {
    while (!isOver) {
      await server.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and state <> 'active'`,
        [database],
      );
    }
  })();
  const outcomes: PromiseSettledResult<number>[] = [];
  for (let round = 0; round < 20; round += 1)
    outcomes.push(
      ...(await Promise.allSettled(Array.from({ length: 8 }, () => storage.write(() => addTo('first', 1))))),
    );
  isOver = true;
  await ending;
  const done = outcomes.filter(({ status }) => status === 'fulfilled').length;
  const count = await storage.read(() => counterOf('first'));
  // Who was cut off between commit and answer was told that nobody knows.
  assert.ok(
    done > 0 && count >= done && count <= outcomes.length,
    `${done} of ${outcomes.length} done, ${count} there`,
  );
});

test('a connection that the server ended is not given to the script that waits for one', async () => {
  const database = await emptyDatabase('handed');
  await using storage = openPostgresEngine(server.url(database), { connectionsMax: 1 });
  await storage.migrate(loadMigrations('postgres'));
  let runs = 0;
  const sleep = function* (): Script<void> {
    runs += 1;
    if (runs === 1) yield* first(sql`select 1 as slept from pg_sleep(60)`);
  };
  const sleeping = storage.read(sleep);
  const sleeps = `from pg_stat_activity where datname = '${database}' and wait_event = 'PgSleep'`;
  await eventually(async () => assert.equal((await server.query(`select 1 ${sleeps}`)).length, 1));
  // It sends all that it has to say, its commit included, in one message: of one that was sent nobody knows.
  const waiting = storage.write(() => insertRow(1, 'first'));
  await server.query(`select pg_terminate_backend(pid) ${sleeps}`);
  await Promise.all([sleeping, waiting]);
  assert.equal(runs, 2);
  assert.equal(await storage.read(() => counterOf('first')), 0);
});

async function emptyDatabase(name: string): Promise<string> {
  await server.query(`create database ${name}`);
  return name;
}

/** Tries for as long as it is refused. */
async function eventually<T>(attempt: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
  }
}
