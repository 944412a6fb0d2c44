/** When the engine copies pages from the log to the file, and how it handles failures. */

import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import test, { suite } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { execute, sql, type Script } from '../../src/database/sql/sql.ts';
import { startCheckpointThread } from '../../src/database/sqlite/checkpoint-thread.ts';
import { checkpointing, checkpointsOf, type Checkpointer } from '../../src/database/sqlite/checkpoints.ts';
import { createSqliteDatabase, sqliteFactory, type SqliteSettings } from '../support/sqlite.ts';
import { insertRow, listRows } from '../support/row-counts.ts';

const megabyte = 2 ** 20;

/** A migrated database with a row, and an engine. */
async function openFilled(settings: SqliteSettings = {}) {
  const database = createSqliteDatabase();
  const failures: unknown[] = [];
  const storage = database.open({
    observer: { committed() {}, failed: (cause) => failures.push(cause) },
    ...settings,
  });
  await storage.migrate(sqliteFactory.migrations);
  await storage.write(() => insertRow(1, 'row'));
  return { database, storage, failures, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() };
}

let filled = 0;

/**
 * Returns text of the given size. Each call returns another text, because SQLite does not write unchanged
 * pages again.
 */
function text(megabytes: number): string {
  filled += 1;
  return (filled % 2 === 0 ? 'x' : 'y').repeat(megabytes * megabyte);
}

/** Writes the given amount to the log. */
function* fill(megabytes: number): Script<void> {
  yield* execute(sql`update stores set name = ${text(megabytes)} where id = 1`);
}

/** A checkpoint thread that records its requests, and moves nothing. */
function idleMover({ fail }: { readonly fail?: Error } = {}) {
  const asked: PromiseWithResolvers<{ frames: number; moved: number }>[] = [];
  let isDisposed = false;
  const mover: Checkpointer = {
    checkpoint() {
      if (fail) return Promise.reject(fail);
      const response = Promise.withResolvers<{ frames: number; moved: number }>();
      asked.push(response);
      return response.promise;
    },
    hasEnded: false,
    async [Symbol.asyncDispose]() {
      isDisposed = true;
    },
  };
  return {
    mover,
    asked,
    get isDisposed() {
      return isDisposed;
    },
  };
}

suite('SQLite: checkpoints during writes', () => {
  test('the log restarts repeatedly while the engine writes without a pause', async () => {
    await using opened = await openFilled();
    const { database, storage, failures } = opened;
    let longest = 0;
    for (let count = 0; count < 120; count += 1) {
      await storage.write(() => fill(4));
      longest = Math.max(longest, statSync(`${database.file}-wal`).size);
    }
    assert.ok(
      longest < 400 * megabyte,
      `480 MB were written, and the log has grown to ${longest / megabyte} MB`,
    );
    assert.deepEqual(failures, []);
    await storage[Symbol.asyncDispose]();
    assert.equal(existsSync(`${database.file}-wal`), false, 'the thread has closed its connection as well');
  });

  test('a thread is not started before there is a log to move', async () => {
    let started = 0;
    const idle = idleMover();
    const startCheckpointer = (): Checkpointer => {
      started += 1;
      return idle.mover;
    };
    await using opened = await openFilled({ startCheckpointer });
    const { storage } = opened;
    for (let id = 2; id < 20; id += 1) await storage.write(() => insertRow(id, `row-${id}`));
    assert.equal(started, 0);
    await storage.write(() => fill(17));
    await storage.write(() => insertRow(20, 'row-20'));
    assert.equal(started, 1);
    assert.equal(idle.asked.length, 1, 'a running checkpoint is not requested again');
    await storage[Symbol.asyncDispose]();
    assert.ok(idle.isDisposed);
  });

  test('the engine checkpoints itself if the thread has failed', async () => {
    let started = 0;
    const startCheckpointer = (): Checkpointer => {
      started += 1;
      return {
        checkpoint: () => Promise.reject(new Error('dead')),
        hasEnded: true,
        async [Symbol.asyncDispose]() {},
      };
    };
    await using opened = await openFilled({ startCheckpointer });
    const { database, storage, failures } = opened;
    for (let count = 0; count < 40; count += 1) await storage.write(() => fill(4));
    assert.equal(started, 1);
    const { size } = statSync(`${database.file}-wal`);
    assert.ok(size < 60 * megabyte, `160 MB were written, and the log has grown to ${size / megabyte} MB`);
    assert.deepEqual(failures, []);
  });

  test('a thread that ends reports it, and its requests fail', async () => {
    await using opened = await openFilled();
    const { database } = opened;
    const thread = startCheckpointThread(database.file);
    const { frames, moved } = await thread.checkpoint();
    assert.ok(frames > 0);
    assert.equal(moved, frames);
    assert.equal(thread.hasEnded, false);
    await thread[Symbol.asyncDispose]();
    assert.equal(thread.hasEnded, true);
    await assert.rejects(thread.checkpoint(), /has ended/);

    const failing = startCheckpointThread(`${database.folder}/missing/test.db`);
    await assert.rejects(failing.checkpoint(), /unable to open/);
    assert.equal(failing.hasEnded, true);
  });

  test('an I/O error of a checkpoint stops the service, and a full disk does not', async () => {
    const causes = { full: 13, 'I/O': 10 };
    for (const [name, errcode] of Object.entries(causes)) {
      const cause = Object.assign(new Error(name), { errcode });
      const { mover } = idleMover({ fail: cause });
      await using opened = await openFilled({ startCheckpointer: () => mover });
      const { storage, failures } = opened;
      await storage.write(() => fill(17));
      await turn();
      if (name === 'full') assert.deepEqual(await storage.read(listRows), ['row']);
      else await assert.rejects(storage.read(listRows), { code: 'unavailable' });
      assert.deepEqual(failures, name === 'full' ? [] : [cause]);
    }
  });
});

suite('SQLite: the end of a long log', () => {
  /** A connection with a long log, and its checkpoints. */
  async function openLong(megabytes: number) {
    const opened = await openFilled();
    const writer: DatabaseSync = opened.database.connect();
    writer.exec('pragma wal_autocheckpoint = 0');
    const update = writer.prepare('update stores set name = ? where id = 1');
    const grow = (by: number): void => void update.run(text(by));
    for (let grown = 0; grown < megabytes; grown += 8) grow(8);
    const idle = idleMover();
    let resumed = 0;
    const checkpoints = checkpointsOf(writer, {
      startCheckpointer: () => idle.mover,
      resume: () => (resumed += 1),
      failed: (cause) => assert.fail(String(cause)),
    });
    const move = checkpointing(writer, 'passive');
    const reader = opened.database.connect();
    return {
      checkpoints,
      grow,
      move,
      /** Moves the log except for its last megabyte, which is written after a reader has started. */
      moveMost: () => {
        reader.exec('begin; select count(*) from stores');
        grow(1);
        const log = move();
        reader.exec('commit');
        return log;
      },
      asked: idle.asked,
      resumed: () => resumed,
      [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
    };
  }

  test('writes wait for the rest of a long log, and no longer than its checkpoint takes', async () => {
    await using opened = await openLong(136);
    const { checkpoints, move, moveMost, asked, resumed } = opened;
    checkpoints.consider();
    assert.equal(checkpoints.isHolding, false, 'the rest of the log is long');
    asked[0]?.resolve(moveMost());
    await turn();
    checkpoints.consider();
    assert.equal(asked.length, 2);
    assert.equal(checkpoints.isHolding, true, 'the rest of the log is short');
    asked[1]?.resolve(move());
    await turn();
    assert.equal(checkpoints.isHolding, false);
    assert.equal(resumed(), 1);
  });

  test('writes continue after a short wait, even if a checkpoint takes longer', async () => {
    await using opened = await openLong(136);
    const { checkpoints, moveMost, asked, resumed } = opened;
    checkpoints.consider();
    asked[0]?.resolve(moveMost());
    await turn();
    checkpoints.consider();
    assert.equal(checkpoints.isHolding, true);
    while (checkpoints.isHolding) await turn();
    assert.equal(resumed(), 1);
    checkpoints.consider();
    assert.equal(asked.length, 2, 'the checkpoint is still running');
  });

  test('a log of which nothing is left to move is not checkpointed again', async () => {
    await using opened = await openLong(136);
    const { checkpoints, move, asked, resumed } = opened;
    checkpoints.consider();
    asked[0]?.resolve(move());
    await turn();
    for (let count = 0; count < 3; count += 1) {
      checkpoints.consider();
      assert.equal(asked.length, 1);
      assert.equal(checkpoints.isHolding, false);
    }
    assert.equal(resumed(), 0);
  });

  test('writes wait for at most a second, however often the log does not restart', async (context) => {
    await using opened = await openLong(136);
    const { checkpoints, moveMost, asked } = opened;
    checkpoints.consider();
    const rest = moveMost();
    const timeouts = context.mock.method(globalThis, 'setTimeout');
    // The last checkpoint reports the whole log as moved, and a commit during it has added the rest.
    const whole = { frames: rest.frames, moved: rest.frames };
    for (let count = 0; count < 40; count += 1) {
      asked[count]?.resolve(whole);
      await turn();
      checkpoints.consider();
      assert.equal(asked.length, count + 2);
      assert.equal(checkpoints.isHolding, true);
    }
    const delays = timeouts.mock.calls.map(({ arguments: [, delay] }) => Number(delay));
    assert.deepEqual(delays.slice(0, 3), [10, 20, 40]);
    assert.equal(delays.length, 40);
    assert.equal(Math.max(...delays), 1_000);
  });

  test('writes do not wait for a log that a reader in another process pins', async () => {
    await using opened = await openLong(136);
    const { checkpoints, grow, asked } = opened;
    checkpoints.consider();
    asked[0]?.resolve({ frames: 35_000, moved: 10 });
    await turn();
    checkpoints.consider();
    assert.equal(asked.length, 1, 'the log is not checkpointed until it has grown');
    grow(8);
    grow(8);
    checkpoints.consider();
    assert.equal(asked.length, 2);
    assert.equal(checkpoints.isHolding, false);
  });
});
