/** The digests of addresses in failed attempts to sign in, and how long they are stored. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { openBrowser, type Browser } from '../support/browser.ts';
import { consoleDomain, join, staffPassword } from '../support/console.ts';
import { until } from '../support/delivering.ts';
import { command } from '../support/served.ts';
import { startService, type TestService } from '../support/service.ts';

const dayMs = 24 * 60 * 60_000;

async function openShops(...domains: readonly string[]): Promise<TestService> {
  return await startService({
    stores: domains.map((domain) => ({ domain })),
    limits: { retentionPeriodMs: 20 },
  });
}

/** Sends wrong passwords, one for each address. */
async function failFor(browser: Browser, store: string, ...addresses: readonly string[]): Promise<void> {
  for (const email of addresses)
    assert.equal((await browser.post('/sign-in', { store, email, password: 'wrong' })).status, 401);
}

async function digestsOf(service: TestService): Promise<number> {
  const [row] = await service.query('select count(*) as n from unknown_addresses');
  return Number(row?.['n']);
}

test('an address without an account is nowhere in the database, and the audit log counts its attempts of a day', async () => {
  await using service = await openShops(consoleDomain);
  const owner = await join(service, 'owner');
  const stranger = openBrowser(service);
  const addresses = ['Shopper@Example.com', 'other@example.com', ' shopper@example.com', 'not an address'];
  await failFor(stranger, consoleDomain, ...addresses, 'OWNER@flowers.example');
  const { text } = await owner.get('/audit?kind=failures');
  const shown = Array.from(text.matchAll(/for an unknown address \(([\da-f]{6})\)/g), ([, name]) => name);
  assert.equal(shown.length, 2, text);
  assert.notEqual(shown[0], shown[1]);
  assert.equal(text.match(/Sign-in failed</g)?.length, 4);
  assert.match(text, /for an unknown address \([\da-f]{6}\), 2 attempts, the last at \d/);
  service.clock.advance(dayMs);
  await failFor(stranger, consoleDomain, 'shopper@example.com');
  const own = { email: `owner@${consoleDomain}`, password: staffPassword };
  assert.equal((await owner.post('/sign-in', own)).status, 303);
  const later = (await owner.get('/audit?kind=failures')).text;
  const names = Array.from(later.matchAll(/for an unknown address \(([\da-f]{6})\)/g), ([, name]) => name);
  assert.deepEqual([names.length, new Set(names)], [3, new Set(shown)], 'equal addresses are named equally');
  assert.match(text, />owner<\/a>/, 'an address of an account is shown as the person');
  assert.equal(await digestsOf(service), 4);
  const stored = (await service.database.bytes()).toString('latin1').toLowerCase();
  for (const address of ['shopper@example.com', 'other@example.com', 'not an address'])
    assert.ok(!stored.includes(address), address);
  assert.ok(!service.log().includes('hopper@'));
});

test('one address has different digests in two stores', async () => {
  await using service = await openShops(consoleDomain, 'books.example');
  for (const store of [consoleDomain, 'books.example'])
    await failFor(openBrowser(service), store, 'shopper@example.com');
  const rows = await service.query('select store_id, digest from unknown_addresses');
  const distinct = (column: string) => new Set(rows.map((row) => String(row[column]))).size;
  assert.deepEqual([rows.length, distinct('store_id'), distinct('digest')], [2, 2, 2]);
});

test('the digests are erased after 90 days, and the entries stay', async () => {
  await using service = await openShops(consoleDomain, 'books.example');
  await failFor(openBrowser(service), consoleDomain, 'shopper@example.com');
  service.clock.advance(80 * dayMs);
  await failFor(openBrowser(service), consoleDomain, 'other@example.com');
  service.clock.advance(11 * dayMs);
  await until(async () => (await digestsOf(service)) === 1);
  const entries = await service.query(
    `select id from staff_actions where action = 'sign-in-failed' order by id`,
  );
  assert.equal(entries.length, 2);
  const [left] = await service.query('select id from unknown_addresses');
  assert.equal(left?.['id'], entries[1]?.['id'], 'the newer one');
});

test('an erasure of a customer erases the digests of the address, and no others', async () => {
  await using service = await openShops(consoleDomain, 'books.example');
  const token = await service.token(consoleDomain);
  const issued = await service.request('/gift_card', {
    method: 'POST',
    token,
    json: { initial_value: 10, email: 'shopper@example.com' },
  });
  assert.equal(issued.status, 201, issued.text);
  const stranger = openBrowser(service);
  const [own, other] = ['SHOPPER@example.com', 'other@example.com'];
  await failFor(stranger, consoleDomain, own, other, own, own);
  await failFor(stranger, 'books.example', own);
  assert.equal(await digestsOf(service), 3);
  const args = ['customer', 'erase', 'shopper@example.com', '--store', consoleDomain] as const;
  const { code, errors } = await command(service.environment, ...args);
  assert.equal(code, 0, errors);
  assert.equal(await digestsOf(service), 2, 'of the other address, and of the other store');
});
