/** Errors: their bodies, unknown paths and methods, HEAD, OPTIONS, and failures of the service. */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import test, { after } from 'node:test';
import { readConfig } from '../../src/start/config.ts';
import { start } from '../../src/start/main.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { assertEveryResponse, giftCardOf, issuedGiftCardOf, problemOf } from '../support/responses.ts';
import { createStoreElsewhere } from '../support/second-process.ts';
import { engine } from '../support/engine.ts';
import { startService, type TestResponse } from '../support/service.ts';
import { countEvents, shopOf, unchanged } from '../support/shop.ts';
import { exchange, openWire, parseResponses, requestText } from '../support/wire.ts';
import { createLog } from '../../src/platform/log.ts';

const service = await startService({ stores: [{ domain: 'flowers.example' }] });
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const { id, last_characters } = await shop.issue({ email: 'ada@example.com' });
const bearer = ['Authorization', `Bearer ${shop.token}`] as const;

const collection = { path: '/gift_card', allow: 'GET, HEAD, OPTIONS, POST' };
const card = { path: `/gift_card/${id}`, allow: 'GET, HEAD, OPTIONS, PUT' };
const pages = [
  '/healthz', '/readyz', '/metrics', '/openapi.json', '/docs', '/docs/style.css', '/docs/problems/not-found',
].map((path) => ({ path, allow: 'GET, HEAD, OPTIONS' })); // prettier-ignore

test('an error has one body with the request id, with its fields in order', async () => {
  const response = await shop.ask('GET /gift_card/1', { headers: { 'x-request-id': 'mine-7' } });
  problemOf(response, { code: 'not-found' });
  const { detail, ...rest } = response.json as Record<string, unknown>;
  assert.equal(typeof detail, 'string');
  assert.deepEqual(rest, {
    type: '/docs/problems/not-found',
    title: 'Not Found',
    status: 404,
    errors: 'Not Found',
    request_id: 'mine-7',
  });
});

test('a valid request id of the client is used, another one is replaced', async (t) => {
  for (const sane of [
    'a',
    'req-1',
    'f47ac10b-58cc-4372-a567-0e02b2c3d479',
    'a:b/c+d=e@f_g.h',
    'x'.repeat(128),
  ]) {
    await t.test(sane.slice(0, 40), async () => {
      const headers = { 'x-request-id': sane };
      for (const path of [card.path, '/gift_card/1', '/healthz', '/nowhere']) {
        assert.equal(
          (await shop.ask(`GET ${path as `/${string}`}`, { headers })).headers.get('x-request-id'),
          sane,
        );
      }
    });
  }
  for (const insane of [
    '',
    'x'.repeat(129),
    'two words',
    '<script>',
    'a"b',
    'a\\b',
    'é',
    '{}',
    'a,b',
    'a;b',
    '%0a',
  ]) {
    await t.test(`not ${insane.slice(0, 40)}`, async () => {
      const { headers } = await shop.ask(`GET ${card.path as `/${string}`}`, {
        headers: { 'x-request-id': insane },
      });
      assert.match(headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
    });
  }
  await t.test('every request gets its own id', async () => {
    const ids = await Promise.all(
      Array.from({ length: 20 }, async () => (await service.request('/healthz')).headers.get('x-request-id')),
    );
    assert.equal(new Set(ids).size, 20);
  });
});

test('an unknown path is a 404 for every method', async (t) => {
  const paths = [
    '/giftcards', '/gift_card.json', '/Gift_Card', `/gift_card/${id}/`, `/gift_card/${id}/balances`, '//gift_card',
    `//gift_card/${id}`, '/admin', '/api/gift_card', '/docs/', '/docs/nowhere', '/docs/problems/Not%20Found', '/docs/problems/', '/docs/problems/a/b',
    '/healthz/', '/.env', '/apps/gcf/api/gift_card', '/gift_card;x', '/constructor', '/__proto__',
  ]; // prettier-ignore
  for (const path of paths) {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND']) {
      // A page can have any name, so the path has a route.
      if (/^\/docs\/(?:nowhere|problems\/Not)/.test(path) && method !== 'GET') continue;
      await t.test(`${method} ${path}`, async () => {
        await unchanged(service, async () =>
          problemOf(await service.request(path, { method }), { code: 'not-found' }),
        );
      });
    }
  }
  await t.test('HEAD', async () => {
    const response = await service.request('/nowhere', { method: 'HEAD' });
    assert.equal(response.status, 404);
    assert.equal(response.text, '');
  });
});

const otherMethods = [
  'DELETE', 'PATCH', 'TRACE', 'PROPFIND', 'PROPPATCH', 'MKCOL', 'COPY', 'MOVE', 'LOCK', 'UNLOCK', 'SEARCH', 'REPORT',
  'MKCALENDAR', 'ACL', 'BIND', 'CHECKOUT', 'LINK', 'M-SEARCH', 'MERGE', 'NOTIFY', 'PURGE', 'REBIND', 'SUBSCRIBE',
  'UNBIND', 'UNLINK', 'UNSUBSCRIBE', 'SOURCE',
]; // prettier-ignore

test('another method on a known path is a 405 with the allowed methods', async (t) => {
  const cases = [
    ...otherMethods.flatMap((method) =>
      [collection, card].map(({ path, allow }) => ({ method, path, allow })),
    ),
    { method: 'PUT', ...collection },
    { method: 'POST', ...card },
    ...pages.flatMap(({ path, allow }) =>
      ['POST', 'PUT', 'DELETE', 'PATCH'].map((method) => ({ method, path, allow })),
    ),
    { method: 'DELETE', path: '/gift_card/abc', allow: card.allow },
    { method: 'DELETE', path: '/gift_card?page=1', allow: collection.allow },
  ];
  for (const { method, path, allow } of cases) {
    await t.test(`${method} ${path}`, async () => {
      await unchanged(service, async () => {
        for (const headers of [[], [bearer]]) {
          const response = await exchange(service, requestText(`${method} ${path}`, headers));
          problemOf(response, { code: 'method-not-allowed' });
          assert.equal(response.headers.get('allow'), allow);
        }
      });
    });
  }
});

test('the root is a page for browsers, a 404 for other clients and a 405 for other methods', async () => {
  problemOf(await shop.ask('GET /'), { code: 'not-found' });
  for (const method of ['POST', 'PUT', 'DELETE', 'PROPFIND']) {
    const response = await exchange(service, requestText(`${method} /`, [bearer]));
    problemOf(response, { code: 'method-not-allowed' });
    assert.equal(response.headers.get('allow'), 'GET, HEAD, OPTIONS');
  }
});

test('the method QUERY is a 405 on a known path', async () => {
  const response = await exchange(service, requestText('QUERY /gift_card', [bearer]));
  problemOf(response, { code: 'method-not-allowed' });
});

test('an absolute-form target is handled as its path, with any method', async () => {
  const { port } = new URL(service.url);
  const target = `http://127.0.0.1:${port}${card.path}`;
  giftCardOf(await exchange(service, requestText(`GET ${target}`, [bearer])));
  const response = await exchange(service, requestText(`DELETE ${target}`, [bearer]));
  problemOf(response, { code: 'method-not-allowed' });
  assert.equal(response.headers.get('allow'), card.allow);
});

test('OPTIONS returns 204 with Allow and without CORS headers', async (t) => {
  for (const { path, allow } of [collection, card, ...pages]) {
    await t.test(path, async () => {
      const response = await unchanged(service, () =>
        service.request(path, {
          method: 'OPTIONS',
          headers: { origin: 'https://elsewhere.example', 'access-control-request-method': 'POST' },
        }),
      );
      assert.equal(response.status, 204);
      assert.equal(response.text, '');
      assert.equal(response.headers.get('allow'), allow);
      assertEveryResponse(response);
    });
  }
});

test('HEAD returns the response of GET without the body', async (t) => {
  const search = `/gift_card?last_characters=${last_characters}&email=ada@example.com`;
  const paths = [
    card.path, search, '/gift_card', '/gift_card/1', '/gift_card?page=1', ...pages.map(({ path }) => path), '/nowhere',
  ]; // prettier-ignore
  for (const path of paths) {
    await t.test(path, async () => {
      const headers = [bearer, ['X-Request-Id', 'one']] as const;
      const got = await exchange(service, requestText(`GET ${path}`, headers));
      const head = await exchange(service, requestText(`HEAD ${path}`, headers));
      assert.equal(head.status, got.status);
      assert.equal(head.text, '');
      const headersOf = (response: TestResponse): readonly unknown[] =>
        [...response.headers].filter(
          ([name]) => name !== 'date' && !(path === '/metrics' && name === 'content-length'),
        );
      assert.deepEqual(headersOf(head), headersOf(got));
      assertEveryResponse(head);
    });
  }
  await t.test('without a credential', async () => {
    const head = await service.request(card.path, { method: 'HEAD' });
    assert.equal(head.status, 401);
    assert.ok(head.headers.get('www-authenticate'));
  });
});

test('no response has a CORS header', async () => {
  const headers = { origin: 'https://elsewhere.example' };
  for (const path of [card.path, '/gift_card/1', '/healthz', '/docs', '/openapi.json']) {
    assertEveryResponse(await shop.ask(`GET ${path as `/${string}`}`, { headers }));
  }
  assertEveryResponse(await shop.ask('POST /gift_card', { json: { initial_value: 5 }, headers }));
});

test('every response with card data has no-store, and only a creation returns a code', async () => {
  const { code, id: issued } = await shop.issue({ email: 'no-store@example.com' });
  const responses = [
    await shop.ask(`GET /gift_card/${issued}`),
    await shop.ask(`GET /gift_card?last_characters=${code.slice(-4)}&email=no-store@example.com`),
    await shop.ask(`PUT /gift_card/${issued}`, { json: { note: 'x', code } }),
    await shop.ask(`PUT /gift_card/${issued}`, { json: {} }),
    await shop.ask(`PUT /gift_card/${issued}`, { json: { code: 'zzzzzzzzzzzz', balance: -1 } }),
    await shop.ask('POST /gift_card', { json: { initial_value: 5, code } }),
  ];
  for (const { headers, text } of responses) {
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.ok(!text.includes(code) && !text.includes('"code":"'));
  }
});

test('an internal error is a 500 without its cause, which is logged with the same request id', async () => {
  await using broken = await startService({ stores: [{ domain: 'flowers.example' }] });
  const client = await shopOf(broken, 'flowers.example');
  const { id: issued } = await client.issue({ email: 'ada@example.com' });
  await broken.database.meddle('alter table customers rename to lost_customers');
  const requests = [
    ['GET', `/gift_card/${issued}`],
    ['GET', '/gift_card?last_characters=abcd&email=ada@example.com'],
    ['POST', '/gift_card', { initial_value: 5, email: 'new@example.com' }],
    ['PUT', `/gift_card/${issued}`, { balance: 5 }],
  ] as const;
  for (const [index, [method, path, json]] of requests.entries()) {
    const requestId = `broken-${index}`;
    const before = await countEvents(broken);
    const response = await client.ask(`${method} ${path}`, { json, headers: { 'x-request-id': requestId } });
    problemOf(response, { code: 'internal-error' });
    for (const word of [
      'customers',
      'sqlite',
      'postgres',
      'relation',
      'SQL',
      'table',
      'node:',
      '.ts',
      'Error:',
      'stack',
      broken.database.folder,
    ]) {
      assert.ok(!response.text.includes(word), `${word} in ${response.text}`);
    }
    assert.equal(await countEvents(broken), before);
    const lines = broken
      .log()
      .split('\n')
      .filter((line) => line.includes(`"${requestId}"`));
    assert.ok(
      lines.some((line) => /no such table|does not exist/.test(line) && line.includes('"level":50')),
      lines.join('\n'),
    );
  }
  await broken.database.meddle('alter table lost_customers rename to customers');
  assert.equal((await client.read(issued)).balance, '25.00');
});

test('while another process locks the database, writes return a 503 and reads succeed', async () => {
  const limits = { lockWaitMaxMs: 500 };
  await using held = await startService({ stores: [{ domain: 'flowers.example' }], limits });
  const client = await shopOf(held, 'flowers.example');
  const { id: issued } = await client.issue();
  const lock = await held.database.lock();
  try {
    const write = client.ask('POST /gift_card', { json: { initial_value: 5 } });
    const update = client.ask(`PUT /gift_card/${issued}`, { json: { balance: 5 } });
    assert.equal((await client.read(issued)).balance, '25.00');
    await unchanged(held, async () => {
      for (const response of [await write, await update]) {
        problemOf(response, { code: engine.waitedTooLong });
        assert.ok(!/busy|lock|sqlite|postgres/i.test(response.text));
      }
    });
    problemOf(await held.request('/readyz'), { code: 'unavailable' });
  } finally {
    await lock[Symbol.asyncDispose]();
  }
  await client.creates({ json: { initial_value: 5 } });
  await wait(1_050);
  assert.equal((await held.request('/readyz')).status, 200);
});

test('a stopping service finishes requests in flight and rejects new ones with a 503', async () => {
  await using prepared = await startService({ stores: [{ domain: 'flowers.example' }] });
  const token = await prepared.token('flowers.example');
  const config = readConfig({ ...prepared.environment, LOG_LEVEL: 'silent' });
  const second = await start(config, { clock: systemClock, log: await createLog(config) });
  const lock = await prepared.database.lock();
  await using wire = openWire({ url: second.url });
  const body = '{"initial_value":5}';
  const head = `Host: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
  wire.send(`POST /gift_card HTTP/1.1\r\n${head}Content-Length: ${body.length}\r\n\r\n${body}`);
  // The service reads the request on the older connection before one on a new connection.
  assert.equal((await exchange(second, requestText('GET /healthz'))).status, 200);
  const stopped = second[Symbol.asyncDispose]();
  wire.send(`POST /gift_card HTTP/1.1\r\n${head}Content-Length: ${body.length}\r\n\r\n${body}`);
  await wait(500);
  await lock[Symbol.asyncDispose]();
  await stopped;
  await wire.closed;
  const [first, next, ...more] = parseResponses(wire.received());
  assert.ok(first && next && more.length === 0, wire.received());
  issuedGiftCardOf(first);
  problemOf(next, { code: 'closing' });
  assert.equal((await prepared.query('select id from gift_cards')).length, 1);
});

test('a running service serves a new store at once', async () => {
  await createStoreElsewhere(service, 'new.example');
  const fresh = await shopOf(service, 'new.example');
  await fresh.creates({ json: { initial_value: 5 } });
});
