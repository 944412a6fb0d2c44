/** Reports a response: its log line, its metrics and the request that developers see. */

import type { FastifyReply, FastifyRequest } from 'fastify';
import { routeTemplateOf } from './methods.ts';
import type { Services } from './services.ts';

/** Reports a response that was sent. */
export function reportResponse(
  { metrics, log, noteRequest, config, ctx }: Services,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { method, caller } = request;
  const route = routeTemplateOf(request);
  const status = reply.statusCode;
  if (caller) {
    noteRequest(caller.store.id, {
      at: ctx.clock.now(),
      durationMs: reply.elapsedTime,
      method,
      route: route.slice(config.basePath.length),
      status,
      problem: request.problem,
      caller: caller.tokenId ?? (caller.onlyStorefrontCustomerId === null ? 'development' : 'customer'),
      hasKey: request.headers['idempotency-key'] !== undefined,
      requestId: request.id,
    });
  }
  metrics.request({ method, route, status, seconds: reply.elapsedTime / 1_000 });
  // A page has several files. Their lines would hide its own, and at a terminal the link for the setup.
  if (request.routeOptions.config.isFile === true && status < 400) return;
  log.request({
    request_id: request.id,
    method,
    route,
    status,
    duration_ms: Math.round(reply.elapsedTime * 1_000) / 1_000,
    client: request.clientAddress,
    store: caller?.store.domain,
    actor: caller?.actor,
  });
}
