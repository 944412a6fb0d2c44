/** Which keys this database was written with. */

import { all, run, sql, type Script } from './sql.ts';

export type KeyCheck = { readonly keyId: string; readonly digest: Uint8Array };

export function* listKeyChecks(): Script<readonly KeyCheck[]> {
  const rows = yield* all(sql<{ key_id: string; digest: Uint8Array }>`select key_id, digest from key_checks`);
  return rows.map((row) => ({ keyId: row.key_id, digest: row.digest }));
}

export function* insertKeyCheck({ keyId, digest }: KeyCheck, createdAt: number): Script<void> {
  yield* run(sql`
    insert into key_checks (key_id, digest, created_at) values (${keyId}, ${digest}, ${createdAt})
    on conflict (key_id) do nothing`);
}

/** Forgets what keys were noted, where nothing was written with them yet. */
export function* deleteKeyChecks(): Script<void> {
  yield* run(sql`delete from key_checks`);
}
