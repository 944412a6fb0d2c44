/** Requests to well-behaved receivers: the sent bytes and the stored part of the response. */

import assert from 'node:assert/strict';
import test from 'node:test';
import type { WebhookResponse, Failed } from '../../../src/features/webhooks/delivery/http-client.ts';
import type { PostResult } from '../../../src/features/webhooks/delivery/post.ts';
import { version } from '../../../src/platform/version.ts';
import { response, responding, outboundHere, publicAddress, receive } from './receiver.ts';

const request = {
  headers: { 'content-type': 'application/json', 'webhook-id': 'evt_1' },
  body: '{"note":"Grüße"}',
};

function assertResponded(result: PostResult): WebhookResponse {
  assert.ok(result.kind === 'responded', JSON.stringify(result));
  return result;
}

function assertFailed(result: PostResult): Failed {
  assert.ok(result.kind === 'failed', JSON.stringify(result));
  return result;
}

test('a request has method, path, headers, body and user agent', async () => {
  await using receiver = await receive(responding(200, 'thanks'));
  using outbound = outboundHere();
  const result = await outbound.post({ ...request, url: `${receiver.url}?a=1&b=%20` });
  const { durationMs, ...rest } = result;
  assert.ok(Number.isInteger(durationMs) && durationMs >= 0 && durationMs < 10_000);
  assert.deepEqual(rest, { kind: 'responded', status: 200, headers: {}, body: 'thanks', isCutOff: false });
  const [head = '', body = ''] = (receiver.received[0]?.text ?? '').split('\r\n\r\n');
  const [line, ...headers] = head.split('\r\n');
  assert.equal(line, 'POST /hook?a=1&b=%20 HTTP/1.1');
  assert.deepEqual(headers.map((header) => header.toLowerCase()).toSorted(), [
    'accept-encoding: identity',
    'connection: keep-alive',
    `content-length: ${Buffer.byteLength(request.body)}`,
    'content-type: application/json',
    `host: receiver.example.com:${receiver.port}`,
    `user-agent: largesse/${version}`,
    'webhook-id: evt_1',
  ]);
  assert.equal(Buffer.from(body, 'latin1').toString(), request.body);
});

test('an error status and a redirect are responses, and redirects are not followed', async (t) => {
  await using elsewhere = await receive(responding(200));
  for (const status of [201, 204, 301, 302, 303, 307, 308, 400, 404, 410, 429, 500, 503]) {
    await t.test(String(status), async () => {
      const headers = status < 400 ? `location: ${elsewhere.url}\r\n` : 'retry-after: 120\r\n';
      await using receiver = await receive(responding(status, '', headers));
      using outbound = outboundHere();
      const result = assertResponded(await outbound.post({ ...request, url: receiver.url }));
      assert.equal(result.status, status);
      assert.deepEqual(result.headers, status < 400 ? { location: elsewhere.url } : { 'retry-after': '120' });
    });
  }
  assert.equal(elsewhere.connections(), 0);
});

test('successive requests share a connection, and its host is resolved once', async () => {
  await using receiver = await receive(responding(200));
  let resolved = 0;
  using outbound = outboundHere({
    resolve: () => {
      resolved += 1;
      return Promise.resolve([publicAddress]);
    },
  });
  for (let count = 0; count < 20; count += 1)
    assertResponded(await outbound.post({ ...request, url: receiver.url }));
  assert.equal(receiver.connections(), 1);
  assert.equal(resolved, 1);
});

test('concurrent requests use a limited number of connections to one origin', async () => {
  await using receiver = await receive(({ socket }) => setTimeout(() => socket.write(response(200)), 5));
  using outbound = outboundHere({ limits: { perOriginMax: 4 } });
  const posts = Array.from({ length: 100 }, () => outbound.post({ ...request, url: receiver.url }));
  for (const result of await Promise.all(posts)) assertResponded(result);
  assert.equal(receiver.connections(), 4);
});

test('over the limit of idle connections, the one that is idle for longest is closed', async () => {
  const receivers = await Promise.all([1, 2, 3].map(() => receive(responding(200))));
  const [first, second, third] = receivers;
  assert.ok(first && second && third);
  using outbound = outboundHere({ limits: { idleMax: 2 } });
  for (const { url } of [first, second, third, third, second, first, third])
    assertResponded(await outbound.post({ ...request, url }));
  assert.deepEqual(
    receivers.map(({ connections }) => connections()),
    [2, 1, 2],
  );
  for (const receiver of receivers) await receiver[Symbol.asyncDispose]();
});

test('an old connection is not used again, and the next request checks its host again', async () => {
  await using receiver = await receive(responding(200));
  using outbound = outboundHere({ limits: { ageMaxMs: -1 } });
  for (let count = 0; count < 3; count += 1)
    assertResponded(await outbound.post({ ...request, url: receiver.url }));
  assert.equal(receiver.connections(), 3);
});

test('a request on a closed keep-alive connection is repeated on a new one', async () => {
  await using receiver = await receive(({ socket, nth }) => {
    if (nth === 1) socket.write(response(200));
    else socket.destroy();
  });
  using outbound = outboundHere();
  for (let count = 0; count < 4; count += 1)
    assertResponded(await outbound.post({ ...request, url: receiver.url }));
});

test('an unsolicited response on an idle connection is ignored', async () => {
  await using receiver = await receive(({ socket, nth }) => {
    socket.write(response(200, `${nth}`));
    if (nth === 1) setTimeout(() => socket.write(response(299, 'unasked')), 5);
  });
  using outbound = outboundHere();
  assertResponded(await outbound.post({ ...request, url: receiver.url }));
  await new Promise((resolve) => {
    setTimeout(resolve, 50);
  });
  assert.equal(assertResponded(await outbound.post({ ...request, url: receiver.url })).status, 200);
});

test('4 KiB of harmless text of a response are stored', async (t) => {
  const cases: Readonly<Record<string, readonly [body: string | Buffer, kept: string]>> = {
    'text of many languages': ['Danke 🎁 谢谢 شكرا\n\tok', 'Danke 🎁 谢谢 شكرا\n\tok'],
    'line ends': ['a\r\nb\rc', 'a\nb\ufffdc'],
    'control characters and escapes': ['\u0000\u001b[31mred\u0007\u0085', '\ufffd\ufffd[31mred\ufffd\ufffd'],
    'turned direction': ['a\u202eb\u2066c', 'a\ufffdb\ufffdc'],
    'bytes that are not text': [Buffer.from([0x61, 0xff, 0xfe, 0x62]), 'a\ufffd\ufffdb'],
    'too much': ['x'.repeat(5_000), 'x'.repeat(4_096)],
    'a character that the cut splits': ['x'.repeat(4_095) + 'ü', 'x'.repeat(4_095)],
    'bytes that grow when they are replaced': ['\u0000'.repeat(4_096), '\ufffd'.repeat(1_365)],
  };
  for (const [name, [body, kept]] of Object.entries(cases)) {
    await t.test(name, async () => {
      await using receiver = await receive(({ socket }) => {
        const bytes = Buffer.from(body);
        socket.write(`HTTP/1.1 500 No\r\ncontent-length: ${bytes.length}\r\n\r\n`);
        socket.write(bytes);
      });
      using outbound = outboundHere();
      const result = assertResponded(await outbound.post({ ...request, url: receiver.url }));
      assert.equal(result.body, kept);
      assert.ok(Buffer.byteLength(result.body) <= 4_096);
    });
  }
});

test('a few headers are stored, truncated and harmless', async () => {
  const headers = `content-type: text/plain\r\nserver: ${'s'.repeat(1_000)}\r\nset-cookie: a=b\r\nx-other: y\r\nlocation: \u0085x\r\n`;
  await using receiver = await receive(({ socket }) =>
    socket.end(Buffer.from(response(302, '', headers), 'latin1')),
  );
  using outbound = outboundHere();
  assert.deepEqual(assertResponded(await outbound.post({ ...request, url: receiver.url })).headers, {
    'content-type': 'text/plain',
    location: '\ufffdx',
    server: 's'.repeat(256),
  });
});

test('a compressed body is neither decompressed nor stored', async () => {
  await using receiver = await receive(responding(200, 'H4sI...', 'content-encoding: gzip\r\n'));
  using outbound = outboundHere();
  const result = assertResponded(await outbound.post({ ...request, url: receiver.url }));
  assert.deepEqual([result.status, result.body], [200, '']);
});

test('an attempt can be aborted before its start and in progress', async () => {
  await using receiver = await receive(() => undefined);
  using outbound = outboundHere();
  const early = assertFailed(
    await outbound.post({ ...request, url: receiver.url, signal: AbortSignal.abort() }),
  );
  assert.equal(early.reason, 'cancelled');
  const calling = new AbortController();
  const waiting = outbound.post({ ...request, url: receiver.url, signal: calling.signal });
  while (receiver.received.length === 0) await new Promise(setImmediate);
  calling.abort();
  assert.equal(assertFailed(await waiting).reason, 'cancelled');
});

test('a request with an invalid header rejects', async () => {
  await using receiver = await receive(responding(200));
  using outbound = outboundHere();
  await assert.rejects(
    outbound.post({ url: receiver.url, headers: { 'x-a': 'b\r\nx-c: d' }, body: '' }),
    TypeError,
  );
  assert.equal(receiver.connections(), 0);
});

test('in development, requests reach this machine without TLS by address and name', async () => {
  await using receiver = await receive(responding(200), { isSecure: false });
  using outbound = outboundHere({
    resolve: () => Promise.reject(new Error('nothing is to be resolved')),
  });
  for (const host of ['127.0.0.1', 'localhost', 'app.localhost']) {
    const url = `http://${host}:${receiver.port}/hook`;
    assertResponded(await outbound.post({ ...request, url, allowLoopback: true }));
  }
  assert.equal(receiver.received.length, 3);
});
