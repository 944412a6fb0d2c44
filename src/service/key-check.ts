/** Finds a wrong key file at start, before a code cannot be found or a card is issued under it. */

import assert from 'node:assert/strict';
import type { Context } from '../context.ts';
import { sameBytes } from '../keys.ts';
import { beat } from '../storage/heartbeat.ts';
import { insertKeyCheck, listKeyChecks } from '../storage/key-check.ts';
import type { Script } from '../storage/sql.ts';

/** Whether the database was written with any keys yet. */
export function* hasKeys(): Script<boolean> {
  const checks = yield* listKeyChecks();
  return checks.length > 0;
}

/**
 * Compares the keys with those that the database was written with, and notes new ones.
 * @returns the id of the oldest key, which public ids are derived from.
 * @throws Error if one is missing or another one.
 */
export function* checkKeys(ctx: Context): Script<string> {
  // Locks a row that is always there: of two processes that come with other keys, one is refused.
  yield* beat(null);
  const checks = yield* listKeyChecks();
  const held = new Map(
    ctx.keys.digests('key-check', 'largesse').map((digest, index) => [ctx.keys.ids[index], digest]),
  );
  for (const { keyId, digest } of checks) {
    const own = held.get(keyId);
    if (!own) throw new Error(`the key file lacks the key "${keyId}", which this database was written with`);
    if (!sameBytes(own, digest))
      throw new Error(`the key "${keyId}" is not the one that this database was written with`);
  }
  let newest = checks.at(-1)?.createdAt ?? 0;
  // The oldest key is the last one of the file. No clock that is set back makes a new key the oldest.
  for (const [keyId, digest] of [...held].toReversed()) {
    if (keyId === undefined || checks.some((check) => check.keyId === keyId)) continue;
    newest = Math.max(ctx.clock.now(), newest + 1);
    yield* insertKeyCheck({ keyId, digest, createdAt: newest });
  }
  const [oldest] = yield* listKeyChecks();
  assert(oldest, 'a database without a key');
  return oldest.keyId;
}
