/** The bytes of an erased customer are cleared: by the next process after a kill, and while other processes write. */

import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { deadlineIn } from '../support/deadline.ts';
import { readDatabaseConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { continueErasure, startErasure } from '../../src/features/privacy/service/erasure.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { until } from '../support/delivering.ts';
import { email as addressOf, issueCommand, newStore } from '../support/fixtures.ts';
import { send } from '../support/http-client.ts';
import { assertVerified } from '../support/kills.ts';
import { openLoadClients, untilMoreAcknowledged } from '../support/load-client.ts';
import { childrenOf } from '../support/running-processes.ts';
import { seeded } from '../support/seeded.ts';
import { databaseToServe, openShop, serve } from '../support/served.ts';

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
  const deadline = deadlineIn(30_000);
  while ((await killed.bytes()).includes(email)) {
    assert.ok(!deadline.isOver(), 'the address is still in the file');
    await wait(100);
  }
  assert.ok(service.url);
});

test('an erasure is completed and its bytes are cleared while several processes write constantly', async (t) => {
  const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);
  t.diagnostic(`seed ${seed} (CRASH_SEED)`);
  await using database = await databaseToServe();
  const environment = { ...database.environment, PROCESSES: '3' };
  const token = await openShop(environment, 'flowers.example');
  // Enough pages that they are cleared in several steps, between which the processes write.
  await database.meddle(`
    create table filler (id integer primary key, words text);
    with recursive numbers (number) as (select 1 union all select number + 1 from numbers where number < 300000)
    insert into filler select number, hex(zeroblob(100)) from numbers`);
  await using service = await serve(environment);
  await until(async () => (await childrenOf(service.pid)).length === 3);
  let customer = 0;
  for (let place = 0; place < 200; place += 1) {
    const json = { initial_value: '5.00', email, note: `for ${email}`, notify: false };
    const {
      status,
      json: found,
      text,
    } = await send(`${service.url}/gift_card`, { method: 'POST', token, json });
    assert.equal(status, 201, text);
    customer = (found as { readonly gift_card: { readonly customer_id: number } }).gift_card.customer_id;
  }
  assert.ok((await database.bytes()).includes(email));
  const clients = openLoadClients(32, token, seeded(seed));
  let isOver = false;
  const working = Promise.all(clients.map((client) => client.work(service.url, () => isOver)));
  await untilMoreAcknowledged(clients, 500);
  const path = `${service.url}/customers/${customer}`;
  const started = await send(`${path}/erase`, { method: 'POST', token, json: { erase_notes: true } });
  assert.equal(started.status, 202, started.text);
  const isCleared = async (): Promise<boolean> => {
    const { json } = await send(`${path}/erasure`, { token });
    const { erasure } = json as { readonly erasure: { readonly status: string } };
    return erasure.status === 'complete' && !(await database.bytes()).includes(email);
  };
  await until(isCleared, 60_000);
  await untilMoreAcknowledged(clients, 500);
  isOver = true;
  const outcomes = await working;
  assert.deepEqual(
    outcomes.filter((outcome) => outcome !== undefined),
    [],
    'no request was rejected',
  );
  for (const client of clients) client.close();
  service.kill('SIGTERM');
  assert.deepEqual(await service.ended(), { code: 0, signal: null });
  assert.equal((await database.bytes()).includes(email), false);
  await assertVerified(environment);
});
