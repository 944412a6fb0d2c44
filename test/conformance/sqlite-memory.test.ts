/** What the embedded engine remembers, and what makes it forget: exactly the writes to tables that were looked at. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { beat, lastBeat } from '../../src/storage/heartbeat.ts';
import { createSqliteDatabase, sqliteFactory } from '../support/sqlite.ts';
import { addTo, insertRow, listRows } from '../support/row-counts.ts';

/** An engine with a row, and a memory of the rows' names that counts how often it runs a script. */
async function openRemembering(entriesMax = 4) {
  const database = createSqliteDatabase();
  const storage = database.open();
  await storage.migrate(sqliteFactory.migrations);
  await storage.write(() => insertRow(1, 'one'));
  const memory = storage.memory<readonly string[]>({ entriesMax });
  let runs = 0;
  const look = (key: string) =>
    memory.read(key, function* () {
      runs += 1;
      return yield* listRows();
    });
  return {
    database,
    storage,
    look,
    /** How many of these looks, one after the other, were at the database. */
    async runsOf(...keys: readonly string[]): Promise<number> {
      runs = 0;
      for (const key of keys) await look(key);
      return runs;
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

test('what was found is answered again, to each key its own', async () => {
  await using opened = await openRemembering();
  assert.equal(await opened.runsOf('a', 'a', 'a'), 1);
  assert.equal(await opened.runsOf('b', 'a', 'b'), 1);
  assert.deepEqual(await opened.look('b'), ['one']);
});

test('looks of one turn that find nothing in memory all look, and agree', async () => {
  await using opened = await openRemembering();
  const looks = await Promise.all(['a', 'a', 'b'].map((key) => opened.look(key)));
  assert.deepEqual(looks, [['one'], ['one'], ['one']]);
});

test('a write to a table that was looked at is not missed, nor one that a trigger made', async () => {
  await using opened = await openRemembering();
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

test('a write to another table leaves what is remembered', async () => {
  await using opened = await openRemembering();
  await opened.look('a');
  await opened.storage.write(() => beat(1));
  assert.equal(await opened.runsOf('a'), 0);
});

test('any write of another process makes it forget, and only once', async () => {
  await using opened = await openRemembering();
  await using foreign = opened.database.open();
  await opened.look('a');
  await foreign.write(() => beat(1));
  assert.equal(await opened.runsOf('a', 'a', 'a'), 1);
  await foreign.write(() => insertRow(2, 'two'));
  assert.deepEqual(await opened.look('a'), ['one', 'two']);
});

test('a look of the turn in which another process wrote does not miss it', async () => {
  await using opened = await openRemembering();
  const plain = opened.database.connect();
  await opened.look('a');
  const before = opened.look('a');
  plain.exec("update stores set domain = 'renamed'");
  const after = opened.look('a');
  assert.deepEqual(await Promise.all([before, after]), [['renamed'], ['renamed']]);
});

test('a look in the turn of a write of its own process is before it or after it', async () => {
  await using opened = await openRemembering();
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

test('a rehearsal and a write that is undone change nothing that is remembered', async () => {
  await using opened = await openRemembering();
  const { storage } = opened;
  await opened.look('a');
  await storage.rehearse(() => insertRow(2, 'two'));
  assert.deepEqual(await opened.look('a'), ['one']);
  const undone = storage.write(function* () {
    yield* addTo('one', 1);
    throw new TypeError('a defect');
  });
  await assert.rejects(undone, TypeError);
  assert.deepEqual(await opened.look('a'), ['one']);
});

test('a migration makes it forget everything', async () => {
  await using opened = await openRemembering();
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

test('where there is no room, what was kept first goes', async () => {
  await using opened = await openRemembering(2);
  assert.equal(await opened.runsOf('a', 'b', 'a', 'b'), 2);
  assert.equal(await opened.runsOf('c', 'b', 'c'), 1, 'c takes the place of a');
  assert.equal(await opened.runsOf('a', 'c', 'a'), 1, 'a takes the place of b');
});

test('memories are emptied each for itself', async () => {
  await using opened = await openRemembering();
  const { storage } = opened;
  const heartbeats = storage.memory<number>({ entriesMax: 1 });
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
