/** The header Expect: the body of a request is asked for when its credential is known. */

import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Fault } from '../core/domain/fault.ts';
import type { OpenConnections } from './connections.ts';
import { validRequestId } from './request-head.ts';
import { problemBody, problemHeaders, problems, type CommonHeaders } from './problem.ts';
import type { Services } from './services.ts';

/** Requests whose client waits for `100 Continue` before it sends the body. */
const awaitingContinue = new WeakSet<IncomingMessage>();

/**
 * Sends the `100 Continue` that a client waits for, after authentication.
 * @throws Fault `body-too-large` if the client announces a body that would be rejected.
 */
export function askForBody({ raw }: FastifyRequest, reply: FastifyReply, bodyBytesMax: number): void {
  if (!awaitingContinue.has(raw) || raw.method === 'GET' || raw.method === 'HEAD') return;
  if (Number(raw.headers['content-length']) > bodyBytesMax) throw new Fault('body-too-large');
  reply.raw.writeContinue();
}

/** Responds to the header Expect: later with `100 Continue`, and with an error to anything else. */
export function respondToExpectations(
  { server }: FastifyInstance,
  { ctx, log: { logger }, config: { basePath } }: Services,
  {
    connections,
    commonHeaders,
  }: { readonly connections: OpenConnections; readonly commonHeaders: CommonHeaders },
): void {
  // Node.js would send `100 Continue` at once. `askForBody` sends it when the body is needed.
  server.on('checkContinue', (request, response) => {
    awaitingContinue.add(request);
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request, response) => {
    connections.follow(request, response);
    const { headers, method } = request;
    const fault = new Fault('expectation-failed');
    const requestId = validRequestId(headers['x-request-id']) ?? ctx.random.requestId();
    logger.info(
      { request_id: requestId, method, problem: fault.code },
      'request with an unknown expectation',
    );
    const { status } = problems[fault.code];
    response.writeHead(status, {
      ...commonHeaders,
      ...problemHeaders(fault),
      'x-request-id': requestId,
      connection: 'close',
    });
    response.end(JSON.stringify(problemBody(fault, { basePath, requestId })));
  });
}
