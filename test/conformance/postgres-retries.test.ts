/** The retries of the engine: of which errors, how often, and on which connection. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { isWithin } from '../support/deadline.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { all, execute, one, sql, type Script } from '../../src/database/sql/sql.ts';
import type { Storage } from '../../src/database/storage.ts';
import { createPostgresDatabase, sharedPostgres } from '../support/postgres-database.ts';
import { openPostgresEngine, type PostgresSettings } from '../support/postgres.ts';

type Failing = AsyncDisposable & {
  readonly storage: Storage;
  /** Fails with an SQLSTATE until its nth call, also in transactions that were rolled back. */
  readonly failing: (code: string, until: number) => Script<void>;
  /** The number of its calls. */
  readonly calls: () => Promise<number>;
};

async function openFailing(settings: PostgresSettings = {}): Promise<Failing> {
  const database = await createPostgresDatabase(await sharedPostgres());
  await database.query(`create sequence calls`);
  await database.query(`
    create function fail_until(until bigint, code text) returns void language plpgsql as $body$
    begin
      if nextval('calls') < until then raise exception 'planned' using errcode = code; end if;
    end $body$`);
  await database.query(`
    create function fail_always() returns trigger language plpgsql as $body$
    begin
      perform fail_until(1000, new.code);
      return null;
    end $body$`);
  await database.query('create table notes (code text)');
  await database.query(`
    create constraint trigger fails_at_commit after insert on notes deferrable initially deferred
    for each row execute function fail_always()`);
  const storage = openPostgresEngine(database.url, settings);
  return {
    storage,
    *failing(code, until) {
      yield* all(sql`select fail_until(${until}, ${code})`);
    },
    async calls() {
      const [row] = await database.query(
        'select case when is_called then last_value else 0 end::int as calls from calls',
      );
      return Number(row?.['calls']);
    },
    async [Symbol.asyncDispose]() {
      await storage[Symbol.asyncDispose]();
      await database.drop();
    },
  };
}

function* connectionId(): Script<bigint> {
  return (yield* one(sql<{ id: bigint }>`select pg_backend_pid() as id`)).id;
}

const scope = { storeId: 1, cardId: 1 };

test('a write that deadlocks again and again is retried until it succeeds, within its time limit', async () => {
  await using opened = await openFailing();
  for (const how of [undefined, scope]) {
    const before = await opened.calls();
    await opened.storage.write(() => opened.failing('40P01', before + 12), how);
    assert.equal((await opened.calls()) - before, 12);
  }
});

test('a deadlock that does not end is reported at the time limit', async () => {
  // The delays double until 512 ms: the eighth would end after 1,020 ms.
  const random = { ...systemRandom(systemClock), bytes: (length: number) => Buffer.alloc(length, 0xff) };
  await using opened = await openFailing({ random, scriptMaxMs: 1_000 });
  const startedAt = performance.now();
  await assert.rejects(
    opened.storage.write(() => opened.failing('40P01', 1_000)),
    /overloaded/,
  );
  assert.ok(isWithin(performance.now() - startedAt, 5_000));
  const calls = await opened.calls();
  assert.ok(calls > 1 && calls <= 8);
});

test('a duplicate key that does not disappear is reported after few attempts', async () => {
  await using opened = await openFailing();
  await assert.rejects(
    opened.storage.write(() => opened.failing('23505', 1_000)),
    /overloaded/,
  );
  assert.equal(await opened.calls(), 6);
});

test('a server that cannot reach another one keeps its own connection, and the script runs again', async () => {
  await using opened = await openFailing({ connectionsMax: 1 });
  const { storage, failing } = opened;
  const id = await storage.read(connectionId);
  await storage.write(() => failing('08006', 3));
  await storage.write(() => failing('08006', 3 + 3), scope);
  await assert.rejects(
    storage.write(() => failing('08006', 1_000)),
    /unavailable/,
  );
  assert.equal(await storage.read(connectionId), id);
});

test('a server that cannot reach another one at a commit makes its outcome unknown, and it is not repeated', async () => {
  await using opened = await openFailing();
  for (const how of [undefined, scope]) {
    const before = await opened.calls();
    const insert = () => execute(sql`insert into notes (code) values ('08006')`);
    await assert.rejects(opened.storage.write(insert, how), /unavailable/);
    assert.equal((await opened.calls()) - before, 1);
  }
});
