/** One request being answered: what a handler is given, and how it writes. */

import type { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import type { Context } from '../context.ts';
import type { QueryParameter } from '../domain/app-proxy.ts';
import { Fault, type FaultCode, type Refusals } from '../domain/fault.ts';
import { InexactNumber } from '../domain/money.ts';
import type { Store } from '../domain/store.ts';
import {
  Answered,
  confirmAnswered,
  fingerprintsOf,
  once,
  type Answer,
  type KeyUse,
} from '../service/idempotency.ts';
import { constant, type Script } from '../storage/sql.ts';
import type { Storage, Subject } from '../storage/storage.ts';
import type { Endpoints } from '../service/webhook.ts';
import type { Caller } from './auth.ts';
import { noBody, parseBody, type Body, type RawBody } from './body.ts';
import type { EventStreams } from './event-stream.ts';
import type { LookupAttempt } from './lookup-throttle.ts';
import { problemBody, problemHeaders, problems } from './problem.ts';

export type Exchange = {
  readonly request: FastifyRequest;
  readonly ctx: Context;
  readonly storage: Storage;
  readonly caller: Caller;
  /** Of the operation only: what the app proxy added is taken out. */
  readonly query: readonly QueryParameter[];
  readonly basePath: string;
  /** The limit on the caller's failed lookups. */
  readonly lookup: LookupAttempt;
  /** Notes the use of a code that the card had before its present one. */
  readonly noteRetiredCode: (cardId: number) => void;
  /** Whether the service sends email. */
  readonly canSend: boolean;
  /** Logs, once for each store, that an issued card is not emailed because the service sends no email. */
  readonly noteUnsent: (store: Store) => void;
  readonly endpoints: Endpoints;
  readonly streams: EventStreams;
  /** Whether the answer is wanted without its effect. */
  readonly isDryRun: boolean;
  /** @throws Fault `unsupported-media-type` or `invalid-body`. */
  readBody(wrapper: string, refusals: Refusals): Body;
  /**
   * Runs the script that answers a write: once for an idempotency key, if the request has one. A dry run keeps nothing.
   * @param subject absent: the script may change anything. The key is no part of it, because it is used by one request
   * at a time.
   */
  write(body: Body, script: () => Script<Answer>, subject?: Subject): Promise<Answer>;
};

/** An answer without an end of its own. */
export type Streamed = Omit<Answer, 'body'> & { readonly stream: Readable };

/** The keys that are being worked on in this process. */
export type KeysInFlight = Set<string>;

/** Refusals that are an outcome: something was looked at and decided, so they are kept under the key. */
function isKept(code: FaultCode): boolean {
  return code !== 'idempotency-key-reused' && [404, 412, 422].includes(problems[code].status);
}

export function exchangeOf(
  given: Omit<Exchange, 'readBody' | 'write'> & {
    readonly keysInFlight: KeysInFlight;
    readonly keysInFlightMax: number;
  },
): Exchange {
  const { request, ctx, storage, caller, basePath, isDryRun, keysInFlight, keysInFlightMax } = given;
  return {
    ...given,
    readBody: (wrapper, refusals) =>
      parseBody((request.body as RawBody | undefined) ?? noBody, { wrapper, refusals }),
    async write(body, script, subject) {
      const key = idempotencyKeyOf(request);
      if (isDryRun) return storage.rehearse(script);
      if (key === undefined) return storage.write(script, subject);
      const owner = { storeId: caller.store.id, apiClientId: caller.apiClientId ?? 0, key };
      const name = `${owner.storeId} ${owner.apiClientId} ${key}`;
      if (keysInFlight.has(name)) throw new Fault('idempotency-key-in-use', { retryAfterSeconds: 1 });
      if (keysInFlight.size >= keysInFlightMax) throw new Fault('overloaded', { retryAfterSeconds: 1 });
      keysInFlight.add(name);
      try {
        const fingerprints = fingerprintsOf(ctx, [
          request.method,
          pathOf(request),
          request.headers['if-match'] ?? null,
          sortedParameters(body),
        ]);
        const { answer, replayed } = await writeOnce(
          { ctx, storage, basePath, requestId: request.id },
          { owner, fingerprints },
          { script, subject },
        );
        return replayed
          ? { ...answer, headers: { ...answer.headers, 'idempotent-replayed': 'true' } }
          : answer;
      } finally {
        keysInFlight.delete(name);
      }
    },
  };
}

/**
 * Runs the script once for a key. A refusal that decided something undoes the script's transaction
 * and is kept in one of its own; if the process dies between the two, nothing was changed and the
 * next attempt decides anew.
 */
async function writeOnce(
  {
    ctx,
    storage,
    basePath,
    requestId,
  }: Pick<Exchange, 'ctx' | 'storage' | 'basePath'> & { readonly requestId: string },
  use: KeyUse,
  { script, subject }: { readonly script: () => Script<Answer>; readonly subject: Subject | undefined },
): Promise<Outcome> {
  const write = async (work: () => Script<Answer>): Promise<Outcome> => {
    try {
      return { answer: await storage.write(() => once(ctx, use, work), subject), replayed: false };
    } catch (error) {
      if (!(error instanceof Answered)) throw error;
      await storage.write(() => confirmAnswered(ctx, use));
      return { answer: error.answer, replayed: true };
    }
  };
  try {
    return await write(script);
  } catch (error) {
    if (!(error instanceof Fault) || !isKept(error.code)) throw error;
    const refusal: Answer = {
      status: problems[error.code].status,
      headers: problemHeaders(error),
      body: JSON.stringify(problemBody(error, { basePath, requestId })),
    };
    return write(() => constant(refusal));
  }
}

type Outcome = { readonly answer: Answer; readonly replayed: boolean };

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
 * The parameters in an order and notation that do not depend on how they were sent, as JSON or as
 * a form. An object in a parameter is refused anyway.
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
