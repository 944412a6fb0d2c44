/**
 * The HTTP server: the steps that are the same for every request.
 *
 * A request is rejected first if it is not valid HTTP or if the service is closing. Then follow the query, the
 * credential, the rate limit and the scope. Only then is the body read.
 */

import type { IncomingMessage } from 'node:http';
import Fastify, { LogController } from 'fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../storage/context.ts';
import { proxyParameters, type QueryParameter } from '../domain/stores/app-proxy.ts';
import { Fault, FieldErrors, type FaultCode } from '../domain/fault.ts';
import type { HttpResponse } from '../service/requests/http-response.ts';
import type { SignedStore } from '../service/stores/caller.ts';
import type { FoundToken } from '../storage/stores/token.ts';
import { authenticate, type Authentication, type Caller } from './auth.ts';
import type { RawBody } from './body.ts';
import { clientAddresses, clientKey } from './client-address.ts';
import { sendClientError } from './client-error.ts';
import { guardConnections } from './connections.ts';
import { errorPages } from './error-pages.ts';
import { eventStreams } from './event-stream.ts';
import { requestContextOf, type KeysInFlight, type Streamed } from './request-context.ts';
import { addRequestSpans } from './request-spans.ts';
import { isDraining, isReceived } from './drain.ts';
import { lookupThrottle } from './lookup-throttle.ts';
import { addOtherMethods, collectMethods, routeTemplateOf } from './methods.ts';
import { addPages } from './system.ts';
import { loggedFault } from './logged-fault.ts';
import {
  commonHeaders,
  problemBody,
  problemCodeOf,
  problemHeaders,
  problems,
  sendProblem,
} from './problem.ts';
import { findRepeated, MalformedError, parseUrlEncoded, queryOf } from './query.ts';
import { rateLimiter, type RateLimiter } from './rate-limit.ts';
import type { Route } from './route.ts';
import type { Services } from './services.ts';

export function createServer(services: Services): FastifyInstance {
  const { config, ctx, metrics } = services;
  const { logger } = services.log;
  const { limits, basePath } = config;
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
      const code = sendClientError(error, socket, { basePath, requestId, limits, canRespond });
      logger.info({ request_id: requestId, problem: code, cause: error.code }, 'request that is not HTTP');
    },
    frameworkErrors: (_error, request, reply) => {
      request.clientAddress = clients.of(request.raw);
      reply.headers(commonHeaders).header('x-request-id', request.id);
      if (!isReceived(request.raw)) reply.header('connection', 'close');
      sendFault(request, reply, new Fault('invalid-request'));
      report(services, request, reply);
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
    const late = setTimeout(() => connections.destroyUnfinished(), limits.stopReceiveTimeoutMs);
    app.server.once('close', () => clearTimeout(late));
    done();
  });
  // Node.js silently drops header fields above a maximum. Without one, they are all read and counted.
  app.server.maxHeadersCount = 0;
  // Node.js would send `100 Continue` at once. `askForBody` sends it when the body is needed.
  app.server.on('checkContinue', (request, response) => {
    awaitingContinue.add(request);
    app.server.emit('request', request, response);
  });
  app.server.on('checkExpectation', (request, response) => {
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
    report(services, request, reply);
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

/** Requests whose client waits for `100 Continue` before it sends the body. */
const awaitingContinue = new WeakSet<IncomingMessage>();

/**
 * Sends the `100 Continue` that a client waits for, after authentication.
 * @throws Fault `body-too-large` if the client announces a body that would be rejected.
 */
function askForBody({ raw }: FastifyRequest, reply: FastifyReply, bodyBytesMax: number): void {
  if (!awaitingContinue.has(raw) || raw.method === 'GET' || raw.method === 'HEAD') return;
  if (Number(raw.headers['content-length']) > bodyBytesMax) throw new Fault('body-too-large');
  reply.raw.writeContinue();
}

/**
 * The path and query of a request target. The host of an absolute target replaces the Host header (RFC 9112, 3.2.2).
 */
function originForm({ url = '/', headers }: IncomingMessage): string {
  if (url.startsWith('/')) return url;
  const [, authority, rest] = /^https?:\/\/([^/?#]*)(.*)$/i.exec(url) ?? [];
  if (authority === undefined) return url;
  headers.host = authority;
  return rest?.startsWith('/') ? rest : `/${rest ?? ''}`;
}

/** Keeps the client's request id if it is short and safe to log. */
function validRequestId(sent: string | string[] | undefined): string | undefined {
  return typeof sent === 'string' && /^[A-Za-z0-9._:/+=@-]{1,128}$/.test(sent) ? sent : undefined;
}

/** Node.js uses the first value of some of these and joins the values of others, so an attacker could choose. */
const singleHeaders = [
  'host', 'authorization', 'x-access-token', 'x-gcf-access-token', 'content-type', 'content-encoding', 'idempotency-key',
]; // prettier-ignore

/** A bit for each of these headers. */
const singleHeaderBits: ReadonlyMap<string, number> = new Map(
  singleHeaders.map((name, place) => [name, 1 << place]),
);

/** Rejects requests that Node's parser accepts and that legitimate clients do not send. */
function validateHeaders({ raw }: FastifyRequest, headersMax: number): Fault | undefined {
  const { rawHeaders, httpVersionMajor } = raw;
  if (httpVersionMajor < 1) return new Fault('invalid-request', { detail: 'HTTP/0.9 is not supported.' });
  if (raw.headers.host === undefined && raw.httpVersion !== '1.0') {
    return new Fault('invalid-request', { detail: 'The header Host is missing.' });
  }
  if (rawHeaders.length > headersMax * 2) return new Fault('headers-too-large');
  let seen = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? '';
    const bit = singleHeaderBits.get(name) ?? 0;
    if ((seen & bit) !== 0)
      return new Fault('invalid-request', { detail: `The header ${name} is repeated.` });
    seen |= bit;
  }
  return undefined;
}

function addOperations(app: FastifyInstance, services: Services): void {
  const { config, ctx, storage, developmentMode } = services;
  const { basePath, limits, rateLimit } = config;
  const keysInFlight: KeysInFlight = new Set();
  const limiters: Limiters | null = rateLimit && {
    callers: rateLimiter(rateLimit, limits.rateLimitedCallersMax),
    anonymous: rateLimiter(rateLimit, limits.rateLimitedCallersMax),
  };
  const authentication: Authentication = {
    ctx,
    storage,
    tokens: storage.cache<FoundToken>({ entriesMax: limits.tokensCachedMax }),
    signedStores: storage.cache<SignedStore>({ entriesMax: limits.signedStoresCachedMax }),
    developmentMode,
  };
  const throttle = lookupThrottle({
    ctx,
    storage,
    limits: {
      perHour: config.lookupFailuresPerHour,
      perHourOfCustomer: limits.customerLookupFailuresPerHour,
      callersMax: limits.lookupCallersCachedMax,
    },
    onThrottled({ store, actor, tokenId }, isNew) {
      services.metrics.lookupThrottled();
      if (!isNew) return;
      services.log.logger.warn(
        { store: store.domain, actor, token: tokenId },
        'lookups of a caller are rejected: too many of them failed',
      );
    },
  });
  const streams = eventStreams({
    ctx,
    storage,
    onCommit: services.onCommit,
    streamsMax: limits.eventStreamsMax,
  });
  app.addHook('preClose', (done) => {
    streams.close();
    done();
  });
  /** Authenticates a request, without a promise if its token is cached. @throws or rejects with a Fault. */
  const authenticated = (
    request: FastifyRequest,
    reply: FastifyReply,
    credentials: Parameters<typeof authenticate>[2],
  ): Caller | Promise<Caller> => {
    const fail = (error: unknown): never =>
      limitFailedAuthentication(error, request, reply, { ctx, limiters });
    try {
      const caller = authenticate(authentication, request, credentials);
      return caller instanceof Promise ? caller.catch(fail) : caller;
    } catch (error) {
      return fail(error);
    }
  };
  for (const operation of services.operations) {
    const admit = (request: FastifyRequest, reply: FastifyReply, caller: Caller): void => {
      request.caller = caller;
      if (limiters)
        limit(limiters.callers, reply, { key: rateLimitKeyOf(caller), now: ctx.clock.monotonic() });
      if (caller.tokenId !== null) {
        services.tokenUses.note({
          storeId: caller.store.id,
          id: caller.tokenId,
          usedAt: ctx.clock.earliest(),
        });
      }
      assertScopes(caller, operation);
      const { operationQuery: query = [] } = request;
      request.isDryRun = isDryRun(query);
      if (request.isDryRun) reply.header('dry-run', 'true');
      askForBody(request, reply, operation.bodyBytesMax ?? limits.bodyBytesMax);
    };
    const handle = (request: FastifyRequest): Promise<HttpResponse | Streamed> => {
      const { caller, operationQuery: query = [] } = request;
      if (!caller) throw new Error('an operation without a caller');
      return throttle.run(caller, (lookup) => {
        const requestContext = requestContextOf({
          request,
          ctx,
          storage,
          caller,
          query,
          basePath,
          lookup,
          recordRetiredCode: (cardId) => services.retiredCodeUses.note({ storeId: caller.store.id, cardId }),
          recordStockTry: (tried) => services.stockTries.note({ storeId: caller.store.id, lookup: tried }),
          canSend: services.email.transportKind !== 'none',
          logUnsent: services.email.logUnsent,
          webhookUrls: services.webhookUrls,
          streams,
          turns: services.turns,
          reports: services.reports,
          startBatches: services.startBatches,
          isDryRun: request.isDryRun,
          keysInFlight,
          keysInFlightMax: limits.idempotencyKeysInFlightMax,
          idempotencyMs: config.retention.idempotencyMs,
        });
        return operation.handle(requestContext);
      });
    };
    app.route({
      method: operation.method,
      url: `${basePath}${operation.path}`,
      ...(operation.bodyBytesMax !== undefined && { bodyLimit: operation.bodyBytesMax }),
      // Neither returns a promise, because Fastify would wrap it in others (docs/decisions/performance.md).
      onRequest: (request, reply, done) => {
        const query = parseQuery(request, operation);
        request.operationQuery = query.filter(([name]) => operation.query.includes(name));
        const { customerMaySearch } = operation;
        const caller = authenticated(request, reply, { query, customerMaySearch });
        if (caller instanceof Promise) {
          void caller.then((found) => admit(request, reply, found)).then(() => done(), done);
          return;
        }
        admit(request, reply, caller);
        done();
      },
      handler(request, reply) {
        void handle(request)
          .then((response) => send(reply, response))
          .catch((error: unknown) => reply.send(error));
      },
    });
  }
}

function send(reply: FastifyReply, response: HttpResponse | Streamed): FastifyReply {
  if ('stream' in response)
    return reply.code(response.status).headers(response.headers).send(response.stream);
  const { status, headers, body } = response;
  if (status >= 400) reply.request.problem = problemCodeOf(body);
  // Fastify would add a content type to an empty text.
  return reply
    .code(status)
    .headers(headers)
    .send(body === '' ? undefined : body);
}

const known: ReadonlySet<string> = new Set(proxyParameters);

/** @throws Fault `invalid-query`. */
function parseQuery(request: FastifyRequest, { query: names }: Route): QueryParameter[] {
  const text = queryOf(request.url);
  if (text === '') return [];
  let parameters;
  try {
    parameters = parseUrlEncoded(text);
  } catch (error) {
    if (error instanceof MalformedError)
      throw new Fault('invalid-query', { detail: `The query is malformed: ${error.message}.` });
    throw error;
  }
  const errors = new FieldErrors();
  for (const name of new Set(parameters.map(([sent]) => sent))) {
    if (!known.has(name) && !names.includes(name)) errors.add(name, 'is not a known parameter');
  }
  for (const name of findRepeated(parameters)) errors.add(name, 'is repeated');
  if (errors.any) throw new Fault('invalid-query', { errors: errors.toErrors() });
  return parameters;
}

const anonymous: ReadonlySet<FaultCode> = new Set([
  'unauthenticated',
  'invalid-signature',
  'cross-site-request',
]);

/** @throws Fault `insufficient-scope`. */
function assertScopes(caller: Caller, { scopes }: Route): void {
  if (!scopes.some((scope) => caller.scopes.includes(scope)))
    throw new Fault('insufficient-scope', { scopes });
}

/** @throws Fault `invalid-query`. */
function isDryRun(query: readonly QueryParameter[]): boolean {
  const value = query.find(([name]) => name === 'dry_run')?.[1];
  if (value === undefined || value === 'false' || value === '0') return false;
  if (value === 'true' || value === '1') return true;
  throw new Fault('invalid-query', { errors: { dry_run: ['must be true or false'] } });
}

type Limiters = { readonly callers: RateLimiter; readonly anonymous: RateLimiter };

/**
 * Limits failed authentication by address, so that guessing tokens ends in a 429.
 * @throws the error, or Fault `too-many-requests`.
 */
function limitFailedAuthentication(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { ctx, limiters }: { readonly ctx: Context; readonly limiters: Limiters | null },
): never {
  const isAuthenticationError = error instanceof Fault && anonymous.has(error.code);
  if (isAuthenticationError && limiters)
    limit(limiters.anonymous, reply, { key: clientKey(request), now: ctx.clock.monotonic() });
  throw error;
}

/** @throws Fault `too-many-requests`. */
function limit(
  limiter: RateLimiter,
  reply: FastifyReply,
  { key, now }: { readonly key: string; readonly now: number },
): void {
  const limited = limiter(key, now);
  reply.headers(limited.headers);
  if (!limited.allowed)
    throw new Fault('too-many-requests', { retryAfterSeconds: limited.retryAfterSeconds });
}

function rateLimitKeyOf({ store, tokenId, actor }: Caller): string {
  return `${store.id} ${tokenId ?? actor}`;
}

function report(
  { metrics, log, recordedRequests, config, ctx }: Services,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { method, caller } = request;
  const route = routeTemplateOf(request);
  const status = reply.statusCode;
  if (caller) {
    recordedRequests.note(caller.store.id, {
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
