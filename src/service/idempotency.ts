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
import { findIdempotencyRecord, insertIdempotencyRecord, type KeyOwner } from '../storage/idempotency.ts';
import type { Script } from '../storage/sql.ts';

/** How long an answer can be had again. */
export const idempotencyPeriodMs = 24 * 60 * 60 * 1_000;

/** An answer as it goes over the wire, byte for byte. */
export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** A key in use: by whom, and for which request. */
export type KeyUse = {
  readonly owner: KeyOwner;
  /** Keyed digests of everything that makes the request what it is, under every key, the one in use first. */
  readonly fingerprints: readonly Uint8Array[];
};

export type Outcome = { readonly answer: Answer; readonly replayed: boolean };

/** The fingerprints of a request from its parts: a record may have been kept under an older key. */
export function fingerprintsOf({ keys }: Context, parts: readonly unknown[]): readonly Uint8Array[] {
  return keys.digests('idempotency', JSON.stringify(parts));
}

/**
 * Runs the script and keeps its answer, or answers what an earlier request with this key got.
 * @throws Fault `idempotency-key-reused` if that was another request; whatever the script throws,
 * in which case nothing is kept.
 */
export function* once(
  ctx: Context,
  { owner, fingerprints }: KeyUse,
  script: () => Script<Answer>,
): Script<Outcome> {
  const now = ctx.clock.now();
  const since = now - idempotencyPeriodMs;
  const kept = yield* findIdempotencyRecord(owner, since);
  if (kept) {
    const isSame = fingerprints.some((fingerprint) => sameBytes(fingerprint, kept.fingerprint));
    if (!isSame) throw new Fault('idempotency-key-reused');
    return { answer: openAnswer(ctx, owner, kept.answer), replayed: true };
  }
  const answer = yield* script();
  const [fingerprint] = fingerprints;
  assert(fingerprint, 'a request without a fingerprint');
  yield* insertIdempotencyRecord(
    owner,
    { fingerprint, answer: sealAnswer(ctx, owner, answer) },
    { now, since },
  );
  return { answer, replayed: false };
}

function sealAnswer({ keys, chance }: Context, owner: KeyOwner, answer: Answer): Uint8Array {
  return keys.seal(
    'idempotency',
    Buffer.from(JSON.stringify(answer)),
    rowOf(owner),
    chance.bytes(sealNonceLength),
  );
}

function openAnswer({ keys }: Context, owner: KeyOwner, sealed: Uint8Array): Answer {
  // Sealed by `sealAnswer` and authenticated, so it is what was put in.
  return JSON.parse(Buffer.from(keys.open('idempotency', sealed, rowOf(owner))).toString()) as Answer;
}

function rowOf({ storeId, apiClientId, key }: KeyOwner): string {
  return `idempotency ${storeId} ${apiClientId} ${key}`;
}
