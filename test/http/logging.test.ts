/** The log: one JSON line for each request with its id. Neither log lines nor responses contain secrets. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { giftCardOf, issuedGiftCardOf, problemOf } from '../support/responses.ts';
import { revokeNewest, rotateNewest } from '../support/second-process.ts';
import { proxyPairs, sign, type Pair } from '../support/proxy.ts';
import { startService, type TestResponse, type TestRequest } from '../support/service.ts';
import { form, shopOf } from '../support/shop.ts';
import { converse, exchange, requestText } from '../support/wire.ts';

const proxySecret = 'proxy-0123456789abcdef0123456789';
const metricsToken = 'scrape-0123456789abcdef';
const service = await startService({
  stores: [
    { domain: 'flowers.example', proxySecret, customerSearch: true },
    { domain: 'books.example', proxySecret: 'other-0123456789abcdef0123456789', requireSignature: true },
  ],
  environment: { METRICS_TOKEN: metricsToken },
});
after(() => service[Symbol.asyncDispose]());

type LogLine = Readonly<Record<string, unknown>>;

function logLines(): readonly LogLine[] {
  const lines = service.log().split('\n');
  assert.equal(lines.pop(), '');
  return lines.map((line) => JSON.parse(line) as LogLine);
}

const shop = await shopOf(service, 'flowers.example');
const strict = await shopOf(service, 'books.example');

/** Every secret, and every response with the code that it can contain. */
const secrets = new Set<string>([
  shop.token,
  strict.token,
  proxySecret,
  'other-0123456789abcdef0123456789',
  metricsToken,
]);
const responses: { readonly response: TestResponse; readonly canLog: string | null }[] = []; // prettier-ignore

async function ask(path: string, request: TestRequest = {}): Promise<TestResponse> {
  const response = await service.request(path, request);
  responses.push({ response, canLog: null });
  return response;
}

async function issue(json: object, more: TestRequest = {}): Promise<ReturnType<typeof issuedGiftCardOf>> {
  const response = await service.request('/gift_card', { method: 'POST', token: shop.token, json, ...more });
  const card = issuedGiftCardOf(response);
  responses.push({ response, canLog: card.code });
  secrets.add(card.code);
  return card;
}

function signed(
  more: readonly Pair[],
  { customer = '', secret = proxySecret, shop: domain = 'flowers.example' } = {},
): string {
  const query = sign(secret, [...more, ...proxyPairs({ shop: domain, now: service.clock.now(), customer })]);
  secrets.add(new URLSearchParams(query).get('signature') ?? '');
  return query;
}

test('every kind of request is sent: cards, errors, replays, signatures, rotated tokens and internal errors', async () => {
  const { token } = shop;
  const keyed = { headers: { 'idempotency-key': 'once-a-day', authorization: `Bearer ${token}` } };
  const json = { initial_value: 50, email: 'ada@example.com', storefront_customer_id: 1001, note: 'a note of the store', message: 'for grace' };
  const card = await issue(json, keyed);
  assert.equal((await issue(json, keyed)).code, card.code);
  const chosen = await issue({ initial_value: 5, code: 'SPRING-2031-XYZW', recipient_email: 'grace@example.com' });
  secrets.add('SPRING-2031-XYZW').add('SPRING2031XYZW');
  const path = `/gift_card/${card.id}`;
  for (const code of [card.code, card.code.toUpperCase(), `${card.code.slice(0, 8)}-${card.code.slice(8)}`]) {
    secrets.add(code);
    giftCardOf(await ask(path, { method: 'PUT', token, json: { code, note: 'with its code' } }));
    problemOf(await ask('/gift_card', { method: 'POST', token, json: { initial_value: 5, code } }), {
      code: 'invalid-parameter',
      errors: { code: ['is taken'] },
    });
    await ask(`/gift_card/${chosen.id}`, { method: 'PUT', token, json: { code } });
    await ask(path, { method: 'PUT', token, ...form({ 'gift_card[code]': code }) });
    await ask(`/gift_card/${code}`, { token });
    await ask(`/gift_card?code=${code}`, { token });
    await ask('/gift_card', { method: 'POST', token, body: `{"code":"${code}"`, headers: { 'content-type': 'application/json' } });
    await ask('/gift_card', { method: 'POST', token, body: code, headers: { 'content-type': 'text/plain' } });
  }
  giftCardOf(await ask(path, { token }));
  const search: Pair[] = [['last_characters', card.last_characters], ['email', 'ada@example.com']];
  giftCardOf(await ask(`/gift_card?${new URLSearchParams(search.map(([name, value]) => [name, value])).toString()}`, { token }));
  giftCardOf(await ask(`/gift_card?${signed(search, { customer: '1001' })}`));
  giftCardOf(await ask(`${path}?${signed([])}`, { headers: { 'x-gcf-access-token': token } }));
  problemOf(await ask(`${path}?${signed([], { secret: 'a-guess' })}`, { token }), { code: 'invalid-signature' });
  problemOf(await ask(`${path}?${signed([], { shop: 'unknown.example' })}`, { token }), { code: 'invalid-signature' });
  problemOf(await ask(path, { token: strict.token }), { code: 'invalid-signature' });
  const guess = `lgs_1_${'g'.repeat(40)}`;
  secrets.add(guess);
  for (const name of ['authorization', 'x-access-token', 'x-gcf-access-token']) {
    await ask(path, { headers: { [name]: name === 'authorization' ? `Bearer ${guess}` : guess } });
  }
  await ask(`${path}?access_token=${token}`, { token });
  await ask(`/metrics?token=${metricsToken}`);
  await ask('/metrics', { headers: { authorization: `Bearer ${metricsToken}` } });
  await ask(`/nowhere/${token}/${card.code}`);
  await ask(`/docs/problems/${card.code}`);

  for (const text of [
    requestText(`BREW /gift_card?signature=${proxySecret}`, [['Authorization', `Bearer ${token}`]]),
    requestText(`GET /gift_card/%zz${card.code}`, [['Authorization', `Bearer ${token}`]]),
    requestText('POST /gift_card', [['Authorization', `Bearer ${token}`], ['Expect', token]]),
    requestText(`DELETE ${path}`, [['Authorization', `Bearer ${token}`]]),
    requestText(`GET ${path}`, [['X-Access-Token', token], ['X-Access-Token', guess]]),
    `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization : Bearer ${token}\r\n\r\n`,
  ]) {
    for (const response of await converse(service, text)) responses.push({ response, canLog: null });
  }
  await exchange(service, requestText(`OPTIONS ${path}`));

  const turned = await service.token('flowers.example');
  const renewed = await rotateNewest(service, 'flowers.example');
  for (const one of [turned, renewed]) secrets.add(one);
  await ask(path, { token: turned });
  await ask(path, { token: renewed });
  await revokeNewest(service, 'flowers.example');
  await ask(path, { token: renewed });
}); // prettier-ignore

test('the cause of an internal error is logged with the request id and is not in the response', async () => {
  const { token } = shop;
  await service.database.meddle('alter table gift_card_codes rename to lost_codes');
  const code = 'FAULTY-CODE-2031';
  secrets.add(code).add('faultycode2031');
  const response = await ask('/gift_card', { method: 'POST', token, json: { initial_value: 5, code } });
  await service.database.meddle('alter table lost_codes rename to gift_card_codes');
  const { request_id: requestId } = problemOf(response, { code: 'internal-error' });
  assert.ok(!/gift_card_codes|sqlite|postgres|table|relation/i.test(response.text));
  const logged = logLines().filter((line) => line['request_id'] === requestId && line['err'] !== undefined);
  assert.equal(logged.length, 1);
  const [line] = logged;
  assert.ok(line);
  assert.equal(line['level'], 50);
  const cause = line['err'] as { readonly message: string; readonly stack: string };
  assert.match(cause.message, /no such table: .*gift_card_codes|"gift_card_codes" does not exist/);
  assert.match(cause.stack, /src\/database\/sqlite|pg-protocol/);
});

test('each response has one line with method, route template, status, time and request id', async () => {
  const requests = [
    ['GET', '/gift_card/1', '/gift_card/:gift_card_id', 404],
    ['HEAD', '/gift_card/1', '/gift_card/:gift_card_id', 404],
    ['GET', '/gift_card?last_characters=abcd&email=unknown@example.com', '/gift_card', 404],
    ['POST', '/gift_card', '/gift_card', 422],
    ['PUT', '/gift_card/1', '/gift_card/:gift_card_id', 404],
    ['DELETE', '/gift_card/1', 'unknown', 405],
    ['OPTIONS', '/gift_card', 'unknown', 204],
    ['GET', '/healthz', '/healthz', 200],
    ['GET', '/docs', '/docs', 200],
    ['GET', '/nowhere', 'unknown', 404],
  ] as const;
  for (const [method, path, route, status] of requests) {
    const response = await service.request(path, { method, token: shop.token });
    assert.equal(response.status, status);
    const requestId = response.headers.get('x-request-id');
    const lines = logLines().filter((line) => line['request_id'] === requestId);
    assert.equal(lines.length, 1, `${method} ${path}`);
    const [line] = lines;
    assert.ok(line);
    assert.deepEqual(
      {
        method: line['method'],
        route: line['route'],
        status: line['status'],
        message: line['message'],
      },
      { method, route, status, message: 'request' },
    );
    assert.equal(typeof line['duration_ms'], 'number');
    assert.equal(line['client'], '127.0.0.1');
    const isOperation = route.startsWith('/gift_card');
    assert.equal(line['store'], isOperation ? 'flowers.example' : undefined);
    if (isOperation) assert.match(String(line['actor']), /^api_client:\d+$/);
    else assert.ok(!('actor' in line));
  }
});

test('invalid HTTP and invalid encodings have a line with the request id', async () => {
  for (const text of [
    'BREW / HTTP/1.1\r\nHost: x\r\n\r\n',
    requestText('GET /gift_card/1', [['Host', 'twice']]),
    requestText('GET /gift_card/1?page=1'),
  ]) {
    const response = await exchange(service, text);
    const requestId = response.headers.get('x-request-id');
    assert.ok(
      logLines().some((line) => line['request_id'] === requestId),
      text,
    );
  }
});

test('invalid paths and rejected expectations have a line with the request id', async () => {
  for (const text of [
    requestText('GET /gift_card/%zz'),
    requestText('GET /gift_card/1', [['Expect', 'tea']]),
  ]) {
    const response = await exchange(service, text);
    const requestId = response.headers.get('x-request-id');
    assert.ok(
      logLines().some((line) => line['request_id'] === requestId),
      text,
    );
  }
});

test('every line is one JSON object', () => {
  const lines = logLines();
  assert.ok(lines.length > 60, `${lines.length} lines`);
  for (const line of lines) {
    assert.ok(typeof line === 'object' && !Array.isArray(line));
    assert.equal(typeof line['time'], 'number');
    assert.equal(typeof line['level'], 'number');
  }
});

test('no line contains a code, token, signature, secret or email of a customer', () => {
  const log = service.log();
  assert.ok(secrets.size > 15);
  for (const secret of secrets) {
    assert.ok(secret.length > 5);
    assert.ok(!log.toLowerCase().includes(secret.toLowerCase()), `the log contains ${secret}`);
    assert.ok(!log.includes(Buffer.from(secret).toString('base64').slice(0, 20)));
  }
  for (const text of ['@example.com', 'a note of the store', 'for grace', 'authorization', 'Bearer']) {
    assert.ok(!log.includes(text), `the log contains ${text}`);
  }
});

test('only the response to a creation contains a code, and none contains a token, signature or secret', () => {
  assert.ok(responses.length > 40);
  for (const { response, canLog } of responses) {
    const sent = JSON.stringify([...response.headers]) + response.text;
    for (const secret of secrets) {
      if (secret.toLowerCase() === canLog) continue;
      // Errors of malformed JSON and unknown parameters contain the name, never the value.
      assert.ok(!sent.toLowerCase().includes(secret.toLowerCase()), `${secret} in ${sent.slice(0, 500)}`);
    }
  }
});

test('the database contains no code, token, signature or secret', async () => {
  const bytes = await service.database.bytes();
  for (const secret of secrets) assert.ok(!bytes.includes(secret), secret);
});
