/** An engine runs scripts: reruns, faults, limits, statements yielded together, and disposal. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { Fault } from '../../src/core/domain/fault.ts';
import {
  all,
  resolved,
  RetryTransaction,
  rerunsMax,
  execute,
  sql,
  parallel,
  type Script,
} from '../../src/database/sql/sql.ts';
import { openMigrated, type StorageFactory } from '../support/database.ts';
import { addTo, counterOf, hasRow, insertion, insertRow, listRows } from '../support/row-counts.ts';

export function testScripts(factory: StorageFactory): void {
  test('a script that requests a rerun starts over, and earlier attempts write nothing', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    await storage.write(() => insertRow(1, 'counter'));
    const started: Script<string>[] = [];
    const result = await storage.write(() => {
      const attempt = started.length + 1;
      const script = (function* (): Script<string> {
        yield* addTo('counter', 1);
        yield* insertRow(attempt + 1, `attempt-${attempt}`);
        if (attempt < 4) throw new RetryTransaction('not yet');
        return `attempt ${attempt}`;
      })();
      started.push(script);
      return script;
    });
    assert.equal(result, 'attempt 4');
    assert.equal(new Set(started).size, 4, 'each attempt is a separate generator');
    assert.deepEqual(await storage.read(listRows), ['attempt-4', 'counter']);
    assert.equal(await storage.read(() => counterOf('counter')), 1);
  });

  test('a script that requests endless reruns is rejected as overloaded, and writes nothing', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    let attempts = 0;
    await assert.rejects(
      storage.write(function* () {
        attempts += 1;
        yield* insertRow(attempts, `attempt-${attempts}`);
        throw new RetryTransaction('never');
      }),
      (error) =>
        error instanceof Fault && error.code === 'overloaded' && error.cause instanceof RetryTransaction,
    );
    // An engine can start the script once more, to roll it back alone.
    assert.ok([1, 2].includes(attempts - rerunsMax), String(attempts));
    assert.deepEqual(await storage.read(listRows), []);
  });

  test('the last permitted rerun can succeed', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    let attempts = 0;
    await storage.write(function* () {
      attempts += 1;
      yield* insertRow(1, 'kept');
      if (attempts <= rerunsMax) throw new RetryTransaction('once more');
    });
    assert.equal(attempts, 1 + rerunsMax);
    assert.deepEqual(await storage.read(listRows), ['kept']);
  });

  test('reruns of one script do not affect the other scripts of its turn', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    const attempts = new Map<number, number>();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, (_, index) =>
        storage.write(function* () {
          const attempt = (attempts.get(index) ?? 0) + 1;
          attempts.set(index, attempt);
          yield* insertRow(index + 1, `row-${index}`);
          if (index % 3 === 1 && attempt < 3) throw new RetryTransaction('not yet');
          if (index % 3 === 2) throw new RetryTransaction('never');
        }),
      ),
    );
    const kept = outcomes.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []));
    assert.deepEqual(
      kept,
      Array.from({ length: 30 }, (_, index) => index).filter((index) => index % 3 !== 2),
    );
    assert.deepEqual(await storage.read(listRows), kept.map((index) => `row-${index}`).toSorted());
  });

  test('a fault reaches its caller unchanged, from reads and from writes', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    const fault = new Fault('invalid-parameter', { errors: { code: ['is taken'] }, retryAfterSeconds: 3 });
    const reject = function* (): Script<never> {
      yield* execute(sql`select 1`);
      throw fault;
    };
    await assert.rejects(storage.write(reject), (error) => error === fault);
    await assert.rejects(storage.read(reject), (error) => error === fault);
  });

  test('a script without statements runs', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    assert.equal(await storage.read(() => resolved(5)), 5);
    assert.equal(await storage.write(() => resolved(undefined)), undefined);
  });

  test('statements yielded together run in order, and each returns its own rows', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    const rows = await storage.write(function* (): Script<readonly (readonly unknown[])[]> {
      yield* insertRow(1, 'counter');
      const statements = [
        sql`update stores set updated_at = updated_at + 1 where domain = 'counter' returning updated_at`,
        sql`select domain from stores where domain = 'missing'`,
        sql`update stores set updated_at = updated_at * 10 where domain = 'counter' returning updated_at`,
        sql`update stores set updated_at = updated_at + 5 where domain = 'counter'`,
        sql`select domain, updated_at from stores`,
      ];
      return yield { statements, isAwaited: true };
    });
    assert.deepEqual(
      rows.map((each) => each.map((row) => ({ ...(row as object) }))),
      [[{ updated_at: 1n }], [], [{ updated_at: 10n }], [], [{ domain: 'counter', updated_at: 15n }]],
    );
    const none = await storage.read(function* (): Script<readonly (readonly unknown[])[]> {
      return yield { statements: [], isAwaited: true };
    });
    assert.deepEqual(none, []);
  });

  test('one rejected statement rolls back all statements yielded with it', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    await storage.write(() => insertRow(1, 'counter'));
    await assert.rejects(
      storage.write(() =>
        execute(
          sql`update stores set updated_at = 1 where domain = 'counter'`,
          sql`update stores set domain = null where domain = 'counter'`,
          sql`update stores set updated_at = 2 where domain = 'counter'`,
        ),
      ),
    );
    assert.equal(await storage.read(() => counterOf('counter')), 0);
  });

  test('scripts run together receive their own rows, with any number of steps, and return in order', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    await storage.write(() => execute(...['a', 'b', 'c'].map((name, index) => insertion(index + 1, name))));
    let steps = 0;
    const results = await storage.write(() =>
      watched(
        parallel(
          resolved('at once'),
          twice('a', 1),
          all(sql<{ domain: string }>`select domain from stores where domain <> 'c' order by domain`),
          parallel(twice('b', 2), resolved(undefined), hasRow('missing')),
          twice('c', 3),
          insertRow(4, 'd'),
        ),
        () => (steps += 1),
      ),
    );
    const [atOnce, a, names, [b, nothing, found], c, inserted] = results;
    assert.deepEqual([atOnce, a, b, nothing, found, c, inserted], ['at once', [1, 2], [2, 4], undefined, false, [3, 6], undefined]); // prettier-ignore
    assert.deepEqual(
      names.map(({ domain }) => domain),
      ['a', 'b'],
    );
    assert.equal(steps, 2, 'the first steps were sent together, and then the second ones');
    assert.deepEqual(await storage.read(listRows), ['a', 'b', 'c', 'd']);
    assert.deepEqual(await storage.read(() => parallel()), []);
  });

  test('one script that throws rolls back all scripts run with it', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    await storage.write(() => insertRow(1, 'counter'));
    const fault = new Fault('not-found');
    const reject = function* (): Script<never> {
      assert.equal(yield* counterOf('counter'), 5);
      throw fault;
    };
    const attempts: readonly (() => Script<unknown>)[] = [
      () => parallel(addTo('counter', 5), reject(), insertRow(2, 'smuggled')),
      () => parallel(addTo('counter', 5), parallel(reject(), addTo('counter', 1))),
    ];
    for (const attempt of attempts) {
      await assert.rejects(storage.write(attempt), (error) => error === fault);
      assert.equal(await storage.read(() => counterOf('counter')), 0);
    }
    // The caller gets the first of several errors.
    const other = function* (): Script<never> {
      yield* listRows();
      throw new Error('the second error');
    };
    const both = () => parallel(addTo('counter', 5), reject(), other());
    await assert.rejects(storage.write(both), (error) => error === fault);
    assert.deepEqual(await storage.read(listRows), ['counter']);
  });

  test('an unawaited statement runs before the next awaited one, or at the end', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    const seen = await storage.write(function* (): Script<readonly (readonly string[])[]> {
      yield* insertRow(1, 'one');
      yield* execute(insertion(2, 'two'), insertion(3, 'three'));
      const [before, , after] = yield* parallel(listRows(), insertThenList(4, 'four'), listRows());
      yield* insertRow(5, 'five');
      const later = yield* parallel(insertThenList(6, 'six'), insertRow(7, 'seven'));
      yield* insertRow(8, 'eight');
      return [before, after, later[0]];
    });
    const three = ['one', 'three', 'two'];
    const four = ['four', ...three];
    assert.deepEqual(seen, [three, four, ['five', 'four', 'one', 'six', 'three', 'two']]);
    assert.deepEqual(await storage.read(listRows), ['eight', 'five', 'four', 'one', 'seven', 'six', 'three', 'two']); // prettier-ignore
  });

  test('an unexpected duplicate key makes the script run again, wherever it occurs', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    await storage.write(() => insertRow(1, 'taken'));
    const tries: (() => Script<unknown>)[] = [
      () => insertRow(ids(), 'at the end'),
      () => parallel(insertRow(ids(), 'in parallel'), listRows()),
      () => all(insertion(ids(), 'awaited')),
    ];
    let generated = 0;
    const ids = (): number => {
      generated += 1;
      return generated % 2 === 1 ? 1 : generated;
    };
    for (const attempt of tries) await storage.write(attempt);
    assert.equal(generated, 2 * tries.length);
    assert.deepEqual(await storage.read(listRows), ['at the end', 'awaited', 'in parallel', 'taken']);
  });

  test('an engine with a full queue rejects at once, and does not run the rejected scripts', async () => {
    const queueMax = 5;
    await using opened = await openMigrated(factory, { queueMax });
    const { storage } = opened;
    const started = new Set<number>();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 200 }, (_, index) =>
        storage.write(() => {
          started.add(index);
          return insertRow(index + 1, `row-${index}`);
        }),
      ),
    );
    const accepted = outcomes.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []));
    assert.ok(accepted.length >= queueMax && accepted.length < 200, `${accepted.length} were accepted`);
    for (const outcome of outcomes) {
      if (outcome.status === 'fulfilled') continue;
      assert.ok(outcome.reason instanceof Fault);
      assert.equal(outcome.reason.code, 'overloaded');
      assert.ok((outcome.reason.retryAfterSeconds ?? 0) >= 1);
    }
    assert.deepEqual([...started].toSorted(byNumber), accepted);
    assert.deepEqual(await storage.read(listRows), accepted.map((index) => `row-${index}`).toSorted());
    assert.equal(storage.queueDepth, 0);
    await storage.write(() => insertRow(1_000, 'accepted again'));
  });

  test('the queue of reads is bounded as well', async () => {
    await using opened = await openMigrated(factory, { queueMax: 5 });
    const { storage } = opened;
    const outcomes = await Promise.allSettled(Array.from({ length: 200 }, () => storage.read(listRows)));
    const rejected = outcomes.filter((outcome) => outcome.status === 'rejected');
    assert.ok(rejected.length > 0 && rejected.length <= 195, `${rejected.length} were rejected`);
    for (const { reason } of rejected) assert.ok(reason instanceof Fault && reason.code === 'overloaded');
    assert.deepEqual(await storage.read(listRows), []);
  });

  test('disposing an engine first completes the accepted scripts', async () => {
    await using opened = await openMigrated(factory);
    const { database } = opened;
    const storage = database.open();
    const accepted = Promise.allSettled([
      ...Array.from({ length: 50 }, (_, index) => storage.write(() => insertRow(index + 1, `row-${index}`))),
      ...Array.from({ length: 50 }, () => storage.read(listRows)),
    ]);
    await storage[Symbol.asyncDispose]();
    const outcomes = await accepted;
    assert.deepEqual(new Set(outcomes.map(({ status }) => status)), new Set(['fulfilled']));
    assert.equal((await opened.storage.read(listRows)).length, 50);
  });

  test('a disposed engine rejects every script without running it', async () => {
    await using opened = await openMigrated(factory);
    const { database } = opened;
    const storage = database.open();
    await storage.write(() => insertRow(1, 'before'));
    await storage[Symbol.asyncDispose]();
    let started = 0;
    const script = (): Script<void> => {
      started += 1;
      return insertRow(2, 'after');
    };
    await assert.rejects(storage.write(script), { name: 'Fault', code: 'closing' });
    await assert.rejects(storage.read(script), { name: 'Fault', code: 'closing' });
    assert.equal(started, 0);
    assert.deepEqual(await opened.storage.read(listRows), ['before']);
  });
}

/** Adds to a counter, and again in a second step. */
function* twice(name: string, added: number): Script<readonly [number, number]> {
  return [yield* addTo(name, added), yield* addTo(name, added)];
}

function* insertThenList(id: number, name: string): Script<readonly string[]> {
  yield* insertRow(id, name);
  return yield* listRows();
}

/** Runs a script and calls `waits` before each step that it waits for. */
function* watched<T>(script: Script<T>, waits: () => void): Script<T> {
  let step = script.next([]);
  while (step.done !== true) {
    if (step.value.isAwaited) waits();
    step = script.next(yield step.value);
  }
  return step.value;
}

function byNumber(left: number, right: number): number {
  return left - right;
}
