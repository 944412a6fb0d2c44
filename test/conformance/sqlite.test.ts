/** The conformance suites on the embedded engine, and the tests of this engine. */

import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { suite } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { isWithin } from '../support/deadline.ts';
import { Fault } from '../../src/core/domain/fault.ts';
import { all, lock, RetryTransaction, execute, sql, type Script } from '../../src/database/sql/sql.ts';
import type { Storage } from '../../src/database/storage.ts';
import { startProgram } from '../support/programs.ts';
import { createSqliteDatabase, openEngine, sqliteFactory, type SqliteSettings } from '../support/sqlite.ts';
import { addTo, counterOf, hasRow, insertion, insertRow, listRows } from '../support/row-counts.ts';
import { proofConformance } from './proofs.ts';
import { serviceConformance } from './services.ts';
import { storageConformance } from './storage.ts';

storageConformance('SQLite', sqliteFactory);
serviceConformance('SQLite', sqliteFactory);
proofConformance('SQLite', sqliteFactory);

/** A migrated database with an engine that reports the sizes of its commits. */
async function openCounted(settings: SqliteSettings = {}) {
  const database = createSqliteDatabase();
  const sizes: number[] = [];
  const failures: unknown[] = [];
  const storage = database.open({
    observer: {
      committed: ({ size, seconds }) => {
        assert.ok(seconds >= 0);
        sizes.push(size);
      },
      failed: (cause) => failures.push(cause),
    },
    ...settings,
  });
  await storage.migrate(sqliteFactory.migrations);
  return { database, storage, sizes, failures, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() };
}

suite('SQLite: group commit', () => {
  test('writes of one turn share a transaction, up to the limit of a group', async () => {
    for (const groupMax of [1, 32, 100, 256]) {
      await using opened = await openCounted({ groupMax });
      const { storage, sizes } = opened;
      const writes = Array.from({ length: 100 }, (_, index) =>
        storage.write(() => insertRow(index + 1, `row-${index}`)),
      );
      await Promise.all(writes);
      assert.equal(sizes.length, Math.ceil(100 / groupMax), `groups of ${groupMax}: ${sizes.join(', ')}`);
      assert.ok(Math.max(...sizes) <= groupMax);
      assert.equal(
        sizes.reduce((sum, size) => sum + size),
        100,
      );
    }
  });

  test('a group of scripts that all throw writes nothing', async () => {
    await using opened = await openCounted();
    const { storage } = opened;
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) =>
        storage.write(function* (): Script<void> {
          yield* insertRow(index + 1, `row-${index}`);
          throw index % 2 === 0 ? new Fault('not-found') : new RetryTransaction('never');
        }),
      ),
    );
    assert.deepEqual(new Set(outcomes.map(({ status }) => status)), new Set(['rejected']));
    assert.deepEqual(await storage.read(listRows), []);
  });

  test('scripts of one group see the writes of the scripts before them', async () => {
    await using opened = await openCounted();
    const { storage, sizes } = opened;
    await storage.write(() => insertRow(1, 'counter'));
    const counts = await Promise.all(
      Array.from({ length: 30 }, () => storage.write(() => addTo('counter', 1))),
    );
    assert.deepEqual(
      counts,
      Array.from({ length: 30 }, (_, index) => index + 1),
    );
    assert.deepEqual(sizes, [1, 30]);
  });

  test('a row is in the file at the moment its write returns', async () => {
    await using opened = await openCounted({ groupMax: 8 });
    const { database, storage } = opened;
    const second = database.connect();
    const find = second.prepare('select id from stores where domain = ?');
    await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        await storage.write(() => insertRow(index + 1, `row-${index}`));
        assert.ok(find.get(`row-${index}`), `row ${index}`);
      }),
    );
  });

  test('commits append to a log, which the engine syncs', async () => {
    await using opened = await openCounted();
    const { storage } = opened;
    const pragmas = function* () {
      const [full] = yield* all(sql<{ synchronous: bigint }>`pragma synchronous`);
      const [mode] = yield* all(sql<{ journal_mode: string }>`pragma journal_mode`);
      const [keys] = yield* all(sql<{ foreign_keys: bigint }>`pragma foreign_keys`);
      return [full?.synchronous, mode?.journal_mode, keys?.foreign_keys];
    };
    // 1 is NORMAL: SQLite syncs to keep the file intact, and the engine syncs to make a commit durable.
    assert.deepEqual(await storage.write(pragmas), [1n, 'wal', 1n]);
  });
});

suite('SQLite: scripts of a group that throw', () => {
  /**
   * Makes ten writes in one turn and ends the fifth with the given script. Returns how each ended, and how
   * often each was started.
   */
  async function writeTen(storage: Storage, from: number, fifth: (id: number) => Script<void>) {
    const starts = Array.from({ length: 10 }, () => 0);
    const outcomes = await Promise.allSettled(
      starts.map((_, place) =>
        storage.write(() => {
          starts[place] = (starts[place] ?? 0) + 1;
          return place === 4 ? fifth(from + place) : insertRow(from + place, `row-${from + place}`);
        }),
      ),
    );
    return { starts, kept: outcomes.map(({ status }) => status === 'fulfilled') };
  }

  const never = function* (id: number): Script<void> {
    yield* insertRow(id, 'never');
    throw new Fault('not-found');
  };
  const allButTheFifth = Array.from({ length: 10 }, (_, place) => place !== 4);
  const once = Array.from({ length: 10 }, () => 1);

  test('a script that throws after it wrote rolls back its group, which runs again, and later groups run once', async () => {
    await using opened = await openCounted();
    const { storage, sizes } = opened;
    const spoiled = await writeTen(storage, 100, never);
    assert.deepEqual(spoiled, { starts: [2, 2, 2, 2, 2, 1, 1, 1, 1, 1], kept: allButTheFifth });
    for (const from of [200, 300])
      assert.deepEqual(await writeTen(storage, from, never), { starts: once, kept: allButTheFifth });
    assert.deepEqual(sizes, [10, 10, 10]);
    const rows = [100, 200, 300].flatMap((from) =>
      allButTheFifth.flatMap((isKept, place) => (isKept ? [`row-${from + place}`] : [])),
    );
    assert.deepEqual(await storage.read(listRows), rows);
  });

  test('a script that throws before it wrote does not affect the others', async () => {
    await using opened = await openCounted();
    const { storage } = opened;
    await storage.write(() => insertRow(1, 'counter'));
    const failing: readonly ((id: number) => Script<void>)[] = [
      function* () {
        yield* all(sql`update stores set updated_at = 7 where domain = 'another' returning updated_at`);
        throw new Fault('not-found');
      },
      function* () {
        yield* counterOf('counter');
        throw new Fault('not-found');
      },
      () => insertRow(1, 'taken'),
    ];
    for (const [index, script] of failing.entries()) {
      const { starts, kept } = await writeTen(storage, 100 * (index + 1), script);
      assert.deepEqual(kept, allButTheFifth, `rejection ${index}`);
      assert.deepEqual(starts.toSpliced(4, 1), once.slice(1), `rejection ${index}`);
    }
  });

  test('a dry run does not affect the others', async () => {
    await using opened = await openCounted();
    const { storage } = opened;
    let starts = 0;
    const writing = (id: number) =>
      storage.write(() => {
        starts += 1;
        return insertRow(id, `row-${id}`);
      });
    const dryRun = storage.dryRun(() => insertRow(2, 'rehearsed'));
    const rejected = storage.dryRun(() => never(3));
    await Promise.all([writing(1), dryRun, assert.rejects(rejected, { code: 'not-found' }), writing(4)]);
    assert.equal(starts, 2);
    assert.deepEqual(await storage.read(listRows), ['row-1', 'row-4']);
  });

  test('a group that runs again waits for a lock that another process has acquired', async () => {
    await using opened = await openCounted();
    const { storage, database } = opened;
    const second = database.connect();
    const outcome = storage.write(function* () {
      yield* insertRow(1, 'never');
      setImmediate(() => second.exec('begin immediate'));
      throw new Fault('not-found');
    });
    const after = storage.write(() => insertRow(2, 'kept'));
    await wait(50);
    second.exec('commit');
    await assert.rejects(outcome, { code: 'not-found' });
    await after;
    assert.deepEqual(await storage.read(listRows), ['kept']);
  });
});

test('SQLite: a statement that only locks is not run', async () => {
  await using opened = await openCounted();
  await opened.storage.write(function* (): Script<void> {
    yield* execute(lock`select nothing from nowhere`, insertion(1, 'written'));
  });
  assert.deepEqual(await opened.storage.read(listRows), ['written']);
});

suite('SQLite: reads during writes of another connection', () => {
  test('a read does not see a commit made while it runs, and the next read does', async () => {
    await using opened = await openCounted();
    const { database, storage } = opened;
    await storage.write(() => insertRow(1, 'counter'));
    const second = database.connect();
    const seen = await storage.read(function* () {
      const before = yield* counterOf('counter');
      second.exec("update stores set updated_at = 7 where domain = 'counter'");
      return [before, yield* counterOf('counter')];
    });
    assert.deepEqual(seen, [0, 0]);
    assert.equal(await storage.read(() => counterOf('counter')), 7);
  });

  test('a write sees the commits that another connection made before it began', async () => {
    await using opened = await openCounted();
    const { database, storage } = opened;
    await storage.write(() => insertRow(1, 'counter'));
    const second = database.connect();
    for (let round = 0; round < 20; round += 1) {
      second.exec("update stores set updated_at = updated_at + 1 where domain = 'counter'");
      assert.equal(await storage.write(() => addTo('counter', 1)), 2 * (round + 1));
    }
  });
});

suite('SQLite: rows during a schema change by another connection', () => {
  test('a column added during a read does not shift the others', async () => {
    await using opened = await openCounted();
    const { database, storage } = opened;
    await storage.write(() => insertRow(1, 'one'));
    const second = database.connect();
    const named = () => all(sql<object>`select s.id, s.domain, 'last' as behind from stores s`);
    const starred = () => all(sql<object>`select s.*, 'last' as behind from stores s`);
    const [before] = await storage.read(starred);
    assert.deepEqual(await storage.read(named), [{ id: 1n, domain: 'one', behind: 'last' }]);

    second.exec("alter table stores add column added text not null default 'added'");
    assert.deepEqual(await storage.read(named), [{ id: 1n, domain: 'one', behind: 'last' }]);
    const [after] = await storage.read(starred);
    assert.deepEqual({ ...after }, { ...before, added: 'added' });
  });
});

suite('SQLite: another connection holds the write lock', () => {
  test('writes wait for the lock and then succeed, and reads succeed while it is held', async () => {
    await using opened = await openCounted();
    const { database, storage } = opened;
    await storage.write(() => insertRow(1, 'counter'));
    const holder = database.connect();
    holder.exec("begin immediate; update stores set updated_at = 100 where domain = 'counter'");
    let returned = 0;
    const writes = Array.from({ length: 10 }, async () => {
      await storage.write(() => addTo('counter', 1));
      returned += 1;
    });
    for (let round = 0; round < 10; round += 1) {
      const startedAt = performance.now();
      assert.equal(await storage.read(() => counterOf('counter')), 0, 'uncommitted writes are not visible');
      assert.ok(isWithin(performance.now() - startedAt, 500), 'a read waited for the lock');
      await wait(10);
    }
    assert.equal(returned, 0);
    assert.equal(storage.queueDepth, 10);
    holder.exec('commit');
    await Promise.all(writes);
    assert.equal(await storage.read(() => counterOf('counter')), 110);
  });

  test('after the longest wait writes are rejected as unavailable and change nothing, and reads succeed', async () => {
    await using opened = await openCounted({ lockWaitMaxMs: 150 });
    const { database, storage, failures } = opened;
    await storage.write(() => insertRow(1, 'counter'));
    const holder = database.connect();
    holder.exec('begin immediate');
    let started = 0;
    const startedAt = performance.now();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, () =>
        storage.write(() => {
          started += 1;
          return addTo('counter', 1);
        }),
      ),
    );
    const waited = performance.now() - startedAt;
    assert.ok(waited >= 150 && isWithin(waited, 2_000), `waited ${waited} ms`);
    for (const outcome of outcomes) {
      assert.ok(outcome.status === 'rejected' && outcome.reason instanceof Fault);
      assert.equal(outcome.reason.code, 'unavailable');
      assert.ok((outcome.reason.retryAfterSeconds ?? 0) >= 1);
    }
    assert.equal(started, 0);
    assert.equal(await storage.read(() => counterOf('counter')), 0);
    holder.exec('rollback');
    assert.deepEqual(failures, [], 'a lock is not a failure');
    assert.equal(await storage.write(() => addTo('counter', 1)), 1);
  });

  test('the lock of a killed process is released at once, and its uncommitted writes are gone', async () => {
    await using opened = await openCounted();
    const { database, storage } = opened;
    await storage.write(() => insertRow(1, 'counter'));
    await using holder = startProgram(process.execPath, ['-e', holdLock, database.file]);
    await holder.written(/held/);
    const write = storage.write(() => addTo('counter', 1));
    await wait(50);
    assert.equal(storage.queueDepth, 1);
    holder.kill('SIGKILL');
    assert.equal(await write, 1);
    assert.equal(await storage.read(() => hasRow('smuggled')), false);
  });

  test('disposing an engine waits for the lock no longer than its writes do', async () => {
    await using opened = await openCounted();
    const { database } = opened;
    const holder = database.connect();
    const storage = database.open({ lockWaitMaxMs: 100 });
    holder.exec('begin immediate');
    const rejected = assert.rejects(
      storage.write(() => insertRow(1, 'late')),
      { code: 'unavailable' },
    );
    await storage[Symbol.asyncDispose]();
    await rejected;
  });

  test('a database that another process is creating is opened as soon as it is ready', async () => {
    await using database = createSqliteDatabase();
    await using maker = startProgram(process.execPath, ['-e', makeSlowly, database.file]);
    await maker.written(/held/);
    const storage = database.open();
    await storage.migrate(sqliteFactory.migrations);
    assert.deepEqual(await storage.read(listRows), []);
  });
});

suite('SQLite: the file', () => {
  test('a missing file is created only if that is allowed', async () => {
    await using database = createSqliteDatabase();
    const file = join(database.folder, 'new', 'deeper', 'test.db');
    assert.throws(() => openEngine(file, { create: false }), /there is no database at/);
    assert.equal(existsSync(file), false);
    await openEngine(file, { create: true })[Symbol.asyncDispose]();
    await openEngine(file, { create: false })[Symbol.asyncDispose]();
  });

  test('a file that is not a database is rejected and left unchanged', async () => {
    await using database = createSqliteDatabase();
    writeFileSync(database.file, 'This is a letter, not a database. '.repeat(100));
    assert.throws(() => openEngine(database.file), /not a database/);
  });

  test('a disposed engine leaves one file with all rows', async () => {
    await using opened = await openCounted();
    const { database, storage } = opened;
    await storage.write(() => insertRow(1, 'kept'));
    await storage[Symbol.asyncDispose]();
    assert.equal(existsSync(`${database.file}-wal`), false);
    const second = new DatabaseSync(database.file, { readOnly: true });
    assert.equal(second.prepare('select domain from stores').get()?.['domain'], 'kept');
    second.close();
  });

  test('a backup holds everything acknowledged before it, is sound, and never replaces a file', async () => {
    await using opened = await openCounted();
    const { database, storage } = opened;
    for (let id = 1; id <= 50; id += 1) await storage.write(() => insertRow(id, `row-${id}`));
    const target = join(database.folder, 'backup.db');
    const writes = Array.from({ length: 50 }, (_, index) =>
      storage.write(() => insertRow(index + 51, `row-${index + 51}`)),
    );
    const { backup } = storage;
    assert.ok(backup);
    await Promise.all([backup(target), ...writes]);
    await assert.rejects(backup(target), /already exists/);
    await using copy = openEngine(target, { create: false });
    const rows = await copy.read(listRows);
    assert.ok(rows.length >= 50 && rows.length <= 100, `${rows.length} rows`);
    for (let id = 1; id <= 50; id += 1) assert.ok(rows.includes(`row-${id}`));
    assert.deepEqual(await copy.migrate(sqliteFactory.migrations), []);
    const [integrity] = await copy.read(() => all(sql<{ integrity_check: string }>`pragma integrity_check`));
    assert.equal(integrity?.integrity_check, 'ok');
    assert.equal((await storage.read(listRows)).length, 100);
  });
});

/** Acquires the write lock of the file in its last argument, changes a row, and never commits. */
const holdLock = `
  const { DatabaseSync } = require('node:sqlite');
  const database = new DatabaseSync(process.argv[1], { timeout: 5000 });
  database.exec("begin immediate; update stores set domain = 'smuggled'");
  console.log('held');
  setInterval(() => {}, 1000);`;

/** Locks a new file completely, as a process does that creates it and switches the journal mode. */
const makeSlowly = `
  const { DatabaseSync } = require('node:sqlite');
  const database = new DatabaseSync(process.argv[1], { timeout: 5000 });
  database.exec('begin exclusive');
  console.log('held');
  setTimeout(() => database.exec('rollback; pragma journal_mode = wal'), 250);`;
