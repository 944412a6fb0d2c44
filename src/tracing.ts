/**
 * Spans of requests, transactions and deliveries, through the API of OpenTelemetry. An operator registers an SDK before
 * the service starts (docs/operations.md). Without one, nothing is traced, and no hook is added.
 */

import {
  context,
  createContextKey,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import { version } from './version.ts';

export type RequestSpan = {
  /** Runs the function so that the spans it starts are below that of the request. */
  run(body: () => void): void;
  /** Ends the span when the response has been sent, or its connection has closed. */
  end(response: { readonly status: number; readonly isComplete: boolean }): void;
};

export type Tracing = {
  /** Starts the span of a request, below that of its `traceparent`. */
  request(request: {
    readonly method: string;
    /** The path's template. */
    readonly route: string;
    readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  }): RequestSpan;
  /** Runs a transaction in a span below that of the request. Without a request it has no span. */
  transaction<T>(kind: 'read' | 'write', run: () => Promise<T>): Promise<T>;
  /** Runs a delivery in a span of its own trace, with the headers that continue it at the receiver. */
  delivery<T>(
    attributes: Attributes,
    run: (headers: Readonly<Record<string, string>>) => Promise<T>,
  ): Promise<T>;
  /** Runs the function outside of the span of a request, because it serves all requests. */
  outside(body: () => void): void;
};

const probe = createContextKey('largesse');

/** Null: no SDK is registered. The API has no function for it, but only an SDK has contexts that follow a call. */
export function openTracing(): Tracing | null {
  const hasContexts = context.with(
    ROOT_CONTEXT.setValue(probe, true),
    () => context.active().getValue(probe) === true,
  );
  return hasContexts ? tracingBy(trace.getTracer('largesse', version)) : null;
}

function tracingBy(tracer: Tracer): Tracing {
  return {
    request({ method, route, headers }) {
      const parent = propagation.extract(ROOT_CONTEXT, headers);
      const attributes = { 'http.request.method': method, 'http.route': route };
      const span = tracer.startSpan(`${method} ${route}`, { kind: SpanKind.SERVER, attributes }, parent);
      const own = trace.setSpan(parent, span);
      return {
        run: (body) => context.with(own, body),
        end({ status, isComplete }) {
          span.setAttribute('http.response.status_code', status);
          if (status >= 500 || !isComplete) {
            span.setAttribute('error.type', isComplete ? String(status) : 'aborted');
            span.setStatus({ code: SpanStatusCode.ERROR });
          }
          span.end();
        },
      };
    },
    async transaction(kind, run) {
      if (!trace.getActiveSpan()) return run();
      const span = tracer.startSpan(`transaction ${kind}`, { kind: SpanKind.CLIENT });
      return ended(span, run);
    },
    async delivery(attributes, run) {
      const span = tracer.startSpan('deliver webhook', { kind: SpanKind.PRODUCER, attributes }, ROOT_CONTEXT);
      const headers: Record<string, string> = {};
      propagation.inject(trace.setSpan(ROOT_CONTEXT, span), headers);
      return ended(span, () => run(headers));
    },
    outside: (body) => context.with(ROOT_CONTEXT, body),
  };
}

/** Ends the span with the function. Messages of errors are not recorded, because they can contain values of a store. */
async function ended<T>(span: Span, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    span.setAttribute('error.type', error instanceof Error ? error.name : 'unknown');
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}
