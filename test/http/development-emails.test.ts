/** The development page with the emails that the service stores instead of sending them. */

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import test, { after } from 'node:test';
import type { Role } from '../../src/core/staff/domain/staff.ts';
import { openBrowser, type Browser } from '../support/browser.ts';
import { staffPassword } from '../support/console.ts';
import { createStoreElsewhere } from '../support/second-process.ts';
import { until } from '../support/delivering.ts';
import { command } from '../support/served.ts';
import { startService } from '../support/service.ts';

const service = await startService({ environment: { BASE_PATH: '/apps/x' } });
after(() => service[Symbol.asyncDispose]());

const hostile = '"><script>alert(1)</script> <b>&';
const issued = await service.request('/gift_card', {
  method: 'POST',
  json: { initial_value: 25, recipient_email: 'grace@example.com', message: hostile },
});
const { id, code } = (issued.json as { gift_card: { id: number; code: string } }).gift_card;
await until(async () => {
  const { json } = await service.request(`/gift_card/${id}/deliveries`);
  return (json as { deliveries: readonly { status: string }[] }).deliveries[0]?.status === 'kept';
});
const [, name = ''] = /href="mails\/([^"]+)"/.exec((await service.request('/dev/mails')).text) ?? [];

test('the page lists emails, newest first, and shows the HTML, text and source of each', async () => {
  const list = await service.request('/dev/mails');
  assert.equal(list.status, 200);
  assert.match(list.text, /grace@example\.com/);
  const view = await service.request(`/dev/mails/${name}`);
  assert.match(view.text, /<iframe sandbox src="[^"]+\/html"/);
  const grouped = (code.match(/.{4}/g) ?? []).join(' ').toUpperCase();
  assert.ok(view.text.includes(grouped));
  assert.ok(!view.text.includes('<script'));
  const html = await service.request(`/dev/mails/${name}/html`);
  assert.match(html.text, /src="data:image\/png;base64,/);
  assert.ok(html.text.includes(grouped) && !html.text.includes('<script'));
  const eml = await service.request(`/dev/mails/${name}/eml`);
  assert.equal(eml.headers.get('content-type'), 'message/rfc822');
  assert.match(eml.text, /^Message-ID: <\d+\.\d+@demo\.localhost>/im);
  assert.match((await service.request('/dev/mails.css')).headers.get('content-type') ?? '', /^text\/css/);
});

test('the pages run no script, load no resource, cannot be framed and are not cached', async () => {
  for (const path of [
    '/dev/mails',
    `/dev/mails/${name}`,
    `/dev/mails/${name}/html`,
    `/dev/mails/${name}/eml`,
  ]) {
    const { headers } = await service.request(path);
    const policy = headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'none'/, path);
    assert.ok(!/script-src|unsafe-eval|https?:/.test(policy), policy);
    assert.equal(policy.includes('unsafe-inline'), path.endsWith('/html'), path);
    assert.equal(policy.includes('sandbox'), path.endsWith('/html'), path);
    assert.match(policy, path.endsWith('/html') ? /frame-ancestors 'self'/ : /frame-ancestors 'none'/);
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('referrer-policy'), 'no-referrer');
  }
});

test('an email with an unknown name is a 404, for any name', async () => {
  for (const other of ['x', '..%2f..%2flargesse', `${name}x`, '%00', 'a'.repeat(3_000)])
    for (const part of ['', '/html', '/eml'])
      assert.equal((await service.request(`/dev/mails/${other}${part}`)).status, 404, other + part);
});

/** Headers of cross-site and forwarded requests. */
const foreign: readonly Readonly<Record<string, string>>[] = [
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'x-forwarded-for': '192.0.2.1' },
  { 'x-forwarded-for': '127.0.0.1' },
  { 'x-forwarded-host': 'localhost' },
  { 'x-real-ip': '127.0.0.1' },
  { forwarded: 'for=127.0.0.1' },
  { via: '1.1 proxy' },
  { origin: 'https://evil.example' },
  { origin: 'null' },
];

test('the pages reject cross-site requests, other hosts and forwarded requests', async () => {
  for (const headers of foreign) assert.equal((await service.request('/dev/mails', { headers })).status, 403);
  const { port } = new URL(service.url);
  const raw = await service.raw(
    `GET /dev/mails/${name}/html HTTP/1.1\r\nHost: evil.example:${port}\r\nConnection: close\r\n\r\n`,
  );
  assert.match(raw, /^HTTP\/1\.1 403 /);
  assert.ok(!raw.includes('base64'));
});

test('only the owner can read the files', () => {
  const folder = join(service.database.folder, 'mails');
  assert.equal(statSync(folder).mode & 0o077, 0);
  assert.equal(statSync(join(folder, `${name}.eml`)).mode & 0o077, 0);
});

test('with a real store, only its owner reads its emails', async () => {
  // The emails of the demonstration are no longer shown.
  const before = `/dev/mails/${name}`;
  assert.equal((await service.request(before)).status, 200);
  await createStoreElsewhere(service, 'flowers.example');
  await createStoreElsewhere(service, 'books.example');
  const token = await service.token('flowers.example');
  const card = await service.request('/gift_card', {
    method: 'POST',
    token,
    json: { initial_value: 25, recipient_email: 'ada@example.com' },
  });
  assert.equal(card.status, 201);
  assert.equal(card.headers.get('email-status'), null);
  const made = (card.json as { gift_card: { id: number; code: string } }).gift_card;
  const visitor = openBrowser(service);
  const joinAs = async (role: Role, store: string): Promise<Browser> => {
    const args = ['staff', 'invite', `${role}@${store}`, '--role', role, '--store', store, '--json'];
    const { output } = await command(service.environment, ...args);
    const browser = openBrowser(service);
    const { pathname } = new URL((JSON.parse(output) as { readonly link: string }).link);
    const joined = await browser.post(pathname.slice('/apps/x'.length), { password: staffPassword });
    assert.equal(joined.status, 303, joined.text);
    return browser;
  };
  const owner = await joinAs('owner', 'flowers.example');
  const [manager, other] = [
    await joinAs('manager', 'flowers.example'),
    await joinAs('owner', 'books.example'),
  ];
  await until(async () => (await owner.get('/dev/mails')).text.includes('ada@example.com'));
  const list = await owner.get('/dev/mails');
  assert.ok(!list.text.includes('grace@example.com'), 'of the demonstration');
  const [, kept = ''] = /href="mails\/([^"]+)"/.exec(list.text) ?? [];
  const grouped = (made.code.match(/.{4}/g) ?? []).join(' ').toUpperCase();
  assert.ok((await owner.get(`/dev/mails/${kept}`)).text.includes(grouped));
  assert.equal((await owner.get(before)).status, 404);
  assert.match((await other.get('/dev/mails')).text, /No emails yet/);

  const emails = ['', '/html', '/eml'].map((rest) => `/dev/mails/${kept}${rest}`);
  for (const path of ['/dev/mails', ...emails]) {
    assert.equal((await owner.get(path)).status, 200, path);
    if (path !== '/dev/mails') assert.equal((await other.get(path)).status, 404, path);
    assert.equal((await manager.get(path)).status, 404, path);
    assert.equal((await service.request(path)).status, 404, path);
    const page = await visitor.request(path, { headers: { accept: 'text/html' } });
    assert.equal(page.status, 303, path);
    assert.equal(
      page.headers.get('location'),
      `/apps/x/sign-in?next=${encodeURIComponent(path)}`,
      'the sign-in page leads back',
    );
    for (const headers of foreign) {
      const response = await owner.request(path, { headers });
      assert.equal(response.status, 403, `${path} ${JSON.stringify(headers)}`);
      assert.ok(!response.text.includes(grouped));
    }
    for (const host of ['evil.example', 'flowers.example', '', '0.0.0.0', 'localhost.evil.example']) {
      const raw = await service.raw(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      assert.match(raw, /^HTTP\/1\.1 403 /, `${path} ${host}`);
    }
  }
  assert.doesNotMatch((await visitor.get('/sign-in')).text, /dev\/mails/);
  assert.match((await owner.get('/emails')).text, /href="\/apps\/x\/dev\/mails"/);
  assert.doesNotMatch((await manager.get('/emails')).text, /dev\/mails/);
});

test('without pages for staff, no request reads the emails of a real store', async () => {
  await using hidden = await startService({
    stores: [{ domain: 'flowers.example' }],
    environment: { CONSOLE: 'off' },
  });
  assert.equal((await hidden.request('/dev/mails', { headers: { accept: 'text/html' } })).status, 404);
  assert.doesNotMatch((await hidden.request('/', { headers: { accept: 'text/html' } })).text, /dev\/mails/);
});

test('the log names the folder of the emails, and a trusted proxy disables the pages', async () => {
  assert.match(
    service.log(),
    /"folder":"[^"]+\/mails","message":"SMTP_URL is not set: the emails of every store/,
  );
  await using proxied = await startService({
    stores: [{ domain: 'flowers.example' }],
    environment: { TRUSTED_PROXIES: '127.0.0.1' },
  });
  assert.equal((await proxied.request('/dev/mails')).status, 404);
  assert.match((await proxied.request('/readyz')).text, /"mail":"folder"/);
});
