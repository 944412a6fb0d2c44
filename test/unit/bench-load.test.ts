/** The benchmark's load generator against servers that behave, and against some that do not. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import test from 'node:test';
import { load, type Call } from '../../bench/load.ts';

/** A server for as long as it is used. */
async function serve(listener: RequestListener): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert(address !== null && typeof address === 'object');
  return {
    port: address.port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const call: Call = {
  method: 'GET',
  request: 'GET /card HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
  status: 200,
  check: null,
};

/** So many calls, and then none. */
function calls(count: number, each: Call = call): () => Call | undefined {
  let left = count;
  return () => (left-- > 0 ? each : undefined);
}

const unlimited = Number.POSITIVE_INFINITY;

test('every call is answered and timed once, by all the servers', async () => {
  const answered = [0, 0];
  const count =
    (place: 0 | 1): RequestListener =>
    (_request, response) => {
      answered[place] = (answered[place] ?? 0) + 1;
      response.setHeader('content-length', 2).end('{}');
    };
  await using one = await serve(count(0));
  await using other = await serve(count(1));
  const ports = [one.port, other.port];
  const { latenciesMs } = await load({ ports, connections: 4, seconds: unlimited, next: calls(100) });
  assert.equal(latenciesMs.length, 100);
  assert.ok(latenciesMs.every((ms) => ms > 0));
  const [first = 0, second = 0] = answered;
  assert.equal(first + second, 100);
  assert.ok(first > 0 && second > 0);
});

test('an answer in pieces is put together', async () => {
  await using server = await serve((_request, response) => {
    response.setHeader('content-length', 8).write('{"a"');
    setTimeout(() => response.end(': 1}'), 20);
  });
  const bodies: string[] = [];
  const next = calls(3, { ...call, check: (body) => void bodies.push(body) });
  await load({ ports: [server.port], connections: 1, seconds: unlimited, next });
  assert.deepEqual(bodies, ['{"a": 1}', '{"a": 1}', '{"a": 1}']);
});

test('nothing is sent once the time has passed', async () => {
  await using server = await serve((_request, response) => {
    response.setHeader('content-length', 2).end('{}');
  });
  const given = { ports: [server.port], connections: 2, seconds: 0.1, next: () => call };
  const { seconds, latenciesMs } = await load(given);
  assert.ok(seconds >= 0.1 && seconds < 5, String(seconds));
  assert.ok(latenciesMs.length > 0);
});

test('what should not be measured ends the run', async (t) => {
  const refused = async (listener: RequestListener, message: RegExp, asked: Call = call): Promise<void> => {
    await using server = await serve(listener);
    const given = { ports: [server.port], connections: 2, seconds: unlimited, next: calls(10, asked) };
    await assert.rejects(load(given), message);
  };
  await t.test('another status', () =>
    refused((_request, response) => {
      response.writeHead(503, { 'content-length': 4 }).end('busy');
    }, /answered 503: busy/),
  );
  await t.test('a body that a check does not take', () =>
    refused(
      (_request, response) => {
        response.setHeader('content-length', 2).end('{}');
      },
      /no card/,
      { ...call, check: (body) => assert.notEqual(body, '{}', 'no card') },
    ),
  );
  await t.test('a connection that is closed', () => refused((request) => request.socket.end(), /closed/));
  await t.test('an answer whose length is not told', () =>
    refused((_request, response) => {
      response.write('{');
      response.end('}');
    }, /without Content-Length/),
  );
});
