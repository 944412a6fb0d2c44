/**
 * Idempotency: a write with a key is executed only once, and later requests with the key get the same response. The
 * response is stored for 24 hours by default, in the transaction of the change. It is encrypted, because it can contain a code.
 */

import assert from 'node:assert/strict';
import type { Context } from '../context.ts';
import { Fault } from '../domain/fault.ts';
import { sameBytes, sealNonceLength } from '../keys.ts';
import {
  eraseIdempotencyRecordsOf,
  findIdempotencyRecords,
  insertIdempotencyRecord,
  lockIdempotencyRecords,
  type StoredKey,
} from '../storage/idempotency.ts';
import { parallel, type Script } from '../storage/sql.ts';
import type { HttpResponse } from './http-response.ts';
import { packResponse, unpackResponse } from './response-packing.ts';

/** How long a response is stored, at least. */
export const idempotencyPeriodMs = 24 * 60 * 60 * 1_000;

/** A key and its owner. Equal keys of different callers are independent. */
type KeyOwner = {
  readonly storeId: number;
  /** 0 if there is no API client. */
  readonly apiClientId: number;
  readonly key: string;
};

/** The use of a key for a request. */
export type KeyUse = {
  readonly owner: KeyOwner;
  /** Digests that identify the request, under every key of the key file, the one in use first. */
  readonly fingerprints: readonly Uint8Array[];
  /** How long the response is stored and returned again (ms). Default: 24 hours. */
  readonly periodMs?: number;
};

/** A response is stored for the key. Rolls back the script that started together with the lookup. */
export class AlreadyProcessed extends Error {
  override readonly name = 'AlreadyProcessed';
  readonly response: HttpResponse;

  constructor(response: HttpResponse) {
    super('the request was already processed');
    this.response = response;
  }
}

/** The fingerprints of a request, under every key, because a record can be older than the key in use. */
export function fingerprintsOf({ keys }: Context, parts: readonly unknown[]): readonly Uint8Array[] {
  return keys.digests('idempotency', JSON.stringify(parts));
}

/**
 * Runs the script and stores its response. A stored response is looked up together with the script's first step; if
 * there is one, the result or the error of the script is discarded.
 * @throws AlreadyProcessed if a response is stored for the request; Fault `idempotency-key-reused` if the key was used for
 * another request; the errors of the script, after which nothing is stored.
 */
export function* withIdempotencyKey(
  ctx: Context,
  use: KeyUse,
  script: () => Script<HttpResponse>,
): Script<HttpResponse> {
  const { owner, fingerprints, periodMs = idempotencyPeriodMs } = use;
  const stored = storedKeyOf(ctx, owner);
  const since = ctx.clock.retainFrom(periodMs);
  const [hasExpiredRecord, finish] = yield* parallel(
    throwIfStored(ctx, { use, stored }, since),
    captureResult(script),
  );
  const response = finish();
  const [fingerprint] = fingerprints;
  assert(fingerprint, 'the request does not have a fingerprint');
  if (hasExpiredRecord) yield* eraseIdempotencyRecordsOf(stored, since);
  yield* insertIdempotencyRecord(stored, {
    fingerprint,
    response: sealResponse(ctx, owner, response),
    createdAt: ctx.clock.latest(),
  });
  return response;
}

/**
 * Locks a stored response before it is returned again, which makes the transaction a write: its commit waits for the
 * synchronous standby. If the standby does not confirm, this request fails, as the first one can have failed.
 */
export function* confirmStored(ctx: Context, { owner }: KeyUse): Script<void> {
  yield* lockIdempotencyRecords(storedKeyOf(ctx, owner));
}

/** A key can be an order number or an email address, so only a digest of the key and its owner is stored. */
function storedKeyOf({ keys }: Context, { storeId, apiClientId, key }: KeyOwner): StoredKey {
  const [inUse, ...older] = keys.digests('idempotency-key', `${storeId} ${apiClientId} ${key}`);
  assert(inUse, 'there is no digest under the key in use');
  return { storeId, apiClientId, digests: [inUse, ...older], plain: Buffer.from(key) };
}

/**
 * Returns whether there is an expired response.
 * @throws AlreadyProcessed, or Fault `idempotency-key-reused`, if there is a current one.
 */
function* throwIfStored(
  ctx: Context,
  { use: { owner, fingerprints }, stored }: { readonly use: KeyUse; readonly stored: StoredKey },
  since: number,
): Script<boolean> {
  const records = yield* findIdempotencyRecords(stored);
  const current = records.find(({ createdAt }) => createdAt >= since);
  if (!current) return records.length > 0;
  const isSame = fingerprints.some((fingerprint) => sameBytes(fingerprint, current.fingerprint));
  if (!isSame) throw new Fault('idempotency-key-reused');
  throw new AlreadyProcessed(openResponse(ctx, owner, current.response));
}

/** Runs a script, and returns a function that returns its result or throws its error. */
function* captureResult<T>(script: () => Script<T>): Script<() => T> {
  try {
    const result = yield* script();
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

function sealResponse({ keys, random }: Context, owner: KeyOwner, response: HttpResponse): Uint8Array {
  return keys.seal('idempotency', packResponse(response), rowOf(owner), random.bytes(sealNonceLength));
}

function openResponse({ keys }: Context, owner: KeyOwner, sealed: Uint8Array): HttpResponse {
  // The content is authenticated, so it comes from `sealResponse`.
  return unpackResponse(keys.open('idempotency', sealed, rowOf(owner)));
}

function rowOf({ storeId, apiClientId, key }: KeyOwner): string {
  return `idempotency ${storeId} ${apiClientId} ${key}`;
}
