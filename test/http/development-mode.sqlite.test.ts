/** Development mode: open to this machine only, and only until there is a real store. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { readConfig } from '../../src/start/config.ts';
import { createLog } from '../../src/platform/log.ts';
import { start } from '../../src/start/main.ts';
import { StartError } from '../../src/start/error.ts';
import { giftCardOf, issuedGiftCardOf, problemOf } from '../support/responses.ts';
import { createStoreElsewhere } from '../support/second-process.ts';
import { engine } from '../support/engine.ts';
import { command, databaseToServe } from '../support/served.ts';
import { startService, type TestResponse } from '../support/service.ts';
import { countEvents, unchanged } from '../support/shop.ts';
import { exchange, requestText } from '../support/wire.ts';

const service = await startService({ database: { durable: true } });
after(() => service[Symbol.asyncDispose]());
const { port } = new URL(service.url);

const created = await service.request('/gift_card', { method: 'POST', json: { initial_value: 25, email: 'ada@example.com' } }); // prettier-ignore
const card = issuedGiftCardOf(created);

/** Sends a request with headers that fetch would not send. */
function ask(headers: Readonly<Record<string, string>>, method = 'POST'): Promise<TestResponse> {
  const body = method === 'POST' ? '{"initial_value":5}' : '';
  const { host = `127.0.0.1:${port}`, ...others } = headers;
  const fields: [string, string][] = [['Host', host], ...Object.entries(others), ['Connection', 'close']];
  if (method === 'POST')
    fields.push(['Content-Type', 'application/json'], ['Content-Length', String(body.length)]);
  const path = method === 'POST' ? '/gift_card' : `/gift_card/${card.id}`;
  return exchange(
    service,
    `${method} ${path} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
  );
}

test('without configuration, the four operations need no credential', async () => {
  assert.equal(card.currency, 'USD');
  assert.equal(card.api_client_id, null);
  const { code: _, ...record } = card;
  assert.deepEqual(giftCardOf(await service.request(`/gift_card/${card.id}`)), record);
  const query = `last_characters=${card.last_characters}&email=ada@example.com`;
  assert.deepEqual(giftCardOf(await service.request(`/gift_card?${query}`)), record);
  const before = await countEvents(service);
  const json = { balance: 10, note: 'Paid 15' };
  const changed = giftCardOf(await service.request(`/gift_card/${card.id}`, { method: 'PUT', json }));
  assert.equal(changed.balance, '10.00');
  assert.equal(await countEvents(service), before + 1);
  const actors = await service.query(
    'select actor from transfers where card_id = ?',
    service.internalId(card.id),
  );
  assert.ok(actors.every(({ actor }) => actor === 'development'));
});

test('development mode logs a warning and creates one demonstration store', async () => {
  const warning = service
    .log()
    .split('\n')
    .find((line) => line.includes('DEVELOPMENT MODE'));
  assert.ok(warning?.includes('"level":40'));
  assert.equal((await service.query('select id from stores')).length, 1);
  assert.deepEqual(
    (await service.query('select demonstration from stores')).map((row) => row['demonstration']),
    [1],
  );
});

test('development mode supports idempotency keys', async () => {
  const request = { method: 'POST', json: { initial_value: 5 }, headers: { 'idempotency-key': 'demo' } };
  const first = await service.request('/gift_card', request);
  const again = await service.request('/gift_card', request);
  issuedGiftCardOf(first);
  assert.equal(again.text, first.text);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
});

test('development mode rejects an invalid token although it needs none', async () => {
  await unchanged(service, async () => {
    for (const headers of [{ authorization: 'Bearer nonsense' }, { 'x-access-token': 'nonsense' }]) {
      problemOf(await ask(headers), { code: 'unauthenticated' });
      problemOf(await ask(headers, 'GET'), { code: 'unauthenticated' });
    }
  });
});

test('the Host header must name this machine', async (t) => {
  for (const host of [
    `127.0.0.1:${port}`,
    '127.0.0.1',
    `localhost:${port}`,
    'LOCALHOST',
    `[::1]:${port}`,
    '127.1.2.3',
  ]) {
    await t.test(host, async () => {
      issuedGiftCardOf(await ask({ host }));
    });
  }
  const others = [
    'evil.example', `evil.example:${port}`, 'localhost.evil.example', '127.0.0.1.evil.example', 'evil.example:127.0.0.1',
    'evil-localhost', '0.0.0.0', `192.168.0.1:${port}`, '[::]', '[::2]', '', 'demo.localhost', '127.0.0.1:80:80', '128.0.0.1',
    'localhost:999999', '127.0.0.1@evil.example', '2130706433', '0x7f000001', '127.0.0.256',
  ]; // prettier-ignore
  for (const host of others) {
    await t.test(`not ${host}`, async () => {
      await unchanged(service, async () => {
        problemOf(await ask({ host }), { code: 'cross-site-request' });
        problemOf(await ask({ host }, 'GET'), { code: 'cross-site-request' });
      });
    });
  }
});

test('a page of another site cannot make a browser send requests to the service', async (t) => {
  const own = `http://127.0.0.1:${port}`;
  for (const headers of [
    { origin: own },
    { origin: own, 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'none' },
    { origin: `http://localhost:${port}`, host: `localhost:${port}` },
  ]) {
    await t.test(JSON.stringify(headers), async () => {
      issuedGiftCardOf(await ask(headers));
    });
  }
  const others: readonly Readonly<Record<string, string>>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: '' },
    { origin: `https://127.0.0.1:${port}` },
    { origin: 'http://127.0.0.1' },
    { origin: `http://localhost:${port}` },
    { origin: `${own}.evil.example` },
    { origin: 'http://127.0.0.1:1' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': '' },
    { origin: own, 'sec-fetch-site': 'cross-site' },
    { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
  ];
  for (const headers of others) {
    await t.test(`not ${JSON.stringify(headers)}`, async () => {
      await unchanged(service, async () => {
        problemOf(await ask(headers), { code: 'cross-site-request' });
        problemOf(await ask(headers, 'GET'), { code: 'cross-site-request' });
      });
    });
  }
});

test('a request with a header of a proxy is rejected', async (t) => {
  for (const headers of [
    { 'x-forwarded-for': '127.0.0.1' },
    { 'x-forwarded-for': '' },
    { 'x-forwarded-host': 'localhost' },
    { forwarded: 'for=127.0.0.1' },
    { via: '1.1 proxy' },
    { 'x-real-ip': '127.0.0.1' },
    { 'x-forwarded-proto': 'https' },
    { 'x-forwarded-port': '443' },
    { 'x-original-url': '/' },
    { 'x-client-ip': '127.0.0.1' },
    { 'x-cluster-client-ip': '127.0.0.1' },
    { 'x-scheme': 'https' },
    { 'x-envoy-external-address': '127.0.0.1' },
    { 'x-amzn-trace-id': 'Root=1' },
    { 'x-azure-clientip': '127.0.0.1' },
    { 'x-arr-log-id': '1' },
    { 'cf-connecting-ip': '127.0.0.1' },
    { 'cf-ray': '1' },
    { 'true-client-ip': '127.0.0.1' },
    { 'cdn-loop': 'proxy' },
    { 'fastly-client-ip': '127.0.0.1' },
    { 'fly-client-ip': '127.0.0.1' },
  ]) {
    await t.test(JSON.stringify(headers), async () => {
      await unchanged(service, async () => {
        problemOf(await ask(headers), { code: 'cross-site-request' });
        problemOf(await ask(headers, 'GET'), { code: 'cross-site-request' });
      });
    });
  }
});

test('HTTP/1.0 is rejected, because a proxy that adds no header can use it', async () => {
  for (const line of [`GET /gift_card/${card.id}`, 'GET /gift_card/1', 'GET /dev/mails']) {
    const text = `${line} HTTP/1.0\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`;
    problemOf(await exchange(service, text), { code: 'cross-site-request' });
  }
  await unchanged(service, async () => {
    const body = '{"initial_value":5}';
    const head = `Host: 127.0.0.1:${port}\r\nConnection: close\r\nContent-Type: application/json\r\n`;
    const text = `POST /gift_card HTTP/1.0\r\n${head}Content-Length: ${body.length}\r\n\r\n${body}`;
    problemOf(await exchange(service, text), { code: 'cross-site-request' });
  });
});

test('an absolute-form request is checked by its target', async () => {
  const text = requestText(`GET http://evil.example/gift_card/${card.id}`);
  const response = await exchange(service, text);
  assert.notEqual(response.status, 500);
  problemOf(response, { code: 'cross-site-request' });
});

test('development mode has a rate limit', async () => {
  await using limited = await startService({ environment: { RATE_LIMIT: '0.01/2' } });
  for (const status of [404, 404, 429]) assert.equal((await limited.request('/gift_card/1')).status, status);
});

test('the first real store ends development mode permanently, while the service runs', async () => {
  const fresh = await startService();
  try {
    const { id } = issuedGiftCardOf(
      await fresh.request('/gift_card', { method: 'POST', json: { initial_value: 5 } }),
    );
    await createStoreElsewhere(fresh, 'flowers.example');
    await unchanged(fresh, async () => {
      problemOf(await fresh.request(`/gift_card/${id}`), { code: 'unauthenticated' });
      const creation = { method: 'POST', json: { initial_value: 5 } };
      problemOf(await fresh.request('/gift_card', creation), { code: 'unauthenticated' });
    });
    // A token gives access to the real store only, not to the demonstration store's card.
    const token = await fresh.token('flowers.example');
    problemOf(await fresh.request(`/gift_card/${id}`, { token }), { code: 'not-found' });
    issuedGiftCardOf(
      await fresh.request('/gift_card', { token, method: 'POST', json: { initial_value: 5 } }),
    );

    const config = readConfig({ ...fresh.environment, LOG_LEVEL: 'silent' });
    await using again = await start(config, { clock: fresh.clock, log: await createLog(config) });
    assert.equal((await fetch(`${again.url}/gift_card/${id}`)).status, 401);
  } finally {
    await fresh[Symbol.asyncDispose]();
  }
});

test('with a real store every request needs a credential, whatever DATABASE_URL and PORT are', async () => {
  await using real = await startService({ stores: [{ domain: 'flowers.example' }] });
  problemOf(await real.request('/gift_card/1'), { code: 'unauthenticated' });
  assert.ok(!real.log().includes('DEVELOPMENT MODE'));
  assert.deepEqual(await real.query('select id from stores where demonstration = 1'), []);
});

async function startError(environment: Readonly<Record<string, string>>): Promise<string> {
  const config = readConfig({ LOG_LEVEL: 'silent', PORT: '0', ...environment });
  let message = '';
  await assert.rejects(
    async () => {
      await using _started = await start(config, { clock: service.clock, log: await createLog(config) });
    },
    (error: unknown) => {
      assert.ok(error instanceof StartError);
      message = error.message;
      return true;
    },
  );
  return message;
}

test('with another HOST or in production, the service needs real stores and tokens to start', async (t) => {
  const hosts = [{ HOST: '0.0.0.0' }, { HOST: '::' }, { HOST: '192.0.2.1' }, { NODE_ENV: 'production' }, { NODE_ENV: 'production', HOST: '0.0.0.0' }]; // prettier-ignore
  for (const environment of hosts) {
    await t.test(`${JSON.stringify(environment)}: no store`, async () => {
      await using database = await engine.createDatabase({ empty: true, durable: true });
      const message = await startError({ ...database.environment, ...environment });
      assert.match(message, /store create/);
      assert.match(message, /token create/);
    });
    await t.test(`${JSON.stringify(environment)}: the demonstration store only`, async () => {
      const startAgain = () => startError({ ...service.environment, ...environment });
      assert.match(await unchanged(service, startAgain), /store create/);
    });
  }
  await using real = await startService({
    stores: [{ domain: 'flowers.example' }],
    database: { durable: true },
  });
  for (const environment of hosts) {
    await t.test(`${JSON.stringify(environment)}: a store without a token`, async () => {
      const startAgain = () => startError({ ...real.environment, ...environment });
      assert.match(await unchanged(real, startAgain), /token create/);
    });
  }
  const token = await real.token('flowers.example');
  for (const environment of [{ HOST: '0.0.0.0' }, { NODE_ENV: 'production' }]) {
    await t.test(
      `${JSON.stringify(environment)}: with a store and a token the service starts, and requires a credential`,
      async () => {
        const config = readConfig({ ...real.environment, LOG_LEVEL: 'silent', ...environment });
        await using started = await start(config, { clock: real.clock, log: await createLog(config) });
        const base = started.url.replace('0.0.0.0', '127.0.0.1');
        assert.equal((await fetch(`${base}/gift_card/1`)).status, 401);
        assert.equal(
          (await fetch(`${base}/gift_card/1`, { headers: { 'x-access-token': token } })).status,
          404,
        );
      },
    );
  }
});

test('the command line prints the error and exits with 2', async () => {
  await using database = await databaseToServe({ empty: true });
  const { code, errors } = await command({ ...database.environment, HOST: '0.0.0.0' }, 'serve');
  assert.equal(code, 2, errors);
  assert.match(errors, /needs a store and an access token/);
});
