/** Links that a member of staff uses once: to join, or to set a new password. Only hashes are stored. */

import { columns, integer, integerOrNull, type RowOf } from '../../../database/sql/columns.ts';
import { execute, first, sql, type Script } from '../../../database/sql/sql.ts';

export type StaffLink = {
  readonly storeId: number;
  readonly id: number;
  readonly staffId: number;
  /** The member of staff who created it; null: the command line. */
  readonly createdBy: number | null;
  /** Instants in ms. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly usedAt: number | null;
};

const links = columns({
  store_id: integer('storeId'),
  id: integer('id'),
  staff_id: integer('staffId'),
  created_by: integerOrNull('createdBy'),
  created_at: integer('createdAt'),
  expires_at: integer('expiresAt'),
  used_at: integerOrNull('usedAt'),
});

/** Inserts a link. Earlier links of the member end. */
export function* insertStaffLink(link: StaffLink, hash: Uint8Array): Script<void> {
  yield* execute(sql`
    update staff_links set used_at = ${link.createdAt}
    where store_id = ${link.storeId} and staff_id = ${link.staffId} and used_at is null`);
  yield* execute(sql`
    insert into staff_links (${links.names}, hash) values (${links.values(link)}, ${hash})`);
}

/** Finds a link that can be used. */
export function* findStaffLink(
  storeId: number,
  { hash, now }: { readonly hash: Uint8Array; readonly now: number },
): Script<StaffLink | undefined> {
  const row = yield* first(sql<RowOf<typeof links>>`
    select ${links.names} from staff_links
    where store_id = ${storeId} and hash = ${hash} and used_at is null and expires_at > ${now}`);
  return row && links.read(row);
}

/** Uses a link. @returns whether it could still be used. */
export function* markStaffLinkUsed({ storeId, id }: StaffLink, now: number): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    update staff_links set used_at = ${now}
    where store_id = ${storeId} and id = ${id} and used_at is null returning id`);
  return row !== undefined;
}
