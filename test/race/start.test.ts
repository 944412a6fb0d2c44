/**
 * Services that start together on one new database: one of them creates the database and its keys, and the
 * others use them.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { readDatabaseConfig, type DatabaseConfig } from '../../src/start/config.ts';
import { migrationsOf, openDatabase } from '../../src/start/database.ts';
import { readKeyFile } from '../../src/platform/key-file.ts';
import { ensureDemonstrationStore } from '../../src/core/stores/service/store.ts';
import { findDemonstrationStore } from '../../src/core/stores/storage/store.ts';
import { assertBooksAgree } from '../support/books.ts';
import type { Environment } from '../support/engine-database.ts';
import { interrupted } from '../support/interleave.ts';
import { databaseToServe, serve } from '../support/served.ts';

test('two openings of one new database both succeed with the same keys, at every interleaving', async () => {
  for (let turns = 0; turns <= 12; turns += 1) {
    await using made = await databaseToServe({ empty: true });
    const config = readDatabaseConfig(made.environment);
    const open = async (turnsLater: number): Promise<readonly string[]> => {
      for (let waited = 0; waited < turnsLater; waited += 1) await turn();
      await using database = await openDatabase(config, { prepare: true });
      // Stays open until the other one is open as well.
      for (let waited = 0; waited < 30; waited += 1) await turn();
      return database.ctx.keys.ids;
    };
    const outcomes = await Promise.allSettled([open(0), open(turns)]);
    const ids = outcomes.map((outcome) => {
      if (outcome.status === 'fulfilled') return outcome.value;
      return assert.fail(`${turns} turns apart: ${String(outcome.reason)}`);
    });
    assert.deepEqual(ids[0], ids[1]);
    assert.ok(existsSync(made.keysFile));
  }
});

test('an opening uses keys that another process created after it looked for them', async () => {
  await using made = await databaseToServe({ empty: true });
  const config = readDatabaseConfig(made.environment);
  let looks = 0;
  const observed: DatabaseConfig = {
    ...config,
    // This process waits for the other one while it connects.
    limits: { ...config.limits, connectTimeoutMs: 60_000 },
    get keysFile() {
      looks += 1;
      // Right after the first lookup, which finds nothing, and before the next statement reaches the
      // database.
      if (looks === 1) queueMicrotask(() => makeKeysAndNoteThem(made.environment));
      return config.keysFile;
    },
  };
  await using database = await openDatabase(observed, { prepare: true });
  assert.deepEqual(
    database.ctx.keys.ids,
    readKeyFile(config.keysFile)?.map(({ id }) => id),
  );
});

/** Creates and records keys as another process that starts on the same new database. This process waits. */
function makeKeysAndNoteThem(environment: Environment): void {
  const commandLine = join(import.meta.dirname, '../../src/cli.ts');
  const env = { PATH: process.env['PATH'], ...environment };
  const { status, stderr } = spawnSync(process.execPath, [commandLine, 'migrate'], { env, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
}

test('a demonstration store that another process creates after the lookup is used', async () => {
  await using made = await databaseToServe();
  await using database = await openDatabase(readDatabaseConfig(made.environment), { prepare: true });
  const { ctx, storage } = database;
  const by = () => ensureDemonstrationStore(ctx);
  await storage.write(() => interrupted(by(), { after: 1, by }));
  assert.equal((await made.query('select id from stores where demonstration = 1')).length, 1);
});

const together = Number(process.env['STARTS'] ?? 4);

test(`${together} services that start together on one new database create its schema, its keys and its store once`, async () => {
  await using made = await databaseToServe({ empty: true });
  const { environment } = made;
  const starts = await Promise.allSettled(Array.from({ length: together }, () => serve(environment)));
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
  const applied = await made.query('select version from schema_migrations order by version');
  assert.deepEqual(
    applied.map(({ version }) => version),
    migrationsOf(readDatabaseConfig(environment)).map(({ version }) => version),
  );
  assert.equal((await made.query('select key_id from key_checks')).length, 1);
  assert.equal((await made.query('select id from stores')).length, 1);
  const keyFiles = readdirSync(made.folder).filter((name) => name.includes('keys'));
  assert.deepEqual(keyFiles, ['largesse.keys.json'], 'unused keys are removed');
  await using database = await openDatabase(readDatabaseConfig(environment), { prepare: false });
  const demonstration = await database.storage.read(findDemonstrationStore);
  assert.ok(demonstration);
  assert.equal((await assertBooksAgree(environment, demonstration.store.domain)).cards, urls.length);
});
