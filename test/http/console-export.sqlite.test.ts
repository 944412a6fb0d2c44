/** The export of cards: how many run at the same time. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { readDatabaseConfig } from '../../src/start/config.ts';
import { exportRoutes } from '../../src/features/card-pages/pages/export.ts';
import type { ConsoleServices } from '../../src/pages/kit/services.ts';
import type { StaffRequest } from '../../src/pages/kit/route.ts';
import { openDatabase } from '../../src/start/database.ts';
import { createSession } from '../../src/core/staff/service/session.ts';
import { requireStore } from '../../src/core/stores/service/store.ts';
import { createTurns } from '../../src/core/service/turns.ts';
import { listStaff } from '../../src/core/staff/storage/staff.ts';
import type { Storage } from '../../src/database/storage.ts';
import type { Browser } from '../support/browser.ts';
import { consoleDomain, join, openStoreWithStaff } from '../support/console.ts';
import { until } from '../support/delivering.ts';
import type { TestService } from '../support/service.ts';
import { shopOf } from '../support/shop.ts';

async function openShop(): Promise<{ readonly service: TestService; readonly owner: Browser }> {
  const service = await openStoreWithStaff();
  const shop = await shopOf(service, consoleDomain);
  for (let count = 0; count < 120; count += 1) await shop.issue();
  return { service, owner: await join(service, 'owner') };
}

/** Requests an export from a handler whose transactions wait for `opened`. */
async function waitingExports(service: TestService, opened: Promise<void>) {
  const config = readDatabaseConfig(service.environment);
  const database = await openDatabase(config, { prepare: false });
  const { ctx, storage: direct } = database;
  const storage: Storage = {
    ...direct,
    async write(script, scope) {
      await opened;
      return await direct.write(script, scope);
    },
  };
  const store = (await direct.read(() => requireStore(consoleDomain))).store;
  const [member = assert.fail()] = await direct.read(() => listStaff(store));
  const { session } = await direct.write(() =>
    createSession(ctx, member, { method: 'password', tillId: null, userAgent: '' }),
  );
  const route = exportRoutes.find(({ method }) => method === 'POST') ?? assert.fail();
  const fields = { language: 'en', query: new Map(), form: new Map(), signedIn: { session, member, store } };
  return {
    post: () =>
      route.handle(
        { ctx, storage, turns: createTurns(10), frame: { basePath: '' } } as ConsoleServices,
        fields as unknown as StaffRequest,
      ),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

test('an export counts from its request on, also before its first part', async () => {
  const { service: opened } = await openShop();
  await using service = opened;
  const gate = Promise.withResolvers<void>();
  await using exports = await waitingExports(service, gate.promise);
  const started = [exports.post(), exports.post()];
  await assert.rejects(exports.post(), { code: 'overloaded' });
  gate.resolve();
  for (const response of await Promise.all(started)) {
    assert.ok('file' in response);
    const parts: string[] = [];
    await assert.rejects(exports.post(), { code: 'overloaded' });
    for await (const part of response.file.parts) parts.push(String(part));
    assert.equal(parts.join('').trim().split('\r\n').length, 121);
    // The next one takes the place of this one.
    started.push(exports.post());
    await started.at(-1);
  }
});

test('an export that fails before its first part no longer counts', async () => {
  const { service: opened } = await openShop();
  await using service = opened;
  const failure = Promise.withResolvers<void>();
  await using exports = await waitingExports(service, failure.promise);
  failure.reject(new Error('The disk is full.'));
  for (let count = 0; count < 3; count += 1) await assert.rejects(exports.post(), /The disk is full/);
});

test('an export that is rejected says when to retry, and is not in the audit log', async () => {
  const { service: opened, owner } = await openShop();
  await using service = opened;
  const responses = await Promise.all(Array.from({ length: 20 }, () => owner.post('/cards/export')));
  const done = responses.filter(({ status }) => status === 200);
  assert.ok(done.length >= 2);
  for (const { text } of done) assert.equal(text.trim().split('\r\n').length, 121);
  for (const { status, headers } of responses.filter((each) => !done.includes(each)))
    assert.deepEqual([status, headers.get('retry-after')], [503, '10']);
  const [row] = await service.query(
    `select count(*) as n from staff_actions where action = 'cards-exported'`,
  );
  assert.equal(Number(row?.['n']), done.length);
});

test('an export that the browser cancels no longer counts', async () => {
  const { service: opened, owner } = await openShop();
  await using service = opened;
  const { host } = new URL(service.url);
  const headers = {
    host: host.replace('127.0.0.1', 'localhost'),
    'sec-fetch-site': 'same-origin',
    'content-type': 'application/x-www-form-urlencoded',
    cookie: Array.from(owner.cookies, ([name, value]) => `${name}=${value}`).join('; '),
  };
  for (let count = 0; count < 12; count += 1) {
    const request = httpRequest(`${service.url}/cards/export`, { method: 'POST', headers, agent: false });
    request.on('error', () => undefined).end();
    await once(request, 'finish');
    // At another moment of the export each time.
    await wait(count);
    request.destroy();
  }
  await until(async () => {
    const responses = await Promise.all([owner.post('/cards/export'), owner.post('/cards/export')]);
    return responses.every(({ status }) => status === 200);
  });
});
