/** A backup of a running service under load. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { reading } from '../support/engine-sqlite.ts';
import { seeded } from '../support/seeded.ts';
import { command, commandProcess, databaseToServe, openShop, serve } from '../support/served.ts';
import { assertHolds, storedCards } from '../support/stored.ts';
import { openLoadClients, untilMoreAcknowledged, type KnownCard } from '../support/load-client.ts';

const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);

test('a backup under load is sound, verifies with the same keys, and holds everything acknowledged before it', async (t) => {
  t.diagnostic(`seed ${seed} (CRASH_SEED)`);
  await using database = await databaseToServe();
  const { environment, folder, keysFile } = database;
  const token = await openShop(environment, 'flowers.example');
  const clients = openLoadClients(32, token, seeded(seed));
  await using service = await serve(environment);
  let isOver = false;
  const working = Promise.all(clients.map((client) => client.work(service.url, () => isOver)));

  for (const name of ['first.db', 'second.db']) {
    await untilMoreAcknowledged(clients, 300);
    const acknowledged = new Map<number, KnownCard>(clients.flatMap(({ cards }) => [...cards]));
    const target = join(folder, name);
    const taken = await commandProcess(environment, 'backup', target, '--json');
    assert.equal(taken.code, 0, `${taken.output}\n${taken.errors}`);
    const copy = { ...environment, DATABASE_URL: `file:${target}`, KEYS_FILE: keysFile };
    const verified = await command(copy, 'verify', '--json');
    assert.equal(verified.code, 0, `${verified.output}\n${verified.errors}`);
    assert.equal((JSON.parse(verified.output) as { readonly ok: boolean }).ok, true);

    const cards = await storedCards({
      keysFile,
      query: async (text) => reading(target, (copied) => copied.prepare(text).all()),
    });
    assert.ok(acknowledged.size > 0);
    for (const card of acknowledged.values()) {
      const held = cards.get(card.id);
      assert.ok(held, `the card ${card.id} was acknowledged before the backup and is not in it`);
      assert.ok(held.version >= card.version, `the card ${card.id} is older than its acknowledged version`);
      if (held.version === card.version) assert.deepEqual(held, card);
    }
    t.diagnostic(`${name}: ${acknowledged.size} cards acknowledged before, ${cards.size} in it`);
    const again = await command(environment, 'backup', target);
    assert.equal(again.code, 1);
    assert.match(again.errors, /already exists/);
  }

  isOver = true;
  assert.deepEqual(
    (await working).filter((outcome) => outcome !== undefined),
    [],
    'no request was rejected during the backup',
  );
  await assertHolds(database, clients);
  for (const client of clients) client.close();
});

test('a backup without its keys cannot be opened, and the error names the missing keys', async () => {
  await using database = await databaseToServe();
  const { environment, folder } = database;
  await openShop(environment, 'flowers.example');
  const target = join(folder, 'elsewhere', 'copy.db');
  const early = await command(environment, 'backup', target);
  assert.equal(early.code, 1, 'a missing folder is not created');
  const copy = join(folder, 'copy.db');
  assert.equal((await command(environment, 'backup', copy)).code, 0);
  const without = { DATABASE_URL: `file:${copy}`, KEYS_FILE: join(folder, 'other.keys.json') };
  for (const name of ['verify', 'migrate', 'serve']) {
    const { code, errors } = await command({ ...without, PORT: '0' }, name);
    assert.equal(code, 1, name);
    assert.match(errors, /key file .*other\.keys\.json is missing/);
  }
  assert.equal(
    existsSync(join(folder, 'other.keys.json')),
    false,
    'new keys are not created for an old database',
  );
});
