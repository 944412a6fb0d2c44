/** How an engine drives scripts: reruns, faults, bounds, statements yielded together, and its end. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { Fault } from '../../src/domain/fault.ts';
import { Rerun, rerunsMax, run, sql, type Script } from '../../src/storage/sql.ts';
import { openMigrated, type StorageFactory } from '../harness/database.ts';
import { addTo, counterOf, insertRow, listRows } from '../harness/tally.ts';

export function testScripts(factory: StorageFactory): void {
  test('a script that asks for a rerun is started anew, and nothing of the attempts before is kept', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    await storage.write(() => insertRow(1, 'counter'));
    const started: Script<string>[] = [];
    const result = await storage.write(() => {
      const attempt = started.length + 1;
      const script = (function* (): Script<string> {
        yield* addTo('counter', 1);
        yield* insertRow(attempt + 1, `attempt-${attempt}`);
        if (attempt < 4) throw new Rerun('not yet');
        return `attempt ${attempt}`;
      })();
      started.push(script);
      return script;
    });
    assert.equal(result, 'attempt 4');
    assert.equal(new Set(started).size, 4, 'each attempt is a generator of its own');
    assert.deepEqual(await storage.read(listRows), ['attempt-4', 'counter']);
    assert.equal(await storage.read(() => counterOf('counter')), 1);
  });

  test('a script that asks for reruns without end is refused as overloaded, with nothing kept', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    let attempts = 0;
    await assert.rejects(
      storage.write(function* () {
        attempts += 1;
        yield* insertRow(attempts, `attempt-${attempts}`);
        throw new Rerun('never');
      }),
      (error) => error instanceof Fault && error.code === 'overloaded' && error.cause instanceof Rerun,
    );
    assert.equal(attempts, 1 + rerunsMax);
    assert.deepEqual(await storage.read(listRows), []);
  });

  test('the last rerun that is granted may still succeed', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    let attempts = 0;
    await storage.write(function* () {
      attempts += 1;
      yield* insertRow(1, 'kept');
      if (attempts <= rerunsMax) throw new Rerun('once more');
    });
    assert.equal(attempts, 1 + rerunsMax);
    assert.deepEqual(await storage.read(listRows), ['kept']);
  });

  test('reruns of one script leave the others of its turn untouched', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    const attempts = new Map<number, number>();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, (_, index) =>
        storage.write(function* () {
          const attempt = (attempts.get(index) ?? 0) + 1;
          attempts.set(index, attempt);
          yield* insertRow(index + 1, `row-${index}`);
          if (index % 3 === 1 && attempt < 3) throw new Rerun('not yet');
          if (index % 3 === 2) throw new Rerun('never');
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

  test('a fault reaches its caller as it is, from reads and from writes', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    const fault = new Fault('invalid-parameter', { errors: { code: ['is taken'] }, retryAfterSeconds: 3 });
    const refuse = function* (): Script<never> {
      yield* run(sql`select 1`);
      throw fault;
    };
    await assert.rejects(storage.write(refuse), (error) => error === fault);
    await assert.rejects(storage.read(refuse), (error) => error === fault);
  });

  test('a script without statements runs too', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    assert.equal(await storage.read(() => constant(5)), 5);
    assert.equal(await storage.write(() => constant(undefined)), undefined);
  });

  test('statements yielded together are done in their order, and each is handed its own rows', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    const rows = await storage.write(function* (): Script<readonly (readonly unknown[])[]> {
      yield* insertRow(1, 'counter');
      const statements = [
        sql`update stores set updated_at = updated_at + 1 where domain = 'counter' returning updated_at`,
        sql`select domain from stores where domain = 'nobody'`,
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

  test('one statement refused among several yielded together undoes them all', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    await storage.write(() => insertRow(1, 'counter'));
    await assert.rejects(
      storage.write(() =>
        run(
          sql`update stores set updated_at = 1 where domain = 'counter'`,
          sql`update stores set domain = null where domain = 'counter'`,
          sql`update stores set updated_at = 2 where domain = 'counter'`,
        ),
      ),
    );
    assert.equal(await storage.read(() => counterOf('counter')), 0);
  });

  test('past the bound of its queue an engine refuses at once, and nothing of what it refused is done', async () => {
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

  test('reads are bounded too', async () => {
    await using opened = await openMigrated(factory, { queueMax: 5 });
    const { storage } = opened;
    const outcomes = await Promise.allSettled(Array.from({ length: 200 }, () => storage.read(listRows)));
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    assert.ok(refused.length > 0 && refused.length <= 195, `${refused.length} were refused`);
    for (const { reason } of refused) assert.ok(reason instanceof Fault && reason.code === 'overloaded');
    assert.deepEqual(await storage.read(listRows), []);
  });

  test('disposing an engine first does what it has accepted', async () => {
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

  test('an engine that was disposed refuses everything and does nothing', async () => {
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

// oxlint-disable-next-line require-yield -- a script without a statement
function* constant<T>(value: T): Script<T> {
  return value;
}

function byNumber(left: number, right: number): number {
  return left - right;
}
