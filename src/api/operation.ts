/**
 * One value per operation. From it come the route, the validation of the request, the types of the script that runs,
 * the response, and the documentation (`features/reference/docs/openapi.ts`). `read`, `write` and `stream` make one; `list.ts` adds `list`.
 */

import type { Context } from '../core/storage/context.ts';
import { Fault, FieldErrors } from '../core/domain/fault.ts';
import type { Store } from '../core/stores/domain/store.ts';
import type { Caller } from '../http/auth.ts';
import { isKnown, matchedVersions, notModifiedResponse } from '../http/etag.ts';
import { problemBody, problemHeaders, problems } from '../http/problem.ts';
import type { Body } from '../http/body.ts';
import type { RequestContext } from '../http/request-context.ts';
import { useUpExternalId } from '../core/requests/service/external-ids.ts';
import type { HttpResponse } from '../core/requests/service/http-response.ts';
import type { Script } from '../database/sql/sql.ts';
import type { WriteScope } from '../database/storage.ts';
import type { BodyDefinition, Documentation, NoFields } from './documentation.ts';
import { followFixedCode } from '../core/cards/api/fixed-code.ts';
import { fieldReader, type FieldContext, type Fields, type Values } from './field.ts';
import { idReader, type ExternalPath, type Ids } from './path.ts';
import {
  canHoldSecret,
  responseOf,
  type HeaderName,
  type Members,
  type ResponseOf,
  type Result,
  type AnyWriteResult,
  type WriteResult,
} from './response.ts';
import {
  routeOf,
  commonDocumentation,
  isThrottled,
  queryReader,
  type Common,
  type Operation,
} from './operation-route.ts';
import { externalIdIn, findExternalIn, runByExternalId, seenOf } from '../core/cards/api/external-path.ts';

type Effect = (hasSucceeded: boolean) => void;

type Request<P extends string> = {
  readonly ctx: Context;
  readonly caller: Caller;
  readonly store: Store;
  /** The internal ids that the path names. */
  readonly ids: Ids<P>;
  readonly requestContext: RequestContext;
  /**
   * Runs an effect once when the request has ended, even if the script ran several times; not for a replayed response.
   */
  readonly after: (effect: Effect) => void;
};

export type ReadRequest<P extends string, Q, F> = Request<P> & { readonly query: Q; readonly body: F };

export type WriteRequest<P extends string, F> = Request<P> & {
  readonly body: F;
  /** The versions that `If-Match` lists for the record whose ETags have this id; null: any. */
  readonly ifMatch: (id: number) => readonly string[] | null;
};

export function failuresIfNotFound(status: number): number {
  return status === 404 ? 1 : 0;
}

/**
 * Runs a script while a budget of failed lookups is exhausted. An id and a path are served if they exist, and a code if
 * `isServed` says so. The other responses are the same, after the same statements.
 */
function* servedOnly<R extends Pick<Request<string>, 'requestContext'>, T>(
  isServed: ((request: R) => Script<boolean>) | undefined,
  request: R,
  script: Script<T>,
): Script<T> {
  const { exhausted } = request.requestContext.lookup;
  if (!exhausted) return yield* script;
  if (isServed && !(yield* isServed(request))) throw exhausted.fault;
  try {
    return yield* script;
  } catch (error) {
    // Within the script, so that no response is stored under an idempotency key.
    if (error instanceof Fault && problems[error.code].status === 404) throw exhausted.fault;
    throw error;
  }
}

/** Runs a script, and reports the fault that ends it. */
function* observed<T>(script: Script<T>, onFault: (fault: Fault) => void): Script<T> {
  try {
    return yield* script;
  } catch (error) {
    if (error instanceof Fault) onFault(error);
    throw error;
  }
}

/**
 * The failed lookups of a rejection: the errors that concern codes, each of which says that the store has used the code, or
 * that a card has another, unless the fault says how many there are.
 */
function countCodeErrors(rejection: Fault | undefined): number {
  if (rejection?.failedLookups !== undefined) return rejection.failedLookups;
  return Object.keys(rejection?.errors ?? {}).filter((name) =>
    /^(?:(?:cards\[\d+\]\.)?code|codes\[\d+\])$/.test(name),
  ).length;
}

/** An operation without side effects. */
export function read<
  const Id extends string,
  const P extends string,
  M extends Members,
  const H extends readonly HeaderName[] = [],
  Q extends Fields = NoFields,
  F extends Fields = NoFields,
>(
  definition: Common<Id, P> & {
    /** GET, unless the operation has a body. */
    readonly body?: BodyDefinition<F>;
    readonly query?: Q;
    /** The error of an invalid query: 400, or 422 if the query is the request's only input. */
    readonly queryError?: 'invalid-query' | 'invalid-parameter';
    readonly response: ResponseOf<M, H>;
    /** Whether `If-None-Match` with the current ETag returns a 304. */
    readonly isConditional?: boolean;
    /** Whether it reads so many rows that it waits for a turn. */
    readonly isLong?: boolean;
    readonly customerMaySearch?: boolean;
    /**
     * Whether a search finds a code that is served while a budget of failed lookups is exhausted. It runs the same statements
     * for all codes. Absent: every search is rejected then, without a look.
     */
    readonly isServed?: (request: ReadRequest<P, Values<Q>, Values<F>>) => Script<boolean>;
    readonly run: (request: ReadRequest<P, Values<Q>, Values<F>>) => Script<NoInfer<Result<M, H>>>;
    /** Completes the result by what takes more than one read. */
    readonly complete?: (
      request: ReadRequest<P, Values<Q>, Values<F>>,
      result: NoInfer<Result<M, H>>,
    ) => Promise<NoInfer<Result<M, H>>>;
  },
): Operation<Id> {
  const {
    path,
    run,
    body,
    query,
    queryError = 'invalid-query',
    isConditional = false,
    isServed,
  } = definition;
  const readIds = idReader(path);
  const readQuery = query && queryReader(query, queryError);
  const readBody = body && fieldReader(body.fields, body.wrapper);
  return {
    ...routeOf(definition, body ? 'POST' : 'GET'),
    query: Object.keys(query ?? {}),
    async handle(requestContext) {
      const { ctx, caller, storage, request } = requestContext;
      const { ids, isGuess, external } = readIds(requestContext);
      const { lookup } = requestContext;
      let reserved;
      if (definition.isSearch && !isServed) reserved = lookup.reserve(failuresIfNotFound);
      else if (isGuess || definition.isSearch) reserved = lookup.admit(failuresIfNotFound);
      if (reserved) await reserved;
      if (!ids) throw new Fault('not-found');
      const context = { store: caller.store, now: ctx.clock.now() };
      const queried = readQuery?.(requestContext, context) ?? {};
      let values = {};
      if (body && readBody) {
        const errors = new FieldErrors();
        const sent = requestContext.readBody(body.wrapper, errors);
        values = readBody(sent, { ...context, isForm: sent.isForm }, errors);
        errors.throwIfAny();
        if (ctx.testClock) await followFixedCode(values, request.raw.socket);
      }
      let effect: Effect | undefined;
      const input = {
        ctx, caller, store: caller.store, ids, requestContext, after: (last: Effect) => void (effect = last),
        // Without an error every required field is present.
        query: queried as Values<Q>,
        body: values as Values<F>,
      }; // prettier-ignore
      let result;
      const readOnce = () =>
        storage.read(() => {
          effect = undefined;
          const running = external
            ? runByExternalId(requestContext, external, (found) =>
                run({ ...input, ids: { ...ids, ...found } }),
              )
            : run(input);
          return lookup.exhausted ? servedOnly(isServed, input, running) : running;
        });
      try {
        result = await (definition.isLong ? requestContext.turns(readOnce) : readOnce());
        if (definition.complete) result = await definition.complete(input, result);
      } finally {
        effect?.(result !== undefined);
      }
      const { etag } = ('headers' in result ? result.headers : {}) as { readonly etag?: string };
      if (
        isConditional &&
        etag !== undefined &&
        !result.isVolatile &&
        isKnown(request.headers['if-none-match'], etag)
      )
        return notModifiedResponse(etag);
      return responseOf(200, result);
    },
    documentation: {
      ...commonDocumentation(definition),
      query: query ?? {},
      isConditional,
      body: body ?? null,
      response: {
        status: 200,
        description: definition.response.description,
        headers: definition.response.headers ?? [],
        content: definition.response,
      },
    },
  };
}

/** An operation that changes something. It supports `dry_run`, and runs only once for an idempotency key. */
export function write<
  const Id extends string,
  const P extends string,
  F extends Fields,
  M extends Members,
  const H extends readonly HeaderName[] = [],
>(
  definition: Common<Id, P> & {
    readonly method: 'POST' | 'PUT' | 'DELETE';
    readonly body: BodyDefinition<F>;
    readonly response: ResponseOf<M, H> & {
      readonly status: 200 | 201 | 202;
      /** The members of the response to a repetition, if it accepts an external id. */
      readonly repeated?: Documentation['repeated'];
    };
    /** The records that it can change, so that it can share a transaction; absent: any. */
    readonly writeScope?: (request: WriteRequest<P, Partial<Values<F>>>) => WriteScope | undefined;
    /** The context of the fields in addition to the store and the time. */
    readonly prepare?: (requestContext: RequestContext) => Promise<Partial<FieldContext>>;
    /** Adds errors that concern several fields. */
    readonly check?: (
      values: Partial<Values<F>>,
      errors: FieldErrors,
      requestContext: RequestContext,
    ) => void;
    /** Adds errors that several reads find, if there are no others. */
    readonly inspect?: (request: WriteRequest<P, Partial<Values<F>>>, errors: FieldErrors) => Promise<void>;
    /**
     * The number of codes that the request looks for, at most one with `isServed`. Each reserves a failed lookup, which is
     * released unless the response has an error of the code.
     */
    readonly countCodes?: (values: Partial<Values<F>>) => number;
    /** Whether a search or a counted code is served, as in a read. */
    readonly isServed?: (request: WriteRequest<P, Partial<Values<F>>>) => Script<boolean>;
    /** Whether an exhausted budget of failed lookups never rejects it. An unknown id counts, and the response is a 404. */
    readonly isUnlimited?: boolean;
    readonly run: (request: WriteRequest<P, Values<F>>) => Script<NoInfer<WriteResult<M, H>>>;
    /** Does, before `run`, what takes more than one transaction; not for a dry run or a repeated request. */
    readonly perform?: (request: WriteRequest<P, Values<F>>) => Promise<void>;
    /**
     * Runs before fields are rejected that can have been valid when they were first sent with the external id. Returns the
     * object of that request; null: there is none.
     */
    readonly findRepeated?: (
      request: WriteRequest<P, Values<F>>,
    ) => Script<NoInfer<WriteResult<M, H>> | null>;
    /** Whether an unused external id in its path is used up, so that no later request can use it. */
    readonly usesUpExternalIds?: boolean;
    /** Runs instead of `run` if fields are invalid, to report other errors together with them. It always throws. */
    readonly reject?: (request: WriteRequest<P, Partial<Values<F>>>, errors: FieldErrors) => Script<unknown>;
  },
): Operation<Id> {
  const { path, body, writeScope, prepare, check, inspect, countCodes, isServed, run, reject, findRepeated } =
    definition;
  const { isUnlimited = false } = definition;
  const { status, members } = definition.response;
  const isPublic = !canHoldSecret(members);
  const readIds = idReader(path);
  const readBody = fieldReader(body.fields, body.wrapper);
  // One function for all requests: V8 gives the generators of each function a hidden class of their own.
  function* respond(
    input: WriteRequest<P, Partial<Values<F>>> | null,
    errors: FieldErrors,
    earlier: Partial<Values<F>> | null,
  ): Script<HttpResponse> {
    if (!input) throw new Fault('not-found');
    if (findRepeated && earlier) {
      const repeated = yield* findRepeated({ ...input, body: earlier } as WriteRequest<P, Values<F>>);
      if (repeated) return writeResponseOf(status, repeated);
    }
    if (errors.any && reject) yield* reject(input, errors);
    errors.throwIfAny();
    // Without an error every required field is present.
    return writeResponseOf(status, yield* run(input as WriteRequest<P, Values<F>>));
  }
  function* respondByExternalId(
    external: ExternalPath,
    ...[input, errors, earlier]: Parameters<typeof respond>
  ): Script<HttpResponse> {
    if (!input) throw new Fault('not-found');
    const { requestContext } = input;
    const found = yield* findExternalIn(requestContext, external);
    if (found !== undefined)
      return yield* respond({ ...input, ids: { ...input.ids, [external.name]: found } }, errors, earlier);
    errors.throwIfAny();
    const fault = new Fault('not-found');
    if (!definition.usesUpExternalIds) throw fault;
    const { ctx, caller } = requestContext;
    const id = { ...externalIdIn(requestContext, external), actor: caller.actor };
    yield* useUpExternalId(ctx, id, seenOf(caller));
    return problemResponse(fault, requestContext);
  }
  /** The fields as an earlier request can have sent them; null: they are not invalid, or have no external id. */
  function earlierBody(
    sent: Body,
    context: FieldContext,
    { values, errors }: { readonly values: Partial<Values<F>>; readonly errors: FieldErrors },
  ): Partial<Values<F>> | null {
    if (!errors.any || !findRepeated || !('external_id' in values)) return null;
    const earlierErrors = new FieldErrors();
    const earlier = readBody(sent, { ...context, isRepetition: true }, earlierErrors);
    return earlierErrors.any ? null : earlier;
  }
  return {
    ...routeOf(definition, definition.method),
    query: ['dry_run'],
    async handle(requestContext) {
      const { ctx, caller, request } = requestContext;
      const { store } = caller;
      const { ids, isGuess, external } = readIds(requestContext);
      const { lookup } = requestContext;
      let reserved;
      if (isUnlimited) lookup.count(failuresIfNotFound);
      else if (isGuess || definition.isSearch) reserved = lookup.admit(failuresIfNotFound);
      if (reserved) await reserved;
      const prepared = prepare && (await prepare(requestContext));
      const errors = new FieldErrors();
      const sent = requestContext.readBody(body.wrapper, errors);
      const context = { store, now: ctx.clock.now(), isForm: sent.isForm, ...prepared };
      const values = readBody(sent, context, errors);
      check?.(values, errors, requestContext);
      if (ctx.testClock) await followFixedCode(values, request.raw.socket);
      let rejection: Fault | undefined;
      const codes = errors.any && !reject ? 0 : (countCodes?.(values) ?? 0);
      if (codes > 0 && isServed) await lookup.admit(() => countCodeErrors(rejection));
      else if (codes > 0) await lookup.reserve(() => countCodeErrors(rejection), codes);
      let effect: Effect | undefined;
      const input = ids && {
        ctx, caller, store, ids, requestContext, body: values, after: (last: Effect) => void (effect = last),
        ifMatch: (id: number) => matchedVersions(request.headers['if-match'], id),
      }; // prettier-ignore
      if (inspect && input && !errors.any) await inspect(input, errors);
      if (definition.perform && input && !errors.any && !requestContext.isDryRun) {
        const stored = await requestContext.findStored(sent);
        if (stored) return stored;
        await definition.perform(input as WriteRequest<P, Values<F>>);
      }
      const earlier = earlierBody(sent, context, { values, errors });
      const script = (): Script<HttpResponse> => {
        effect = undefined;
        rejection = undefined;
        let responding = external
          ? respondByExternalId(external, input, errors, earlier)
          : respond(input, errors, earlier);
        // With errors and without `reject`, nothing is looked for.
        if (lookup.exhausted && input && (!errors.any || reject))
          responding = servedOnly(isServed, input, responding);
        return codes > 0 ? observed(responding, (fault) => (rejection = fault)) : responding;
      };
      let response;
      try {
        const scope = input ? writeScope?.(input) : undefined;
        response = await requestContext.write(sent, script, { scope, isPublic });
        if (isReplayed(response)) effect = undefined;
        return response;
      } finally {
        effect?.(response !== undefined && response.status < 400);
      }
    },
    documentation: {
      ...commonDocumentation(definition),
      isWrite: true,
      isThrottled: isThrottled(definition) || countCodes !== undefined,
      isUnlimited,
      body,
      repeated: definition.response.repeated ?? null,
      response: {
        status,
        description: definition.response.description,
        headers: definition.response.headers ?? [],
        content: definition.response,
      },
    },
  };
}

/** The response for the result of a write. */
function writeResponseOf(status: number, result: AnyWriteResult): HttpResponse {
  if (!('repeated' in result)) return responseOf(status, result);
  const { repeated: body, headers } = result;
  return responseOf(200, { body, ...(headers && { headers }) });
}

/** An error as a response, whose transaction is committed. */
function problemResponse(fault: Fault, { basePath, request }: RequestContext): HttpResponse {
  return {
    status: problems[fault.code].status,
    headers: problemHeaders(fault),
    body: JSON.stringify(problemBody(fault, { basePath, requestId: request.id })),
  };
}

function isReplayed({ headers }: HttpResponse): boolean {
  return Object.hasOwn(headers, 'idempotent-replayed');
}
