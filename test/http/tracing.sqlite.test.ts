/** Spans of requests, transactions and deliveries, with an SDK that is written against the API. */

import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import {
  context,
  propagation,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  type Context,
  type Span,
  type SpanContext,
  type SpanOptions,
} from '@opentelemetry/api';
import { openTracing } from '../../src/tracing.ts';
import { startService } from '../support/service.ts';
import { receiveWebhooks } from '../support/webhook-receiver.ts';

type Ended = {
  readonly name: string;
  readonly own: SpanContext;
  readonly parent: SpanContext | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
};

/** Registers a tracer, a propagator of `traceparent` and a context that follows promises. */
function register(): Disposable & { readonly spans: readonly Ended[] } {
  const spans: Ended[] = [];
  let ids = 0;
  const idOf = (length: number): string => String((ids += 1)).padStart(length, '0');
  const startSpan = (name: string, options: SpanOptions = {}, at: Context = context.active()): Span => {
    const parent = trace.getSpanContext(at);
    const own = { traceId: parent?.traceId ?? idOf(32), spanId: idOf(16), traceFlags: 1 };
    const attributes: Record<string, unknown> = { ...options.attributes };
    let isError = false;
    const span = {
      spanContext: () => own,
      setAttribute(key: string, value: unknown) {
        attributes[key] = value;
      },
      setStatus({ code }: { readonly code: SpanStatusCode }) {
        isError = code === SpanStatusCode.ERROR;
      },
      end: () => void spans.push({ name, own, parent, attributes, isError }),
      isRecording: () => true,
    } as unknown as Span;
    return span;
  };
  const active = new AsyncLocalStorage<Context>();
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan, startActiveSpan: () => assert.fail() }) });
  context.setGlobalContextManager({
    active: () => active.getStore() ?? ROOT_CONTEXT,
    with: (at, body, self, ...args) => active.run(at, () => body.apply(self, args)),
    bind: (_at, target) => target,
    enable() {
      return this;
    },
    disable() {
      return this;
    },
  });
  propagation.setGlobalPropagator({
    fields: () => ['traceparent'],
    inject(at, carrier, setter) {
      const own = trace.getSpanContext(at);
      if (own) setter.set(carrier, 'traceparent', `00-${own.traceId}-${own.spanId}-01`);
    },
    extract(at, carrier, getter) {
      const text = String(getter.get(carrier, 'traceparent') ?? '');
      const [, traceId = '', spanId = ''] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/.exec(text) ?? [];
      return traceId ? trace.setSpanContext(at, { traceId, spanId, traceFlags: 1, isRemote: true }) : at;
    },
  });
  return {
    spans,
    [Symbol.dispose]() {
      trace.disable();
      context.disable();
      propagation.disable();
    },
  };
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let rounds = 0; rounds < 500 && !isTrue(); rounds += 1) await wait(10);
  assert.ok(isTrue());
}

test('without an SDK nothing is traced, and a traceparent is not parsed', () => {
  assert.equal(openTracing(), null);
});

test('a request, its transactions and a delivery have spans, and traceparent is continued', async () => {
  using sdk = register();
  await using receiver = await receiveWebhooks();
  await using service = await startService();
  const named = (name: string): readonly Ended[] => sdk.spans.filter((span) => span.name === name);
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

  await until(() => receiver.got.length > 0 && named('deliver webhook').length > 0);
  const [delivery] = named('deliver webhook');
  assert.ok(delivery);
  assert.deepEqual(delivery.attributes, { 'largesse.event.type': receiver.got[0]?.event.type });
  const header = receiver.got[0]?.headers['traceparent'];
  assert.equal(header, `00-${delivery.own.traceId}-${delivery.own.spanId}-01`);
  assert.ok(
    delivery.parent === undefined && delivery.own.traceId !== traceId,
    'a delivery has its own trace',
  );

  const ofRequests = sdk.spans.filter(({ name }) => name.startsWith('transaction'));
  assert.ok(
    ofRequests.every(({ parent }) => parent !== undefined),
    'background jobs have no spans',
  );
});

test('a failed transaction and a lost request are errors, and a malformed traceparent begins a trace', async () => {
  using sdk = register();
  const limits = { diskFreeBytesMin: Number.MAX_SAFE_INTEGER };
  await using service = await startService({ limits });
  for (const traceparent of ['nonsense', `00-${'a'.repeat(5_000)}`])
    assert.equal((await service.request('/readyz', { headers: { traceparent } })).status, 503);
  const ready = (): readonly Ended[] => sdk.spans.filter(({ name }) => name === 'GET /readyz');
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
