/** Detects a wrong key file at start, before codes are not found or cards are issued with it. */

import assert from 'node:assert/strict';
import type { Context } from '../../../core/storage/context.ts';
import { sameBytes } from '../../../platform/keys.ts';
import { beat } from '../../../database/heartbeat.ts';
import { insertKeyCheck, listKeyChecks, type KeyCheck } from '../storage/key-check.ts';
import type { Script } from '../../../database/sql/sql.ts';

/** Whether the database was written with any key. */
export function* hasKeys(): Script<boolean> {
  const checks = yield* listKeyChecks();
  return checks.length > 0;
}

/**
 * Compares the keys with those that the database was written with, and records new ones.
 * @returns the id of the oldest key, which public ids are derived from.
 * @throws Error if a key is missing or has another secret.
 */
export function* checkKeys(ctx: Context): Script<string> {
  // Locks a row that always exists: of two processes that start with different keys, one fails.
  yield* beat(null);
  const checks = yield* listKeyChecks();
  const held = compareKeys(ctx, checks);
  let newest = checks.at(-1)?.createdAt ?? 0;
  // The oldest key is the last one of the file. Each time is later than the previous one, even if a clock was set back.
  for (const [keyId, digest] of [...held].toReversed()) {
    if (checks.some((check) => check.keyId === keyId)) continue;
    newest = Math.max(ctx.clock.now(), newest + 1);
    yield* insertKeyCheck({ keyId, digest, createdAt: newest });
  }
  return yield* oldestKey();
}

/** Like `checkKeys`, but new keys are not recorded: the database is not writable, or is that of other processes. */
export function* checkKeysWithoutWriting(ctx: Context): Script<string> {
  compareKeys(ctx, yield* listKeyChecks());
  return yield* oldestKey();
}

/** Compares the keys with the recorded ones, and returns the digest of each by its id. */
function compareKeys(ctx: Context, checks: readonly KeyCheck[]): ReadonlyMap<string, Uint8Array> {
  const digests = ctx.keys.digests('key-check', 'largesse');
  const held = new Map<string, Uint8Array>();
  for (const [index, digest] of digests.entries()) held.set(ctx.keys.ids[index] ?? '', digest);
  for (const { keyId, digest } of checks) {
    const own = held.get(keyId);
    if (!own) throw new Error(`the key file lacks the key "${keyId}", which this database was written with`);
    if (!sameBytes(own, digest))
      throw new Error(`the key "${keyId}" is not the one that this database was written with`);
  }
  return held;
}

function* oldestKey(): Script<string> {
  const [oldest] = yield* listKeyChecks();
  assert(oldest, 'the database does not have a key check');
  return oldest.keyId;
}
