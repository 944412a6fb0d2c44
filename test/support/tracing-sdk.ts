/** An SDK of OpenTelemetry that is written against its API, and records what ended. */

import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
  type SpanOptions,
} from '@opentelemetry/api';

export type EndedSpan = {
  readonly name: string;
  readonly kind: keyof typeof SpanKind;
  readonly own: SpanContext;
  readonly parent: SpanContext | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
};

export type TracingSdk = Disposable & {
  /** The spans that ended, in this order. Those that are not sampled are included. */
  readonly spans: readonly EndedSpan[];
  readonly named: (name: string) => readonly EndedSpan[];
};

/** Registers a tracer, a propagator of `traceparent` and a context that follows promises. Every new trace is sampled. */
export function registerSdk(): TracingSdk {
  const spans: EndedSpan[] = [];
  let ids = 0;
  const idOf = (length: number): string => String((ids += 1)).padStart(length, '0');
  const startSpan = (name: string, options: SpanOptions = {}, at: Context = context.active()): Span => {
    const parent = trace.getSpanContext(at);
    const own = {
      traceId: parent?.traceId ?? idOf(32),
      spanId: idOf(16),
      traceFlags: parent?.traceFlags ?? 1,
    };
    const kind = SpanKind[options.kind ?? SpanKind.INTERNAL] as keyof typeof SpanKind;
    const attributes: Record<string, unknown> = { ...options.attributes };
    let isError = false;
    let hasEnded = false;
    const span = {
      spanContext: () => own,
      setAttribute(key: string, value: unknown) {
        attributes[key] = value;
      },
      setAttributes: (set: Attributes) => void Object.assign(attributes, set),
      setStatus({ code }: { readonly code: SpanStatusCode }) {
        isError = code === SpanStatusCode.ERROR;
      },
      end() {
        assert.ok(!hasEnded, `the span ${name} ended twice`);
        hasEnded = true;
        spans.push({ name, kind, own, parent, attributes, isError });
      },
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
      if (own) setter.set(carrier, 'traceparent', traceparentOf(own));
    },
    extract(at, carrier, getter) {
      const text = String(getter.get(carrier, 'traceparent') ?? '');
      const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-(0[01])$/.exec(text) ?? [];
      if (traceId === undefined || spanId === undefined) return at;
      return trace.setSpan(
        at,
        trace.wrapSpanContext({ traceId, spanId, traceFlags: Number(flags), isRemote: true }),
      );
    },
  });
  return {
    spans,
    named: (name) => spans.filter((span) => span.name === name),
    [Symbol.dispose]() {
      trace.disable();
      context.disable();
      propagation.disable();
    },
  };
}

export function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-0${traceFlags}`;
}
