/**
 * Connections to the server that break or hang at any point. The service retries a transaction that was
 * surely not committed, and reports an unknown outcome for others. No request is executed twice.
 *
 * `FAILOVER_SEED` sets the seed.
 */

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { deadlineIn, isWithin } from '../support/deadline.ts';
import { loadMigrations } from '../../src/database/schema/migrate.ts';
import { first, sql, type Script } from '../../src/database/sql/sql.ts';
import { openPostgresEngine } from '../support/postgres.ts';
import { startProxy, type Direction } from '../support/postgres-proxy.ts';
import { startServerToCut, type ServerToCut } from '../support/server-to-cut.ts';
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
const positions = Number(process.env['FAILOVER_CUTS'] ?? 12);

let server: ServerToCut;
before(async () => {
  server = await startServerToCut();
});
after(() => server[Symbol.asyncDispose]());

test(`${positions} requests cut at any point, in each direction, succeed before their commit and are never executed twice`, async (t) => {
  t.diagnostic(`seed ${seed} (FAILOVER_SEED)`);
  using folder = emptyFolder();
  await using proxy = await startProxy(server);
  // One connection, on which the request meets the cut.
  const environment = environmentOn(folder, [proxy], { DATABASE_CONNECTIONS: '1' });
  const token = await openShop(environment, 'flowers.example');
  await using service = await startOn(environment);
  const ask = clientOf(service.url, token);
  const { card } = await ask('POST /gift_card', { initial_value: '100.00' });
  const line = `POST /gift_card/${card?.id}/credit`;
  const credit = (key: string) => ask(line, { amount: '0.01' }, key);
  // The size of a request once its statements are prepared on the connection.
  let warmings = 0;
  // Keys of one length, which give each request the same number of bytes.
  const keyOf = (kind: string, count: number): string => `${kind}-${count}`.padEnd(16, '-');
  const prepare = async (): Promise<void> => {
    warmings += 1;
    assert.equal((await credit(keyOf('warm', warmings))).status, 201);
  };
  await prepare();
  const lengths: { readonly sent: number; readonly responded: number }[] = [];
  // Background jobs use the same connection: the smallest is that of a request alone.
  for (let measured = 0; measured < 5; measured += 1) {
    proxy.cutAfter('sent', Number.MAX_SAFE_INTEGER);
    await prepare();
    lengths.push({ ...proxy.bytes });
  }
  const length = {
    sent: Math.min(...lengths.map(({ sent }) => sent)),
    responded: Math.min(...lengths.map(({ responded }) => responded)),
  };
  let done = 0;
  const outcomes = { untouched: 0, again: 0, unknown: 0, done: 0 };

  for (const direction of ['sent', 'responded'] as const satisfies readonly Direction[]) {
    const all = length[direction];
    const anywhere = Array.from(
      { length: positions },
      (_, place) => 1 + Math.floor(((place + random()) / positions) * all),
    );
    // The commit and its response are the last bytes, and short.
    const atCommit = Array.from({ length: 20 }, (_, place) => all - place);
    for (const [place, at] of [...anywhere, ...atCommit].entries()) {
      await prepare();
      const key = keyOf(direction, place);
      proxy.cutAfter(direction, at);
      const response = await credit(key);
      const hasSentCommit = proxy.sent.includes('commit\0');
      const where = `${direction}, cut after ${at} bytes: ${JSON.stringify(response)}`;
      if (!proxy.hasCut) outcomes.untouched += 1;
      if (response.status === 201) {
        // The second connection had another transaction.
        assert.equal(response.isReplayed, false, where);
        if (proxy.hasCut) outcomes.again += 1;
      } else {
        assertUnavailable(response, 'unavailable');
        assert.ok(hasSentCommit, where);
        outcomes.unknown += 1;
        proxy.cutAfter(direction, Number.MAX_SAFE_INTEGER);
        const retried = await credit(key);
        assert.equal(retried.status, 201, where);
        if (retried.isReplayed) outcomes.done += 1;
      }
      done += 1;
      proxy.cutAfter(direction, Number.MAX_SAFE_INTEGER);
      const { card: now } = await ask(`GET /gift_card/${card?.id}`);
      assert.equal(now?.balance, ((10_000 + warmings + done) / 100).toFixed(2), where);
    }
  }
  t.diagnostic(
    `a request sends ${length.sent} bytes and receives ${length.responded}; ${JSON.stringify(outcomes)}`,
  );
  assert.ok(
    outcomes.again > 0 && outcomes.unknown > 0 && outcomes.done > 0 && outcomes.done < outcomes.unknown,
  );
  await assertVerifies(environment);
});

test('a connection that hangs is closed after the timeout with the idle ones, and the pool recovers', async () => {
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
  // The idle connections do not cost another timeout each: the server is known to hang.
  const later = await Promise.allSettled(Array.from({ length: 8 }, add));
  assert.ok(later.every(({ status }) => status === 'rejected'));
  assert.ok(isWithin(performance.now() - startedAt, 6_000), `${performance.now() - startedAt} ms`);
  proxy.resume();
  // Statements without a response are delivered now, although their client has left: each can be executed or
  // not.
  const count = await eventually(() => storage.read(() => counterOf('first')));
  assert.ok(count >= 8 && count <= 17, `${count}`);
  assert.ok((await add()) > count);
});

test('a server that accepts connections and never responds does not block the pool permanently', async () => {
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

test('an engine is closed in time although its server hangs', async () => {
  await using proxy = await startProxy(server);
  const storage = openPostgresEngine(proxy.url(await emptyDatabase('closing')));
  await storage.migrate(loadMigrations('postgres'));
  await Promise.all(Array.from({ length: 8 }, () => storage.applied()));
  proxy.silence();
  const startedAt = performance.now();
  await storage[Symbol.asyncDispose]();
  assert.ok(isWithin(performance.now() - startedAt, 5_000));
});

test('connections that an administrator ends are replaced without an error', async () => {
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
  // Callers that were disconnected between commit and response got an unknown outcome.
  assert.ok(
    done > 0 && count >= done && count <= outcomes.length,
    `${done} of ${outcomes.length} done, ${count} stored`,
  );
});

test('a connection that the server has ended is not given to a waiting script', async () => {
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
  // It sends all of its statements, including the commit, in one message, whose outcome is unknown.
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

/** Retries until it succeeds. */
async function eventually<T>(attempt: () => Promise<T>): Promise<T> {
  const deadline = deadlineIn(10_000);
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (deadline.isOver()) throw error;
    }
  }
}
