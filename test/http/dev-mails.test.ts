/** The development page: the mails that are kept instead of being sent. */

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { openDatabase } from '../../src/database.ts';
import { readConfig } from '../../src/config.ts';
import { createStore } from '../../src/service/store.ts';
import { until } from '../harness/delivering.ts';
import { newStore } from '../harness/fixtures.ts';
import { startService } from '../harness/service.ts';

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
  return (json as { deliveries: readonly { status: string }[] }).deliveries[0]?.status === 'sent';
});
const [, name = ''] = /href="mails\/([^"]+)"/.exec((await service.request('/dev/mails')).text) ?? [];

test('the page lists what was mailed, newest first, and shows each with its HTML, text and whole message', async () => {
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

test('nothing on it may run, load or be framed, and nothing is kept', async () => {
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

test('a mail of another name is none, whatever the name is', async () => {
  for (const other of ['x', '..%2f..%2flargesse', `${name}x`, '%00', 'a'.repeat(3_000)])
    for (const part of ['', '/html', '/eml'])
      assert.equal((await service.request(`/dev/mails/${other}${part}`)).status, 404, other + part);
});

test('it is kept from other sites, other hosts, and what a proxy hands on', async () => {
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { 'x-forwarded-for': '192.0.2.1' },
    { origin: 'https://evil.example' },
  ]) assert.equal((await service.request('/dev/mails', { headers })).status, 403); // prettier-ignore
  const { port } = new URL(service.url);
  const raw = await service.raw(
    `GET /dev/mails/${name}/html HTTP/1.1\r\nHost: evil.example:${port}\r\nConnection: close\r\n\r\n`,
  );
  assert.match(raw, /^HTTP\/1\.1 403 /);
  assert.ok(!raw.includes('base64'));
});

test('the files are for their owner only', () => {
  const folder = join(service.database.folder, 'mails');
  assert.equal(statSync(folder).mode & 0o077, 0);
  assert.equal(statSync(join(folder, `${name}.eml`)).mode & 0o077, 0);
});

test('the door closes with the first real store, whose mails are not kept', async () => {
  await using database = await openDatabase(readConfig(service.environment), { prepare: false });
  await database.storage.write(() => createStore(database.ctx, newStore()));
  for (const path of ['/dev/mails', `/dev/mails/${name}`, `/dev/mails/${name}/eml`])
    assert.equal((await service.request(path)).status, 401, path);
  const token = await service.token('flowers.example');
  const card = await service.request('/gift_card', {
    method: 'POST',
    token,
    json: { initial_value: 25, recipient_email: 'ada@example.com' },
  });
  assert.equal(card.status, 201);
  const made = (card.json as { gift_card: { id: number } }).gift_card.id;
  const { text } = await service.request(`/gift_card/${made}/deliveries`, { token });
  assert.equal(text, '{"deliveries":[]}');
});
