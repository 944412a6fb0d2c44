/** The SDK of OpenTelemetry, which records the spans that ended. */

import assert from 'node:assert/strict';
import {
  context,
  diag,
  DiagLogLevel,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
  type SpanContext,
} from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-node';

export type EndedSpan = {
  readonly name: string;
  readonly kind: keyof typeof SpanKind;
  readonly own: SpanContext;
  readonly parent: SpanContext | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
};

export type TracingSdk = Disposable & {
  /** The spans that ended, in this order. */
  readonly spans: readonly EndedSpan[];
  readonly named: (name: string) => readonly EndedSpan[];
};

/** Registers a tracer, the propagators of W3C and a context that follows promises. Every new trace is sampled. */
export function registerSdk(): TracingSdk {
  // The SDK only logs that a span ended twice or changed after its end.
  diag.setLogger({ error: fail, warn: fail, info() {}, debug() {}, verbose() {} }, DiagLogLevel.WARN);
  const exporter = new InMemorySpanExporter();
  new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register();
  const ended = (): readonly EndedSpan[] => exporter.getFinishedSpans().map(toEnded);
  return {
    get spans() {
      return ended();
    },
    named: (name) => ended().filter((span) => span.name === name),
    [Symbol.dispose]() {
      diag.disable();
      trace.disable();
      context.disable();
      propagation.disable();
    },
  };
}

function fail(message: string): never {
  assert.fail(message);
}

function toEnded(span: ReadableSpan): EndedSpan {
  return {
    name: span.name,
    kind: SpanKind[span.kind] as keyof typeof SpanKind,
    own: span.spanContext(),
    parent: span.parentSpanContext,
    attributes: span.attributes,
    isError: span.status.code === SpanStatusCode.ERROR,
  };
}

export function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-0${traceFlags}`;
}
