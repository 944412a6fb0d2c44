/** A sandbox differs from a live service in every response, page, email and webhook, and each rejects the other's tokens. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { fixedCodes } from '../../src/core/cards/domain/fixed-codes.ts';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { wallClockOf } from '../../src/platform/clock.ts';
import { openSandbox } from '../../src/features/sandbox/service/sandbox.ts';
import { readConfig } from '../../src/start/config.ts';
import { openDatabase, type Database } from '../../src/start/database.ts';
import { findSandbox, insertSandbox } from '../../src/features/sandbox/storage/sandbox.ts';
import { execute, sql } from '../../src/database/sql/sql.ts';
import { openBrowser } from '../support/browser.ts';
import { join } from '../support/console.ts';
import { until } from '../support/delivering.ts';
import { problemOf } from '../support/responses.ts';
import { startService } from '../support/service.ts';
import { receiveWebhooks } from '../support/webhook-receiver.ts';

const live = await startService({ stores: [{ domain: 'live.example' }] });
const sandbox = await startService({ stores: [{ domain: 'other.example' }], isSandbox: true });
after(() => Promise.all([live[Symbol.asyncDispose](), sandbox[Symbol.asyncDispose]()]));
const liveToken = await live.token('live.example');
const otherToken = await sandbox.token('other.example');

const domain = 'sandbox.example';
async function createStoreOfSandbox({ ctx, storage }: Database): Promise<void> {
  await storage.write(() => openSandbox(ctx, { domain, currency: currencyOf('USD') }));
}

/** A sandbox with the store that `largesse sandbox` creates. */
async function fixedSandbox() {
  const service = await startService({ stores: [], isSandbox: true });
  await using database = await openDatabase(readConfig(service.environment), {
    prepare: false,
    clock: wallClockOf(service.clock),
  });
  const { ctx, storage } = database;
  const options = { domain, currency: currencyOf('USD') };
  const first = await storage.write(() => openSandbox(ctx, options));
  const again = await storage.write(() => openSandbox(ctx, options));
  assert.equal(again.token.reveal(), first.token.reveal());
  return { service, token: first.token.reveal() };
}
const fixed = await fixedSandbox();
after(() => fixed.service[Symbol.asyncDispose]());

test('tokens have prefixes of their own, and each service rejects those of the other', async () => {
  assert.match(liveToken, /^lgs_/);
  assert.match(otherToken, /^lgx_/);
  const toLive = await live.request('/gift_cards', { token: otherToken });
  assert.equal(toLive.status, 401);
  assert.match(toLive.text, /The access token is one of a sandbox, and this is a live service/);
  const toSandbox = await sandbox.request('/gift_cards', { token: liveToken });
  assert.equal(toSandbox.status, 401);
  assert.match(toSandbox.text, /This is a sandbox, and the access token is one of a live service/);
  assert.equal((await live.request('/gift_cards', { token: liveToken })).status, 200);
  assert.equal((await sandbox.request('/gift_cards', { token: otherToken })).status, 200);
});

test('every response of a sandbox says so, and none of a live service', async () => {
  const requests = [
    ['/healthz', {}],
    ['/gift_cards', { token: otherToken }],
    ['/gift_cards', {}],
    ['/nothing', {}],
    ['/gift_card', { method: 'PATCH' }],
    ['/gift_card', { method: 'OPTIONS' }],
    ['/sign-in', {}],
    ['/docs', {}],
  ] as const;
  for (const [path, request] of requests) {
    assert.equal((await sandbox.request(path, request)).headers.get('largesse-sandbox'), 'true', path);
    assert.equal((await live.request(path, request)).headers.get('largesse-sandbox'), null, path);
  }
  assert.match(await sandbox.raw('nonsense\r\n\r\n'), /^largesse-sandbox: true\r$/im);
  const expecting = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nExpect: nothing\r\n\r\n';
  assert.match(await sandbox.raw(expecting), /^largesse-sandbox: true\r$/im);
  assert.doesNotMatch(await live.raw('nonsense\r\n\r\n'), /largesse-sandbox/i);
});

test('every page of a sandbox has the banner, in the language of the page', async () => {
  const german = { 'accept-language': 'de' };
  for (const path of ['/sign-in', '/docs', '/docs/errors', '/nothing', '/dev/mails'])
    assert.match(
      (await sandbox.request(path, { headers: { accept: 'text/html' } })).text,
      /Sandbox: gift cards here have no value\./,
      path,
    );
  const page = await sandbox.request('/sign-in', { headers: { accept: 'text/html', ...german } });
  assert.match(page.text, /class="sandbox-banner">Testumgebung: /);
  const recipient = await sandbox.request('/b', { headers: { 'accept-language': 'fr' } });
  assert.match(recipient.text, /Environnement de test/);
  assert.doesNotMatch((await live.request('/sign-in')).text, /sandbox/i);
});

test('emails are kept and marked, whatever SMTP_URL is', async () => {
  const card = { initial_value: 15, recipient_email: 'jo@example.com' };
  const { status } = await sandbox.request('/gift_card', { method: 'POST', json: card, token: otherToken });
  assert.equal(status, 201);
  await until(async () => (await sandbox.request('/dev/mails')).text.includes('jo@example.com'));
  const [, name = ''] = /href="mails\/([^"]+)"/.exec((await sandbox.request('/dev/mails')).text) ?? [];
  const { text: eml } = await sandbox.request(`/dev/mails/${name}/eml`);
  assert.match(eml, /^Largesse-Sandbox: true\r$/m);
  const html = await sandbox.request(`/dev/mails/${name}/html`);
  assert.match(html.text, /<body[^>]*><p [^>]*>Sandbox: gift cards here have no value\.<\/p>/);
  const view = await sandbox.request(`/dev/mails/${name}`);
  assert.match(view.text, /<pre>Sandbox: gift cards here have no value\./);
});

test('webhooks are marked, and signed at the real time', async () => {
  await using receiver = await receiveWebhooks();
  const json = { url: receiver.url, events: ['gift_card.*'] };
  assert.equal((await sandbox.request('/webhooks', { method: 'POST', json, token: otherToken })).status, 201);
  await sandbox.request('/gift_card', { method: 'POST', json: { initial_value: 5 }, token: otherToken });
  await until(() => receiver.got.length > 0);
  assert.equal(receiver.got[0]?.headers['largesse-sandbox'], 'true');
});

test('fixed codes make the API respond as they say', async () => {
  const { service, token } = fixed;
  const redeem = async (name: keyof typeof fixedCodes, amount = '5.00') => {
    const json = { code: fixedCodes[name].code, amount };
    return await service.request('/gift_card/redeem', { method: 'POST', json, token });
  };
  problemOf(await redeem('empty'), { code: 'insufficient-balance', available: '0.00' });
  problemOf(await redeem('low'), { code: 'insufficient-balance', available: '0.01' });
  problemOf(await redeem('expired'), { code: 'card-expired' });
  problemOf(await redeem('suspended'), { code: 'card-suspended' });
  const error = await redeem('error');
  assert.equal(error.status, 500);
  assert.doesNotMatch(error.text, /fixed code/);
  const lookup = { method: 'POST', json: { code: fixedCodes.error.code }, token };
  assert.equal((await service.request('/gift_card/lookup', lookup)).status, 500);
  const slow = fetch(`${service.url}/gift_card/redeem`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ code: fixedCodes.slow.code, amount: '1.00' }),
    signal: AbortSignal.timeout(1_000),
  });
  await assert.rejects(slow, { name: 'TimeoutError' });
});

test('no card gets a fixed code, in a sandbox or in a live service', async () => {
  for (const { code } of Object.values(fixedCodes))
    for (const [service, token] of [
      [live, liveToken],
      [sandbox, otherToken],
    ] as const) {
      const json = { initial_value: 5, code: code.toUpperCase() };
      const rejected = await service.request('/gift_card', { method: 'POST', json, token });
      assert.equal(rejected.status, 422, code);
      assert.match(rejected.text, /is a fixed code of sandboxes/);
    }
});

test('a live service does nothing special for fixed codes', async () => {
  for (const { code } of Object.values(fixedCodes)) {
    const json = { code };
    const { status } = await live.request('/gift_card/lookup', { method: 'POST', json, token: liveToken });
    assert.equal(status, 404, code);
  }
});

test('nothing unsets the mark, and a database with stores does not get it', async () => {
  await using own = await openDatabase(readConfig(sandbox.environment), { prepare: false });
  for (const statement of [
    sql`delete from sandbox`,
    sql`update sandbox set id = 1, created_at = created_at + 1`,
    sql`update sandbox set offset_ms = -1`,
  ])
    await assert.rejects(
      own.storage.write(() => execute(statement)),
      /sandbox|offset_ms/,
    );
  assert.ok(await own.storage.read(findSandbox));
  await using other = await openDatabase(readConfig(live.environment), { prepare: false });
  await assert.rejects(
    other.storage.write(() => insertSandbox(1)),
    /a database with stores does not become a sandbox/,
  );
  await assert.rejects(
    openDatabase(readConfig(live.environment), { prepare: true, becomesSandbox: true }),
    /the database has stores and is not a sandbox, and never becomes one/,
  );
  assert.equal(await other.storage.read(findSandbox), undefined);
});

test('samples can be run on the pages of a sandbox that only its machine reaches, and on no others', async () => {
  const { service, token } = fixed;
  const paths = ['/docs', '/docs/create-gift-card', '/docs/retrieve-gift-card', '/docs/advance-test-clock'];
  for (const path of paths) {
    const { text } = await service.request(path);
    assert.match(text, /<script type="module" src="(?:docs\/)?run\.js">/, path);
    const [, data = ''] = /<figure class="languages" data-run="([^"]*)"/.exec(text) ?? assert.fail(path);
    const run = JSON.parse(data.replaceAll('&quot;', '"')) as { readonly headers: object };
    assert.equal((run.headers as Readonly<Record<string, string>>)['authorization'], `Bearer ${token}`);
    const markdown = await service.request(`${path}.md`);
    assert.doesNotMatch(markdown.text, /data-run|run\.js/);
  }
  assert.doesNotMatch((await service.request('/docs/stream-events')).text, /data-run|run\.js/);
  assert.equal((await service.request('/docs/run.js')).status, 200);
  // The second one has no token that its start has printed.
  const publicly = { isSandbox: true, environment: { PUBLIC_URL: 'https://sandbox.example' } };
  await using reached = await startService({ ...publicly, beforeStart: createStoreOfSandbox });
  for (const other of [live, sandbox, reached]) {
    for (const path of paths)
      assert.doesNotMatch((await other.request(path)).text, /data-run|run\.js|lgx_\w{8}/);
    assert.equal((await other.request('/docs/run.js')).status, 404);
  }
});

test('at the till and on the page of recipients, fixed codes are cards with their states', async () => {
  const { service } = fixed;
  const cashier = await join(service, 'cashier');
  const expected: readonly (readonly [keyof typeof fixedCodes, RegExp])[] = [
    ['empty', /Used up/],
    ['low', /\$0\.01/],
    ['expired', /[Ee]xpired/],
    ['suspended', /[Ss]uspended/],
    ['error', /\$100\.00/],
    ['slow', /\$9\d\.00|\$100\.00/],
  ];
  for (const [name, shown] of expected) {
    const { code } = fixedCodes[name];
    const found = await cashier.post('/till/find', { code });
    const { text } = found.status === 303 ? await cashier.get(found.headers.get('location') ?? '') : found;
    assert.match(text, shown, name);
    const recipient = await openBrowser(service).post('/b', { code });
    assert.equal(recipient.status, 200, name);
  }
});
