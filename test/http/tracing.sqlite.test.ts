/** Spans of requests and transactions. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { openTracing } from '../../src/platform/tracing.ts';
import { startService } from '../support/service.ts';
import { registerSdk, traceparentOf, type EndedSpan } from '../support/tracing-sdk.ts';
import { receiveWebhooks } from '../support/webhook-receiver.ts';

async function until(isTrue: () => boolean): Promise<void> {
  for (let rounds = 0; rounds < 500 && !isTrue(); rounds += 1) await wait(10);
  assert.ok(isTrue());
}

test('without an SDK nothing is traced, and a traceparent is not parsed', () => {
  assert.equal(openTracing(), null);
});

test('a request and its transactions have spans, traceparent is continued, and background jobs have no spans', async () => {
  using sdk = registerSdk();
  await using receiver = await receiveWebhooks();
  await using service = await startService();
  const { named } = sdk;
  const webhook = { url: receiver.url, events: ['*'] };
  assert.equal((await service.request('/webhooks', { method: 'POST', json: webhook })).status, 201);
  await until(() => named('POST /webhooks').length === 1);
  assert.equal(named('POST /webhooks')[0]?.parent, undefined);

  const traceId = 'a'.repeat(32);
  const caller = 'b'.repeat(16);
  const created = await service.request('/gift_card', {
    method: 'POST',
    headers: { traceparent: `00-${traceId}-${caller}-01` },
    json: { initial_value: 5 },
  });
  assert.equal(created.status, 201);
  await until(() => named('POST /gift_card').length === 1);
  const [request] = named('POST /gift_card');
  assert.ok(request);
  assert.deepEqual([request.own.traceId, request.parent?.spanId, request.isError], [traceId, caller, false]);
  assert.deepEqual(request.attributes, {
    'http.request.method': 'POST',
    'http.route': '/gift_card',
    'http.response.status_code': 201,
  });
  const transactions = named('transaction write').filter(({ own }) => own.traceId === traceId);
  assert.deepEqual(
    transactions.map(({ parent }) => parent?.spanId),
    [request.own.spanId],
  );

  await until(() => receiver.got.length > 0 && named('deliver events').length > 0);
  assert.deepEqual(
    receiver.got[0]?.headers['traceparent'],
    traceparentOf(named('POST')[0]?.own ?? assert.fail()),
  );
  const ofRequests = sdk.spans.filter(({ name }) => name.startsWith('transaction'));
  assert.ok(
    ofRequests.every(({ parent }) => parent !== undefined),
    'background jobs have no spans',
  );
});

test('a failed transaction and a lost request are errors, and a malformed traceparent begins a trace', async () => {
  using sdk = registerSdk();
  const limits = { diskFreeBytesMin: Number.MAX_SAFE_INTEGER };
  await using service = await startService({ limits });
  for (const traceparent of ['nonsense', `00-${'a'.repeat(5_000)}`])
    assert.equal((await service.request('/readyz', { headers: { traceparent } })).status, 503);
  const ready = (): readonly EndedSpan[] => sdk.named('GET /readyz');
  await until(() => ready().length === 2);
  for (const { parent, isError, attributes } of ready())
    assert.deepEqual([parent, isError, attributes['error.type']], [undefined, true, '503']);

  const tracing = openTracing();
  assert.ok(tracing);
  const request = tracing.request({ method: 'GET', route: '/x', headers: {} });
  const failed = Promise.withResolvers<unknown>();
  request.run(() => {
    tracing.transaction('write', () => Promise.reject(new TypeError('a secret'))).catch(failed.resolve);
  });
  assert.ok((await failed.promise) instanceof TypeError);
  request.end({ status: 200, isComplete: false });
  const [transaction, lost] = sdk.spans.slice(-2);
  assert.deepEqual(
    [transaction?.attributes['error.type'], lost?.attributes['error.type']],
    ['TypeError', 'aborted'],
  );
  assert.ok(!JSON.stringify(sdk.spans).includes('a secret'));
});
