/** The embedded engine answers nobody with what is not durable. Its sync of the log is replaced by one that tests end. */

import assert from 'node:assert/strict';
import test, { suite } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Fault } from '../../src/domain/fault.ts';
import type { Script } from '../../src/storage/sql.ts';
import { syncOfLog } from '../../src/storage/sqlite-durability.ts';
import { createSqliteDatabase, openEngine, sqliteFactory } from '../support/sqlite.ts';
import { addTo, counterOf, insertRow, listRows } from '../support/row-counts.ts';

/** A sync that ends when it is told to. */
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
    /** From now on they wait. */
    hold: () => void (isFree = false),
    /** Those under way end, and from now on they do not wait. */
    free() {
      isFree = true;
      for (const { resolve } of underWay.splice(0)) resolve();
    },
    /** The one under way ends. */
    end: () => underWay.shift()?.resolve(),
    fail: (cause: unknown) => underWay.shift()?.reject(cause),
    get begun() {
      return begun;
    },
  };
}

/** A migrated engine with a row `counter`, whose syncs wait from now on. */
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
  // The first read waits for what others may have committed before the engine was opened.
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

/** Notes what promises come to, and when. */
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

/** The engine has done by then what it does without waiting for a sync. */
async function someTurns(): Promise<void> {
  for (let count = 0; count < 20; count += 1) await turn();
}

suite('SQLite: nobody is told what is not durable', () => {
  test('a write is answered when a sync has ended that began behind its commit', async () => {
    await using opened = await openHeld();
    const { database, storage, syncs, committed } = opened;
    const before = syncs.begun;
    const first = storage.write(() => addTo('counter', 1));
    await someTurns();
    const second = storage.write(() => addTo('counter', 1));
    const outcomes = followed(first, second);
    await someTurns();
    const beside = database.connect();
    const stored = beside.prepare("select updated_at from stores where domain = 'counter'").get();
    assert.ok(stored?.['updated_at'] === 1n || stored?.['updated_at'] === 2n, 'it is committed');
    assert.deepEqual(outcomes, []);
    assert.deepEqual(committed, [], 'nor is the observer told');
    assert.equal(syncs.begun, before + 1);
    syncs.end();
    await someTurns();
    assert.deepEqual(outcomes, ['1'], 'the sync under way does not cover what came later');
    assert.deepEqual(committed, [1]);
    syncs.end();
    await someTurns();
    assert.deepEqual(outcomes, ['1', '2']);
  });

  test('one sync covers all groups that were committed before it began', async () => {
    await using opened = await openHeld();
    const { storage, syncs, committed } = opened;
    const writes = [storage.write(() => addTo('counter', 1))];
    await someTurns();
    const before = syncs.begun;
    // As many as do not gather until the sync has ended, twice.
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

  test('reads, refusals and rehearsals wait for what they may have seen', async () => {
    await using opened = await openHeld();
    const { storage, syncs } = opened;
    const write = storage.write(() => addTo('counter', 1));
    await someTurns();
    const read = storage.read(() => counterOf('counter'));
    const refusal = storage.read(refuseIfCounted);
    const outcomes = followed(write, read, refusal);
    await someTurns();
    assert.deepEqual(outcomes, []);
    syncs.end();
    await someTurns();
    assert.deepEqual(outcomes, ['1', '1', 'not-found']);

    const others = followed(
      storage.rehearse(() => addTo('counter', 1)),
      storage.write(refuseIfCounted),
    );
    await someTurns();
    assert.deepEqual(others, []);
    syncs.end();
    await someTurns();
    assert.deepEqual(others, ['2', 'not-found']);
  });

  test('a read of what is durable already is answered without a sync', async () => {
    await using opened = await openHeld();
    const { storage, syncs } = opened;
    const before = syncs.begun;
    assert.equal(await storage.read(() => counterOf('counter')), 0);
    assert.equal(syncs.begun, before);
  });

  test('a read that may have seen what another process has committed waits for a sync of it', async () => {
    await using opened = await openHeld();
    const { database, storage, syncs } = opened;
    const before = syncs.begun;
    const beside = database.connect();
    beside.exec("pragma synchronous = off; update stores set updated_at = 7 where domain = 'counter'");
    const outcomes = followed(storage.read(() => counterOf('counter')));
    await someTurns();
    assert.deepEqual(outcomes, []);
    assert.equal(syncs.begun, before + 1);
    syncs.end();
    await someTurns();
    assert.deepEqual(outcomes, ['7']);
  });

  test('the first read waits for what was committed before the engine was opened', async () => {
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

  test('a migration is done when it is durable', async () => {
    await using opened = await openHeld();
    const { storage, syncs } = opened;
    const outcomes = followed(storage.migrate(sqliteFactory.migrations).then(() => 'migrated'));
    await someTurns();
    assert.deepEqual(outcomes, []);
    syncs.end();
    await someTurns();
    assert.deepEqual(outcomes, ['migrated']);
  });

  test('disposing waits until everybody is answered', async () => {
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

  test('who waits for a sync counts as waiting: past the most there may be, one more is refused', async () => {
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
  test('refuses all who wait, is never tried again, and ends the service', async () => {
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

  test('leaves the outcome unknown, even if it fails because the disk is full', async () => {
    await using opened = await openHeld();
    const { storage, syncs, failures } = opened;
    const outcomes = followed(storage.write(() => addTo('counter', 1)));
    await someTurns();
    syncs.fail(Object.assign(new Error('no space'), { code: 'ENOSPC' }));
    await someTurns();
    assert.deepEqual(outcomes, ['unavailable']);
    assert.equal(failures.length, 1);
  });

  test('is what comes of a log that cannot be opened', async () => {
    await using database = createSqliteDatabase();
    await using sync = syncOfLog(`${database.file}.missing`);
    await assert.rejects(sync(), { code: 'ENOENT' });
  });
});

test('what was acknowledged is there for an engine that is opened beside the first', async () => {
  await using database = createSqliteDatabase();
  const storage = database.open();
  await storage.migrate(sqliteFactory.migrations);
  for (let id = 1; id <= 20; id += 1) {
    await storage.write(() => insertRow(id, `row-${id}`));
    await using other = openEngine(database.file, { create: false });
    assert.equal((await other.read(listRows)).length, id);
  }
});

function* refuseIfCounted(): Script<number> {
  const count = yield* counterOf('counter');
  if (count > 0) throw new Fault('not-found');
  return count;
}
