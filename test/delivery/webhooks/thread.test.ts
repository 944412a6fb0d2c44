/** Requests on a thread have the results of requests without one. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import test from 'node:test';
import { Worker } from 'node:worker_threads';
import { openOutboundThread } from '../../../src/features/webhooks/delivery/thread.ts';
import { responding, receive } from './receiver.ts';

const request = {
  headers: { 'content-type': 'application/json' },
  body: '{"note":"Grüße"}',
  allowLoopback: true,
};

test('every request resolves with its own result', async () => {
  await using well = await receive(responding(200, 'thanks'), { isSecure: false });
  await using badly = await receive(responding(503, 'later'), { isSecure: false });
  using outbound = openOutboundThread();
  const urls = Array.from({ length: 50 }, (_, place) => (place % 3 === 0 ? badly.url : well.url));
  const results = await Promise.all(urls.map((url) => outbound.post({ ...request, url })));
  for (const [place, result] of results.entries()) {
    assert.ok(result.kind === 'responded');
    assert.equal(result.status, place % 3 === 0 ? 503 : 200);
    assert.equal(result.body, place % 3 === 0 ? 'later' : 'thanks');
  }
  assert.equal(well.received.length + badly.received.length, 50);
  assert.match(Buffer.from(well.received[0]?.text ?? '', 'latin1').toString(), /\{"note":"Grüße"\}$/);
});

test('the thread sends to this machine only if the request allows it, also on a keep-alive connection', async () => {
  await using receiver = await receive(responding(200), { isSecure: false });
  using outbound = openOutboundThread();
  const { allowLoopback, ...unasked } = request;
  const post = async (asked: typeof unasked & { readonly allowLoopback?: boolean }): Promise<string> => {
    const result = await outbound.post({ ...asked, url: receiver.url });
    return result.kind === 'failed' ? result.reason : String(result.status);
  };
  assert.equal(await post(unasked), 'forbidden-target');
  assert.equal(receiver.connections(), 0);
  assert.equal(await post({ ...unasked, allowLoopback }), '200');
  assert.equal(await post({ ...unasked, allowLoopback: false }), 'forbidden-target');
  assert.equal(await post(unasked), 'forbidden-target');
  assert.equal(receiver.received.length, 1);
});

test('an aborted request ends at once, before its start and in progress', async () => {
  await using silent = await receive(() => undefined, { isSecure: false });
  using outbound = openOutboundThread();
  const early = await outbound.post({ ...request, url: silent.url, signal: AbortSignal.abort() });
  const calling = new AbortController();
  const posting = outbound.post({ ...request, url: silent.url, signal: calling.signal });
  while (silent.received.length === 0) await new Promise(setImmediate);
  calling.abort();
  for (const result of [early, await posting])
    assert.equal(result.kind === 'failed' && result.reason, 'cancelled');
});

test('a request with an invalid header rejects', async () => {
  await using receiver = await receive(responding(200), { isSecure: false });
  using outbound = openOutboundThread();
  await assert.rejects(
    outbound.post({ ...request, url: receiver.url, headers: { a: 'b\r\nc: d' } }),
    TypeError,
  );
  const result = await outbound.post({ ...request, url: receiver.url });
  assert.equal(result.kind, 'responded');
});

test('requests reject when the thread ends unexpectedly, and the next request starts another thread', async () => {
  const dying = new URL(
    `data:text/javascript,${encodeURIComponent(`
      import { parentPort } from 'node:worker_threads';
      parentPort.on('message', ({ posts: [{ id, body }] }) => {
        if (body === 'die') throw new Error('dead');
        if (body === 'leave') process.exit(0);
        parentPort.postMessage([{ id, result: { kind: 'responded', status: 200 } }]);
      });`)}`,
  );
  using outbound = openOutboundThread(() => new Worker(dying));
  const url = 'http://127.0.0.1:1/';
  for (const [body, message] of [
    ['die', /dead/],
    ['leave', /has ended/],
  ] as const) {
    await assert.rejects(outbound.post({ url, headers: {}, body }), message);
    assert.equal((await outbound.post({ url, headers: {}, body: 'well' })).kind, 'responded');
  }
});

test('requests in progress reject when the thread is stopped', async () => {
  await using silent = await receive(() => undefined, { isSecure: false });
  const outbound = openOutboundThread();
  const posting = outbound.post({ ...request, url: silent.url });
  while (silent.received.length === 0) await new Promise(setImmediate);
  outbound[Symbol.dispose]();
  await assert.rejects(posting, /was stopped/);
});

test('the thread keeps the process alive only while it has requests', () => {
  const script = `
    const { openOutboundThread } = await import('./src/features/webhooks/delivery/thread.ts');
    const outbound = openOutboundThread();
    outbound.post({ url: 'http://127.0.0.1:65535/', headers: {}, body: '{}', allowLoopback: true }).then(({ reason }) => console.log(reason));`;
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  });
  assert.equal(status, 0);
  assert.equal(stdout.trim(), 'connect');
});
