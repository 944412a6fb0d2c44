/**
 * External ids: the second request of a caller with an external id returns the object of the first one, for ever. Only a
 * success uses an id. A digest of what was asked for recognizes another request, also after an erasure.
 */

import assert from 'node:assert/strict';
import type { ExternalKind } from '../../domain/external-id.ts';
import { Fault } from '../../domain/fault.ts';
import { sameBytes } from '../../../platform/keys.ts';
import type { Context } from '../../storage/context.ts';
import { RetryTransaction, type Script } from '../../../database/sql/sql.ts';
import {
  externalDigestLength,
  findExternalUse,
  insertExternalUse,
  type ExternalKey,
  type ExternalUse,
} from '../../stores/storage/external-id.ts';

/** An external id of a kind of object, in a store. */
export type ExternalId = { readonly storeId: number; readonly kind: ExternalKind; readonly text: string };

/** A request with an external id, by a caller. */
export type ExternalRequest = ExternalId & {
  readonly actor: string;
  /** The content of the request, as JSON. Requests with the same content are repetitions. */
  readonly asked: readonly (string | number | boolean | null)[];
};

/** The text whose keyed digest is stored. */
export function usedText({ kind, storeId, text }: ExternalId): string {
  return `${kind} ${storeId} ${text}`;
}

function shortDigests({ keys }: Context, text: string): readonly [Uint8Array, ...Uint8Array[]] {
  const [first, ...others] = keys
    .digests('external-id', text)
    .map((digest) => digest.subarray(0, externalDigestLength));
  assert(first, 'there is no digest under the key in use');
  return [first, ...others];
}

function keyOf(ctx: Context, id: ExternalId): ExternalKey {
  return { storeId: id.storeId, kind: id.kind, digests: shortDigests(ctx, usedText(id)) };
}

/** The digests contain the id, so equal requests with different ids have different digests. */
function contentsOf(ctx: Context, { storeId, kind, text, asked }: ExternalRequest) {
  return shortDigests(ctx, JSON.stringify(['asked', storeId, kind, text, ...asked]));
}

/**
 * Returns the object of a request that repeats an earlier one; null: the external id is unused.
 * @throws Fault `external-id-used` if the earlier one was another caller’s, or asked for something else.
 */
export function* findRepeatedObject(ctx: Context, request: ExternalRequest): Script<number | null> {
  const use = yield* findExternalUse(keyOf(ctx, request));
  if (!use) return null;
  const { objectId } = use;
  if (objectId === null || !isRepetitionOf(ctx, request, use)) throw new Fault('external-id-used');
  return objectId;
}

/** Finds what `findRepeatedObject` finds, but returns null also for another request. */
export function* findRepeatedIfSame(ctx: Context, request: ExternalRequest): Script<number | null> {
  const use = yield* findExternalUse(keyOf(ctx, request));
  return use && isRepetitionOf(ctx, request, use) ? use.objectId : null;
}

function isRepetitionOf(ctx: Context, request: ExternalRequest, { actor, content }: ExternalUse): boolean {
  return (
    actor === request.actor &&
    content !== null &&
    contentsOf(ctx, request).some((digest) => sameBytes(digest, content))
  );
}

/** @throws RetryTransaction if another transaction has used it since it was looked for. */
function* recordExternalId(ctx: Context, request: ExternalRequest, objectId: number): Script<void> {
  const [content] = contentsOf(ctx, request);
  const use = { actor: request.actor, objectId, content, createdAt: ctx.clock.now() };
  if (!(yield* insertExternalUse(keyOf(ctx, request), use)))
    throw new RetryTransaction('another request has used the external id');
}

/** The result of a request, and whether an earlier one has made its object. */
export type Once<T> = { readonly result: T; readonly isRepeated: boolean };

/**
 * Runs a script that makes an object, unless an earlier request has made it.
 * @param request null: the request has no external id.
 * @param find the present state of an object that was made before.
 * @throws Fault `external-id-used`; RetryTransaction.
 */
export function* withExternalId<T>(
  ctx: Context,
  request: ExternalRequest | null,
  {
    run,
    idOf,
    find,
  }: {
    readonly run: () => Script<T>;
    readonly idOf: (result: T) => number;
    readonly find: (objectId: number) => Script<T>;
  },
): Script<Once<T>> {
  if (!request) return { result: yield* run(), isRepeated: false };
  const repeated = yield* findRepeatedObject(ctx, request);
  if (repeated !== null) return { result: yield* find(repeated), isRepeated: true };
  const result = yield* run();
  yield* recordExternalId(ctx, request, idOf(result));
  return { result, isRepeated: false };
}

/**
 * Returns the object with an external id; undefined: none.
 * @param onlyActor finds only what this caller has made; null: of every caller.
 */
export function* findByExternalId(
  ctx: Context,
  id: ExternalId,
  onlyActor: string | null,
): Script<number | undefined> {
  return objectOf(yield* findExternalUse(keyOf(ctx, id)), onlyActor);
}

function objectOf(use: ExternalUse | undefined, onlyActor: string | null): number | undefined {
  return use && (onlyActor === null || use.actor === onlyActor) ? (use.objectId ?? undefined) : undefined;
}

export function* isExternalIdUsed(ctx: Context, id: ExternalId): Script<boolean> {
  return (yield* findExternalUse(keyOf(ctx, id))) !== undefined;
}

/**
 * Uses up an external id for which `findByExternalId` has found nothing, so that no object ever has it.
 * @throws RetryTransaction if another transaction has used it since then.
 */
export function* useUpExternalId(
  ctx: Context,
  { actor, ...id }: ExternalId & { readonly actor: string },
  onlyActor: string | null,
): Script<void> {
  const key = keyOf(ctx, id);
  const use = yield* findExternalUse(key);
  if (use && objectOf(use, onlyActor) === undefined) return;
  const usedUp = { actor, objectId: null, content: null, createdAt: ctx.clock.now() };
  if (use || !(yield* insertExternalUse(key, usedUp)))
    throw new RetryTransaction('another request has used the external id');
}
