/** The next process clears the bytes of an erasure whose own process was killed before it did so. */

import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { readDatabaseConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { issue } from '../../src/service/cards/issue.ts';
import { continueErasure, startErasure } from '../../src/service/customers/erasure.ts';
import { createStore } from '../../src/service/stores/store.ts';
import { email as addressOf, issueCommand, newStore } from '../support/fixtures.ts';
import { databaseToServe, serve } from '../support/served.ts';

const email = 'ada.lovelace@example.com';

/** Writes a text into the unallocated space of a page, as SQLite leaves one there when it moves a row to another page. */
function plantInGap(file: string, text: string): void {
  {
    using database = new DatabaseSync(file);
    database.exec('pragma wal_checkpoint(truncate)');
  }
  const bytes = readFileSync(file);
  const pageSize = bytes.readUInt16BE(16);
  // Pages of rows: their cell pointers end where the unallocated space begins.
  for (let page = pageSize; page < bytes.length; page += pageSize) {
    if (bytes[page] !== 13) continue;
    const start = page + 8 + 2 * bytes.readUInt16BE(page + 3);
    const end = page + bytes.readUInt16BE(page + 5);
    if (end - start < text.length) continue;
    bytes.write(text, start);
    writeFileSync(file, bytes);
    return;
  }
  assert.fail('no page has space');
}

test('a service clears what is left of an erasure that ended just before its process was killed', async () => {
  await using database = await databaseToServe({ empty: true });
  await using killed = await databaseToServe({ empty: true });
  const [config, copy] = [readDatabaseConfig(database.environment), readDatabaseConfig(killed.environment)];
  assert.ok(config.database.kind === 'file' && copy.database.kind === 'file');
  {
    await using opened = await openDatabase(config, { prepare: true });
    const { ctx, storage } = opened;
    const store = await storage.write(() => createStore(ctx, newStore({ domain: 'flowers.example' })));
    const customer = addressOf(email);
    const { card } = await storage.write(() => issue(ctx, issueCommand(store, { customer })));
    assert.ok(card.customer);
    const key = { storeId: store.id, customerId: card.customer.id };
    await storage.write(() => startErasure(ctx, { ...key, eraseNotes: false, actor: 'test' }));
    while (!(await storage.write(() => continueErasure(ctx, key))));
    // The files of a process that is killed here.
    for (const suffix of ['', '-wal'])
      copyFileSync(config.database.file + suffix, copy.database.file + suffix);
    copyFileSync(config.keysFile, copy.keysFile);
  }
  plantInGap(copy.database.file, email);
  assert.ok((await killed.bytes()).includes(email));
  await using service = await serve(killed.environment);
  const end = performance.now() + 30_000;
  while ((await killed.bytes()).includes(email)) {
    assert.ok(performance.now() < end, 'the address is still in the file');
    await wait(100);
  }
  assert.ok(service.url);
});
