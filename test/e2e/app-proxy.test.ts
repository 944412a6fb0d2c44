/**
 * The proxied requests of the specification, on one machine: a store's URL, a fixed prefix, and a signed
 * request.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import test from 'node:test';
import { signatureOf, type Pair } from '../support/proxy.ts';
import type { Program } from '../support/programs.ts';
import { ask, cardOf, makeHome, type HttpResponse, type Home } from './largesse.ts';

const domain = 'flowers.example';
const secret = 'hush';
const prefix = '/apps/gift-cards';

type Proxy = { readonly url: string; readonly program: Program };

async function startProxy(
  home: Home,
  { to, args = [] }: { readonly to: string; readonly args?: readonly string[] },
): Promise<Proxy> {
  const program = home.start([
    'app-proxy', '--store', domain, '--prefix', prefix, '--listen', '0', '--to', to, ...args,
  ]); // prettier-ignore
  const [, url = '', shop = ''] = await program.written(
    /^(http:\S+) simulates the app proxy of (\S+) and forwards requests to/,
  );
  assert.equal(shop, domain);
  assert.ok(url.endsWith(prefix));
  return { url, program };
}

async function makeStore(home: Home, ...settings: readonly string[]): Promise<string> {
  await home.json('store', 'create', domain, '--currency', 'EUR', '--proxy-secret', secret, ...settings);
  const { token } = await home.json<{ readonly token: string }>('token', 'create', '--store', domain);
  return token;
}

function assertProblem({ status, json }: HttpResponse, expected: number, code: string): void {
  assert.equal(status, expected, JSON.stringify(json));
  assert.match((json as { readonly type: string }).type, new RegExp(`/${code}$`));
}

test('the four operations work through the proxy, and not without it', async (t) => {
  await using home = await makeHome();
  const token = await makeStore(home, '--require-signature');
  const service = await home.serve();
  const proxy = await startProxy(home, { to: service.url });

  const created = cardOf(
    await ask(`${proxy.url}/gift_card`, { token, json: { initial_value: 25, email: 'ada@example.com' } }),
    201,
  );
  const { code, ...record } = created;
  const path = `/gift_card/${created.id}`;
  const query = `/gift_card?last_characters=${String(record['last_characters'])}&email=ada%40example.com`;
  await t.test('create', () => {
    assert.match(String(code), /^[0-9a-z]{16}$/);
    assert.deepEqual([record.balance, record['currency']], ['25.00', 'EUR']);
  });
  await t.test('retrieve', async () => {
    assert.deepEqual(cardOf(await ask(`${proxy.url}${path}`, { token }), 200), record);
  });
  await t.test('search', async () => {
    assert.deepEqual(cardOf(await ask(`${proxy.url}${query}`, { token }), 200), record);
  });
  await t.test('update', async () => {
    const response = await ask(`${proxy.url}${path}`, { method: 'PUT', token, json: { balance: '10.00' } });
    assert.deepEqual(cardOf(response, 200), { ...record, balance: '10.00' });
  });

  await t.test('a request with the token alone is rejected without the proxy', async () => {
    const calls = [
      ask(`${service.url}/gift_card`, { token, json: { initial_value: 25 } }),
      ask(`${service.url}${path}`, { token }),
      ask(`${service.url}${query}`, { token }),
      ask(`${service.url}${path}`, { method: 'PUT', token, json: { balance: '99.00' } }),
    ];
    for (const response of await Promise.all(calls)) {
      assertProblem(response, 401, 'invalid-signature');
      assert.match(response.headers.get('www-authenticate') ?? '', /\bAppProxy\b/);
    }
  });
  await t.test('a request without a token or with a wrong one is rejected through the proxy', async () => {
    const wrong = `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`;
    for (const presented of [undefined, wrong]) {
      assertProblem(await ask(`${proxy.url}${path}`, { token: presented }), 401, 'unauthenticated');
    }
  });
  await t.test('a proxy with an outdated secret is rejected', async () => {
    await home.json('store', 'update', domain, '--proxy-secret', 'another');
    assertProblem(await ask(`${proxy.url}${path}`, { token }), 401, 'invalid-signature');
    await home.json('store', 'update', domain, '--proxy-secret', secret);
  });
  const card = cardOf(await ask(`${proxy.url}${path}`, { token }), 200);
  assert.equal(card.balance, '10.00', 'rejected requests changed nothing');
});

type Received = Pick<IncomingMessage, 'method' | 'url' | 'headers'> & { readonly body: string };

/** Replaces the service and records the requests that the proxy forwards. */
async function startReceiver(): Promise<AsyncDisposable & { url: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method, url, headers } = request;
      received.push({ method, url, headers, body });
      response.writeHead(203, { 'x-response': 'as it was', 'content-type': 'text/plain' }).end('received');
    });
  });
  const url = `http://127.0.0.1:${await listen(server)}`;
  return {
    url,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return address.port;
}

test('the proxy removes the prefix and cookies, and adds and signs its own parameters', async (t) => {
  await using home = await makeHome();
  await makeStore(home);
  await using receiver = await startReceiver();
  const proxy = await startProxy(home, { to: `${receiver.url}/base/`, args: ['--customer', '77'] });
  const forward = async (path: string, init?: RequestInit): Promise<Received> => {
    receiver.received.length = 0;
    const response = await fetch(`${proxy.url}${path}`, init);
    assert.deepEqual(
      [response.status, response.headers.get('x-response'), await response.text()],
      [203, 'as it was', 'received'],
    );
    const [received, ...others] = receiver.received;
    assert.ok(received && others.length === 0);
    return received;
  };
  const parametersOf = ({ url = '' }: Received): Pair[] => [
    ...new URL(url, 'http://receiver.example').searchParams,
  ];

  await t.test('the prefix is replaced by the base path of the service', async () => {
    assert.match((await forward('')).url ?? '', /^\/base\?/);
    assert.match((await forward('/gift_card')).url ?? '', /^\/base\/gift_card\?/);
    assert.match((await forward('/gift_card/1%2F2')).url ?? '', /^\/base\/gift_card\/1%2F2\?/);
  });
  await t.test('the method, body and headers are forwarded, and cookies are not', async () => {
    const body = '{"note": "Größe ✓"}';
    const headers = {
      'content-type': 'application/json',
      'idempotency-key': 'k1',
      'x-access-token': 'lgs_x',
      cookie: 'session=stolen',
    };
    const received = await forward('/gift_card/1', { method: 'PUT', headers, body });
    assert.deepEqual([received.method, received.body], ['PUT', body]);
    const { cookie, ...sent } = headers;
    for (const [name, value] of Object.entries(sent)) assert.equal(received.headers[name], value);
    assert.ok(!JSON.stringify(received).includes(cookie));
    assert.equal(received.headers['host'], new URL(receiver.url).host);
    assert.equal(received.headers['x-forwarded-host'], domain);
  });
  await t.test('its signed parameters follow the client’s', async () => {
    const received = await forward('/gift_card?last_characters=ab12&email=ada%2Bx%40example.com');
    const parameters = parametersOf(received);
    assert.deepEqual(parameters.slice(0, 5), [
      ['last_characters', 'ab12'],
      ['email', 'ada+x@example.com'],
      ['shop', domain],
      ['logged_in_customer_id', '77'],
      ['path_prefix', prefix],
    ]);
    const [timestamp, signature, ...others] = parameters.slice(5);
    assert.equal(timestamp?.[0], 'timestamp');
    assert.ok(Math.abs(Date.now() / 1_000 - Number(timestamp[1])) < 30);
    assert.deepEqual(signature, ['signature', signatureOf(secret, parameters.slice(0, -1))]);
    assert.deepEqual(others, []);
  });
  await t.test('parameters that the client forges are replaced', async () => {
    const made =
      'shop=evil.example&logged_in_customer_id=1&path_prefix=/x&timestamp=1&signature=00&SHOP=evil';
    const parameters = parametersOf(await forward(`/gift_card?${made}&shop=evil.example`));
    const given = new Map(parameters);
    assert.deepEqual(
      parameters.map(([name]) => name),
      ['SHOP', 'shop', 'logged_in_customer_id', 'path_prefix', 'timestamp', 'signature'],
    );
    assert.deepEqual([given.get('shop'), given.get('logged_in_customer_id')], [domain, '77']);
    assert.equal(given.get('signature'), signatureOf(secret, parameters.slice(0, -1)));
  });
  await t.test('a body of megabytes is forwarded completely', async () => {
    const body = 'x'.repeat(8 * 2 ** 20);
    const received = await forward('/gift_card', { method: 'POST', body });
    assert.ok(received.body === body);
  });
  await t.test('a path outside the prefix returns 404 and is not forwarded', async () => {
    const { origin } = new URL(proxy.url);
    receiver.received.length = 0;
    for (const path of ['/', '/gift_card', '/apps', `${prefix}x/gift_card`, `${prefix}/../gift_card`]) {
      assert.equal(await statusOf(new URL(origin), path), 404, path);
    }
    assert.deepEqual(receiver.received, []);
  });
});

/** The status of a request for exactly this path, whose dots `fetch` would resolve. */
async function statusOf({ hostname, port }: URL, path: string): Promise<number | undefined> {
  const sent = httpRequest({ hostname, port, path, agent: false }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

test('the service rejects a body beyond the limit through the proxy, which keeps running', async () => {
  await using home = await makeHome();
  const token = await makeStore(home, '--require-signature');
  const service = await home.serve();
  const proxy = await startProxy(home, { to: service.url });
  const card = '{"initial_value": 25}';
  const post = async (bytes: number): Promise<Response> => {
    const headers = { 'content-type': 'application/json', 'x-access-token': token };
    const body = card.padEnd(bytes, ' ');
    return fetch(`${proxy.url}/gift_card`, { method: 'POST', headers, body });
  };
  assert.equal((await post(64 * 2 ** 10)).status, 201);
  assert.equal((await post(64 * 2 ** 10 + 1)).status, 413);
  assert.equal((await post(2 ** 20)).status, 413);
  assert.equal((await post(card.length)).status, 201);
});

test('a stopped service returns 502, and the proxy forwards again once it runs', async () => {
  await using home = await makeHome();
  const token = await makeStore(home, '--require-signature');
  const first = await home.serve();
  const proxy = await startProxy(home, { to: first.url });
  const post = (): Promise<HttpResponse> =>
    ask(`${proxy.url}/gift_card`, { token, json: { initial_value: 25 } });
  cardOf(await post(), 201);
  await first.stop();
  const { status, json } = await post();
  assert.deepEqual([status, json], [502, 'The service cannot be reached.\n']);
  await home.serve({ PORT: new URL(first.url).port });
  cardOf(await post(), 201);
});

test('a connection broken by the service or by a client does not end the proxy', async () => {
  await using home = await makeHome();
  await makeStore(home);
  const breaking = createServer((request, response) => {
    if (request.url?.startsWith('/half') === true)
      response.writeHead(200, { 'content-length': 10 }).write('half');
    setTimeout(() => request.socket.destroy(), 50);
  });
  const proxy = await startProxy(home, { to: `http://127.0.0.1:${await listen(breaking)}` });
  assert.equal((await ask(`${proxy.url}/none`)).status, 502);
  await assert.rejects(ask(`${proxy.url}/half`));
  const { port, hostname } = new URL(proxy.url);
  const client = connect(Number(port), hostname);
  client.write(`POST ${prefix}/gift_card HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf`);
  await once(client, 'connect');
  client.destroy();
  assert.equal((await ask(`${proxy.url}/none`)).status, 502, 'the proxy keeps running');
  breaking.close();
  proxy.program.kill('SIGTERM');
  assert.deepEqual(await proxy.program.ended(), { code: 0, signal: null });
});

test('a signed-in customer can search for their own cards without a token, if the store allows it', async (t) => {
  await using home = await makeHome();
  const token = await makeStore(home, '--customer-search');
  const service = await home.serve();
  const plain = await startProxy(home, { to: service.url });
  const issueTo = async (email: string): Promise<[id: number, query: string]> => {
    const card = cardOf(
      await ask(`${plain.url}/gift_card`, { token, json: { initial_value: 25, email } }),
      201,
    );
    const query = new URLSearchParams({ last_characters: String(card['last_characters']), email }).toString();
    return [Number(card['customer_id']), `/gift_card?${query}`];
  };
  const [ada, adas] = await issueTo('ada@example.com');
  const adaId = '77';
  await home.json('customer', 'link', 'ada@example.com', adaId, '--store', domain);
  const [, graces] = await issueTo('grace@example.com');
  const signedIn = await startProxy(home, { to: service.url, args: ['--customer', adaId] });

  await t.test('finds their own card', async () => {
    const card = cardOf(await ask(`${signedIn.url}${adas}`), 200);
    assert.deepEqual([card['customer_id'], card['code']], [ada, undefined]);
  });
  await t.test('does not find the card of another customer', async () => {
    assertProblem(await ask(`${signedIn.url}${graces}`), 404, 'not-found');
    const made = `${graces}&logged_in_customer_id=${adaId}`;
    assertProblem(await ask(`${plain.url}${made}`), 401, 'unauthenticated');
  });
  await t.test('allows only a search', async () => {
    const { id } = cardOf(await ask(`${signedIn.url}${adas}`), 200);
    for (const response of [
      await ask(`${signedIn.url}/gift_card/${id}`),
      await ask(`${signedIn.url}/gift_card`, { json: { initial_value: 25 } }),
      await ask(`${signedIn.url}/gift_card/${id}`, { method: 'PUT', json: { balance: 99 } }),
    ]) {
      assertProblem(response, 401, 'unauthenticated');
    }
  });
  await t.test('rejects a customer who is not signed in, and a request without the proxy', async () => {
    assertProblem(await ask(`${plain.url}${adas}`), 401, 'unauthenticated');
    assertProblem(await ask(`${service.url}${adas}`), 401, 'unauthenticated');
    const made = `${adas}&logged_in_customer_id=${adaId}&shop=${domain}`;
    assertProblem(await ask(`${service.url}${made}`), 401, 'unauthenticated');
  });
  await t.test('is rejected once the store no longer allows it', async () => {
    await home.json('store', 'update', domain, '--no-customer-search');
    assertProblem(await ask(`${signedIn.url}${adas}`), 401, 'unauthenticated');
  });
});
