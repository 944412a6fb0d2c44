/**
 * The steps of every operation: query, credential, rate limit, scope, and then the body.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../core/storage/context.ts';
import { proxyParameters, type QueryParameter } from '../core/stores/domain/app-proxy.ts';
import { Fault, FieldErrors, type FaultCode } from '../core/domain/fault.ts';
import type { HttpResponse } from '../core/requests/service/http-response.ts';
import type { SignedStore } from '../core/stores/service/caller.ts';
import type { FoundToken } from '../core/stores/storage/token.ts';
import { authenticate, type Authentication, type Caller } from './auth.ts';
import { clientKey } from './client-address.ts';
import { requestContextOf, type KeysInFlight, type Streamed } from './request-context.ts';
import { lookupThrottle } from './lookup-throttle.ts';
import { problemCodeOf } from './problem.ts';
import { findRepeated, MalformedError, parseUrlEncoded, queryOf } from './query.ts';
import { rateLimiter, type RateLimiter } from './rate-limit.ts';
import type { Route } from './route.ts';
import type { Services } from './services.ts';
import { askForBody } from './expect.ts';

/** Adds the routes of the operations. */
export function addOperations(app: FastifyInstance, services: Services): void {
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
      perHourOfVisitor: config.visitorLookupFailuresPerHour,
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
  app.addHook('preClose', (done) => {
    services.onClose();
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
          usedAt: ctx.wallClock.earliest(),
        });
      }
      assertScopes(caller, operation);
      visitorOf(request, caller);
      const { operationQuery: query = [] } = request;
      request.isDryRun = isDryRun(query);
      if (request.isDryRun) reply.header('dry-run', 'true');
      askForBody(request, reply, operation.bodyBytesMax ?? limits.bodyBytesMax);
    };
    const handle = (request: FastifyRequest): Promise<HttpResponse | Streamed> => {
      const { caller } = request;
      if (!caller) throw new Error('an operation without a caller');
      const canSend = services.email.canSend(caller.store.id);
      if (typeof canSend === 'boolean') return handleAs(request, { caller, canSend });
      return canSend.then((can) => handleAs(request, { caller, canSend: can }));
    };
    const handleAs = (
      request: FastifyRequest,
      { caller, canSend }: { readonly caller: Caller; readonly canSend: boolean },
    ): Promise<HttpResponse | Streamed> => {
      const { operationQuery: query = [] } = request;
      return throttle.run({ caller, visitor: visitorOf(request, caller) }, (lookup) => {
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
          canSend,
          logUnsent: services.email.logUnsent,
          tools: services.tools,
          turns: services.turns,
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

/**
 * Returns the visitor that an API client names; null: none. A customer of the storefront cannot name another visitor.
 * @throws Fault `invalid-visitor`.
 */
function visitorOf({ headers }: FastifyRequest, { onlyStorefrontCustomerId }: Caller): string | null {
  const visitor = headers['largesse-visitor'];
  if (visitor === undefined) return null;
  if (typeof visitor !== 'string' || !/^[\x21-\x7e]{1,128}$/.test(visitor))
    throw new Fault('invalid-visitor');
  return onlyStorefrontCustomerId === null ? visitor : null;
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
