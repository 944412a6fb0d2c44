/** `largesse health`: what a container engine or a balancer runs on the machine of the service. */

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import test from 'node:test';
import { describeReadiness } from '../../src/features/health/cli/health.ts';
import { runCommand } from '../support/command-line.ts';
import { startHttpServer } from '../support/http-server.ts';
import { startService } from '../support/service.ts';

function healthAt(
  url: string,
  environment: Readonly<Record<string, string>> = {},
): ReturnType<typeof runCommand> {
  const { hostname, port } = new URL(url);
  return runCommand(['health'], { environment: { HOST: hostname, PORT: port, ...environment } });
}

test('health exits with 0 and a line if the service is ready', async () => {
  await using service = await startService({ environment: { BASE_PATH: '/shop' } });
  for (const environment of [{}, { HOST: '0.0.0.0' }, { HOST: 'localhost' }]) {
    const { code, output, errors } = await healthAt(service.url, environment);
    assert.deepEqual({ code, errors }, { code: 0, errors: '' });
    assert.match(output, /^http:\/\/(127\.0\.0\.1|localhost):\d+\/readyz: ready\n$/);
  }
});

test('health reads only HOST and PORT, and uses no proxy', async () => {
  await using service = await startService();
  const { code, errors } = await healthAt(service.url, {
    DATABASE_URL: 'nonsense',
    NODE_USE_ENV_PROXY: '1',
    http_proxy: 'http://127.0.0.1:9',
  });
  assert.deepEqual({ code, errors }, { code: 0, errors: '' });
});

test('health exits with 1 and says why if the service is not ready', async () => {
  await using service = await startService({ limits: { diskFreeBytesMin: Number.MAX_SAFE_INTEGER } });
  const { code, output, errors } = await healthAt(service.url);
  assert.deepEqual({ code, output }, { code: 1, output: '' });
  assert.match(
    errors,
    /^largesse: http:\/\/127\.0\.0\.1:\d+\/readyz: not ready, status 503: The disk of the database is full or has less free space than the service needs: free space on it\.\n$/,
  );
});

test('health exits with 1 if nothing listens, and for a wrong setting', async () => {
  const server = await startHttpServer(() => {});
  await server[Symbol.asyncDispose]();
  const none = await healthAt(server.url);
  assert.equal(none.code, 1);
  assert.match(none.errors, /^largesse: http:\/\/127\.0\.0\.1:\d+\/readyz: nothing listens at [^\n]+\n$/);
  for (const [value, message] of [
    ['0', /^largesse: PORT is 0[^\n]+\n$/],
    ['70000', /^largesse: PORT must be a port[^\n]+\n$/],
  ] as const) {
    const wrong = await runCommand(['health'], { environment: { PORT: value } });
    assert.equal(wrong.code, 1);
    assert.match(wrong.errors, message);
  }
});

test('health rejects another service, a long response, and one that does not end', async () => {
  const responses: readonly (readonly [
    send: (response: ServerResponse) => void,
    message: RegExp,
    timeoutMs?: number,
  ])[] = [
    [(response) => response.end('{"status":"up"}'), /not ready, status 200: not a response of Largesse$/],
    [(response) => response.end('x'.repeat(100_000)), /the response is too long$/],
    [(response) => response.write('{'), /no response within 0\.2 s$/, 200],
    [
      (response) => response.destroy(),
      /readyz: the server has closed the connection: check that it runs, and try again$/,
    ],
  ];
  for (const [respond, message, timeoutMs = 30_000] of responses) {
    await using server = await startHttpServer((_request, response) => respond(response));
    await assert.rejects(describeReadiness(server.url, { timeoutMs }), { name: 'CommandError', message });
  }
});
