/** Which keys this database was written with. */

import { all, run, sql, toNumber, type Script } from './sql.ts';

export type KeyCheck = {
  readonly keyId: string;
  readonly digest: Uint8Array;
  /** Instant in ms. Each key's is later than those of the keys before it. */
  readonly createdAt: number;
};

/** The keys that this database was written with, the oldest first. */
export function* listKeyChecks(): Script<readonly KeyCheck[]> {
  const rows = yield* all(sql<{ key_id: string; digest: Uint8Array; created_at: bigint }>`
    select key_id, digest, created_at from key_checks order by created_at, key_id`);
  return rows.map((row) => ({
    keyId: row.key_id,
    digest: row.digest,
    createdAt: toNumber(row.created_at),
  }));
}

export function* insertKeyCheck({ keyId, digest, createdAt }: KeyCheck): Script<void> {
  yield* run(sql`
    insert into key_checks (key_id, digest, created_at) values (${keyId}, ${digest}, ${createdAt})
    on conflict (key_id) do nothing`);
}

/** Forgets what keys were noted, where nothing was written with them yet. */
export function* deleteKeyChecks(): Script<void> {
  yield* run(sql`delete from key_checks`);
}
