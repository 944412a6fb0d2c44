/** The load generator of the benchmark with working and failing servers. */

import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import test from 'node:test';
import { LoadClient, type Figures, type Load, type Request } from '../../bench/load.ts';
import { startHttpServer, type HttpServer } from '../support/http-server.ts';

const request: Request = {
  method: 'GET',
  text: 'GET /card HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
  status: 200,
  check: null,
};
const next = (): Request => request;

async function run(servers: readonly HttpServer[], connections: number, load: Load): Promise<Figures> {
  using client = await LoadClient.connect(
    servers.map(({ port }) => port),
    connections,
  );
  return await client.run(load);
}

test('every request is sent and timed once, to all servers in turn', async () => {
  const received = [0, 0];
  const count =
    (place: 0 | 1): RequestListener =>
    (_request, response) => {
      received[place] = (received[place] ?? 0) + 1;
      response.setHeader('content-length', 2).end('{}');
    };
  await using one = await startHttpServer(count(0));
  await using other = await startHttpServer(count(1));
  const { latenciesMs } = await run([one, other], 4, { next, requests: 100 });
  assert.equal(latenciesMs.length, 100);
  assert.ok(latenciesMs.every((ms) => ms > 0));
  const [first = 0, second = 0] = received;
  assert.equal(first + second, 100);
  assert.ok(first > 0 && second > 0);
});

test('connections stay open between runs', async () => {
  const ports = new Set<number | undefined>();
  await using server = await startHttpServer(({ socket }, response) => {
    ports.add(socket.remotePort);
    response.setHeader('content-length', 2).end('{}');
  });
  using client = await LoadClient.connect([server.port], 3);
  for (let count = 0; count < 3; count += 1) await client.run({ next, requests: 30 });
  assert.equal(ports.size, 3);
});

test('a response that arrives in pieces is assembled', async () => {
  await using server = await startHttpServer((_request, response) => {
    response.setHeader('content-length', 8).write('{"a"');
    setTimeout(() => response.end(': 1}'), 20);
  });
  const bodies: string[] = [];
  const check = (body: string): void => void bodies.push(body);
  await run([server], 1, { next: () => ({ ...request, check }), requests: 3 });
  assert.deepEqual(bodies, ['{"a": 1}', '{"a": 1}', '{"a": 1}']);
});

test('no request is sent after the end of the duration', async () => {
  await using server = await startHttpServer((_request, response) => {
    response.setHeader('content-length', 2).end('{}');
  });
  const { seconds, latenciesMs } = await run([server], 2, { next, seconds: 0.1 });
  assert.ok(seconds >= 0.1, String(seconds));
  assert.ok(latenciesMs.length > 0);
});

test('an open loop sends requests evenly at the given rate, however slow the server is', async () => {
  const receivedAt: number[] = [];
  await using server = await startHttpServer((_request, response) => {
    receivedAt.push(performance.now());
    setTimeout(() => response.setHeader('content-length', 2).end('{}'), 50);
  });
  const { latenciesMs } = await run([server], 64, { next, seconds: 0.5, rate: 200 });
  assert.equal(latenciesMs.length, 100);
  // A burst would send all of them near the start.
  const [first = 0, middle = 0] = [receivedAt[0], receivedAt[50]];
  assert.ok(middle - first >= 200, `the 51st request was sent ${middle - first} ms after the first`);
});

test('latencies of an open loop include the wait for a connection', async () => {
  await using server = await startHttpServer((_request, response) => {
    setTimeout(() => response.setHeader('content-length', 2).end('{}'), 40);
  });
  // One connection serves at most 25 requests a second. 20 requests are due within 100 ms, so the last waits
  // 700 ms.
  const { latenciesMs } = await run([server], 1, { next, seconds: 0.1, rate: 200 });
  assert.equal(latenciesMs.length, 20);
  assert.ok(Math.max(...latenciesMs) >= 600, String(Math.max(...latenciesMs)));
});

test('an invalid response ends the run', async (t) => {
  const rejects = async (listener: RequestListener, message: RegExp, sent = request): Promise<void> => {
    await using server = await startHttpServer(listener);
    await assert.rejects(run([server], 2, { next: () => sent, requests: 10 }), message);
  };
  await t.test('another status', () =>
    rejects((_request, response) => {
      response.writeHead(503, { 'content-length': 4 }).end('busy');
    }, /responded with 503: busy/),
  );
  await t.test('a body that fails its check', () =>
    rejects(
      (_request, response) => {
        response.setHeader('content-length', 2).end('{}');
      },
      /no card/,
      { ...request, check: (body) => assert.notEqual(body, '{}', 'no card') },
    ),
  );
  await t.test('a closed connection', () => rejects(({ socket }) => socket.end(), /closed/));
  await t.test('a response without a length', () =>
    rejects((_request, response) => {
      response.write('{');
      response.end('}');
    }, /without Content-Length/),
  );
});
