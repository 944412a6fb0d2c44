/** The embedded engine responds only after a write is durable. These tests control its sync of the log. */

import assert from 'node:assert/strict';
import test, { suite } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Fault } from '../../src/core/domain/fault.ts';
import type { Script } from '../../src/database/sql/sql.ts';
import { syncOfLog } from '../../src/database/sqlite/durability.ts';
import { createSqliteDatabase, openEngine, sqliteFactory } from '../support/sqlite.ts';
import { addTo, counterOf, insertRow, listRows } from '../support/row-counts.ts';

/** A sync that the test ends. */
function heldSyncs() {
  const underWay: PromiseWithResolvers<void>[] = [];
  let begun = 0;
  let isFree = true;
  return {
    sync(): Promise<void> {
      begun += 1;
      if (isFree) return Promise.resolve();
      const held = Promise.withResolvers<void>();
      underWay.push(held);
      return held.promise;
    },
    /** Makes later syncs wait. */
    hold: () => void (isFree = false),
    /** Ends the running syncs. Later syncs do not wait. */
    free() {
      isFree = true;
      for (const { resolve } of underWay.splice(0)) resolve();
    },
    /** Ends the oldest running sync. */
    end: () => underWay.shift()?.resolve(),
    fail: (cause: unknown) => underWay.shift()?.reject(cause),
    get begun() {
      return begun;
    },
  };
}

/** A migrated engine with a row `counter`, whose syncs wait. */
async function openHeld() {
  const database = createSqliteDatabase();
  const syncs = heldSyncs();
  const failures: unknown[] = [];
  const committed: number[] = [];
  const storage = database.open({
    sync: () => syncs.sync(),
    observer: { committed: ({ size }) => committed.push(size), failed: (cause) => failures.push(cause) },
  });
  await storage.migrate(sqliteFactory.migrations);
  await storage.write(() => insertRow(1, 'counter'));
  // The first read waits for commits that others made before the engine was opened.
  await storage.read(listRows);
  committed.length = 0;
  syncs.hold();
  return {
    database,
    storage,
    syncs,
    failures,
    committed,
    async [Symbol.asyncDispose]() {
      syncs.free();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** Records the outcomes of promises, in the order in which they settle. */
function followed(...promises: readonly Promise<unknown>[]) {
  const outcomes: string[] = [];
  for (const promise of promises) {
    promise.then(
      (value) => outcomes.push(String(value)),
      (error: unknown) => outcomes.push(error instanceof Fault ? error.code : String(error)),
    );
  }
  return outcomes;
}

/** Waits until the engine has done everything that does not need a sync. */
async function someTurns(): Promise<void> {
  for (let count = 0; count < 20; count += 1) await turn();
}

suite('SQLite: responses wait until they are durable', () => {
  test('a write returns after a sync that began after its commit', async () => {
    await using opened = await openHeld();
    const { database, storage, syncs, committed } = opened;
    const before = syncs.begun;
    const first = storage.write(() => addTo('counter', 1));
    await someTurns();
    const second = storage.write(() => addTo('counter', 1));
    const outcomes = followed(first, second);
    await someTurns();
    const reader = database.connect();
    const stored = reader.prepare("select updated_at from stores where domain = 'counter'").get();
    assert.ok(stored?.['updated_at'] === 1n || stored?.['updated_at'] === 2n, 'it is committed');
    assert.deepEqual(outcomes, []);
    assert.deepEqual(committed, [], 'the observer is not notified');
    assert.equal(syncs.begun, before + 1);
    syncs.end();
    await someTurns();
    assert.deepEqual(outcomes, ['1'], 'the running sync does not cover later commits');
    assert.deepEqual(committed, [1]);
    syncs.end();
    await someTurns();
    assert.deepEqual(outcomes, ['1', '2']);
  });

  test('one sync covers all groups committed before it began', async () => {
    await using opened = await openHeld();
    const { storage, syncs, committed } = opened;
    const writes = [storage.write(() => addTo('counter', 1))];
    await someTurns();
    const before = syncs.begun;
    // Twice more than 32 writes: a group of that size runs before the sync has ended.
    for (let group = 0; group < 2; group += 1) {
      for (let index = 0; index < 40; index += 1) writes.push(storage.write(() => addTo('counter', 1)));
      await someTurns();
    }
    const outcomes = followed(...writes);
    syncs.end();
    await someTurns();
    assert.equal(outcomes.length, 1);
    assert.equal(syncs.begun, before + 1);
    syncs.end();
    await someTurns();
    assert.equal(outcomes.length, 81);
    assert.deepEqual(committed, [1, 40, 40]);
    assert.equal(syncs.begun, before + 1);
  });

  test('reads, rejections and dry runs wait for the commits that they can have seen', async () => {
    await using opened = await openHeld();
    const { storage, syncs } = opened;
    const write = storage.write(() => addTo('counter', 1));
    await someTurns();
    const read = storage.read(() => counterOf('counter'));
    const error = storage.read(assertNotCounted);
    const outcomes = followed(write, read, error);
    await someTurns();
    assert.deepEqual(outcomes, []);
    syncs.end();
    await someTurns();
    assert.deepEqual(outcomes, ['1', '1', 'not-found']);

    const others = followed(
      storage.dryRun(() => addTo('counter', 1)),
      storage.write(assertNotCounted),
    );
    await someTurns();
    assert.deepEqual(others, []);
    syncs.end();
    await someTurns();
    assert.deepEqual(others, ['2', 'not-found']);
  });

  test('a read of durable rows returns without a sync', async () => {
    await using opened = await openHeld();
    const { storage, syncs } = opened;
    const before = syncs.begun;
    assert.equal(await storage.read(() => counterOf('counter')), 0);
    assert.equal(syncs.begun, before);
  });

  test('a read that can have seen a commit of another process waits for a sync', async () => {
    await using opened = await openHeld();
    const { database, storage, syncs } = opened;
    const before = syncs.begun;
    const reader = database.connect();
    reader.exec("pragma synchronous = off; update stores set updated_at = 7 where domain = 'counter'");
    const outcomes = followed(storage.read(() => counterOf('counter')));
    await someTurns();
    assert.deepEqual(outcomes, []);
    assert.equal(syncs.begun, before + 1);
    syncs.end();
    await someTurns();
    assert.deepEqual(outcomes, ['7']);
  });

  test('the first read waits for commits made before the engine was opened', async () => {
    await using opened = await openHeld();
    const { database } = opened;
    const syncs = heldSyncs();
    syncs.hold();
    const late = database.open({ sync: () => syncs.sync() });
    const outcomes = followed(late.read(() => counterOf('counter')));
    await someTurns();
    assert.deepEqual(outcomes, []);
    syncs.end();
    await someTurns();
    assert.deepEqual(outcomes, ['0']);
  });

  test('a migration returns when it is durable', async () => {
    await using opened = await openHeld();
    const { storage, syncs } = opened;
    const outcomes = followed(storage.migrate(sqliteFactory.migrations).then(() => 'migrated'));
    await someTurns();
    assert.deepEqual(outcomes, []);
    syncs.end();
    await someTurns();
    assert.deepEqual(outcomes, ['migrated']);
  });

  test('disposing waits until every caller has a response', async () => {
    await using opened = await openHeld();
    const { storage, syncs } = opened;
    const written = storage.write(() => addTo('counter', 1));
    const disposing = async (): Promise<string> => {
      await storage[Symbol.asyncDispose]();
      return 'disposed';
    };
    const disposed = disposing();
    const outcomes = followed(written, disposed);
    await someTurns();
    assert.deepEqual(outcomes, []);
    syncs.end();
    await disposed;
    assert.deepEqual(outcomes, ['1', 'disposed']);
  });

  test('callers that wait for a sync count as waiting, and the queue limit rejects one more', async () => {
    await using database = createSqliteDatabase();
    const syncs = heldSyncs();
    const storage = database.open({ sync: () => syncs.sync(), queueMax: 3 });
    await storage.migrate(sqliteFactory.migrations);
    await storage.write(() => insertRow(1, 'counter'));
    syncs.hold();
    const outcomes = followed(...Array.from({ length: 3 }, () => storage.write(() => addTo('counter', 1))));
    await someTurns();
    await assert.rejects(storage.read(listRows), { code: 'overloaded' });
    syncs.free();
    await someTurns();
    assert.deepEqual(outcomes, ['1', '2', '3']);
    assert.deepEqual(await storage.read(listRows), ['counter']);
  });
});

suite('SQLite: a sync that fails', () => {
  test('rejects all waiting callers, is not retried, and stops the service', async () => {
    await using opened = await openHeld();
    const { storage, syncs, failures, committed } = opened;
    const covered = storage.write(() => addTo('counter', 1));
    await someTurns();
    const committedSince = Array.from({ length: 40 }, () => storage.write(() => addTo('counter', 1)));
    await someTurns();
    const queued = [storage.write(() => addTo('counter', 1)), storage.read(() => counterOf('counter'))];
    const before = syncs.begun;
    const cause = new Error('EIO');
    const outcomes = followed(covered, ...committedSince, ...queued);
    syncs.fail(cause);
    await someTurns();
    assert.equal(outcomes.length, 43);
    assert.deepEqual(new Set(outcomes), new Set(['unavailable']));
    assert.deepEqual(failures, [cause]);
    assert.deepEqual(committed, []);
    await assert.rejects(
      storage.write(() => addTo('counter', 1)),
      { code: 'unavailable' },
    );
    await assert.rejects(storage.read(listRows), { code: 'unavailable' });
    await storage[Symbol.asyncDispose]();
    assert.equal(syncs.begun, before);
  });

  test('leaves the outcome unknown, even if the disk is full', async () => {
    await using opened = await openHeld();
    const { storage, syncs, failures } = opened;
    const outcomes = followed(storage.write(() => addTo('counter', 1)));
    await someTurns();
    syncs.fail(Object.assign(new Error('no space'), { code: 'ENOSPC' }));
    await someTurns();
    assert.deepEqual(outcomes, ['unavailable']);
    assert.equal(failures.length, 1);
  });

  test('is the result of a log that cannot be opened', async () => {
    await using database = createSqliteDatabase();
    await using sync = syncOfLog(`${database.file}.missing`);
    await assert.rejects(sync(), { code: 'ENOENT' });
  });
});

test('acknowledged rows exist for an engine that is opened while the first runs', async () => {
  await using database = createSqliteDatabase();
  const storage = database.open();
  await storage.migrate(sqliteFactory.migrations);
  for (let id = 1; id <= 20; id += 1) {
    await storage.write(() => insertRow(id, `row-${id}`));
    await using other = openEngine(database.file, { create: false });
    assert.equal((await other.read(listRows)).length, id);
  }
});

function* assertNotCounted(): Script<number> {
  const count = yield* counterOf('counter');
  if (count > 0) throw new Fault('not-found');
  return count;
}
