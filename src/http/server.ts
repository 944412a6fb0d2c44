/**
 * The HTTP server: the steps that are the same for every request.
 *
 * A request is rejected first if it is not valid HTTP or if the service is closing. Then follow the query, the
 * credential, the rate limit and the scope. Only then is the body read.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { QueryParameter } from '../core/stores/domain/app-proxy.ts';
import { Fault, type FaultCode } from '../core/domain/fault.ts';
import type { Caller } from './auth.ts';
import type { RawBody } from './body.ts';
import { clientAddresses } from './client-address.ts';
import { sendClientError } from './client-error.ts';
import { guardConnections } from './connections.ts';
import { errorPages } from './error-pages.ts';
import { addRequestSpans } from './request-spans.ts';
import { isDraining, isReceived } from './drain.ts';
import { addOtherMethods, collectMethods } from './methods.ts';
import { addPages } from './system.ts';
import { loggedFault } from './logged-fault.ts';
import { commonHeadersOf, sendProblem } from './problem.ts';
import type { Services } from './services.ts';
import { respondToExpectations } from './expect.ts';
import { addOperations } from './operations.ts';
import { reportResponse } from './report.ts';
import { originForm, validRequestId, validateHeaders } from './request-head.ts';

import Fastify, { LogController } from 'fastify';

export function createServer(services: Services): FastifyInstance {
  const { config, ctx, metrics, transportSecurity } = services;
  const { logger } = services.log;
  const { limits, basePath } = config;
  const commonHeaders = commonHeadersOf(ctx.testClock !== null);
  const clients = clientAddresses(config.trustedProxies);
  const app = Fastify({
    loggerInstance: logger,
    genReqId: ({ headers }) => validRequestId(headers['x-request-id']) ?? ctx.random.requestId(),
    // The hook below logs requests, one line each.
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (parent) => parent,
    rewriteUrl: (request) => originForm(request),
    bodyLimit: limits.bodyBytesMax,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    // An event stream sends a comment every 15 seconds.
    connectionTimeout: limits.stallTimeoutMs,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    http: {
      headersTimeout: limits.headersTimeoutMs,
      maxHeaderSize: limits.headerBytesMax,
      connectionsCheckingInterval: limits.connectionsCheckPeriodMs,
      // A request without Host is rejected below, as a problem like any other error.
      requireHostHeader: false,
    },
    clientErrorHandler(error, socket) {
      // The response was already sent. The rest of the request can time out or be incomplete.
      if (isDraining(socket)) return;
      metrics.clientError();
      const requestId = ctx.random.requestId();
      const canRespond = connections.canRespond(socket);
      const code = sendClientError(error, socket, {
        basePath,
        requestId,
        limits,
        commonHeaders,
        canRespond,
      });
      logger.info({ request_id: requestId, problem: code, cause: error.code }, 'request that is not HTTP');
    },
    frameworkErrors: (_error, request, reply) => {
      request.clientAddress = clients.of(request.raw);
      reply.headers(commonHeaders).header('x-request-id', request.id);
      if (!isReceived(request.raw)) reply.header('connection', 'close');
      sendFault(request, reply, new Fault('invalid-request'));
      reportResponse(services, request, reply);
    },
    routerOptions: {
      // The routes respond to parameters that are too long for an id.
      maxParamLength: limits.headerBytesMax,
      // `parseQuery` parses queries strictly.
      querystringParser: () => ({}),
    },
  });
  const connections = guardConnections(app.server, {
    limits,
    isTrusted: clients.isTrusted,
    onClosed: metrics.connectionClosed,
  });
  app.addHook('preClose', (done) => {
    // Connections of the port for HTTPS do not keep the server open, so its end does not end the timer.
    setTimeout(() => connections.destroyUnfinished(), limits.stopReceiveTimeoutMs).unref();
    done();
  });
  // Node.js silently drops header fields above a maximum. Without one, they are all read and counted.
  app.server.maxHeadersCount = 0;
  respondToExpectations(app, services, { connections, commonHeaders });

  app.decorateRequest('clientAddress', '');
  app.decorateRequest('caller', null);
  app.decorateRequest('problem', null);
  app.decorateRequest('operationQuery');
  app.decorateRequest('isDryRun', false);
  app.decorateRequest('contentType');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, bytes, done) => {
    const { 'content-encoding': encoding } = request.headers;
    const body: RawBody = { contentType: request.contentType, encoding, bytes: bytes as Buffer };
    done(null, body);
  });

  const isForwardedByStranger = ({ raw: { headers, socket } }: FastifyRequest): boolean =>
    headers['x-forwarded-for'] !== undefined && !clients.isTrusted(socket.remoteAddress);
  let hasWarned = false;
  const shownOnPage = errorPages(services.operations, basePath);
  const sendFault = (request: FastifyRequest, reply: FastifyReply, fault: Fault): void => {
    const shown = sendErrorPage && shownOnPage(request, reply, fault.code);
    if (sendErrorPage && shown) void sendErrorPage(request, reply, { fault, shown });
    else sendProblem(reply, fault, { basePath, requestId: request.id });
  };
  if (services.tracing) addRequestSpans(app, services.tracing);
  app.addHook('onRequest', (request, reply, done) => {
    request.clientAddress = clients.of(request.raw);
    reply.headers(commonHeaders).header('x-request-id', request.id);
    if (transportSecurity && 'encrypted' in request.raw.socket)
      reply.header('strict-transport-security', transportSecurity());
    if (!hasWarned && isForwardedByStranger(request)) {
      hasWarned = true;
      logger.warn(
        { peer: request.clientAddress },
        'X-Forwarded-For is ignored because its sender is not in TRUSTED_PROXIES: limits count every client behind it as one',
      );
    }
    // Fastify would reject a malformed type even if the request has no body.
    request.contentType = request.raw.headers['content-type'];
    request.raw.headers['content-type'] = undefined;
    const isEnding = services.isClosing() || isDraining(request.raw.socket);
    if (isEnding) return done(new Fault('closing', { retryAfterSeconds: 1 }));
    const fault = validateHeaders(request, limits.headersMax);
    // A request without a route gets its response before its body is read, whatever the method.
    if (!fault && request.is404) return respondUnrouted(request, reply);
    done(fault);
  });
  app.addHook('onSend', ({ raw }, reply, payload, done) => {
    if (isReceived(raw)) return done(null, payload);
    // The rest of the request may have arrived with its headers.
    setImmediate(() => {
      if (!isReceived(raw)) reply.header('connection', 'close');
      done(null, payload);
    });
  });
  app.addHook('onResponse', (request, reply, done) => {
    reportResponse(services, request, reply);
    done();
  });
  app.setErrorHandler((error: unknown, request, reply) =>
    sendFault(request, reply, loggedFault(request, error)),
  );
  app.setNotFoundHandler((request, reply) => respondUnrouted(request, reply));

  const routes = collectMethods(app);
  addOperations(app, services);
  for (const prefix of new Set(['', basePath])) addPages(app, services, prefix);
  const sendErrorPage = services.addConsole?.(app);
  const respondUnrouted = addOtherMethods(app, routes, {
    maxParamLength: limits.headerBytesMax,
    reject: (request, reply, code) => sendFault(request, reply, new Fault(code)),
  });
  return app;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route returns a file of a page, which is logged only if it fails. */
    isFile?: boolean;
  }
  interface FastifyRequest {
    /** The client's address, from its connection or from a trusted proxy. */
    clientAddress: string;
    /** Null for requests that need no caller. */
    caller: Caller | null;
    /** The code of the error that it ended with; null: none. */
    problem: FaultCode | null;
    /** The query without the parameters of the app proxy. */
    operationQuery: readonly QueryParameter[] | undefined;
    /** Whether the request returns its response without its effect. */
    isDryRun: boolean;
    /** The type of the body as it was sent. */
    contentType: string | undefined;
  }
}
