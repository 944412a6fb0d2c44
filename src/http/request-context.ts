/** The context of a request for its handler. */

import type { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import type { Context } from '../core/storage/context.ts';
import type { QueryParameter } from '../core/stores/domain/app-proxy.ts';
import { Fault, type FaultCode, type FieldErrors } from '../core/domain/fault.ts';
import { InexactNumber } from '../core/money/domain/money.ts';
import type { Store } from '../core/stores/domain/store.ts';
import {
  AlreadyProcessed,
  confirmStored,
  withIdempotencyKey,
  type KeyUse,
} from '../core/requests/service/idempotency.ts';
import type { HttpResponse } from '../core/requests/service/http-response.ts';
import type { Tools } from '../platform/tools.ts';
import { resolved, type Script } from '../database/sql/sql.ts';
import type { Storage, WriteScope } from '../database/storage.ts';
import type { Turns } from '../core/service/turns.ts';
import type { Caller } from './auth.ts';
import { noBody, parseBody, type Body, type RawBody } from './body.ts';
import type { LookupAttempt } from './lookup-throttle.ts';
import { problemBody, problemHeaders, problems } from './problem.ts';

export type RequestContext = {
  readonly request: FastifyRequest;
  readonly ctx: Context;
  readonly storage: Storage;
  readonly caller: Caller;
  /** Without the parameters of the app proxy. */
  readonly query: readonly QueryParameter[];
  readonly basePath: string;
  /** The limit on the caller's failed lookups. */
  readonly lookup: LookupAttempt;
  /** Records the use of a code that the card had before its current one. */
  readonly recordRetiredCode: (cardId: number) => void;
  /** Records that a caller who cannot activate it looked for a code in stock. */
  readonly recordStockTry: (lookup: bigint) => void;
  /** Whether emails of the store are sent. */
  readonly canSend: boolean;
  /** Logs, once for each store, that an issued card is not emailed because the service sends no email. */
  readonly logUnsent: (store: Store) => void;
  /** The tools of features for their operations. */
  readonly tools: Tools;
  /** The turns of lists and counts. */
  readonly turns: Turns;
  /** Whether the request returns its response without its effect. */
  readonly isDryRun: boolean;
  /** @throws Fault `unsupported-media-type` or `invalid-body`. */
  readBody(wrapper: string, errors: FieldErrors): Body;
  /** Returns the stored response to a write with an idempotency key; undefined: there is none. */
  findStored(body: Body): Promise<HttpResponse | undefined>;
  /**
   * Runs the script of a write. With an idempotency key, it runs only once; a dry run is rolled back.
   */
  write(body: Body, script: () => Script<HttpResponse>, options?: WriteOptions): Promise<HttpResponse>;
};

type WriteOptions = {
  /**
   * The records that the script can change; absent: any. It does not include the idempotency key, because only one
   * request uses a key at a time.
   */
  readonly scope?: WriteScope | undefined;
  /** Whether the response cannot contain a code or a secret. */
  readonly isPublic?: boolean;
};

/** A response whose body is a stream. */
export type Streamed = Omit<HttpResponse, 'body'> & { readonly stream: Readable };

/** The keys of requests in progress in this process. */
export type KeysInFlight = Set<string>;

/** Whether an error is an outcome of the request, which is stored under its key. */
function isKept(code: FaultCode): boolean {
  return code !== 'idempotency-key-reused' && [404, 412, 422].includes(problems[code].status);
}

export function requestContextOf(
  options: Omit<RequestContext, 'readBody' | 'write' | 'findStored'> & {
    readonly keysInFlight: KeysInFlight;
    readonly keysInFlightMax: number;
    readonly idempotencyMs: number;
  },
): RequestContext {
  const { request, ctx, storage, caller, basePath, isDryRun, keysInFlight, keysInFlightMax } = options;
  const context: RequestContext = {
    ...options,
    readBody: (wrapper, errors) =>
      parseBody((request.body as RawBody | undefined) ?? noBody, { wrapper, errors }),
    async write(body, script, { scope, isPublic = false } = {}) {
      const key = idempotencyKeyOf(request);
      if (isDryRun) return storage.dryRun(script);
      if (key === undefined) return storage.write(script, scope);
      const owner = { storeId: caller.store.id, apiClientId: caller.apiClientId ?? 0, key };
      const name = `${owner.storeId} ${owner.apiClientId} ${key}`;
      if (keysInFlight.has(name)) throw new Fault('idempotency-key-in-use', { retryAfterSeconds: 1 });
      if (keysInFlight.size >= keysInFlightMax) throw new Fault('overloaded', { retryAfterSeconds: 1 });
      keysInFlight.add(name);
      try {
        const parts = [
          request.method,
          pathOf(request),
          request.headers['if-match'] ?? null,
          sortedParameters(body),
        ];
        const { response, replayed } = await writeOnce(
          { ctx, storage, basePath, requestId: request.id },
          { owner, request: JSON.stringify(parts), isPublic, periodMs: options.idempotencyMs },
          { script, scope },
        );
        return replayed
          ? { ...response, headers: { ...response.headers, 'idempotent-replayed': 'true' } }
          : response;
      } finally {
        keysInFlight.delete(name);
      }
    },
    async findStored(body) {
      if (isDryRun || idempotencyKeyOf(request) === undefined) return undefined;
      try {
        return await context.write(body, notStored);
      } catch (error) {
        if (error instanceof NotStored) return undefined;
        throw error;
      }
    },
  };
  return context;
}

class NotStored extends Error {
  override readonly name = 'NotStored';
}

/** A script that runs only if no response is stored, and stores none. */
// oxlint-disable-next-line require-yield -- It is a script.
function* notStored(): Script<HttpResponse> {
  throw new NotStored();
}

/**
 * Runs the script once for a key. An error that is an outcome rolls back the script's transaction and is stored in
 * another one. If the process stops between the two, nothing has changed and the next attempt runs the script again.
 */
async function writeOnce(
  {
    ctx,
    storage,
    basePath,
    requestId,
  }: Pick<RequestContext, 'ctx' | 'storage' | 'basePath'> & { readonly requestId: string },
  use: KeyUse,
  { script, scope }: { readonly script: () => Script<HttpResponse>; readonly scope: WriteScope | undefined },
): Promise<Outcome> {
  const write = async (work: () => Script<HttpResponse>): Promise<Outcome> => {
    try {
      return {
        response: await storage.write(() => withIdempotencyKey(ctx, use, work), scope),
        replayed: false,
      };
    } catch (error) {
      if (!(error instanceof AlreadyProcessed)) throw error;
      await storage.write(() => confirmStored(ctx, use));
      return { response: error.response, replayed: true };
    }
  };
  try {
    return await write(script);
  } catch (error) {
    if (!(error instanceof Fault) || !isKept(error.code)) throw error;
    const rejection: HttpResponse = {
      status: problems[error.code].status,
      headers: problemHeaders(error),
      body: JSON.stringify(problemBody(error, { basePath, requestId })),
    };
    return write(() => resolved(rejection));
  }
}

type Outcome = { readonly response: HttpResponse; readonly replayed: boolean };

/** @throws Fault `invalid-idempotency-key`. */
function idempotencyKeyOf({ headers }: FastifyRequest): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key))
    throw new Fault('invalid-idempotency-key');
  return key;
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0] ?? url;
}

/**
 * The parameters in an order and notation that are the same for JSON and forms. Objects are always rejected, so their
 * content is ignored.
 */
function sortedParameters({ parameters }: Body): unknown {
  return [...parameters]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, value]) => {
      if (value instanceof InexactNumber) return [name, value.source];
      if (Array.isArray(value)) return [name, JSON.stringify(value)];
      if (typeof value === 'object') return [name, value === null ? null : 'nested'];
      return [name, typeof value === 'string' ? value : JSON.stringify(value)];
    });
}
