/** The rate limit: one bucket for each token, and one for each client address without a token. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { giftCardOf, problemOf } from '../support/responses.ts';
import { startService, type TestResponse, type TestService } from '../support/service.ts';
import { shopOf } from '../support/shop.ts';

/** One request in 100 seconds: the bucket refills only when a test moves the clock. */
const slow = { stores: [{ domain: 'flowers.example' }, { domain: 'books.example' }], environment: { RATE_LIMIT: '0.01/5' } }; // prettier-ignore
const service = await startService(slow);
service.clock.stop();
after(() => service[Symbol.asyncDispose]());

const limitsOf = ({ headers }: TestResponse): readonly (string | null)[] => [
  headers.get('ratelimit-policy'),
  headers.get('ratelimit'),
];

test('a token has a burst, which every response reports, and then gets a 429 until its bucket refills', async () => {
  const shop = await shopOf(service, 'flowers.example');
  const { id } = await shop.issue();
  for (const remaining of [3, 2, 1, 0]) {
    const response = await shop.ask(`GET /gift_card/${id}`);
    giftCardOf(response);
    assert.deepEqual(limitsOf(response), [
      '"default";q=5;w=500',
      `"default";r=${remaining};t=${(5 - remaining) * 100}`,
    ]);
  }
  for (const [line, request] of [
    [`GET /gift_card/${id}`, {}],
    ['GET /gift_card?last_characters=abcd&email=ada@example.com', {}],
    ['POST /gift_card', { json: { initial_value: 5 } }],
    [`PUT /gift_card/${id}`, { json: { balance: 5 } }],
    // The body of a limited request is not read.
    ['POST /gift_card', { body: '{', headers: { 'content-type': 'text/plain' } }],
  ] as const) {
    await shop.rejects(line, request, { code: 'too-many-requests' });
    const response = await shop.ask(line, request);
    assert.equal(response.headers.get('retry-after'), '100');
    assert.deepEqual(limitsOf(response), ['"default";q=5;w=500', '"default";r=0;t=500']);
  }
  service.clock.advance(98_000);
  await shop.rejects(`GET /gift_card/${id}`, {}, { code: 'too-many-requests' });
  service.clock.advance(2_100);
  giftCardOf(await shop.ask(`GET /gift_card/${id}`));
  await shop.rejects(`GET /gift_card/${id}`, {}, { code: 'too-many-requests' });
  service.clock.advance(10_000_000);
  for (let count = 0; count < 5; count += 1) giftCardOf(await shop.ask(`GET /gift_card/${id}`));
  await shop.rejects(`GET /gift_card/${id}`, {}, { code: 'too-many-requests' });
});

test('each token has its own bucket', async () => {
  const first = await shopOf(service, 'flowers.example');
  const { id } = await first.issue();
  for (let count = 0; count < 4; count += 1) await first.read(id);
  await first.rejects(`GET /gift_card/${id}`, {}, { code: 'too-many-requests' });
  const second = await shopOf(service, 'flowers.example');
  assert.equal((await second.read(id)).id, id);
  const books = await shopOf(service, 'books.example');
  await books.issue();
});

test('a rejected request costs as much as any other', async () => {
  const reader = await shopOf(service, 'flowers.example', { scopes: ['read_gift_cards'] });
  for (let count = 0; count < 5; count += 1) {
    const response = await reader.ask('POST /gift_card', { json: { initial_value: 5 } });
    problemOf(response, { code: 'insufficient-scope' });
    assert.notEqual(response.headers.get('ratelimit'), null);
  }
  await reader.rejects('GET /gift_card/1', {}, { code: 'too-many-requests' });
});

test('requests without a valid token are limited by client address, which limits guessing', async () => {
  await using fresh = await startService(slow);
  fresh.clock.stop();
  const guess = (headers: Record<string, string> = {}): Promise<TestResponse> =>
    fresh.request('/gift_card/1', { token: `lgs_1_${'x'.repeat(40)}`, headers });
  for (let count = 0; count < 5; count += 1) {
    const response = await guess();
    problemOf(response, { code: 'unauthenticated' });
    assert.deepEqual(limitsOf(response), [
      '"default";q=5;w=500',
      `"default";r=${4 - count};t=${(count + 1) * 100}`,
    ]);
  }
  problemOf(await guess(), { code: 'too-many-requests' });
  problemOf(await fresh.request('/gift_card/1'), { code: 'too-many-requests' });
  problemOf(await fresh.request('/gift_card?signature=x'), { code: 'too-many-requests' });
  // The service ignores the address in a client's headers.
  problemOf(await guess({ 'x-forwarded-for': '192.0.2.7', forwarded: 'for=192.0.2.7' }), {
    code: 'too-many-requests',
  });
  // Requests without a token do not use the bucket of a token.
  const shop = await shopOf(fresh, 'flowers.example');
  await shop.issue();
  fresh.clock.advance(100_100);
  problemOf(await guess(), { code: 'unauthenticated' });
  problemOf(await guess(), { code: 'too-many-requests' });
});

test('behind a trusted proxy, the client address is the forwarded one', async () => {
  await using proxied = await startService({
    ...slow,
    environment: { ...slow.environment, TRUSTED_PROXIES: '127.0.0.1' },
  });
  const from = (address: string): Promise<TestResponse> =>
    proxied.request('/gift_card/1', { headers: { 'x-forwarded-for': address } });
  for (let count = 0; count < 5; count += 1) problemOf(await from('192.0.2.7'), { code: 'unauthenticated' });
  problemOf(await from('192.0.2.7'), { code: 'too-many-requests' });
  problemOf(await from('192.0.2.8'), { code: 'unauthenticated' });
  // Only the last hop is trusted: a client cannot prepend another address.
  problemOf(await from('198.51.100.1, 192.0.2.7'), { code: 'too-many-requests' });
});

test('behind a trusted proxy, an IPv6 client is its /64, and all invalid entries share a bucket', async () => {
  await using proxied = await startService({
    ...slow,
    environment: { ...slow.environment, TRUSTED_PROXIES: '127.0.0.1' },
  });
  const from = (address: string): Promise<TestResponse> =>
    proxied.request('/gift_card/1', { headers: { 'x-forwarded-for': address } });
  for (let host = 1; host <= 5; host += 1)
    problemOf(await from(`2001:db8:1:2:${host}::${host}`), { code: 'unauthenticated' });
  problemOf(await from('2001:DB8:1:2::6'), { code: 'too-many-requests' });
  problemOf(await from('2001:db8:1:3::1'), { code: 'unauthenticated' });
  for (let count = 1; count <= 5; count += 1)
    problemOf(await from(`no-address-${count}`), { code: 'unauthenticated' });
  problemOf(await from('no-address-6'), { code: 'too-many-requests' });
  problemOf(await from('192.0.2.1, no-address-7'), { code: 'too-many-requests' });
  assert.ok(!proxied.log().includes('no-address'), 'the log contains the invalid address');
  assert.ok(!proxied.log().includes('TRUSTED_PROXIES'));
});

test('X-Forwarded-For of an untrusted peer is logged as a warning once', async () => {
  await using direct = await startService(slow);
  direct.clock.stop();
  await direct.request('/healthz');
  assert.ok(!direct.log().includes('TRUSTED_PROXIES'));
  for (let count = 0; count < 3; count += 1)
    await direct.request('/healthz', { headers: { 'x-forwarded-for': '192.0.2.7' } });
  const warnings = direct
    .log()
    .split('\n')
    .filter((line) => line.includes('TRUSTED_PROXIES'));
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? '', /"level":40.*"peer":"127\.0\.0\.1"/);
});

test('a request that is rejected before authentication costs nothing, and neither do the service’s pages', async () => {
  await using fresh = await startService(slow);
  fresh.clock.stop();
  const shop = await shopOf(fresh, 'flowers.example');
  for (let count = 0; count < 8; count += 1) {
    const response = await shop.ask('GET /gift_card/1?page=1');
    problemOf(response, { code: 'invalid-query', errors: { page: ['is not a known parameter'] } });
    assert.equal(response.headers.get('ratelimit'), null);
    assert.equal((await fresh.request('/healthz')).status, 200);
    problemOf(await fresh.request('/gift_card', { method: 'DELETE' }), { code: 'method-not-allowed' });
  }
  await shop.issue();
});

async function burst(environment: Record<string, string>, count: number): Promise<readonly number[]> {
  await using fresh: TestService = await startService({
    stores: [{ domain: 'flowers.example' }],
    environment,
  });
  const shop = await shopOf(fresh, 'flowers.example');
  const responses = await Promise.all(Array.from({ length: count }, () => shop.ask('GET /gift_card/1')));
  if (environment['RATE_LIMIT'] === 'off') {
    assert.ok(responses.every((response) => limitsOf(response).every((limit) => limit === null)));
  }
  return responses.map(({ status }) => status);
}

test('concurrent requests share the bucket', async () => {
  const statuses = await burst({ RATE_LIMIT: '0.01/5' }, 12);
  assert.equal(statuses.filter((status) => status === 404).length, 5);
  assert.equal(statuses.filter((status) => status === 429).length, 7);
});

test('a rate of 5/5 allows five requests a second', async () => {
  await using fresh = await startService({
    stores: [{ domain: 'flowers.example' }],
    environment: { RATE_LIMIT: '5/5' },
  });
  const shop = await shopOf(fresh, 'flowers.example');
  const ask = async (): Promise<number> => (await shop.ask('GET /gift_card/1')).status;
  const first = await Promise.all(Array.from({ length: 8 }, ask));
  assert.ok(first.filter((status) => status === 404).length >= 5 && first.includes(429));
  const { headers } = await shop.ask('GET /gift_card/1');
  assert.equal(headers.get('ratelimit-policy'), '"default";q=5;w=1');
  fresh.clock.advance(1_000);
  assert.deepEqual(await Promise.all(Array.from({ length: 5 }, ask)), Array<number>(5).fill(404));
});

test('without a rate limit, no response has its headers', async () => {
  assert.ok((await burst({ RATE_LIMIT: 'off' }, 20)).every((status) => status === 404));
});
