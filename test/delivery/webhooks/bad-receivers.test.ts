/** Requests to misbehaving receivers end in time, with a reason. */

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import test from 'node:test';
import { isWithin } from '../../support/deadline.ts';
import type { PostResult } from '../../../src/features/webhooks/delivery/post.ts';
import { cases, endlessly, head, quiet } from './bad-receivers.ts';
import { response, outboundHere, receive, type Received } from './receiver.ts';

const request = { headers: {}, body: '{}' };
/** Long, except where it must expire, because the machine may be slow. */
const timeoutFor = (reason: string): number => (reason === 'timeout' ? 1_000 : 30_000);

for (const [name, { behave, receiver: how, options, host, reason, detail }] of Object.entries(cases)) {
  test(`a receiver that ${name}: ${reason}`, async () => {
    const timeoutMs = timeoutFor(reason);
    await using receiver = await receive(behave, how);
    using outbound = outboundHere({ limits: { timeoutMs }, ...options });
    const url = `https://${host ?? 'receiver.example.com'}:${receiver.port}/hook`;
    const result = await outbound.post({ ...request, url });
    assert.equal(result.kind === 'failed' && result.reason, reason, JSON.stringify(result));
    assert.match(result.kind === 'failed' ? result.detail : '', detail);
    assert.ok(isWithin(result.durationMs, timeoutMs + 1_000), `${result.durationMs} ms`);
    if (reason === 'tls') assert.equal(receiver.received.length, 0);
    await isClosed(receiver.received);
  });
}

/** Waits until the receiver has seen the connection end; the runner ends a test that waits too long. */
async function isClosed(received: readonly Received[]): Promise<void> {
  for (const { socket } of received) {
    if (socket.destroyed) continue;
    await new Promise((resolve) => {
      socket.resume().once('close', resolve);
    });
  }
}

test('an unreachable receiver: connect', async () => {
  const receiver = await receive(quiet);
  await receiver[Symbol.asyncDispose]();
  using outbound = outboundHere();
  const result = await outbound.post({ ...request, url: receiver.url });
  assert.equal(result.kind === 'failed' && result.reason, 'connect');
  assert.match(result.kind === 'failed' ? result.detail : '', /^no connection \(ECONNREFUSED\)$/);
});

test('a receiver that resets at once: connect or tls, depending on the system', async () => {
  await using receiver = await receive(quiet, { onConnection: (socket) => socket.resetAndDestroy() });
  using outbound = outboundHere();
  const result = await outbound.post({ ...request, url: receiver.url });
  assert.ok(result.kind === 'failed' && ['connect', 'tls'].includes(result.reason), JSON.stringify(result));
  assert.match(result.detail, /\(ECONNRESET\)$/);
});

test('an endless body is cut off, and the status counts', async (t) => {
  const bodies: Readonly<Record<string, (socket: Socket) => void>> = {
    'announced as huge': (socket) => {
      socket.write(`${head}content-length: 1000000000\r\n\r\n`);
      endlessly(socket, 'x'.repeat(10_000));
    },
    'in chunks': (socket) => {
      socket.write(`${head}transfer-encoding: chunked\r\n\r\n`);
      endlessly(socket, `3e8\r\n${'x'.repeat(1_000)}\r\n`);
    },
    'until it closes': (socket) => {
      socket.write(`${head}connection: close\r\n\r\n`);
      endlessly(socket, 'x'.repeat(10_000));
    },
  };
  for (const [name, send] of Object.entries(bodies)) {
    await t.test(name, async () => {
      await using receiver = await receive(({ socket }) => send(socket));
      using outbound = outboundHere();
      const result: PostResult = await outbound.post({ ...request, url: receiver.url });
      const { durationMs, ...rest } = result;
      assert.deepEqual(rest, {
        kind: 'responded',
        status: 200,
        headers: {},
        body: 'x'.repeat(4_096),
        isCutOff: true,
      });
      assert.ok(isWithin(durationMs, 5_000));
      await isClosed(receiver.received);
      const sent = receiver.received[0]?.socket.bytesWritten ?? 0;
      assert.ok(sent < 20_000_000, `${sent} bytes were written`);
    });
  }
});

test('a body of exactly 64 KiB is read to its end, and the connection remains open', async () => {
  await using receiver = await receive(({ socket }) => socket.write(response(200, 'x'.repeat(65_536))));
  using outbound = outboundHere();
  for (let count = 0; count < 2; count += 1) {
    const result = await outbound.post({ ...request, url: receiver.url });
    assert.equal(result.kind === 'responded' && result.isCutOff, false);
  }
  assert.equal(receiver.connections(), 1);
});

test('a response before the end of the request counts, and closes the connection', async () => {
  const early = Promise.withResolvers<Socket>();
  await using receiver = await receive(quiet, {
    isSecure: false,
    onConnection: (socket) => {
      socket.write(response(413, 'too much'));
      setImmediate(() => early.resolve(socket.pause()));
    },
  });
  using outbound = outboundHere();
  const body = 'x'.repeat(10_000_000);
  const result = await outbound.post({ headers: {}, body, url: receiver.url, allowLoopback: true });
  assert.equal(result.kind === 'responded' ? result.status : result.detail, 413);
  const socket = await early.promise;
  await new Promise((resolve) => {
    socket.resume().once('close', resolve);
  });
  assert.equal(receiver.received.length, 0);
});

test('a failing receiver does not delay another', async () => {
  await using dead = await receive(quiet);
  await using alive = await receive(({ socket }) => socket.write(response(200)));
  using outbound = outboundHere({ limits: { timeoutMs: 1_000, perOriginMax: 2 } });
  const waiting = Array.from({ length: 50 }, () => outbound.post({ ...request, url: dead.url }));
  const result = await outbound.post({ ...request, url: alive.url });
  assert.equal(result.kind, 'responded');
  assert.ok(isWithin(result.durationMs, 900));
  assert.equal(dead.connections(), 2);
  for (const late of await Promise.all(waiting))
    assert.equal(late.kind === 'failed' && late.reason, 'timeout');
});
