/** A large file is verified by several threads, which report the same as one. */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { after } from 'node:test';
import { nextTask, type ThreadData } from '../../src/features/proofs/cli/verify-tasks.ts';
import { startVerifying, verifyRows } from '../../src/features/proofs/cli/verify-thread.ts';
import { readDatabaseConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { closeDays } from '../../src/features/books/service/closing.ts';
import { loadDemo } from '../../src/features/sandbox/service/sample-data.ts';
import { appendEntries } from '../../src/features/proofs/service/log.ts';
import {
  concludeVerification,
  planVerification,
  runTasks,
  verify,
  type Plan,
  type Verified,
} from '../../src/features/proofs/service/verify.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { issueCommand, newStore } from '../support/fixtures.ts';
import { makeScratchFolder } from '../support/scratch.ts';

const folder = makeScratchFolder('largesse-verify-');
const configOf = (name: string) =>
  readDatabaseConfig({ DATABASE_URL: `file:${join(folder, name)}`, KEYS_FILE: join(folder, 'keys') });
const [sound, wrong, unreadable] = [configOf('sound.db'), configOf('wrong.db'), configOf('unreadable.db')];

const database = await openDatabase(sound, { prepare: true });
after(async () => {
  await database[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});
const { ctx, storage } = database;
await storage.write(() => loadDemo(ctx, { cards: 300 }));
for (const domain of ['a-first.example', 'z-last.example']) {
  const store = await storage.write(() => createStore(ctx, newStore({ domain })));
  for (let card = 0; card < 3; card += 1) await storage.write(() => issue(ctx, issueCommand(store)));
}
await appendEntries(database);
await closeDays(database, 10_000);
await storage.backup?.(join(folder, 'wrong.db'));
writeFileSync(join(folder, 'unreadable.db'), 'not a database'.repeat(1_000));

{
  using raw = new DatabaseSync(join(folder, 'wrong.db'));
  for (const { name } of raw.prepare("select name from sqlite_schema where type = 'trigger'").all())
    raw.exec(`drop trigger ${String(name)}`);
  raw.exec(`
    update transfers set actor = 'nobody' where sequence = 1;
    update gift_cards set balance = balance + 1 where id in (select max(id) from gift_cards group by store_id);
    update store_days set entries = entries + 1;
    update log_pages set lowest_id = lowest_id - 1;
    pragma foreign_keys = off;
    update log_pages set store_id = 99 where store_id = (select max(store_id) from log_pages);`);
}

const verified = async (
  opened: typeof database,
  config: typeof sound,
  { threads = 2, mismatchesMax = 1_000 },
) => {
  const counts: number[] = [];
  const reached = (rows: number): void => void counts.push(rows);
  const result = await verifyRows(opened, config, { mismatchesMax, reached, threads, cardsInPass: 100 });
  return { ...result, rowsRead: counts.at(-1) };
};

/** The data of a thread that is to run all tasks of a plan. */
const dataFor = (config: typeof sound, plan: Plan): ThreadData => {
  assert.ok(config.database.kind === 'file');
  const progress = {
    next: new Int32Array(new SharedArrayBuffer(4)),
    rowsRead: new BigInt64Array(new SharedArrayBuffer(8)),
  };
  const { publicIdKey } = ctx.keys;
  const externalIdKeys = ctx.keys.digestKeys('external-id');
  return {
    file: config.database.file,
    plan,
    publicIdKey,
    externalIdKeys,
    mismatchesMax: 1_000,
    thread: 0,
    progress,
  };
};

test('tasks that are divided give the mismatches of one run in the same order, up to the same limit', async () => {
  await using opened = await openDatabase(wrong, { prepare: false });
  const plan = await opened.storage.read(() => planVerification({ cardsInPass: 100 }));
  assert.ok(plan.tasks.filter(({ check }) => check === 'ledger').length > 4);
  for (const mismatchesMax of [1_000, 500, 310, 302, 3, 1]) {
    const { keys } = ctx;
    const one = await opened.storage.read(() => verify(mismatchesMax, { keys }));
    const verifiedTasks: Verified[] = [];
    for (const share of [1, 0, 2]) {
      const places = plan.tasks.keys().filter((place) => place % 3 === share);
      const options = { mismatchesMax, keys, next: () => places.next().value };
      verifiedTasks.push(...(await opened.storage.read(() => runTasks(plan, options))));
    }
    const joined = await opened.storage.read(() => concludeVerification(plan, verifiedTasks, mismatchesMax));
    assert.deepEqual(joined.mismatches, one.mismatches, `up to ${mismatchesMax}`);
    assert.deepEqual(joined.stores, one.stores);
    if (mismatchesMax < 1_000) continue;
    const problems = one.mismatches.map(({ problem }) => problem).join('\n');
    for (const expected of [
      /hash of transfer/,
      /a balance that/,
      /sums of the closed day/,
      /range of ids/,
      /no such store/,
    ])
      assert.match(problems, expected);
  }
});

test('a thread runs all tasks that no other has begun', async () => {
  for (const config of [sound, wrong]) {
    await using opened = await openDatabase(config, { prepare: false });
    const plan = await opened.storage.read(() => planVerification({ cardsInPass: 100 }));
    const [data, own] = [dataFor(config, plan), dataFor(config, plan)];
    const { result, worker } = startVerifying(data);
    const inThread = await result;
    await worker.terminate();
    let rowsRead = 0;
    const reached = (rows: number): void => void (rowsRead = rows);
    const options = { mismatchesMax: 1_000, keys: ctx.keys, reached, next: nextTask(plan, own.progress) };
    assert.deepEqual(inThread, await opened.storage.read(() => runTasks(plan, options)));
    assert.equal(Number(data.progress.rowsRead[0]), rowsRead);
  }
});

test('two and three threads report what one thread reports', async () => {
  for (const config of [sound, wrong]) {
    await using opened = await openDatabase(config, { prepare: false });
    const one = await verified(opened, config, { threads: 1 });
    assert.equal(one.mismatches.length === 0, config === sound);
    for (const threads of [2, 3]) assert.deepEqual(await verified(opened, config, { threads }), one);
  }
});

test('one thread verifies everything if the others cannot read the file', async () => {
  const one = await verified(database, sound, { threads: 1 });
  assert.deepEqual(await verified(database, unreadable, { threads: 2 }), one);
});
