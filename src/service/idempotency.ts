/**
 * Idempotency: a write that carries a key is done once, and its answer can be had again.
 *
 * The answer is kept in the transaction of the change, sealed (a creation's answer holds the
 * code) and bound to its row, for 24 hours.
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
import { together, type Script } from '../storage/sql.ts';
import { packResponse, unpackResponse } from './response-packing.ts';

/** How long an answer can be had again, at least. */
export const idempotencyPeriodMs = 24 * 60 * 60 * 1_000;

/** An answer as it goes over the wire, byte for byte. */
export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** Who used the key: keys of different callers never meet. */
type KeyOwner = {
  readonly storeId: number;
  /** 0 where there is no API client. */
  readonly apiClientId: number;
  readonly key: string;
};

/** A key in use: by whom, and for which request. */
export type KeyUse = {
  readonly owner: KeyOwner;
  /** Keyed digests of everything that makes the request what it is, under every key, the one in use first. */
  readonly fingerprints: readonly Uint8Array[];
};

/** Undoes what was begun beside the look for an answer that was kept, for there is one. */
export class Answered extends Error {
  override readonly name = 'Answered';
  readonly answer: Answer;

  constructor(answer: Answer) {
    super('the request was answered before');
    this.answer = answer;
  }
}

/** The fingerprints of a request from its parts: a record may have been kept under an older key. */
export function fingerprintsOf({ keys }: Context, parts: readonly unknown[]): readonly Uint8Array[] {
  return keys.digests('idempotency', JSON.stringify(parts));
}

/**
 * Runs the script and keeps its answer. Whether there is an answer already is looked up together
 * with the script's first step: what that has done, or thrown, does not count then.
 * @throws Answered if an earlier request with this key was; Fault `idempotency-key-reused` if that was
 * another request; whatever the script throws, in which case nothing is kept.
 */
export function* once(ctx: Context, use: KeyUse, script: () => Script<Answer>): Script<Answer> {
  const { owner, fingerprints } = use;
  const stored = storedKeyOf(ctx, owner);
  const since = ctx.clock.retainFrom(idempotencyPeriodMs);
  const [hasRunOut, finish] = yield* together(refuseAnswered(ctx, { use, stored }, since), settled(script));
  const answer = finish();
  const [fingerprint] = fingerprints;
  assert(fingerprint, 'a request without a fingerprint');
  if (hasRunOut) yield* eraseIdempotencyRecordsOf(stored, since);
  yield* insertIdempotencyRecord(stored, {
    fingerprint,
    answer: sealAnswer(ctx, owner, answer),
    createdAt: ctx.clock.latest(),
  });
  return answer;
}

/**
 * Makes sure of an answer before it is given again. Its first caller may have been told that nobody
 * knows whether it is on the synchronous standby: this transaction is told so, too, if that is so still.
 */
export function* confirmAnswered(ctx: Context, { owner }: KeyUse): Script<void> {
  yield* lockIdempotencyRecords(storedKeyOf(ctx, owner));
}

/** A key may be an order number or an address: only its digest is stored, with the caller in it. */
function storedKeyOf({ keys }: Context, { storeId, apiClientId, key }: KeyOwner): StoredKey {
  const [inUse, ...older] = keys.digests('idempotency-key', `${storeId} ${apiClientId} ${key}`);
  assert(inUse, 'a digest under the key in use');
  return { storeId, apiClientId, digests: [inUse, ...older], plain: Buffer.from(key) };
}

/** @returns whether there is an answer that has run out. @throws as `once` does, if there is another one. */
function* refuseAnswered(
  ctx: Context,
  { use: { owner, fingerprints }, stored }: { readonly use: KeyUse; readonly stored: StoredKey },
  since: number,
): Script<boolean> {
  const records = yield* findIdempotencyRecords(stored);
  const kept = records.find(({ createdAt }) => createdAt >= since);
  if (!kept) return records.length > 0;
  const isSame = fingerprints.some((fingerprint) => sameBytes(fingerprint, kept.fingerprint));
  if (!isSame) throw new Fault('idempotency-key-reused');
  throw new Answered(openAnswer(ctx, owner, kept.answer));
}

/** Runs a script, and returns what returns its result or throws what it has thrown. */
function* settled<T>(script: () => Script<T>): Script<() => T> {
  try {
    const result = yield* script();
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

function sealAnswer({ keys, chance }: Context, owner: KeyOwner, answer: Answer): Uint8Array {
  return keys.seal('idempotency', packResponse(answer), rowOf(owner), chance.bytes(sealNonceLength));
}

function openAnswer({ keys }: Context, owner: KeyOwner, sealed: Uint8Array): Answer {
  // Sealed by `sealAnswer` and authenticated, so it is what was put in.
  return unpackResponse(keys.open('idempotency', sealed, rowOf(owner)));
}

function rowOf({ storeId, apiClientId, key }: KeyOwner): string {
  return `idempotency ${storeId} ${apiClientId} ${key}`;
}
