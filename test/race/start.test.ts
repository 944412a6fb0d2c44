/** Services that start together on one new folder: one of them makes the database and its keys, the others use them. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { systemChance, systemClock } from '../../src/clock-and-chance.ts';
import { readDatabaseConfig, type DatabaseConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database.ts';
import { makeKeyFile, readKeyFile } from '../../src/key-file.ts';
import { keysOf } from '../../src/keys.ts';
import { findDemonstrationStore } from '../../src/storage/store.ts';
import { assertBooksAgree } from '../harness/books.ts';
import { emptyFolder, serve } from '../harness/served.ts';

test('two openings of one new database both succeed with the same keys, wherever the one comes into the other', async () => {
  for (let turns = 0; turns <= 12; turns += 1) {
    using folder = emptyFolder();
    const config = readDatabaseConfig(folder.environment);
    const open = async (turnsLater: number): Promise<readonly string[]> => {
      for (let waited = 0; waited < turnsLater; waited += 1) await turn();
      await using database = await openDatabase(config, { prepare: true });
      // Open until the other one is open, too.
      for (let waited = 0; waited < 30; waited += 1) await turn();
      return database.ctx.keys.ids;
    };
    const outcomes = await Promise.allSettled([open(0), open(turns)]);
    const ids = outcomes.map((outcome) => {
      if (outcome.status === 'fulfilled') return outcome.value;
      return assert.fail(`${turns} turns apart: ${String(outcome.reason)}`);
    });
    assert.deepEqual(ids[0], ids[1]);
    assert.ok(existsSync(join(folder.path, 'largesse.keys.json')));
  }
});

test('an opening whose keys another one has made since it looked for them uses those', async () => {
  using folder = emptyFolder();
  const config = readDatabaseConfig(folder.environment);
  let looks = 0;
  const observed: DatabaseConfig = {
    ...config,
    get keysFile() {
      looks += 1;
      // Right behind the first look, which finds nothing, and before the next statement reaches the database.
      if (looks === 1) queueMicrotask(() => makeKeysAndNoteThem(config));
      return config.keysFile;
    },
  };
  await using database = await openDatabase(observed, { prepare: true });
  assert.deepEqual(
    database.ctx.keys.ids,
    readKeyFile(config.keysFile)?.map(({ id }) => id),
  );
});

/** What another process does that starts with the same new database. */
function makeKeysAndNoteThem({ database, keysFile }: DatabaseConfig): void {
  assert.equal(database.kind, 'file');
  assert.equal(readKeyFile(keysFile), undefined);
  makeKeyFile(keysFile, systemChance(systemClock));
  const masters = readKeyFile(keysFile);
  assert.ok(masters);
  const keys = keysOf(masters);
  const beside = new DatabaseSync(database.file, { timeout: 5_000 });
  beside
    .prepare('insert into key_checks (key_id, digest, created_at) values (?, ?, 0)')
    .run(keys.ids[0] ?? '', keys.digest('key-check', 'largesse'));
  beside.close();
}

test('services that are started together on one new folder all serve one demonstration store', async () => {
  using folder = emptyFolder();
  const { environment } = folder;
  const starts = await Promise.allSettled(Array.from({ length: 3 }, () => serve(environment)));
  await using services = new AsyncDisposableStack();
  const urls = starts.map((start) => {
    if (start.status === 'rejected') return assert.fail(String(start.reason));
    return services.use(start.value).url;
  });
  const cards = await Promise.all(
    urls.map(async (url) => {
      const response = await fetch(`${url}/gift_card`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"initial_value": 5}',
      });
      assert.equal(response.status, 201, await response.clone().text());
      return ((await response.json()) as { readonly gift_card: { readonly id: number } }).gift_card.id;
    }),
  );
  for (const url of urls)
    for (const id of cards) assert.equal((await fetch(`${url}/gift_card/${id}`)).status, 200);
  await using database = await openDatabase(readDatabaseConfig(environment), { prepare: false });
  const demonstration = await database.storage.read(findDemonstrationStore);
  assert.ok(demonstration);
  assert.equal((await assertBooksAgree(environment, demonstration.store.domain)).cards, urls.length);
});
