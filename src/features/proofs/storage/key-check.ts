import { bytes, columns, integer, text, type RowOf } from '../../../database/sql/columns.ts';
import { all, execute, sql, type Script } from '../../../database/sql/sql.ts';

export type KeyCheck = {
  readonly keyId: string;
  readonly digest: Uint8Array;
  /** ms since 1970 UTC, later than that of every earlier key. */
  readonly createdAt: number;
};

const keyChecks = columns({
  key_id: text('keyId'),
  digest: bytes('digest'),
  created_at: integer('createdAt'),
});

/** Returns the keys that the database has used, oldest first. */
export function* listKeyChecks(): Script<readonly KeyCheck[]> {
  const rows = yield* all(sql<RowOf<typeof keyChecks>>`
    select ${keyChecks.names} from key_checks order by created_at, key_id`);
  return rows.map(keyChecks.read);
}

export function* insertKeyCheck(check: KeyCheck): Script<void> {
  yield* execute(sql`
    insert into key_checks (${keyChecks.names}) values (${keyChecks.values(check)})
    on conflict (key_id) do nothing`);
}

/** Deletes all recorded keys. Callers use it only before anything was written with the keys. */
export function* deleteKeyChecks(): Script<void> {
  yield* execute(sql`delete from key_checks`);
}
