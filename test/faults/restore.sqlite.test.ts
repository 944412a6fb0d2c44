/**
 * The power is cut during a restore: the result is the previous database or the backup, and never a mixture.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import test from 'node:test';
import { readDatabaseConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { recordsOf, TracedFolder } from '../support/disk-trace.ts';
import { faultyDisk } from '../support/faulty-disk.ts';
import { seeded } from '../support/seeded.ts';
import { command, commandProcess, databaseToServe, openShop, serve } from '../support/served.ts';
import { openLoadClients, untilMoreAcknowledged } from '../support/load-client.ts';

const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);
const random = seeded(seed);

test('a power failure during a restore leaves the previous database or the backup', async (t) => {
  t.diagnostic(`seed ${seed} (CRASH_SEED)`);
  await using database = await databaseToServe();
  await using elsewhere = await databaseToServe();
  const { environment, folder, keysFile } = database;
  const backup = join(elsewhere.folder, 'backup.db');
  const clients = openLoadClients(8, await openShop(environment, 'flowers.example'), random);
  for (const isFirst of [true, false]) {
    await using service = await serve(environment);
    let isOver = false;
    const working = Promise.all(clients.map((client) => client.work(service.url, () => isOver)));
    await untilMoreAcknowledged(clients, 100);
    isOver = true;
    await working;
    if (isFirst) assert.equal((await command(environment, 'backup', backup)).code, 0);
    // Leaves the log, with pages that differ from the backup.
    service.kill('SIGKILL');
    await service.ended();
  }
  for (const client of clients) client.close();
  const cardsOf = async (file: string): Promise<number> => {
    const config = readDatabaseConfig({ DATABASE_URL: `file:${file}`, KEYS_FILE: keysFile });
    await using opened = await openDatabase(config, { prepare: true });
    const { stores, mismatches } = await opened.storage.read(() => verify(10));
    assert.deepEqual(mismatches, []);
    return stores.find(({ store }) => store === 'flowers.example')?.cards ?? 0;
  };
  const restoredCards = await cardsOf(backup);
  const known = clients.reduce((sum, { cards }) => sum + cards.size, 0);
  assert.ok(restoredCards < known);

  const traced = new TracedFolder(folder, random);
  using disk = faultyDisk(folder, { isTraced: true });
  const restored = await commandProcess(
    { ...environment, ...disk.environment },
    'restore',
    backup,
    '--replace',
  );
  assert.equal(restored.code, 0, restored.errors);
  const ends = [...recordsOf(disk.trace)].filter(({ kind }) => kind !== 'write').map(({ end }) => end);
  const places = new Set([
    ...random.chooseSome(ends.slice(-25), 40),
    ...random.chooseSome(ends, 20),
    disk.position(),
  ]);
  const found = { previous: 0, restored: 0 };
  for (const record of recordsOf(disk.trace)) {
    traced.apply(record);
    if (!places.has(record.end)) continue;
    const image = mkdtempSync(join(tmpdir(), 'largesse-image-'));
    try {
      traced.writeTorn(image);
      const cards = await cardsOf(join(image, 'largesse.db'));
      assert.ok([restoredCards, known].includes(cards), `${cards} cards after ${record.kind} ${record.name}`);
      if (cards === known) found.previous += 1;
      else found.restored += 1;
      if (record.end === disk.position())
        assert.equal(cards, restoredCards, 'the restore was reported as complete');
    } finally {
      rmSync(image, { recursive: true });
    }
  }
  assert.ok(found.previous > 0 && found.restored > 0);
  t.diagnostic(`${found.previous} times ${basename(folder)} was as before, ${found.restored} times restored`);
});

test('the name of every folder that is created for a database is made durable', async () => {
  await using parent = await databaseToServe({ empty: true });
  using disk = faultyDisk(parent.folder, { isTraced: true });
  const file = join(parent.folder, 'one', 'two', 'largesse.db');
  const made = await commandProcess({ ...disk.environment, DATABASE_URL: `file:${file}` }, 'migrate');
  assert.equal(made.code, 0, made.errors);
  const records = [...recordsOf(disk.trace)];
  for (const [folder, entry] of [
    ['', 'one'],
    ['one', 'one/two'],
    ['one/two', 'one/two/largesse.db'],
  ]) {
    const appeared = records.findIndex(
      ({ kind, name }) => ['mkdir', 'create'].includes(kind) && name === entry,
    );
    assert.ok(appeared >= 0, `${entry} was not created`);
    const synced = records.some(
      ({ kind, name }, index) => index > appeared && kind === 'sync ends' && name === folder,
    );
    assert.ok(synced, `the folder "${folder}" was not synced after ${entry} was created`);
  }
});
