/** The write lock of a file, with and without turns. */

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { plainClock } from '../../src/platform/clock.ts';
import { connect } from '../../src/database/sqlite/connection.ts';
import { migrateDatabase } from '../../src/database/sqlite/migrate.ts';
import { WriteLock, type WriteTurns } from '../../src/database/sqlite/write-lock.ts';
import { until } from '../support/delivering.ts';
import { makeScratchFolder } from '../support/scratch.ts';

/** The periods of attempts, and the longest wait for a turn (ms). */
const retryMs = { without: 10, with: 1 };
const turnMaxMs = 100;
/** The attempt after which a turn is wanted. */
const wantedAfter = 3;
const forEver = 1e9;

/** SQLITE_BUSY and SQLITE_IOERR. */
const busy = Object.assign(new Error('database is locked'), { errcode: 5 });
const broken = Object.assign(new Error('disk I/O error'), { errcode: 10 });

type Opened = {
  readonly lock: WriteLock;
  /** The error of the next attempts; undefined: they succeed. */
  error: Error | undefined;
  areOrdered: boolean;
  /** Gives a turn. */
  readonly beginTurn: () => void;
  /** The calls since the last one of this function. */
  readonly happened: () => readonly string[];
  readonly pass: (ms: number) => void;
};

function openLock(t: TestContext, { hasTurns = true, waitMaxMs = forEver } = {}): Opened {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let happened: string[] = [];
  let beginTurn = (): void => undefined;
  const turns: WriteTurns = {
    areOrdered: () => opened.areOrdered,
    want: () => void happened.push('wanted'),
    end: () => void happened.push('ended'),
    onTurn: (begun) => void (beginTurn = begun),
  };
  const writer = {
    beginImmediate(): void {
      happened.push('tried');
      if (opened.error) throw opened.error;
    },
  };
  const opened: Opened = {
    lock: new WriteLock(writer, {
      turns: hasTurns ? turns : null,
      waitMaxMs,
      retry: () => void happened.push('retry'),
    }),
    error: undefined,
    areOrdered: false,
    beginTurn: () => beginTurn(),
    happened() {
      const last = happened;
      happened = [];
      return last;
    },
    pass: (ms) => t.mock.timers.tick(ms),
  };
  return opened;
}

test('a free lock is acquired at once', (t) => {
  const { lock, happened, pass } = openLock(t);
  assert.equal(lock.tryLock(), true);
  assert.equal(lock.isWaiting, false);
  lock.release();
  pass(forEver);
  assert.deepEqual(happened(), ['tried']);
});

test('a process that is alone tries a lock that is taken again and again', (t) => {
  const opened = openLock(t, { hasTurns: false });
  const { lock, happened, pass } = opened;
  opened.error = busy;
  for (let attempt = 0; attempt < 20; attempt += 1) {
    assert.equal(lock.tryLock(), false);
    assert.equal(lock.isWaiting, true);
    assert.equal(lock.tryLock(), false, 'no attempt before the next one is due');
    pass(retryMs.without - 1);
    assert.deepEqual(happened(), ['tried']);
    pass(1);
    assert.deepEqual(happened(), ['retry']);
    assert.equal(lock.isWaiting, false);
  }
  opened.error = undefined;
  assert.equal(lock.tryLock(), true);
});

test('a process that finds the lock taken several times wants one turn', (t) => {
  const opened = openLock(t);
  const { lock, happened, pass, beginTurn } = opened;
  opened.error = busy;
  for (let attempt = 1; attempt < 10; attempt += 1) {
    assert.equal(lock.tryLock(), false);
    pass(retryMs.with);
    assert.deepEqual(happened(), ['tried', ...(attempt === wantedAfter ? ['wanted'] : []), 'retry']);
  }
  assert.equal(lock.tryLock(), false);
  happened();
  beginTurn();
  assert.deepEqual(happened(), ['retry'], 'a turn does not wait for the next attempt');
  assert.equal(lock.hasTurn, true);
  opened.error = undefined;
  assert.equal(lock.tryLock(), true);
  lock.release();
  lock.release();
  assert.equal(lock.hasTurn, false);
  assert.deepEqual(happened(), ['tried', 'ended']);
  pass(forEver);
  assert.deepEqual(happened(), []);
});

test('attempts are counted from the last transaction on', (t) => {
  const opened = openLock(t);
  const { lock, happened, pass } = opened;
  for (let transaction = 0; transaction < 5; transaction += 1) {
    opened.error = busy;
    for (let attempt = 1; attempt < wantedAfter; attempt += 1) {
      lock.tryLock();
      pass(retryMs.with);
    }
    opened.error = undefined;
    assert.equal(lock.tryLock(), true);
    lock.release();
  }
  assert.ok(!happened().includes('wanted'));
});

test('with turns, a process waits for its own, and tries the lock if it does not come', (t) => {
  const opened = openLock(t);
  const { lock, happened, pass, beginTurn } = opened;
  opened.areOrdered = true;
  assert.equal(lock.tryLock(), false);
  assert.equal(lock.tryLock(), false);
  pass(turnMaxMs - 1);
  assert.deepEqual(happened(), ['wanted']);
  pass(1);
  assert.deepEqual(happened(), ['retry']);
  opened.error = busy;
  assert.equal(lock.tryLock(), false);
  pass(retryMs.with);
  opened.error = undefined;
  assert.equal(lock.tryLock(), true);
  assert.deepEqual(happened(), ['tried', 'retry', 'tried']);
  lock.release();
  assert.deepEqual(happened(), [], 'it has no turn that could end');

  assert.equal(lock.tryLock(), false, 'the next transaction waits again');
  assert.deepEqual(happened(), [], 'the turn is still wanted');
  beginTurn();
  assert.equal(lock.tryLock(), true);
  lock.release();
  assert.deepEqual(happened(), ['retry', 'tried', 'ended']);
});

test('a turn that comes when there is nothing to write ends', (t) => {
  const opened = openLock(t);
  const { lock, happened, beginTurn } = opened;
  opened.areOrdered = true;
  lock.tryLock();
  beginTurn();
  lock.release();
  assert.deepEqual(happened(), ['wanted', 'retry', 'ended']);
  lock.tryLock();
  assert.deepEqual(happened(), ['wanted']);
});

test('a process that has waited too long reports it, without its turn, and can try again', async () => {
  let error: Error | undefined = busy;
  let begun = (): void => undefined;
  const happened: string[] = [];
  const turns: WriteTurns = {
    areOrdered: () => false,
    want: () => void happened.push('wanted'),
    end: () => void happened.push('ended'),
    onTurn: (listener) => void (begun = listener),
  };
  const beginImmediate = (): void => {
    if (error) throw error;
  };
  const lock = new WriteLock({ beginImmediate }, { turns, waitMaxMs: 30, retry: () => undefined });
  begun();
  await assert.rejects(async () => {
    for (;;) {
      lock.tryLock();
      await wait(1);
    }
  }, busy);
  assert.deepEqual(happened, ['ended'], 'it had a turn, so it wanted none');
  assert.equal(lock.tryLock(), false, 'the wait begins again');
  await until(() => !lock.isWaiting);
  error = undefined;
  assert.equal(lock.tryLock(), true);
});

test('another error is thrown at once, and ends the turn', (t) => {
  const opened = openLock(t);
  const { lock, happened, beginTurn } = opened;
  opened.error = broken;
  assert.throws(() => lock.tryLock(), broken);
  beginTurn();
  assert.throws(() => lock.tryLock(), broken);
  assert.deepEqual(happened(), ['tried', 'retry', 'tried', 'ended']);
  assert.equal(lock.isWaiting, false);
});

/** Whether a promise is settled after the microtasks that wait. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let isSo = false;
  void promise.then(() => (isSo = true));
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  return isSo;
}

test('a turn that is taken lasts until it is released', async (t) => {
  const { lock, happened, pass, beginTurn } = openLock(t);
  const taken = lock.takeTurn();
  assert.deepEqual(happened(), ['wanted']);
  pass(turnMaxMs - 1);
  assert.equal(await isSettled(taken), false);
  beginTurn();
  assert.equal(await isSettled(taken), true);
  assert.equal(lock.hasTurn, true);
  await lock.takeTurn();
  assert.deepEqual(happened(), ['retry']);
  lock.release();
  assert.deepEqual(happened(), ['ended']);
});

test('a turn that does not come is taken without, and ends when it comes', async (t) => {
  const { lock, happened, pass, beginTurn } = openLock(t);
  const taken = lock.takeTurn();
  pass(turnMaxMs);
  assert.equal(await isSettled(taken), true);
  assert.equal(lock.hasTurn, false);
  lock.release();
  assert.deepEqual(happened(), ['wanted']);
  beginTurn();
  lock.release();
  assert.deepEqual(happened(), ['retry', 'ended']);
});

test('a process that waits for its turn to write takes the same one', async (t) => {
  const opened = openLock(t);
  const { lock, happened, beginTurn } = opened;
  opened.areOrdered = true;
  lock.tryLock();
  const taken = lock.takeTurn();
  beginTurn();
  assert.equal(await isSettled(taken), true);
  assert.deepEqual(happened(), ['wanted', 'retry']);
});

test('a process that is alone takes no turn', async (t) => {
  const { lock, happened } = openLock(t, { hasTurns: false });
  assert.equal(await isSettled(lock.takeTurn()), true);
  lock.release();
  assert.deepEqual(happened(), []);
});

test('one of two connections to a file has the lock', async (t) => {
  const folder = makeScratchFolder('largesse-lock-');
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'largesse.db');
  const one = connect(file, { readOnly: false });
  const other = connect(file, { readOnly: false });
  t.after(() => {
    one.close();
    other.close();
  });
  let retries = 0;
  const options = { turns: null, waitMaxMs: forEver, retry: () => void (retries += 1) };
  const [lock, otherLock] = [new WriteLock(one, options), new WriteLock(other, options)];
  assert.equal(lock.tryLock(), true);
  assert.equal(otherLock.tryLock(), false);
  await until(() => retries === 1);
  assert.equal(otherLock.tryLock(), false);
  one.commit();
  await until(() => retries === 2);
  assert.equal(otherLock.tryLock(), true);
  assert.equal(lock.tryLock(), false);
  other.commit();
  await until(() => retries === 3);
  assert.equal(lock.tryLock(), true);
});

test('migrations keep the time for which a connection waits for the lock', (t) => {
  const folder = makeScratchFolder('largesse-lock-');
  t.after(() => rmSync(folder, { recursive: true }));
  const connection = connect(join(folder, 'largesse.db'), { readOnly: false });
  t.after(() => connection.close());
  connection.database.exec('pragma busy_timeout = 0');
  migrateDatabase(connection, [], plainClock(Date.now));
  assert.equal(connection.database.prepare('pragma busy_timeout').get()?.['timeout'], 0n);
});
