import { all, execute, sql, toNumber, type Script } from './sql.ts';

export type KeyCheck = {
  readonly keyId: string;
  readonly digest: Uint8Array;
  /** ms since 1970 UTC, later than that of every earlier key. */
  readonly createdAt: number;
};

/** Returns the keys that the database has used, oldest first. */
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
  yield* execute(sql`
    insert into key_checks (key_id, digest, created_at) values (${keyId}, ${digest}, ${createdAt})
    on conflict (key_id) do nothing`);
}

/** Deletes all recorded keys. Callers use it only before anything was written with the keys. */
export function* deleteKeyChecks(): Script<void> {
  yield* execute(sql`delete from key_checks`);
}
