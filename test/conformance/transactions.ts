/** Commit, rollback, durability and isolation of any engine. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { Fault } from '../../src/core/domain/fault.ts';
import { all, execute, sql, type Script } from '../../src/database/sql/sql.ts';
import type { Storage } from '../../src/database/storage.ts';
import { openMigrated, type StorageFactory } from '../support/database.ts';
import { addTo, counterOf, hasRow, insertRow, listRows, sumOfCounters } from '../support/row-counts.ts';

export function testTransactions(factory: StorageFactory): void {
  test('a script commits its writes and returns its result', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    const result = await storage.write(function* () {
      yield* insertRow(1, 'one');
      yield* insertRow(2, 'two');
      return 'done';
    });
    assert.equal(result, 'done');
    assert.deepEqual(await storage.read(listRows), ['one', 'two']);
  });

  test('a script that throws writes nothing, and its error reaches its caller unchanged', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    await storage.write(() => insertRow(1, 'before'));
    const thrown = [new Fault('precondition-failed', { detail: 'a detail' }), new TypeError('a defect')];
    for (const error of thrown) {
      await assert.rejects(
        storage.write(function* () {
          yield* insertRow(2, 'lost');
          yield* addTo('before', 7);
          throw error;
        }),
        (caught) => caught === error,
      );
    }
    assert.deepEqual(await storage.read(listRows), ['before']);
    assert.equal(await storage.read(() => counterOf('before')), 0);
  });

  test('a rejected statement ends its script, which writes nothing', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    await storage.write(() => insertRow(1, 'taken'));
    let goesOn = false;
    const rejected = storage.write(function* () {
      yield* insertRow(2, 'lost');
      yield* all(sql`update stores set name = null where domain = 'taken'`);
      goesOn = true;
    });
    await assert.rejects(rejected, (error) => error instanceof Error && !(error instanceof Fault));
    assert.equal(goesOn, false);
    assert.deepEqual(await storage.read(listRows), ['taken']);
  });

  test('a script that throws does not affect the others that arrived with it', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    await storage.write(() => insertRow(1_000, 'taken'));
    const outcomes = await Promise.allSettled(
      Array.from({ length: 60 }, (_, index) => storage.write(() => oneOfMany(index))),
    );
    for (const [index, outcome] of outcomes.entries()) {
      const expected = index % 3 === 0 ? 'fulfilled' : 'rejected';
      assert.equal(outcome.status, expected, `script ${index}`);
      if (outcome.status === 'fulfilled') assert.equal(outcome.value, index);
      else if (index % 3 === 1)
        assert.ok(outcome.reason instanceof Fault && outcome.reason.code === 'not-found');
      else assert.ok(!(outcome.reason instanceof Fault), 'the database rejected it');
    }
    const kept = Array.from({ length: 20 }, (_, index) => `row-${index * 3}`);
    assert.deepEqual(await storage.read(listRows), [...kept, 'taken'].toSorted());
  });

  test('an acknowledged write is visible to another engine at once', async () => {
    await using opened = await openMigrated(factory);
    const { database, storage } = opened;
    const already = database.open();
    for (let index = 1; index <= 10; index += 1) {
      await storage.write(() => insertRow(index, `row-${index}`));
      await using late = database.open();
      const [seenLate, seenAlready] = await Promise.all([late.read(listRows), already.read(listRows)]);
      assert.equal(seenLate.length, index);
      assert.equal(seenAlready.length, index);
    }
  });

  test('each of many writers is acknowledged only after its own row is visible to others', async () => {
    await using opened = await openMigrated(factory);
    const { database, storage } = opened;
    const other = database.open();
    const seen = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        await storage.write(() => insertRow(index + 1, `row-${index}`));
        return other.read(() => hasRow(`row-${index}`));
      }),
    );
    assert.deepEqual(new Set(seen), new Set([true]));
  });

  test('a read that starts after an acknowledged write sees it', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    await storage.write(() => insertRow(1, 'counter'));
    for (let round = 1; round <= 50; round += 1) {
      // A new read must not share the older state of reads that are running.
      const earlier = [storage.read(listRows), storage.read(() => counterOf('counter'))];
      assert.equal(await storage.write(() => addTo('counter', 1)), round);
      assert.equal(await storage.read(() => counterOf('counter')), round);
      await Promise.all(earlier);
    }
  });

  test('a read that throws leaves no older state for later reads', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    await assert.rejects(
      storage.read(function* () {
        yield* listRows();
        throw new Fault('not-found');
      }),
      { code: 'not-found' },
    );
    await assert.rejects(storage.read(() => all(sql`select nothing from nowhere`)));
    await storage.write(() => insertRow(1, 'later'));
    assert.deepEqual(await storage.read(listRows), ['later']);
  });

  test('concurrent callers do not lose or undo the writes of each other', async () => {
    await using opened = await openMigrated(factory);
    const { database, storage } = opened;
    const engines = [storage, database.open()];
    await storage.write(() => insertRow(1, 'counter'));
    const outcomes = await Promise.allSettled(
      Array.from({ length: 150 }, (_, index) => {
        const engine = engines[index % 2] ?? storage;
        return engine.write(function* () {
          yield* addTo('counter', 1);
          if (index % 5 === 0) throw new Fault('not-found');
        });
      }),
    );
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 120);
    assert.equal(await storage.read(() => counterOf('counter')), 120);
  });

  test('a script is never partly visible', async () => {
    await using opened = await openMigrated(factory);
    const { database, storage } = opened;
    const engines = [storage, database.open()];
    await storage.write(() => insertRow(1, 'left'));
    await storage.write(() => insertRow(2, 'right'));
    const moving = Array.from({ length: 80 }, (_, index) =>
      engines[index % 2]?.write(function* () {
        // The order is always the same, to prevent deadlocks.
        yield* addTo('left', -1);
        yield* addTo('right', 1);
      }),
    );
    let reads = 0;
    const watching = engines.flatMap((engine) => [watch(engine), watch(engine)]);
    async function watch(engine: Storage): Promise<void> {
      for (let round = 0; round < 40; round += 1) {
        assert.equal(await engine.read(sumOfCounters), 0);
        reads += 1;
      }
    }
    await Promise.all([...moving, ...watching]);
    assert.equal(reads, 160);
    assert.equal(await storage.read(() => counterOf('right')), 80);
  });

  test('a read sees one state from its first statement to its last', async () => {
    await using opened = await openMigrated(factory);
    const { database, storage } = opened;
    const other = database.open();
    await storage.write(() => insertRow(1, 'counter'));
    const writing = Array.from({ length: 100 }, (_, index) =>
      (index % 2 === 0 ? storage : other).write(() => addTo('counter', 1)),
    );
    const reading = Array.from({ length: 100 }, async () => {
      const seen = await storage.read(function* () {
        const values = new Set<number>();
        for (let step = 0; step < 10; step += 1) values.add(yield* counterOf('counter'));
        return values;
      });
      assert.equal(seen.size, 1);
    });
    await Promise.all([...writing, ...reading]);
    assert.equal(await storage.read(() => counterOf('counter')), 100);
  });

  test('a read cannot write, whatever it yields', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    await storage.write(() => insertRow(1, 'counter'));
    const attempts: (() => Script<unknown>)[] = [
      () => insertRow(2, 'smuggled'),
      () => addTo('counter', 1),
      () => execute(sql`delete from stores`),
      () => execute(sql`delete from key_checks`, sql`update heartbeat set beaten_at = 1`),
      () => execute(sql`create table smuggled (id bigint)`),
      () => execute(sql`drop table heartbeat`),
    ];
    for (const attempt of attempts) {
      const rejected = assert.rejects(
        storage.read(attempt),
        (error) => error instanceof Error && !(error instanceof Fault),
        String(attempt),
      );
      // Reads at the same time can share its transaction.
      assert.deepEqual(await storage.read(listRows), ['counter']);
      await rejected;
    }
    assert.deepEqual(await storage.read(listRows), ['counter']);
    assert.equal(await storage.read(() => counterOf('counter')), 0);
    assert.equal(await storage.write(() => addTo('counter', 1)), 1);
  });
}

/** A third of the scripts succeeds, a third throws after writing, and the database rejects a third. */
function* oneOfMany(index: number): Script<number> {
  yield* insertRow(index + 1, `row-${index}`);
  if (index % 3 === 1) throw new Fault('not-found');
  if (index % 3 === 2) yield* all(sql`update stores set name = null where domain = 'taken'`);
  return index;
}
