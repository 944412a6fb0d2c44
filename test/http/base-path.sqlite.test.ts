/** `BASE_PATH`: a store that replaces an existing proxy keeps the paths of its clients. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { assertEveryResponse, giftCardOf, issuedGiftCardOf, problemOf } from '../support/responses.ts';
import { startService, type TestResponse, type TestRequest } from '../support/service.ts';
import { shopOf, unchanged } from '../support/shop.ts';

const basePath = '/apps/gcf/api';
const service = await startService({
  stores: [{ domain: 'flowers.example' }],
  environment: { BASE_PATH: basePath },
});
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example', { basePath });
const { origin } = new URL(service.url);

/** Sends a request outside the base path. */
async function atRoot(
  path: string,
  { method = 'GET', token, json }: TestRequest = {},
): Promise<TestResponse> {
  const response = await fetch(`${origin}${path}`, {
    method,
    redirect: 'manual',
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson ? (JSON.parse(text) as unknown) : undefined,
  };
}

test('the URL of the service includes the base path', () => {
  assert.ok(service.url.endsWith(basePath));
});

test('the four operations are available below the base path', async () => {
  const { card, response } = await shop.creates(
    { json: { initial_value: 5, email: 'ada@example.com' }, headers: { 'idempotency-key': 'moved' } },
    { events: ['customer.created', 'gift_card.created'] },
  );
  assert.equal(response.headers.get('location'), `${basePath}/gift_card/${card.id}`);
  await shop.accepts(`GET /gift_card/${card.id}`);
  await shop.accepts(`GET /gift_card?last_characters=${card.last_characters}&email=ada@example.com`);
  await shop.accepts(
    `PUT /gift_card/${card.id}`,
    { json: { balance: 1 } },
    { events: ['gift_card.updated balance'] },
  );
  const location = await atRoot(response.headers.get('location') ?? '', { token: shop.token });
  assert.equal(giftCardOf(location).id, card.id);
});

test('the four operations are not available elsewhere', async (t) => {
  const { id } = await shop.issue();
  for (const prefix of [
    '',
    '/apps/gcf',
    '/apps',
    '/apps/gcf/api/apps/gcf/api',
    '/APPS/gcf/api',
    '/apps/gcf/apix',
  ]) {
    for (const [method, path, json] of [
      ['GET', `/gift_card/${id}`, undefined],
      ['GET', '/gift_card?last_characters=abcd&email=ada@example.com', undefined],
      ['POST', '/gift_card', { initial_value: 5 }],
      ['PUT', `/gift_card/${id}`, { balance: 0 }],
      ['DELETE', '/gift_card', undefined],
      ['OPTIONS', '/gift_card', undefined],
    ] as const) {
      await t.test(`${method} ${prefix}${path.slice(0, 11)}`, async () => {
        await unchanged(service, async () =>
          problemOf(await atRoot(`${prefix}${path}`, { method, json, token: shop.token }), {
            code: 'not-found',
            basePath,
          }),
        );
      });
    }
  }
  await t.test('the base path itself', async () => {
    for (const path of [basePath, `${basePath}/`]) {
      problemOf(await atRoot(path, { token: shop.token }), { code: 'not-found', basePath });
    }
  });
});

test('other methods, OPTIONS and problems include the base path', async () => {
  const { id } = await shop.issue();
  const deletion = await shop.ask(`DELETE /gift_card/${id}`);
  problemOf(deletion, { code: 'method-not-allowed', basePath });
  assert.equal(deletion.headers.get('allow'), 'GET, HEAD, OPTIONS, PUT');
  const options = await shop.ask('OPTIONS /gift_card');
  assert.equal(options.status, 204);
  assert.equal(options.headers.get('allow'), 'GET, HEAD, OPTIONS, POST');
  const missing = problemOf(await shop.ask('GET /gift_card/1'), { code: 'not-found', basePath });
  const explained = await atRoot(missing.type);
  assert.equal(explained.status, 302);
  const target = new URL(explained.headers.get('location') ?? '', `${origin}${missing.type}`);
  assert.equal(`${target.pathname}${target.hash}`, `${basePath}/docs/errors#not-found`);
  assert.equal((await atRoot(target.pathname)).status, 200);
});

test('the service’s pages are available at the root and below the base path', async (t) => {
  for (const page of ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs', '/docs/style.css', '/docs/create-gift-card.md', '/llms.txt', '/docs/problems/not-found']) {
    for (const prefix of ['', basePath]) {
      await t.test(`${prefix}${page}`, async () => {
        const response = await atRoot(`${prefix}${page}`);
        assert.equal(response.status, page.startsWith('/docs/problems') ? 302 : 200);
        assertEveryResponse(response);
        problemOf(await atRoot(`${prefix}${page}`, { method: 'POST' }), { code: 'method-not-allowed', basePath });
      });
    }
    await t.test(`not /apps${page}`, async () => {
      problemOf(await atRoot(`/apps${page}`), { code: 'not-found', basePath });
    });
  }
}); // prettier-ignore

test('the OpenAPI document has the base path in its server URL', async () => {
  const { json } = await atRoot('/openapi.json');
  const { servers, paths } = json as { servers: { url: string }[]; paths: object };
  assert.equal(servers[0]?.url, basePath);
  assert.ok('/gift_card' in paths);
});

test('an idempotency key covers the path without the query', async () => {
  const request = { json: { initial_value: 5 }, headers: { 'idempotency-key': 'based' } };
  const first = await shop.ask('POST /gift_card', request);
  issuedGiftCardOf(first, { basePath });
  const again = await shop.ask('POST /gift_card?shop=flowers.example', request);
  assert.equal(again.text, first.text);
});

test('development mode too is available below the base path only', async () => {
  await using demonstration = await startService({ environment: { BASE_PATH: `${basePath}/` } });
  const created = await demonstration.request('/gift_card', { method: 'POST', json: { initial_value: 5 } });
  const { id } = issuedGiftCardOf(created, { basePath });
  assert.equal((await fetch(`${new URL(demonstration.url).origin}/gift_card/${id}`)).status, 404);
});
