/** A large file is verified by two threads, which report the same as one. */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { after } from 'node:test';
import { verifyRows } from '../../src/cli/verify-thread.ts';
import { readDatabaseConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { issue } from '../../src/service/cards/card.ts';
import { closeDays } from '../../src/service/books/closing.ts';
import { loadDemo } from '../../src/service/stores/sample-data.ts';
import { appendEntries } from '../../src/service/proofs/log.ts';
import { createStore } from '../../src/service/stores/store.ts';
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
await closeDays(database, 10_000);
await appendEntries(database);
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
  const result = await verifyRows(opened, config, {
    mismatchesMax,
    reached: (rows) => counts.push(rows),
    threadsFrom: threads === 2 ? 0 : Number.POSITIVE_INFINITY,
  });
  return { ...result, rowsRead: counts.at(-1) };
};

test('two threads report the mismatches of one thread in the same order, up to the same limit', async () => {
  await using opened = await openDatabase(wrong, { prepare: false });
  for (const mismatchesMax of [1_000, 500, 310, 302, 3, 1]) {
    const one = await verified(opened, wrong, { threads: 1, mismatchesMax });
    const two = await verified(opened, wrong, { threads: 2, mismatchesMax });
    assert.deepEqual(two.mismatches, one.mismatches, `up to ${mismatchesMax}`);
    assert.deepEqual(two.stores, one.stores);
    if (mismatchesMax < 1_000) continue;
    assert.equal(two.rowsRead, one.rowsRead);
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

test('two threads find nothing in a sound file', async () => {
  const one = await verified(database, sound, { threads: 1 });
  assert.deepEqual(await verified(database, sound, { threads: 2 }), one);
  assert.deepEqual(one.mismatches, []);
});

test('the thread verifies the logs, the sums and the references, and no ledger', async () => {
  // Only the thread opens the file of the configuration: the other one has a database that is open.
  const { mismatches } = await verified(database, wrong, { threads: 2 });
  const problems = mismatches.map(({ problem }) => problem);
  assert.ok(problems.some((problem) => problem.startsWith('the sums of the closed day')));
  assert.ok(problems.some((problem) => problem.startsWith('log: ')));
  assert.ok(problems.some((problem) => problem.includes('no such store')));
  assert.ok(!problems.some((problem) => problem.includes('hash of transfer')));
});

test('one thread verifies everything if the other cannot read the file', async () => {
  const one = await verified(database, sound, { threads: 1 });
  assert.deepEqual(await verified(database, unreadable, { threads: 2 }), one);
});
