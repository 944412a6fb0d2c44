/**
 * Idempotency: a write with a key is executed only once, and later requests with the key get the same response. The
 * response is stored for 24 hours, in the transaction of the change. It is encrypted if it can contain a code or a secret.
 */

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import type { Context } from '../../storage/context.ts';
import { Fault } from '../../domain/fault.ts';
import { sameBytes, sealNonceLength } from '../../../platform/keys.ts';
import {
  eraseIdempotencyRecordsOf,
  findIdempotencyRecords,
  insertIdempotencyRecord,
  keyDigestLength,
  lockIdempotencyRecords,
  responseInClear,
  type StoredKey,
} from '../../stores/storage/idempotency.ts';
import { withFirstStep, type Script } from '../../../database/sql/sql.ts';
import type { HttpResponse } from './http-response.ts';
import { packResponse, unpackResponse } from './response-packing.ts';

/** The shortest time for which a response is stored. */
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
  /** JSON of all that makes it another request under the same key. */
  readonly request: string;
  /** Whether the response cannot contain a code or a secret, so that it is not sealed. */
  readonly isPublic?: boolean;
  /** The time for which the response is stored and returned again (ms). Default: 24 hours. */
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
  const { key, salts } = hashed(ctx, use.owner);
  const since = ctx.wallClock.retainFrom(use.periodMs ?? idempotencyPeriodMs);
  const lookup = throwIfStored(ctx, { use, key, salts }, since);
  const [hasExpiredRecord, response] = yield* withFirstStep(lookup, script);
  if (hasExpiredRecord) yield* eraseIdempotencyRecordsOf(key, since);
  yield* insertIdempotencyRecord(key, {
    fingerprint: fingerprintOf(salts[0], use),
    response: recordedResponse(ctx, use, response),
    createdAt: ctx.wallClock.latest(),
  });
  return response;
}

/**
 * Locks a stored response before it is returned again, which makes the transaction a write: its commit waits for the
 * synchronous standby. If the standby does not confirm, this request fails, as the first one can have failed.
 */
export function* confirmStored(ctx: Context, { owner }: KeyUse): Script<void> {
  yield* lockIdempotencyRecords(hashed(ctx, owner).key);
}

/** The response that is stored for a key, whatever its request was; undefined: there is none. */
export function* findStoredResponse(ctx: Context, owner: KeyOwner): Script<HttpResponse | undefined> {
  const { key } = hashed(ctx, owner);
  const since = ctx.wallClock.retainFrom(idempotencyPeriodMs);
  const records = yield* findIdempotencyRecords(key);
  const current = records.find(({ createdAt }) => createdAt >= since);
  return current && openResponse(ctx, owner, current.response);
}

type Salts = readonly [Uint8Array, ...Uint8Array[]];

/**
 * A key can be an order number or an email address, so only half of a keyed digest of the key and its owner is stored.
 * The other half is the salt of the request's fingerprint.
 */
function hashed(
  { keys }: Context,
  { storeId, apiClientId, key }: KeyOwner,
): { readonly key: StoredKey; readonly salts: Salts } {
  const [inUse, ...older] = keys.digests('idempotency-key', `${storeId} ${apiClientId} ${key}`);
  assert(inUse, 'there is no digest under the key in use');
  return {
    key: { storeId, digests: [storedHalf(inUse), ...older.map(storedHalf)] },
    salts: [otherHalf(inUse), ...older.map(otherHalf)],
  };
}

function storedHalf(digest: Uint8Array): Uint8Array {
  return digest.subarray(0, keyDigestLength);
}

function otherHalf(digest: Uint8Array): Uint8Array {
  return digest.subarray(keyDigestLength);
}

/** SHA-256 of the salt and the request. The salt is secret, so a request with few possible values cannot be guessed. */
function fingerprintOf(salt: Uint8Array, { request }: KeyUse): Uint8Array {
  const text = Buffer.from(salt.buffer, salt.byteOffset, salt.byteLength).toString('base64');
  return hash('sha256', text + request, 'buffer');
}

/**
 * Returns whether there is an expired response.
 * @throws AlreadyProcessed, or Fault `idempotency-key-reused`, if there is a current one.
 */
function* throwIfStored(
  ctx: Context,
  { use, key, salts }: { readonly use: KeyUse; readonly key: StoredKey; readonly salts: Salts },
  since: number,
): Script<boolean> {
  const records = yield* findIdempotencyRecords(key);
  const current = records.find(({ createdAt }) => createdAt >= since);
  if (!current) return records.length > 0;
  const fingerprint = fingerprintOf(salts[current.digestPlace] ?? salts[0], use);
  if (!sameBytes(fingerprint, current.fingerprint)) throw new Fault('idempotency-key-reused');
  throw new AlreadyProcessed(openResponse(ctx, use.owner, current.response));
}

function recordedResponse({ keys, random }: Context, use: KeyUse, response: HttpResponse): Uint8Array {
  const packed = packResponse(response);
  // An address is sealed as well: a customer can be erased before the record is, and it cannot be found by address.
  if (use.isPublic && !response.body.includes('@'))
    return Buffer.concat([Buffer.of(responseInClear), packed]);
  return keys.seal('idempotency', packed, rowOf(use.owner), random.bytes(sealNonceLength));
}

function openResponse({ keys }: Context, owner: KeyOwner, recorded: Uint8Array): HttpResponse {
  if (recorded[0] === responseInClear) return unpackResponse(recorded.subarray(1));
  // The content is authenticated, so it comes from `recordedResponse`.
  return unpackResponse(keys.open('idempotency', recorded, rowOf(owner)));
}

function rowOf({ storeId, apiClientId, key }: KeyOwner): string {
  return `idempotency ${storeId} ${apiClientId} ${key}`;
}
