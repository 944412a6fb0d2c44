/** A span for each request. The hooks exist only if an SDK is registered. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { routeTemplateOf } from './methods.ts';
import type { RequestSpan, Tracing } from '../platform/tracing.ts';

export function addRequestSpans(app: FastifyInstance, tracing: Tracing): void {
  const spans = new WeakMap<FastifyRequest, RequestSpan>();
  app.addHook('onRequest', (request, reply, done) => {
    const { method, raw } = request;
    const span = tracing.request({ method, route: routeTemplateOf(request), headers: raw.headers });
    spans.set(request, span);
    // After a response, and after a connection that was lost before it.
    reply.raw.once('close', () =>
      span.end({ status: reply.statusCode, isComplete: reply.raw.writableFinished }),
    );
    span.run(done);
  });
  // The body arrives in events of the connection, which do not belong to the span.
  app.addHook('preHandler', (request, _reply, done) => {
    const span = spans.get(request);
    if (span) span.run(done);
    else done();
  });
}
