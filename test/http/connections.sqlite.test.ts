/** Connections: the limits per client, and when the service closes a connection. */

import assert from 'node:assert/strict';
import { once as happens } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import test, { after } from 'node:test';
import { isWithin } from '../support/deadline.ts';
import { until } from '../support/delivering.ts';
import { giftCardOf, issuedGiftCardOf, problemOf } from '../support/responses.ts';
import { startService, type TestService } from '../support/service.ts';
import { shopOf } from '../support/shop.ts';
import {
  exchange,
  openWire,
  parseResponses,
  requestText,
  type Wire,
  type WireOptions,
} from '../support/wire.ts';

const limits = {
  headersTimeoutMs: 300,
  connectionsCheckPeriodMs: 50,
  drainIdleMs: 250,
  drainMaxMs: 1_000,
  drainBytesMax: 2 ** 20,
  connectionsMax: 40,
  connectionsPerPeerMax: 16,
  connectionsSpare: 4,
};
const stores = [{ domain: 'flowers.example' }];
const service = await startService({ stores, limits });
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const { id } = await shop.issue();
const bearer = ['Authorization', `Bearer ${shop.token}`] as const;
const json = ['Content-Type', 'application/json'] as const;

/** Opens connections from an address. The client does not close them. */
async function openMany(to: TestService, count: number, from: string): Promise<readonly Wire[]> {
  const wires = Array.from({ length: count }, () => openWire(to, { from, keepsOpen: true }));
  await Promise.all(wires.map(({ socket }) => happens(socket, 'connect').catch(() => undefined)));
  return wires;
}

async function closeAll(wires: readonly Wire[]): Promise<void> {
  await Promise.all(wires.map((wire) => wire[Symbol.asyncDispose]()));
}

async function serves(to: TestService, options: WireOptions): Promise<boolean> {
  const response = await exchange(to, requestText('GET /healthz'), options).catch(() => undefined);
  return response?.status === 200;
}

/** Returns whether the service has destroyed a connection that the client keeps open: writing to it fails. */
async function isDestroyed({ socket, closed }: Wire): Promise<boolean> {
  socket.write('x');
  await Promise.race([closed, wait(50)]);
  if (!socket.destroyed) socket.write('x');
  await Promise.race([closed, wait(500)]);
  return socket.destroyed;
}

function keepAlive(line: string, headers: readonly (readonly [string, string])[], body = ''): string {
  return requestText(line, headers, body).replace('Connection: close', 'Connection: keep-alive');
}

test('a connection whose request times out is destroyed even if the client keeps it open', async (t) => {
  for (const [name, start] of [
    ['half a header block', 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: '],
    ['nothing', ''],
    ['no HTTP', 'hello\r\n\r\n'],
  ] as const) {
    await t.test(name, async () => {
      await using wire = openWire(service, { keepsOpen: true });
      wire.send(start);
      await happens(wire.socket, 'end');
      assert.match(wire.received(), /^HTTP\/1\.1 40[08] /);
      await wait(limits.drainIdleMs + 100);
      assert.ok(await isDestroyed(wire), 'the service keeps the connection');
    });
  }
});

test('half-sent header blocks of one client do not block other clients', async () => {
  const wires = await openMany(service, 60, '127.0.0.2');
  try {
    for (const wire of wires) wire.send('GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: ');
    await wait(50);
    assert.ok(await serves(service, { from: '127.0.0.3' }));
    // The requests time out, and the client keeps its connections open.
    await wait(limits.headersTimeoutMs + limits.drainIdleMs + 300);
    assert.ok(await serves(service, { from: '127.0.0.2' }), 'the connections still count');
  } finally {
    await closeAll(wires);
  }
});

test('connections over the limit of a client are closed at once', async () => {
  const wires = await openMany(service, limits.connectionsPerPeerMax, '127.0.0.2');
  try {
    assert.ok(!(await serves(service, { from: '127.0.0.2' })));
    assert.ok(await serves(service, { from: '127.0.0.3' }));
    const metrics = await exchange(service, requestText('GET /metrics'));
    assert.match(metrics.text, /^largesse_connections_closed_total\{reason="peer limit"\} [1-9]/m);
  } finally {
    await closeAll(wires);
  }
  await until(() => serves(service, { from: '127.0.0.2' }));
});

test('a trusted proxy can open more connections than a client', async () => {
  const environment = { TRUSTED_PROXIES: '127.0.0.2' };
  await using proxied = await startService({ stores, limits, environment });
  const wires = await openMany(proxied, limits.connectionsPerPeerMax + 4, '127.0.0.2');
  try {
    assert.ok(await serves(proxied, { from: '127.0.0.2' }));
  } finally {
    await closeAll(wires);
  }
});

test('near the maximum, a new connection closes the longest idle one and never a busy one', async () => {
  await using roomy = await startService({ stores, limits: { ...limits, headersTimeoutMs: 10_000 } });
  const busyShop = await shopOf(roomy, 'flowers.example');
  await using busy = openWire(roomy, { from: '127.0.0.9' });
  const body = '{"initial_value":5}';
  const authorization = ['Authorization', `Bearer ${busyShop.token}`] as const;
  const length = ['Content-Length', String(body.length)] as const;
  busy.send(requestText('POST /gift_card', [authorization, json, length]));
  await wait(50);
  const all: Wire[] = [];
  try {
    for (const from of ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5'])
      all.push(...(await openMany(roomy, 12, from)));
    await wait(50);
    assert.ok(await serves(roomy, { from: '127.0.0.6' }));
    const [first] = all;
    const last = all.at(-1);
    assert.ok(first && last);
    assert.ok(first.socket.readableEnded, 'the longest idle connection is open');
    assert.ok(!last.socket.readableEnded, 'the newest connection is closed');
  } finally {
    await closeAll(all);
  }
  busy.send(body);
  await busy.closed;
  const [response] = parseResponses(busy.received());
  assert.ok(response);
  issuedGiftCardOf(response);
});

/** Sends many requests for a large document and reads no response. */
async function openStalled(to: TestService, from: string): Promise<Wire> {
  const wire = openWire(to, { from, keepsOpen: true });
  wire.socket.pause();
  wire.send(keepAlive('GET /openapi.json', []).repeat(100));
  await happens(wire.socket, 'connect');
  return wire;
}

test('a connection whose client does not read is destroyed', async () => {
  await using impatient = await startService({ stores, limits: { ...limits, stallTimeoutMs: 200 } });
  assert.equal((await impatient.request('/openapi.json')).status, 200);
  await using wire = await openStalled(impatient, '127.0.0.2');
  await wait(1_500);
  // The client receives the buffered data and then the end, long before the last response.
  const ended = happens(wire.socket, 'end');
  wire.socket.resume();
  await Promise.race([ended, wait(3_000)]);
  assert.ok(wire.socket.readableEnded, 'the service keeps the connection');
  assert.ok(wire.received().split('HTTP/1.1 200').length < 100);
});

test('the time in which a response is computed does not count as a stall', async () => {
  const slow = { ...limits, stallTimeoutMs: 50, passwordMemoryKib: 65_536 };
  await using impatient = await startService({ stores, limits: slow });
  // Comparing a password takes longer.
  const response = await impatient.request('/sign-in', {
    method: 'POST',
    headers: {
      origin: impatient.url,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: 'email=ann%40flowers.example&password=wrong',
  });
  assert.equal(response.status, 401);
});

test('clients that do not read do not block other clients', async () => {
  const stalled: Wire[] = [];
  try {
    for (const from of ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5'])
      for (let count = 0; count < 12; count += 1) {
        stalled.push(await openStalled(service, from));
        // Waits until the service has received the requests: the connection is not idle.
        await wait(15);
      }
    assert.ok(await serves(service, { from: '127.0.0.6' }));
  } finally {
    await closeAll(stalled);
  }
});

const announced = ['Content-Length', '100000000'] as const;
const early: Readonly<Record<string, { readonly head: string; readonly status: number }>> = {
  '401': { head: keepAlive('POST /gift_card', [json, announced]), status: 401 },
  '404': { head: keepAlive('POST /nowhere', [announced]), status: 404 },
  '405': { head: keepAlive('DELETE /gift_card', [announced]), status: 405 },
  '413': { head: keepAlive('POST /gift_card', [bearer, json, announced]), status: 413 },
  '417': { head: keepAlive('POST /gift_card', [['Expect', 'tea'], announced]), status: 417 },
  '400, a path with invalid encoding': { head: keepAlive('POST /%zz', [announced]), status: 400 },
  '400, an unknown query': { head: keepAlive('POST /gift_card?page=1', [bearer, announced]), status: 400 },
  '200 for a page': { head: keepAlive('GET /healthz', [announced]), status: 200 },
  '200 for HEAD': { head: keepAlive('HEAD /healthz', [announced]), status: 200 },
  '204 for OPTIONS': { head: keepAlive('OPTIONS /gift_card', [announced]), status: 204 },
  '404 for an operation': { head: keepAlive('GET /gift_card/1', [bearer, announced]), status: 404 },
  'a 401 in chunks': { head: keepAlive('POST /gift_card', [['Transfer-Encoding', 'chunked']]), status: 401 },
};

function assertOnlyResponse(wire: Wire, status: number, head: string): void {
  const responses = parseResponses(wire.received(), head);
  assert.deepEqual(
    responses.map((response) => response.status),
    [status],
    wire.received(),
  );
  assert.equal(responses[0]?.headers.get('connection'), 'close');
}

test(
  'a response before the end of the body closes the connection, whatever its status',
  { concurrency: true },
  async (t) => {
    await using patient = await startService({
      stores,
      limits: { ...limits, connectionsMax: 4_096, connectionsPerPeerMax: 1_024 },
    });
    const token = await patient.token('flowers.example');
    const requests = Object.entries(early).map(([name, { head, status }]) => {
      const isChunked = head.includes('chunked');
      return {
        name,
        head: head.replace(shop.token, token),
        status,
        chunk: isChunked ? `10000\r\n${'x'.repeat(65_536)}\r\n` : 'x'.repeat(65_536),
        piece: isChunked ? '1\r\nx\r\n' : 'x',
      };
    });
    const cases = requests.flatMap(({ name, head, status, chunk, piece }) => [
      t.test(`${name}: a client that sends endlessly`, async () => {
        await using wire = openWire(patient, { keepsOpen: true });
        wire.send(head);
        const startedAt = performance.now();
        let sent = 0;
        while (!wire.socket.destroyed && performance.now() - startedAt < 5_000) {
          sent += chunk.length;
          const drained = wire.socket.write(chunk) || happens(wire.socket, 'drain').catch(() => undefined);
          await Promise.race([drained, wire.closed, wait(1_000)]);
          await new Promise(setImmediate);
        }
        assert.ok(wire.socket.destroyed, 'the service keeps reading');
        // The buffers of both sides accept data that the service does not read.
        assert.ok(sent < limits.drainBytesMax + 8 * 2 ** 20, `${sent} bytes`);
        assertOnlyResponse(wire, status, head);
      }),
      t.test(`${name}: a client that sends slowly`, async () => {
        await using wire = openWire(patient, { keepsOpen: true });
        wire.send(head);
        const startedAt = performance.now();
        while (!wire.socket.destroyed && performance.now() - startedAt < 5_000) {
          wire.send(piece);
          await Promise.race([wait(40), wire.closed]);
        }
        assert.ok(wire.socket.destroyed, 'the service keeps reading');
        assertOnlyResponse(wire, status, head);
      }),
      t.test(`${name}: a client that is silent`, async () => {
        await using wire = openWire(patient, { keepsOpen: true });
        wire.send(head);
        await happens(wire.socket, 'end');
        assertOnlyResponse(wire, status, head);
        await wait(limits.drainIdleMs + 200);
        assert.ok(await isDestroyed(wire), 'the service keeps the connection');
      }),
    ]);
    await Promise.all(cases);
  },
);

test('a request that times out after its response does not get a second response', async () => {
  const slow = { ...limits, requestTimeoutMs: 400, drainIdleMs: 2_000, drainMaxMs: 2_000 };
  await using limited = await startService({ stores, limits: slow });
  await using wire = openWire(limited, { keepsOpen: true });
  const head = keepAlive('POST /nowhere', [['Content-Length', '5000']]);
  wire.send(head);
  for (let sent = 0; sent < 20; sent += 1) {
    await wait(50);
    wire.send('x');
  }
  assertOnlyResponse(wire, 404, head);
  assert.doesNotMatch(limited.log(), /not HTTP/);
});

test('a rejected request that was received completely keeps its connection', async () => {
  const creation = keepAlive('POST /gift_card', [json, ['Content-Length', '19']], '{"initial_value":5}');
  const lost = keepAlive('PUT /nowhere', [json, ['Content-Length', '19']], '{"initial_value":5}');
  await using wire = openWire(service);
  wire.send(creation + lost + keepAlive('DELETE /gift_card', []) + requestText('GET /healthz'));
  await wire.closed;
  const statuses = parseResponses(wire.received()).map(({ status }) => status);
  assert.deepEqual(statuses, [401, 404, 405, 200]);
});

test('100 Continue is sent only to a caller with a valid credential, for a body that is accepted', async (t) => {
  const expects = ['Expect', '100-continue'] as const;
  const length = ['Content-Length', '19'] as const;
  const rejected: Readonly<
    Record<string, readonly [head: string, code: Parameters<typeof problemOf>[1]['code']]>
  > = {
    'no credential': [keepAlive('POST /gift_card', [expects, json, length]), 'unauthenticated'],
    'a wrong token': [
      keepAlive('POST /gift_card', [expects, ['X-Access-Token', 'x'], length]),
      'unauthenticated',
    ],
    'too large': [
      keepAlive('POST /gift_card', [expects, bearer, json, ['Content-Length', '65537']]),
      'body-too-large',
    ],
    'an unknown path': [keepAlive('POST /nowhere', [expects, bearer, length]), 'not-found'],
    'another method': [keepAlive('DELETE /gift_card', [expects, bearer, length]), 'method-not-allowed'],
  };
  for (const [name, [head, code]] of Object.entries(rejected)) {
    await t.test(`none: ${name}`, async () => {
      await using wire = openWire(service);
      wire.send(head);
      await wire.closed;
      assert.doesNotMatch(wire.received(), /100 Continue/);
      const [response, ...others] = parseResponses(wire.received());
      assert.ok(response && others.length === 0);
      problemOf(response, { code });
    });
  }
  await t.test('none: a retrieval, which ignores its body', async () => {
    await using wire = openWire(service);
    wire.send(keepAlive(`GET /gift_card/${id}`, [expects, bearer, length]));
    await wire.closed;
    assert.doesNotMatch(wire.received(), /100 Continue/);
    const [response] = parseResponses(wire.received());
    assert.ok(response);
    giftCardOf(response);
  });
  for (const [name, field, body] of [
    ['a length', length, '{"initial_value":5}'],
    ['chunks', ['Transfer-Encoding', 'chunked'] as const, '13\r\n{"initial_value":5}\r\n0\r\n\r\n'],
  ] as const) {
    await t.test(`sent: ${name}`, async () => {
      await using wire = openWire(service);
      wire.send(requestText('POST /gift_card', [expects, bearer, json, field]));
      while (!wire.received().includes('\r\n\r\n')) await wait(5);
      assert.equal(wire.received(), 'HTTP/1.1 100 Continue\r\n\r\n');
      wire.send(body);
      await wire.closed;
      const [response] = parseResponses(wire.received());
      assert.ok(response);
      issuedGiftCardOf(response);
    });
  }
});

test('invalid bytes after a request get no response before the response to that request', async () => {
  await using wire = openWire(service);
  wire.send(`${keepAlive(`GET /gift_card/${id}`, [bearer])}hello\r\n\r\n`);
  await wire.closed;
  assert.doesNotMatch(wire.received(), /^HTTP\/1\.1 400/);
});

test('an incomplete request does not delay the stop of the service', async () => {
  const own = await startService({ stores, limits: { stopReceiveTimeoutMs: 300 } });
  const token = await own.token('flowers.example');
  const half = requestText('POST /gift_card', [
    ['Authorization', `Bearer ${token}`],
    json,
    ['Content-Length', '100'],
  ]);
  const wires = await Promise.all(
    [`${half}{"initial`, 'GET /gift_card HTTP/1.1\r\nHost: x'].map(async (bytes) => {
      const wire = openWire(own, { keepsOpen: true });
      await happens(wire.socket, 'connect');
      wire.send(bytes);
      return wire;
    }),
  );
  await wait(100);
  const startedAt = performance.now();
  await own[Symbol.asyncDispose]();
  // The default limits are 10 s for headers and 25 s for requests in progress.
  assert.ok(isWithin(performance.now() - startedAt, 6_000), `${performance.now() - startedAt} ms`);
  await closeAll(wires);
});
