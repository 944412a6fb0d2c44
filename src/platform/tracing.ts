/**
 * Spans of requests, transactions and deliveries, through the API of OpenTelemetry. An operator registers an SDK before
 * the service starts (docs/operations.md). Without one, nothing is traced, and no hook is added.
 *
 * Events and emails are messages in the sense of OpenTelemetry's conventions: a transaction enqueues them, and any process
 * delivers them later. Each is stored with the context of the span that enqueued it.
 */

import {
  context,
  createContextKey,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api';
import { version } from './version.ts';

type TracedRequest = {
  readonly method: string;
  /** The path's template. */
  readonly route: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
};

export type RequestSpan = {
  /** Runs the function so that the spans it starts are below that of the request. */
  run(body: () => void): void;
  /** Ends the span when the response has been sent, or its connection has closed. */
  end(response: { readonly status: number; readonly isComplete: boolean }): void;
};

/** A queue of messages in the database. */
type MessageQueue = 'events' | 'emails';

/** Executes a step of a script. */
export type RunStep = <T>(step: () => T) => T;

/** A call of something outside of the service or the delivery of a message. */
type Traced<T> = {
  readonly attributes: Attributes;
  /** The attributes of its result. With `error.type`, it has failed. */
  readonly resultOf: (result: T) => Attributes;
};

export type Tracing = {
  /** Starts the span of a request, below that of its `traceparent`. */
  request(request: TracedRequest): RequestSpan;
  /** Runs a transaction in a span below that of the request. Without a request it has no span. */
  transaction<T>(kind: 'read' | 'write', run: () => Promise<T>): Promise<T>;
  /**
   * Runs a transaction that can enqueue messages. Each attempt of the transaction begins with the function that
   * `run` receives, and executes its steps with what it returns.
   */
  enqueuing<T>(run: (begin: () => RunStep) => Promise<T>): Promise<T>;
  /** In a step of such a transaction: the context to store with a message; null: it is not traced or not sampled. */
  readonly messageContext: (queue: MessageQueue) => Uint8Array | null;
  /**
   * Delivers a message, in a span below the one that enqueued it: its parent rather than a link, because each delivery
   * is of one message, and so the sampler's decision for the request is also that for its deliveries.
   * @param message its `stored` context; null: the delivery has a trace of its own.
   */
  delivery<T>(
    message: Traced<T> & { readonly queue: MessageQueue; readonly stored: Uint8Array | null },
    run: () => Promise<T>,
  ): Promise<T>;
  /** Calls another server in a span of its own, with the headers that continue the trace there. */
  call<T>(
    called: Traced<T> & { readonly name: string },
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
  /** The current step. */
  let ofStep: Tracing['messageContext'] | null = null;
  return {
    request: (request) => startRequest(tracer, request),
    async transaction(kind, run) {
      if (!trace.getActiveSpan()) return run();
      return ended(startTransaction(tracer, kind), run);
    },
    async enqueuing(run) {
      if (!trace.getActiveSpan()) return run(() => (step) => step());
      const span = startTransaction(tracer, 'write');
      const within = trace.setSpan(context.active(), span);
      /** The span of the last attempt. Those of the others are never ended, and so never exported. */
      let messages = messagesOf(tracer, within);
      return ended(span, async () => {
        const result = await run(() => {
          const ofAttempt = messagesOf(tracer, within);
          messages = ofAttempt;
          return (step) => {
            const outer = ofStep;
            ofStep = ofAttempt.context;
            try {
              return step();
            } finally {
              ofStep = outer;
            }
          };
        });
        messages.end();
        return result;
      });
    },
    messageContext: (queue) => ofStep?.(queue) ?? null,
    async delivery({ queue, stored, attributes, resultOf }, run) {
      const parent = parentOf(stored);
      const span = tracer.startSpan(
        `deliver ${queue}`,
        {
          kind: SpanKind.CONSUMER,
          attributes: { ...messaging(queue, { type: 'process', name: 'deliver' }), ...attributes },
        },
        parent,
      );
      return context.with(trace.setSpan(parent, span), () => ended(span, run, resultOf));
    },
    async call({ name, attributes, resultOf }, run) {
      const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes });
      const within = trace.setSpan(context.active(), span);
      const headers: Record<string, string> = {};
      propagation.inject(within, headers);
      return context.with(within, () => ended(span, () => run(headers), resultOf));
    },
    outside: (body) => context.with(ROOT_CONTEXT, body),
  };
}

function startRequest(tracer: Tracer, { method, route, headers }: TracedRequest): RequestSpan {
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
}

function startTransaction(tracer: Tracer, kind: 'read' | 'write'): Span {
  return tracer.startSpan(`transaction ${kind}`, { kind: SpanKind.CLIENT });
}

/** https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/ */
function messaging(
  queue: MessageQueue,
  operation: { readonly type: 'send' | 'process'; readonly name: string },
): Attributes {
  return {
    'messaging.system': 'largesse',
    'messaging.destination.name': queue,
    'messaging.operation.type': operation.type,
    'messaging.operation.name': operation.name,
  };
}

/** The messages of one attempt of a transaction: those of a queue have one span, as a batch has. */
function messagesOf(
  tracer: Tracer,
  within: Context,
): { readonly context: Tracing['messageContext']; end(): void } {
  const queues = new Map<MessageQueue, { readonly span: Span; count: number }>();
  const isSampled = isSampledIn(trace.getSpanContext(within));
  return {
    context(queue) {
      if (!isSampled) return null;
      let enqueued = queues.get(queue);
      if (!enqueued) {
        const attributes = messaging(queue, { type: 'send', name: 'enqueue' });
        const span = tracer.startSpan(`enqueue ${queue}`, { kind: SpanKind.PRODUCER, attributes }, within);
        enqueued = { span, count: 0 };
        queues.set(queue, enqueued);
      }
      enqueued.count += 1;
      return storedContextOf(enqueued.span.spanContext());
    },
    end() {
      for (const { span, count } of queues.values()) {
        if (count > 1) span.setAttribute('messaging.batch.message_count', count);
        span.end();
      }
    },
  };
}

function isSampledIn(own: SpanContext | undefined): boolean {
  return own !== undefined && (own.traceFlags & TraceFlags.SAMPLED) !== 0;
}

const [traceIdBytes, spanIdBytes] = [16, 8];
const storedBytes = traceIdBytes + spanIdBytes + 1;

/** Trace id, span id and flags; null: not sampled. The state of the trace is not stored. */
function storedContextOf(own: SpanContext): Uint8Array | null {
  if (!isSampledIn(own) || !isSpanContextValid(own)) return null;
  const { traceId, spanId, traceFlags } = own;
  return Buffer.concat([Buffer.from(traceId + spanId, 'hex'), Buffer.of(traceFlags & 0xff)]);
}

function parentOf(stored: Uint8Array | null): Context {
  if (stored?.length !== storedBytes) return ROOT_CONTEXT;
  const bytes = Buffer.from(stored);
  const spanContext: SpanContext = {
    traceId: bytes.toString('hex', 0, traceIdBytes),
    spanId: bytes.toString('hex', traceIdBytes, traceIdBytes + spanIdBytes),
    traceFlags: bytes.readUInt8(storedBytes - 1),
    isRemote: true,
  };
  return isSpanContextValid(spanContext) ? trace.setSpanContext(ROOT_CONTEXT, spanContext) : ROOT_CONTEXT;
}

/** Ends the span with the function. Messages of errors are not recorded, because they can contain values of a store. */
async function ended<T>(
  span: Span,
  run: () => Promise<T>,
  resultOf: (result: T) => Attributes = () => ({}),
): Promise<T> {
  try {
    const result = await run();
    const attributes = resultOf(result);
    span.setAttributes(attributes);
    if (attributes['error.type'] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
    return result;
  } catch (error) {
    span.setAttribute('error.type', error instanceof Error ? error.name : 'unknown');
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}
