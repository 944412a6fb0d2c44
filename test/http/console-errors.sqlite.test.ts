/** Unknown paths, other methods and failures, as a browser and as a program see them. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { openBrowser, type Browser } from '../support/browser.ts';
import { consoleDomain, join, openStoreWithStaff } from '../support/console.ts';
import { enrollDevice, enterPin } from '../support/counter.ts';
import { assertEveryResponse, problemOf } from '../support/responses.ts';
import { startService, type TestResponse } from '../support/service.ts';
import { shopOf } from '../support/shop.ts';

const html = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';
const service = await openStoreWithStaff();
after(() => service[Symbol.asyncDispose]());
const visitor = openBrowser(service);
const owner = await join(service, 'owner');

type Request = { readonly method?: string; readonly language?: string; readonly host?: string };

function open(
  browser: Browser,
  path: string,
  { method = 'GET', language = 'en', host }: Request = {},
): Promise<TestResponse> {
  const headers = { accept: html, 'accept-language': language, ...(host !== undefined && { host }) };
  return browser.request(path, { method, headers });
}

/** Asserts a page for an error, and returns its text. */
function pageOf(response: TestResponse, status: number): string {
  const { headers, text } = response;
  assert.equal(response.status, status, text);
  assertEveryResponse(response);
  assert.equal(headers.get('content-type'), 'text/html; charset=utf-8');
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'; style-src 'self';/);
  assert.equal(headers.get('referrer-policy'), 'no-referrer');
  assert.ok(text.includes(`<code>${headers.get('x-request-id')}</code>`), text);
  return text;
}

const unknownPaths = [
  '/nowhere',
  '/cards.php',
  '/cards/1/2/3/4',
  '/settings/nothing',
  '/assets/x/y.css',
  '/docs/nowhere',
  '/.env',
  '//cards',
];

test('a browser gets a page in its language for an unknown path', async (t) => {
  for (const path of unknownPaths) {
    await t.test(path, async () => {
      const response = await open(visitor, path);
      const text = pageOf(response, 404);
      assert.equal(response.headers.get('vary'), 'accept');
      assert.match(text, /<h1>Page not found<\/h1>/);
      assert.match(text, /href="\/">To the first page</);
      assert.doesNotMatch(text, /<nav/);
      assert.match(
        pageOf(await open(visitor, path, { language: 'de-AT,de' }), 404),
        /<h1>Seite nicht gefunden</,
      );
    });
  }
  const head = await open(visitor, '/nowhere', { method: 'HEAD' });
  assert.deepEqual([head.status, head.text], [404, '']);
  assert.equal(head.headers.get('content-type'), 'text/html; charset=utf-8');
  const malformed = pageOf(await open(visitor, '/cards/%zz'), 400);
  assert.match(malformed, /<h1>Page not found</);
});

test('a member of staff gets the page with the navigation', async () => {
  for (const path of [...unknownPaths, '/cards/1', '/cards/']) {
    const text = pageOf(await open(owner, path), 404);
    assert.match(text, /<h1>Page not found<\/h1>/, path);
    assert.match(text, /<nav aria-label="Main"><a href="\/today">/, path);
    assert.doesNotMatch(text, /aria-current/, path);
  }
  const cashier = await join(service, 'cashier');
  assert.doesNotMatch(pageOf(await open(cashier, '/nowhere'), 404), /href="\/staff"/);
});

test('another method on a page is a page with the allowed methods', async () => {
  for (const browser of [visitor, owner]) {
    for (const [path, method, allow] of [
      ['/today', 'POST', 'GET, HEAD, OPTIONS'],
      ['/cards/find', 'GET', 'OPTIONS, POST'],
      ['/', 'PUT', 'GET, HEAD, OPTIONS'],
    ] as const) {
      const response = await open(browser, path, { method });
      assert.equal(/<nav /.test(pageOf(response, 405)), browser === owner, path);
      assert.equal(response.headers.get('allow'), allow);
    }
  }
});

test('programs get the problem as JSON, and Vary where a browser gets a page', async () => {
  for (const accept of [undefined, '*/*', 'application/json', 'application/json, text/html;q=0.9']) {
    for (const path of unknownPaths) {
      const response = await service.request(path, { headers: accept === undefined ? {} : { accept } });
      problemOf(response, { code: 'not-found' });
      assert.equal(response.headers.get('vary'), 'accept', path);
    }
  }
});

test('the paths of the API return JSON whatever the client accepts', async () => {
  const { token } = await shopOf(service, consoleDomain);
  for (const path of [
    '/gift_card/1',
    '/gift_card/1/nothing',
    '/gift_card/',
    '/gift_cards/a/b',
    '/webhooks/1/x',
  ]) {
    for (const browser of [visitor, owner]) {
      const response = await browser.request(path, { headers: { accept: html, 'x-access-token': token } });
      problemOf(response, { code: 'not-found' });
      assert.equal(response.headers.get('vary'), null);
    }
  }
  problemOf(await open(owner, '/gift_card/1/debit'), { code: 'method-not-allowed' });
  problemOf(await open(owner, '/gift_card/1'), { code: 'unauthenticated' });
  problemOf(await open(owner, '/metrics', { host: 'cards.example' }), { code: 'unauthenticated' });
});

test('under another host name the page is that of a visitor', async () => {
  const text = pageOf(await open(owner, '/nowhere', { host: 'evil.example' }), 404);
  assert.doesNotMatch(text, /<nav|Flowers/);
});

test('below a base path the page links to the start page, and the API is where it is', async () => {
  await using shop = await startService({
    stores: [{ domain: consoleDomain }],
    environment: { BASE_PATH: '/apps/x' },
  });
  const root = new URL(shop.url).origin;
  const at = async (path: string): Promise<TestResponse> => {
    const response = await fetch(`${root}${path}`, { headers: { accept: html } });
    const text = await response.text();
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson ? JSON.parse(text) : undefined,
    };
  };
  for (const path of ['/apps/x/nowhere', '/apps/xgift_card', '/apps', '/apps/x/cards/1/2/3/4'])
    assert.match(pageOf(await at(path), 404), /href="\/apps\/x\/">To the first page</, path);
  problemOf(await at('/apps/x/gift_card/1/nothing'), { code: 'not-found', basePath: '/apps/x' });
});

test('a failure of a page is a page, with the navigation if the session can be read', async () => {
  await using broken = await openStoreWithStaff();
  const browser = await join(broken, 'owner');
  await broken.database.meddle('alter table gift_cards rename to lost_cards');
  const text = pageOf(await open(browser, '/cards'), 500);
  assert.match(text, /<h1>Something went wrong</);
  assert.match(text, /<nav /);
  await broken.database.meddle('alter table staff_sessions rename to lost_sessions');
  assert.doesNotMatch(pageOf(await open(browser, '/cards'), 500), /<nav/);
  assert.doesNotMatch(pageOf(await open(browser, '/nowhere'), 404), /<nav/);
});

test('a till that is open with a PIN gets the page without the navigation', async () => {
  await owner.post('/account/pin', { pin: '2580' });
  const device = await enrollDevice(service, owner);
  assert.equal((await enterPin(device, 'owner', '2580')).status, 303);
  assert.doesNotMatch(pageOf(await open(device, '/till/nowhere'), 404), /<nav/);
});
