/** The clock of a sandbox: what becomes due in an advance is done once, in order, before the response. */

import assert from 'node:assert/strict';
import { join as pathOf } from 'node:path';
import test, { after } from 'node:test';
import type { TestClockRecord } from '../../src/features/sandbox/domain/test-clock-schemas.ts';
import { join } from '../support/console.ts';
import { problemOf } from '../support/responses.ts';
import {
  assertBooksAgree,
  assertDoneOnce,
  clockIn,
  closedDays,
  dayMs,
  fillShop,
  scheduleReminders,
  shopAt,
} from '../support/sandbox-shop.ts';
import { command } from '../support/served.ts';
import { startService, type TestResponse } from '../support/service.ts';
import { receiveWebhooks } from '../support/webhook-receiver.ts';

const domain = 'sandbox.example';
const live = await startService({ stores: [{ domain: 'live.example' }] });
const service = await startService({ stores: [{ domain, expiringSoonDays: 7 }], isSandbox: true });
after(() => Promise.all([live[Symbol.asyncDispose](), service[Symbol.asyncDispose]()]));
const token = await service.token(domain);
const shop = shopAt(() => service.url, token);

async function now(): Promise<number> {
  return Date.parse(clockIn(await shop.get('/test_clock')).now);
}

async function advance(
  json: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestClockRecord> {
  return clockIn(await shop.post('/test_clock', json, headers));
}

test('a live service responds to the clock as to any unknown path', async () => {
  const liveToken = await live.token('live.example');
  const withoutId = ({ text }: TestResponse): string => text.replaceAll(/"request_id":"[^"]*"/g, '');
  for (const method of ['GET', 'POST', 'PUT', 'OPTIONS'])
    for (const sent of [{ method, token: liveToken }, { method }]) {
      const clock = await live.request('/test_clock', sent);
      const unknown = await live.request('/unknown_path', sent);
      assert.equal(clock.status, 404, method);
      assert.equal(withoutId(clock), withoutId(unknown));
      assert.equal(clock.headers.get('allow'), null);
    }
});

test('forty days pass, and everything that was due is done once', async () => {
  await scheduleReminders(service.environment, domain);
  await using receiver = await receiveWebhooks();
  await fillShop(shop, { cards: 3, days: 20, receiver });
  const before = await now();
  const { done, now: shown, advancing_to: to } = await advance({ advance_seconds: (40 * dayMs) / 1_000 });
  assert.equal(to, null);
  assert.ok(Date.parse(shown) >= before + 40 * dayMs - 1_000);
  const count = async (table: string, where: string): Promise<number> => {
    const [row] = await service.query(`select count(*) as count from ${table} where ${where}`);
    return Number(row?.['count']);
  };
  const [entry] = await service.query('select min(created_at) as at from transfers');
  const days = closedDays(Number(entry?.['at']), Date.parse(shown));
  await assertDoneOnce(count, { cards: 3, days, receiver, reminders: 2 });
  const { holds_expired: holds, cards_expired: expired, cards_expiring_soon: soon, ...others } = done;
  assert.deepEqual([holds, expired, soon, others.days_closed], [3, 3, 3, days]);
  assert.equal(others.emails, 9);
  // Events from before the advance can have been sent before it.
  assert.ok(others.webhook_attempts >= 9 && others.webhook_attempts <= receiver.got.length);
  assert.equal(receiver.got.length, new Set(receiver.got.map(({ event }) => event.id)).size);
  await assertBooksAgree(shop, service.environment);
  assert.deepEqual(clockIn(await shop.get('/test_clock')).done, done);
});

test('the time goes on from there, for cards and for what the pages show', async () => {
  const { json } = await shop.post('/gift_card', { initial_value: '5.00' });
  const { created_at: at } = (json as { readonly gift_card: { readonly created_at: string } }).gift_card;
  assert.ok(Math.abs(Date.parse(at) - (await now())) < 5_000);
  assert.ok(Date.parse(at) > Date.now() + 39 * dayMs);
});

test('an advance goes only forward, at most ten years, by one of two parameters', async () => {
  const at = await now();
  const text = (instant: number): string => new Date(instant).toISOString();
  const cases: readonly (readonly [object, string])[] = [
    [{}, 'advance_seconds'],
    [{ advance_seconds: 0 }, 'advance_seconds'],
    [{ advance_seconds: -5 }, 'advance_seconds'],
    [{ advance_seconds: 1.5 }, 'advance_seconds'],
    [{ advance_seconds: '60' }, 'advance_seconds'],
    [{ advance_seconds: 11 * 366 * 86_400 }, 'advance_seconds'],
    [{ to: text(at - dayMs) }, 'to'],
    [{ to: text(at + 11 * 366 * dayMs) }, 'to'],
    [{ to: 'tomorrow' }, 'to'],
    [{ to: '2031-02-30T00:00:00Z' }, 'to'],
    [{ to: '2031-02-03' }, 'to'],
    [{ to: 5 }, 'to'],
    [{ to: text(at + dayMs), advance_seconds: 5 }, 'to'],
    [{ advance_second: 5 }, 'advance_second'],
  ];
  for (const [json, field] of cases) {
    const response = await shop.post('/test_clock', json);
    assert.equal(response.status, 422, `${JSON.stringify(json)}: ${response.text}`);
    const { errors } = response.json as { readonly errors: Readonly<Record<string, unknown>> };
    assert.ok(Object.hasOwn(errors, field), response.text);
  }
  const planned = clockIn(await shop.post('/test_clock?dry_run=true', { advance_seconds: 86_400 }));
  assert.ok(Date.parse(planned.now) >= at + dayMs - 1_000);
  assert.ok((await now()) < at + dayMs / 2);
});

test('advancing needs write_gift_cards', async () => {
  const reader = shopAt(() => service.url, await service.token(domain, ['read_gift_cards']));
  assert.equal((await reader.get('/test_clock')).status, 200);
  problemOf(await reader.post('/test_clock', { advance_seconds: 5 }), { code: 'insufficient-scope' });
});

test('one advance at a time, and the same one again returns what it has done', async () => {
  const to = new Date((await now()) + 30 * dayMs).toISOString();
  const first = shop.post('/test_clock', { to });
  while (clockIn(await shop.get('/test_clock')).advancing_to === null);
  const second = await shop.post('/test_clock', { advance_seconds: 60 });
  problemOf(second, { code: 'test-clock-in-use' });
  const record = clockIn(await first);
  assert.deepEqual((await advance({ to })).done, record.done);
  const at = await now();
  const key = { 'idempotency-key': 'one' };
  const [json, again] = [{ advance_seconds: 86_400 }, { advance_seconds: 86_400 }];
  const done = await shop.post('/test_clock', json, key);
  const repeated = await shop.post('/test_clock', again, key);
  assert.equal(repeated.headers.get('idempotent-replayed'), 'true');
  assert.equal(repeated.text, done.text);
  assert.ok((await now()) < at + 1.5 * dayMs);
});

test('sessions, tokens and stored responses last as long as in real time', async () => {
  const key = { 'idempotency-key': 'kept' };
  const created = await shop.post('/gift_card', { initial_value: 5 }, key);
  await advance({ advance_seconds: 3 * 86_400 });
  const repeated = await shop.post('/gift_card', { initial_value: 5 }, key);
  assert.equal(repeated.text, created.text);
});

test('a delivery that fails is retried in the time of the clock', async () => {
  await using receiver = await receiveWebhooks();
  receiver.response = { status: 500 };
  const hook = await shop.post('/webhooks', { url: receiver.url, events: ['gift_card.created'] });
  assert.equal(hook.status, 201);
  await shop.post('/gift_card', { initial_value: 5 });
  await advance({ advance_seconds: 6 * 3_600 });
  assert.ok(receiver.got.length > 5, String(receiver.got.length));
  receiver.response = { status: 204 };
  const failed = receiver.got.length;
  await advance({ advance_seconds: 24 * 3_600 });
  assert.equal(receiver.got.length, failed + 1);
});

test('pages compare tokens, sessions and backups with the real time', async () => {
  const created = await command(
    service.environment,
    'token',
    'create',
    '--name',
    'later',
    '--expires',
    '200',
  );
  assert.equal(created.code, 0, created.errors);
  const backup = pathOf(service.database.folder, 'copy.db');
  if (service.database.environment['DATABASE_URL']?.startsWith('file:'))
    assert.equal((await command(service.environment, 'backup', backup)).code, 0);
  const owner = await join(service, 'owner');
  await advance({ advance_seconds: 300 * 86_400 });
  const developers = await owner.get('/developers');
  assert.match(developers.text, /Expires <time/);
  assert.doesNotMatch(developers.text, /Not used for|Expired/);
  assert.doesNotMatch((await owner.get('/today')).text, /No verified backup for|No backup was ever/);
});
