/** When pages are moved from the log into the file, and what the engine does when that fails. */

import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import test, { suite } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { run, sql, type Script } from '../../src/storage/sql.ts';
import { startCheckpointThread } from '../../src/storage/sqlite-checkpoint-thread.ts';
import { checkpointing, checkpointsOf, type Mover } from '../../src/storage/sqlite-checkpoints.ts';
import { createSqliteDatabase, sqliteFactory, type SqliteSettings } from '../support/sqlite.ts';
import { insertRow, listRows } from '../support/row-counts.ts';

const megabyte = 2 ** 20;

/** A migrated database with a row, and an engine on it. */
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

/** So much text, each time another: what stays the same is not written again. */
function text(megabytes: number): string {
  filled += 1;
  return (filled % 2 === 0 ? 'x' : 'y').repeat(megabytes * megabyte);
}

/** Writes so much to the log. */
function* fill(megabytes: number): Script<void> {
  yield* run(sql`update stores set name = ${text(megabytes)} where id = 1`);
}

/** A mover that notes what it is asked, and moves nothing. */
function idleMover({ fail }: { readonly fail?: Error } = {}) {
  const asked: PromiseWithResolvers<{ frames: number; moved: number }>[] = [];
  let isDisposed = false;
  const mover: Mover = {
    checkpoint() {
      if (fail) return Promise.reject(fail);
      const answer = Promise.withResolvers<{ frames: number; moved: number }>();
      asked.push(answer);
      return answer.promise;
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

suite('SQLite: checkpoints beside the engine', () => {
  test('the log starts over again and again while the engine writes without a pause', async () => {
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
    assert.equal(existsSync(`${database.file}-wal`), false, 'the thread has closed its connection, too');
  });

  test('nothing is started before there is something to move', async () => {
    let started = 0;
    const idle = idleMover();
    const startMover = (): Mover => {
      started += 1;
      return idle.mover;
    };
    await using opened = await openFilled({ startMover });
    const { storage } = opened;
    for (let id = 2; id < 20; id += 1) await storage.write(() => insertRow(id, `row-${id}`));
    assert.equal(started, 0);
    await storage.write(() => fill(17));
    await storage.write(() => insertRow(20, 'row-20'));
    assert.equal(started, 1);
    assert.equal(idle.asked.length, 1, 'what is under way is not asked for again');
    await storage[Symbol.asyncDispose]();
    assert.ok(idle.isDisposed);
  });

  test('where the thread has died, the engine moves pages itself', async () => {
    let started = 0;
    const startMover = (): Mover => {
      started += 1;
      return {
        checkpoint: () => Promise.reject(new Error('dead')),
        hasEnded: true,
        async [Symbol.asyncDispose]() {},
      };
    };
    await using opened = await openFilled({ startMover });
    const { database, storage, failures } = opened;
    for (let count = 0; count < 40; count += 1) await storage.write(() => fill(4));
    assert.equal(started, 1);
    const { size } = statSync(`${database.file}-wal`);
    assert.ok(size < 60 * megabyte, `160 MB were written, and the log has grown to ${size / megabyte} MB`);
    assert.deepEqual(failures, []);
  });

  test('a thread that ends tells it, and what was asked of it fails', async () => {
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

  test('an I/O error of a checkpoint ends the service, and a full disk does not', async () => {
    const causes = { full: 13, 'I/O': 10 };
    for (const [name, errcode] of Object.entries(causes)) {
      const cause = Object.assign(new Error(name), { errcode });
      const { mover } = idleMover({ fail: cause });
      await using opened = await openFilled({ startMover: () => mover });
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
  /** A connection whose log has become so long, and the checkpoints of it. */
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
      startMover: () => idle.mover,
      resume: () => (resumed += 1),
      failed: (cause) => assert.fail(String(cause)),
    });
    return {
      checkpoints,
      grow,
      move: checkpointing(writer, 'passive'),
      asked: idle.asked,
      resumed: () => resumed,
      [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
    };
  }

  test('writes are held for the rest of a long log, and no longer than it takes', async () => {
    await using opened = await openLong(136);
    const { checkpoints, move, asked, resumed } = opened;
    checkpoints.consider();
    assert.equal(checkpoints.isHolding, false, 'there is much to move');
    asked[0]?.resolve(move());
    await turn();
    checkpoints.consider();
    assert.equal(asked.length, 2);
    assert.equal(checkpoints.isHolding, true, 'there is little to move');
    asked[1]?.resolve(move());
    await turn();
    assert.equal(checkpoints.isHolding, false);
    assert.equal(resumed(), 1);
  });

  test('writes go on after a moment, however long a checkpoint takes', async () => {
    await using opened = await openLong(136);
    const { checkpoints, move, asked, resumed } = opened;
    checkpoints.consider();
    asked[0]?.resolve(move());
    await turn();
    checkpoints.consider();
    assert.equal(checkpoints.isHolding, true);
    while (checkpoints.isHolding) await turn();
    assert.equal(resumed(), 1);
    checkpoints.consider();
    assert.equal(asked.length, 2, 'the checkpoint is still under way');
  });

  test('writes are not held for a log that a reader in another process keeps from being moved', async () => {
    await using opened = await openLong(136);
    const { checkpoints, grow, asked } = opened;
    checkpoints.consider();
    asked[0]?.resolve({ frames: 35_000, moved: 10 });
    await turn();
    checkpoints.consider();
    assert.equal(asked.length, 1, 'it is left alone until it has grown');
    grow(8);
    grow(8);
    checkpoints.consider();
    assert.equal(asked.length, 2);
    assert.equal(checkpoints.isHolding, false);
  });
});
