/** The service's own pages: health, readiness, metrics and documentation. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { assertEveryResponse, problemOf } from '../support/responses.ts';
import { statusOfCode } from '../support/error-codes.ts';
import { startService, type TestResponse } from '../support/service.ts';
import { shopOf, unchanged } from '../support/shop.ts';
import { exchange, requestText } from '../support/wire.ts';
import { isObject, validator, type Json } from '../unit/openapi-document.ts';

const service = await startService({ stores: [{ domain: 'flowers.example' }] });
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');

const noStore = ({ headers }: TestResponse): void => assert.equal(headers.get('cache-control'), 'no-store');

test('health and readiness need no credential and read no card', async () => {
  await unchanged(service, async () => {
    const health = await service.request('/healthz');
    assert.equal(health.status, 200);
    assert.deepEqual(health.json, { status: 'ok' });
    const ready = await service.request('/readyz');
    assert.equal(ready.status, 200);
    assert.deepEqual(ready.json, {
      status: 'ready',
      details: { mail: 'folder' },
    });
    for (const response of [health, ready]) {
      noStore(response);
      assertEveryResponse(response);
      assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
    }
  });
  const [beaten] = await service.query('select beaten_at from heartbeat');
  assert.ok(Math.abs(Number(beaten?.['beaten_at']) - service.clock.now()) < 10_000);
});

test('the documented schemas of the pages are those of their responses', async () => {
  const { json: documented } = await service.request('/openapi.json');
  const { schemas } = (
    documented as { readonly components: { readonly schemas: Readonly<Record<string, Json>> } }
  ).components;
  for (const [path, name] of Object.entries({ '/healthz': 'HealthResult', '/readyz': 'ReadinessResult' }))
    assert.ok(validator(schemas[name])((await service.request(path)).json), name);
  const names = ['openapi', 'info', 'paths', 'components'];
  assert.deepEqual(schemas['OpenapiResult']?.['required'], names);
  assert.ok(isObject(documented) && names.every((name) => name in documented));
});

test('a credential, valid or not, does not change a page', async () => {
  for (const headers of [{ authorization: 'Bearer nonsense' }, { authorization: `Bearer ${shop.token}` }]) {
    for (const path of ['/healthz', '/readyz', '/openapi.json', '/docs']) {
      assert.equal((await service.request(path, { headers })).status, 200);
    }
  }
});

test('metrics count requests by route template, commits and invalid HTTP, without ids or amounts', async () => {
  const { id } = await shop.issue({ initial_value: '987654321012.99', note: 'uncounted' });
  await shop.read(id);
  await shop.ask('GET /gift_card/1');
  await shop.ask('DELETE /gift_card');
  await shop.ask('GET /nowhere');
  await service.raw('hello\r\n\r\n');
  const response = await service.request('/metrics');
  assert.equal(response.status, 200);
  noStore(response);
  assertEveryResponse(response);
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=/);
  const { text } = response;
  const counted = (method: string, route: string, status: number): RegExp =>
    new RegExp(
      `^http_server_request_duration_seconds_count\\{http_request_method="${method}",http_route="${route}",http_response_status_code="${status}"\\} [1-9]`,
      'm',
    );
  assert.match(text, counted('POST', '/gift_card', 201));
  assert.match(text, counted('GET', '/gift_card/:gift_card_id', 200));
  assert.match(text, counted('GET', '/gift_card/:gift_card_id', 404));
  assert.match(text, counted('DELETE', 'unknown', 405));
  assert.match(text, counted('GET', 'unknown', 404));
  assert.match(text, /^largesse_commit_duration_seconds_count [1-9]/m);
  assert.match(text, /^largesse_commit_group_size_count [1-9]/m);
  assert.match(text, /^largesse_script_queue_depth 0$/m);
  assert.match(text, /^largesse_client_errors_total [1-9]/m);
  assert.match(text, /^largesse_ledger_mismatches 0$/m);
  assert.match(text, /^largesse_ledger_cards_verified_total \d+$/m);
  assert.match(text, /^process_cpu_seconds_total /m);
  for (const secret of [String(id), '987654321012', 'uncounted', shop.token, 'flowers.example', '/nowhere']) {
    assert.ok(!text.includes(secret), secret);
  }
});

test('without METRICS_TOKEN only this machine can read the metrics, without a proxy', async (t) => {
  for (const headers of [
    { 'x-forwarded-for': '127.0.0.1' },
    { 'x-forwarded-for': '' },
    { forwarded: 'for=127.0.0.1' },
    { 'x-forwarded-for': '192.0.2.7', authorization: `Bearer ${shop.token}` },
  ]) {
    await t.test(JSON.stringify(headers).slice(0, 50), async () => {
      const response = await service.request('/metrics', { headers });
      problemOf(response, { code: 'unauthenticated' });
      assert.ok(!response.text.includes('http_server'));
    });
  }
});

test('a request for metrics with any header of a proxy is rejected', async (t) => {
  for (const name of ['x-forwarded-host', 'x-real-ip', 'via', 'cf-connecting-ip', 'x-scheme', 'cdn-loop']) {
    await t.test(name, async () => {
      problemOf(await service.request('/metrics', { headers: { [name]: '192.0.2.7' } }), {
        code: 'unauthenticated',
      });
    });
  }
});

test('without METRICS_TOKEN the metrics need a Host of this machine', async (t) => {
  const { port } = new URL(service.url);
  const ask = (host: string): Promise<TestResponse> =>
    exchange(service, requestText('GET /metrics').replace('Host: 127.0.0.1', `Host: ${host}`));
  for (const host of ['127.0.0.1', `127.0.0.1:${port}`, 'localhost', `localhost:${port}`, `[::1]:${port}`])
    await t.test(host, async () => assert.equal((await ask(host)).status, 200));
  for (const host of ['rebound.example', `rebound.example:${port}`, 'localhost.example', '192.0.2.1', '']) {
    await t.test(`not ${host}`, async () => {
      problemOf(await ask(host), { code: 'unauthenticated' });
    });
  }
  await t.test('HTTP/1.0 is rejected, because a proxy can use it without headers', async () => {
    const text = requestText('GET /metrics').replace('HTTP/1.1', 'HTTP/1.0');
    problemOf(await exchange(service, text), { code: 'unauthenticated' });
  });
});

test('with METRICS_TOKEN every client with the token can read the metrics, and no other client can', async (t) => {
  const secret = 'scrape-0123456789abcdef';
  await using scraped = await startService({
    stores: [{ domain: 'flowers.example' }],
    environment: { METRICS_TOKEN: secret },
  });
  const token = await scraped.token('flowers.example');
  for (const headers of [{ authorization: `Bearer ${secret}` }, { authorization: `Bearer ${secret}`, 'x-forwarded-for': '192.0.2.7' }]) {
    const response = await scraped.request('/metrics', { headers });
    assert.equal(response.status, 200);
    assert.match(response.text, /http_server_request_duration_seconds/);
    assert.ok(!response.text.includes(secret));
  }
  const rejected: readonly Readonly<Record<string, string>>[] = [
    {},
    { authorization: '' },
    { authorization: secret },
    { authorization: `Basic ${secret}` },
    { authorization: `Bearer ${secret}x` },
    { authorization: `Bearer ${secret.slice(0, -1)}` },
    { authorization: `Bearer ${secret.toUpperCase()}` },
    { authorization: `Bearer ${token}` },
    { 'x-access-token': secret },
  ];
  for (const headers of rejected) {
    await t.test(JSON.stringify(headers).slice(0, 50), async () => {
      problemOf(await scraped.request('/metrics', { headers }), { code: 'unauthenticated' });
    });
  }
  await t.test('a token in the query is rejected', async () => {
    problemOf(await scraped.request(`/metrics?token=${secret}`), { code: 'unauthenticated' });
  });
  await t.test('the token is not valid for operations', async () => {
    problemOf(await scraped.request('/gift_card/1', { headers: { authorization: `Bearer ${secret}` } }), { code: 'unauthenticated' });
  });
}); // prettier-ignore

test('the OpenAPI 3.1 document contains the four operations', async () => {
  const response = await service.request('/openapi.json');
  assert.equal(response.status, 200);
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
  assertEveryResponse(response);
  const document = response.json as {
    readonly openapi: string;
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: object }>>>>;
    readonly servers: readonly { readonly url: string }[];
  };
  assert.match(document.openapi, /^3\.1\./);
  assert.equal(document.servers[0]?.url, '/');
  assert.deepEqual(Object.keys(document.paths['/gift_card'] ?? {}).toSorted(), ['get', 'post']);
  assert.deepEqual(Object.keys(document.paths['/gift_card/{gift_card_id}'] ?? {}).toSorted(), ['get', 'put']);
  const statuses = Object.keys(document.paths['/gift_card']?.['post']?.responses ?? {});
  for (const status of ['201', '400', '401', '403', '409', '413', '415', '422', '429', '500', '503']) {
    assert.ok(statuses.includes(status), status);
  }
});

test('the type of every problem leads to its explanation in the reference', async (t) => {
  const { text } = await service.request('/docs/errors');
  for (const code of Object.keys(statusOfCode)) {
    await t.test(code, async () => {
      const response = await service.request(`/docs/problems/${code}`);
      assert.equal(response.status, 302);
      assertEveryResponse(response);
      const target = new URL(response.headers.get('location') ?? '', `${service.url}/docs/problems/${code}`);
      assert.equal(`${target.pathname}${target.hash}`, `/docs/errors#${code}`);
      assert.ok(text.includes(`id="${code}"`), 'the reference does not explain it');
    });
  }
});

test('an invalid code of a problem is a 404', async (t) => {
  for (const code of [
    'Not-Found',
    'nothing',
    'constructor',
    'x'.repeat(65),
    '1',
    'a_b',
    '%2F%2Fevil.example',
    'a%0d%0aX-Injected:1',
    '..',
    'a.b',
  ]) {
    await t.test(code.slice(0, 20), async () => {
      const response = await service.request(`/docs/problems/${code}`);
      if (code === '..') assert.ok(response.status === 200 || response.status === 404);
      else problemOf(response, { code: 'not-found' });
      assert.equal(response.headers.get('location'), null);
      assert.equal(response.headers.get('x-injected'), null);
    });
  }
});
