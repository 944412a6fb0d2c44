/** The page at the root of a service without pages for staff: for browsers only, without scripts and without private data. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test, { after } from 'node:test';
import { prefersHtml } from '../../src/http/accept.ts';
import { assertEveryResponse, problemOf } from '../support/responses.ts';
import { startService, type TestResponse } from '../support/service.ts';

const service = await startService({ environment: { BASE_PATH: '/apps/x', CONSOLE: 'off' } });
after(() => service[Symbol.asyncDispose]());
const root = new URL(service.url).origin;

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';

async function open(
  path: string,
  headers: Readonly<Record<string, string>> = { accept: browser },
  method = 'GET',
): Promise<TestResponse> {
  const response = await fetch(`${root}${path}`, { method, headers });
  const text = await response.text();
  const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '');
  const json: unknown = isJson && text !== '' ? JSON.parse(text) : undefined;
  return { status: response.status, headers: response.headers, text, json };
}

test('a browser gets a page with the state, the reference and the stored emails, at the root and the base path', async (t) => {
  for (const [path, prefix] of [['/', ''], ['/apps/x', '/apps/x'], ['/apps/x/', '/apps/x']] as const) {
    await t.test(path, async () => {
      const response = await open(path);
      assert.equal(response.status, 200);
      assertEveryResponse(response);
      const { headers, text } = response;
      assert.equal(headers.get('content-type'), 'text/html; charset=utf-8');
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.match(text, /<dd>Ready<\/dd>/);
      const links = [...text.matchAll(/href="([^"]+)"/g)].map(([, link = '']) => link);
      assert.deepEqual(links, [`${prefix}/docs`, `${prefix}/openapi.json`, `${prefix}/dev/mails`]);
      for (const link of links) assert.equal((await open(link)).status, 200, link);
    });
  }
}); // prettier-ignore

test('the page runs no script, loads no resource and cannot be framed', async () => {
  const { headers, text } = await open('/');
  const style = /<style>([\s\S]*)<\/style>/.exec(text)?.[1] ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  assert.equal(
    headers.get('content-security-policy'),
    `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  assert.doesNotMatch(text, /<script|<img|<link|<iframe|<form|\son\w+=|javascript:|\sstyle=|https?:/i);
});

test('every other client gets the JSON 404', async (t) => {
  for (const accept of [
    '*/*',
    'application/json',
    'application/json, text/html;q=0.9',
    'text/html;q=0',
    'text/*',
    '',
  ]) {
    await t.test(accept, async () => {
      for (const path of ['/', '/apps/x', '/apps/x/'])
        problemOf(await open(path, { accept }), { code: 'not-found', basePath: '/apps/x' });
    });
  }
  for (const method of ['POST', 'PUT', 'DELETE'])
    problemOf(await open('/', { accept: browser }, method), {
      code: 'method-not-allowed',
      basePath: '/apps/x',
    });
  const head = await open('/', { accept: browser }, 'HEAD');
  assert.deepEqual([head.status, head.text], [200, '']);
  problemOf(await open('/apps', { accept: browser }), { code: 'not-found', basePath: '/apps/x' });
});

test('a forwarded request gets a page without a link to the emails', async () => {
  const { status, text } = await open('/', { accept: browser, 'x-forwarded-for': '192.0.2.1' });
  assert.equal(status, 200);
  assert.doesNotMatch(text, /dev\/mails|Development mode/);
});

test('a page of the root is available even if the base path has its name', async () => {
  await using docs = await startService({ environment: { BASE_PATH: '/docs', CONSOLE: 'off' } });
  const origin = new URL(docs.url).origin;
  const titleOf = async (path: string): Promise<string | undefined> => {
    const response = await fetch(`${origin}${path}`, { headers: { accept: browser } });
    return /<title>([^<]*)</.exec(await response.text())?.[1];
  };
  assert.equal(await titleOf('/'), 'Largesse');
  assert.equal(await titleOf('/docs/'), 'Largesse');
  const reference = await titleOf('/docs/docs');
  assert.notEqual(reference, 'Largesse');
  assert.equal(await titleOf('/docs'), reference);
});

test('without stored emails, the page has no link to them', async () => {
  await using production = await startService({
    stores: [{ domain: 'flowers.example' }],
    environment: { NODE_ENV: 'production', CONSOLE: 'off' },
    database: { durable: true },
  });
  const { status, text } = await production.request('/', { headers: { accept: browser } });
  assert.equal(status, 200);
  assert.doesNotMatch(text, /dev\/mails|Development mode|flowers/);
});

test('prefersHtml is true if Accept lists HTML before any JSON', () => {
  for (const accept of [
    browser,
    'text/html',
    'TEXT/HTML ; q=0.5',
    'text/html, application/json',
    'application/xhtml+xml',
  ])
    assert.equal(prefersHtml(accept), true, accept);
  for (const accept of [
    undefined, '', '*/*', 'text/*', 'text/html;q=0', 'text/html;q=x', 'text/html;q=0.5, application/json',
    'application/problem+json, text/html;q=0.9', 'text/htmlx', 'application/ld+json,text/html;q=0.99',
  ]) assert.equal(prefersHtml(accept), false, String(accept)); // prettier-ignore
});
