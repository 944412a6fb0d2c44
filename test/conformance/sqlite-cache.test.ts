/** The cache of the embedded engine, which only writes to the tables that were read invalidate. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { beat, lastBeat } from '../../src/database/heartbeat.ts';
import { until } from '../support/delivering.ts';
import { createSqliteDatabase, sqliteFactory, type SqliteSettings } from '../support/sqlite.ts';
import { addTo, insertRow, listRows } from '../support/row-counts.ts';

/** Renames the row, as a process of the service commits it. */
const renaming = `begin immediate; update stores set domain = 'renamed'; pragma user_version = 1000; commit`;

/** An engine with a row, and a cache of the rows' names that counts how often it runs a script. */
async function openWithCache(entriesMax = 4, settings: SqliteSettings = {}) {
  const database = createSqliteDatabase();
  const storage = database.open(settings);
  await storage.migrate(sqliteFactory.migrations);
  await storage.write(() => insertRow(1, 'one'));
  const cache = storage.cache<readonly string[]>({ entriesMax });
  let runs = 0;
  const look = (key: string) =>
    cache.read(key, function* () {
      runs += 1;
      return yield* listRows();
    });
  return {
    database,
    storage,
    look,
    find: (key: string) => cache.find(key),
    findOwn: (key: string) => cache.findOwn(key),
    /** Returns how many of these sequential reads ran their script. */
    async runsOf(...keys: readonly string[]): Promise<number> {
      runs = 0;
      for (const key of keys) await look(key);
      return runs;
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

test('a cached result is returned again, to each key its own', async () => {
  await using opened = await openWithCache();
  assert.equal(await opened.runsOf('a', 'a', 'a'), 1);
  assert.equal(await opened.runsOf('b', 'a', 'b'), 1);
  assert.deepEqual(await opened.look('b'), ['one']);
});

test('concurrent reads of one turn that miss the cache all run, and agree', async () => {
  await using opened = await openWithCache();
  const looks = await Promise.all(['a', 'a', 'b'].map((key) => opened.look(key)));
  assert.deepEqual(looks, [['one'], ['one'], ['one']]);
});

test('what is in memory is found without the database, until a write of this process', async () => {
  await using opened = await openWithCache();
  const other = opened.database.open();
  assert.equal(opened.findOwn('a'), undefined);
  await opened.look('a');
  await other.write(() => insertRow(2, 'two'));
  assert.deepEqual(opened.findOwn('a'), ['one']);
  assert.equal(opened.find('a'), undefined);
  await opened.storage.write(() => insertRow(3, 'three'));
  assert.equal(opened.findOwn('a'), undefined);
});

test('a write to a table that was read invalidates the cache, also through a trigger', async () => {
  await using opened = await openWithCache();
  const { storage } = opened;
  await opened.look('a');
  await storage.write(() => insertRow(2, 'two'));
  assert.deepEqual(await opened.look('a'), ['one', 'two']);

  const plain = opened.database.connect();
  plain.exec(`create trigger renaming after update on heartbeat begin
    update stores set domain = 'renamed' where domain = 'two'; end`);
  assert.deepEqual(await opened.look('a'), ['one', 'two']);
  await storage.write(() => beat(1));
  assert.deepEqual(await opened.look('a'), ['one', 'renamed']);
});

test('a write to another table does not invalidate the cache', async () => {
  await using opened = await openWithCache();
  await opened.look('a');
  await opened.storage.write(() => beat(1));
  assert.equal(await opened.runsOf('a'), 0);
});

test('a write of another process to one of the counted tables invalidates the cache, once', async () => {
  await using opened = await openWithCache();
  await using foreign = opened.database.open();
  await opened.look('a');
  await foreign.write(() => beat(1));
  assert.equal(await opened.runsOf('a'), 0);
  await turn();
  assert.deepEqual(opened.find('a'), ['one'], 'it is found without a read');
  await foreign.write(() => insertRow(2, 'two'));
  assert.equal(await opened.runsOf('a', 'a', 'a'), 1);
  assert.deepEqual(await opened.look('a'), ['one', 'two']);
});

test('any write of another process invalidates a cache of other tables', async () => {
  await using opened = await openWithCache();
  await using foreign = opened.database.open();
  const heartbeats = opened.storage.cache<number>({ entriesMax: 1 });
  assert.equal(await heartbeats.read('all', lastBeat), 0);
  await foreign.write(() => beat(1));
  await turn();
  assert.equal(heartbeats.find('all'), undefined);
  assert.equal(await heartbeats.read('all', lastBeat), 1);
});

test('writes of a program that does not count them are found after a second', async () => {
  await using opened = await openWithCache();
  const plain = opened.database.connect();
  await opened.look('a');
  plain.exec("update stores set domain = 'renamed'");
  await until(async () => (await opened.look('a'))?.[0] === 'renamed');
  plain.exec("update stores set domain = 'renamed again'");
  await until(() => opened.find('a') === undefined);
  assert.deepEqual(await opened.look('a'), ['renamed again']);
});

test('a read in the turn of a write by another process finds the write', async () => {
  await using opened = await openWithCache();
  const plain = opened.database.connect();
  await opened.look('a');
  const before = opened.look('a');
  plain.exec(renaming);
  const after = opened.look('a');
  assert.deepEqual(await Promise.all([before, after]), [['renamed'], ['renamed']]);
});

test('a read in the turn of a write by its own process runs before it or after it', async () => {
  await using opened = await openWithCache();
  const { storage } = opened;
  await opened.look('a');
  const [before] = await Promise.all([
    opened.look('a'),
    storage.write(() => insertRow(2, 'two')),
    opened.look('b'),
  ]);
  assert.deepEqual(before, ['one']);
  assert.deepEqual(await opened.look('a'), ['one', 'two']);
  assert.deepEqual(await opened.look('b'), ['one', 'two']);
});

test('a dry run and a write that is rolled back do not invalidate the cache', async () => {
  await using opened = await openWithCache();
  const { storage } = opened;
  await opened.look('a');
  await storage.dryRun(() => insertRow(2, 'two'));
  assert.deepEqual(await opened.look('a'), ['one']);
  const undone = storage.write(function* () {
    yield* addTo('one', 1);
    throw new TypeError('a defect');
  });
  await assert.rejects(undone, TypeError);
  assert.deepEqual(await opened.look('a'), ['one']);
});

test('a migration empties the cache', async () => {
  await using opened = await openWithCache();
  const migration = {
    version: 9_999,
    name: 'renaming',
    text: "update stores set domain = 'renamed'",
    checksum: 'of no file',
  };
  await opened.look('a');
  await opened.storage.migrate([...sqliteFactory.migrations, migration]);
  assert.deepEqual(await opened.look('a'), ['renamed']);
});

test('a full cache evicts its oldest entry', async () => {
  await using opened = await openWithCache(2);
  assert.equal(await opened.runsOf('a', 'b', 'a', 'b'), 2);
  assert.equal(await opened.runsOf('c', 'b', 'c'), 1, 'c takes the place of a');
  assert.equal(await opened.runsOf('a', 'c', 'a'), 1, 'a takes the place of b');
});

test('a cached result is found without a read, until a write of its own process changes it', async () => {
  await using opened = await openWithCache();
  assert.equal(opened.find('a'), undefined);
  await opened.look('a');
  assert.deepEqual(opened.find('a'), ['one']);
  assert.equal(opened.find('b'), undefined);
  await opened.storage.write(() => beat(1));
  assert.deepEqual(opened.find('a'), ['one']);
  await opened.storage.write(() => insertRow(2, 'two'));
  assert.equal(opened.find('a'), undefined);
  assert.deepEqual(await opened.look('a'), ['one', 'two']);
  assert.deepEqual(opened.find('a'), ['one', 'two']);
});

test('a cached result is not found from the turn on after another process has committed', async () => {
  await using opened = await openWithCache();
  const plain = opened.database.connect();
  await opened.look('a');
  await turn();
  assert.deepEqual(opened.find('a'), ['one']);
  plain.exec(renaming);
  assert.deepEqual(opened.find('a'), ['one'], 'requests of one turn arrived before it began');
  await turn();
  assert.equal(opened.find('a'), undefined);
  assert.equal(opened.find('a'), undefined, 'the read that follows waits until the commit is durable');
  assert.deepEqual(await opened.look('a'), ['renamed']);
  assert.deepEqual(opened.find('a'), ['renamed']);
});

test('a cached result is not found in a turn in which another process has committed before', async () => {
  await using opened = await openWithCache();
  const plain = opened.database.connect();
  await opened.look('a');
  await turn();
  plain.exec(renaming);
  assert.equal(opened.find('a'), undefined);
});

test('a cached result is found only when the commits that it depends on are durable', async () => {
  let isHeld = false;
  let syncs = 0;
  const held = Promise.withResolvers<void>();
  const sync = (): Promise<void> => {
    syncs += 1;
    return isHeld ? held.promise : Promise.resolve();
  };
  await using opened = await openWithCache(4, { sync });
  await opened.look('a');
  isHeld = true;
  syncs = 0;
  const write = opened.storage.write(() => insertRow(2, 'two'));
  // The write is committed before the next read, and its sync does not end.
  while (syncs === 0) await turn();
  const look = opened.look('a');
  for (let turns = 0; turns < 5; turns += 1) await turn();
  assert.equal(opened.find('a'), undefined);
  isHeld = false;
  held.resolve();
  assert.deepEqual((await Promise.all([look, write]))[0], ['one', 'two']);
  assert.deepEqual(opened.find('a'), ['one', 'two']);
});

test('a stopped engine finds nothing in its cache', async () => {
  await using opened = await openWithCache();
  await opened.look('a');
  await opened.storage[Symbol.asyncDispose]();
  assert.equal(opened.find('a'), undefined);
});

test('caches are emptied separately', async () => {
  await using opened = await openWithCache();
  const { storage } = opened;
  const heartbeats = storage.cache<number>({ entriesMax: 1 });
  let runs = 0;
  const look = () =>
    heartbeats.read('all', function* () {
      runs += 1;
      return yield* lastBeat();
    });
  assert.equal(await look(), 0);
  await storage.write(() => insertRow(2, 'two'));
  assert.equal(await look(), 0);
  assert.equal(runs, 1);
  await storage.write(() => beat(1));
  assert.equal(await look(), 1);
});
