/** Tills: the devices on which members of staff sign in with a PIN. Only the hashes of their tokens are stored. */

import { columns, integer, integerOrNull, text, type RowOf } from '../../../database/sql/columns.ts';
import {
  all,
  execute,
  first,
  lock,
  sql,
  toNumber,
  toNumberOrNull,
  type Script,
} from '../../../database/sql/sql.ts';
import { paperWidthsMm, usualPaperMm, type PaperMm } from '../domain/till-paper.ts';
import { forUpdate } from '../../../database/sql/fragments.ts';

export type Till = {
  readonly storeId: number;
  readonly id: number;
  readonly name: string;
  /** Its location; null: none. */
  readonly locationId: number | null;
  /** The member of staff who enrolled it. */
  readonly createdBy: number;
  /** Instants in ms. */
  readonly createdAt: number;
  /** Null: it is enrolled. */
  readonly revokedAt: number | null;
  readonly paperMm: PaperMm;
};

export type TillKey = Pick<Till, 'storeId' | 'id'>;

const tills = columns({
  store_id: integer('storeId'),
  id: integer('id'),
  name: text('name'),
  created_by: integer('createdBy'),
  created_at: integer('createdAt'),
  revoked_at: integerOrNull('revokedAt'),
  location_id: integerOrNull('locationId'),
  paper_mm: integer('paperMm'),
});

type TillRow = RowOf<typeof tills>;

function readTill(row: TillRow): Till {
  const till = tills.read(row);
  return { ...till, paperMm: paperWidthsMm.find((mm) => mm === till.paperMm) ?? usualPaperMm };
}

export function* insertTill(till: Till, hash: Uint8Array): Script<void> {
  yield* execute(sql`insert into tills (${tills.names}, hash) values (${tills.values(till)}, ${hash})`);
}

/** Finds an enrolled till by the SHA-256 hash of its token. */
export function* findEnrolledTill(storeId: number, hash: Uint8Array): Script<Till | undefined> {
  const row = yield* first(sql<TillRow>`
    select ${tills.names} from tills where store_id = ${storeId} and hash = ${hash} and revoked_at is null`);
  return row && readTill(row);
}

/** Locks a till until the transaction ends, so that it cannot be revoked before a session on it is visible. */
export function* lockTill({ storeId, id }: TillKey): Script<void> {
  yield* execute(lock`select id from tills where store_id = ${storeId} and id = ${id} ${forUpdate}`);
}

/** Locks the tills of a store, so that two changes cannot exceed the maximum. */
export function* lockTillsOf(storeId: number): Script<void> {
  yield* execute(lock`select id from stores where id = ${storeId} ${forUpdate}`);
}

export function* countEnrolledTills(storeId: number): Script<number> {
  const rows = yield* all(sql<{ id: bigint }>`
    select id from tills where store_id = ${storeId} and revoked_at is null`);
  return rows.length;
}

/** @returns the till; undefined if there is none that is enrolled. */
export function* markTillRevoked({ storeId, id }: TillKey, now: number): Script<Till | undefined> {
  const row = yield* first(sql<TillRow>`
    update tills set revoked_at = ${now} where store_id = ${storeId} and id = ${id} and revoked_at is null
    returning ${tills.names}`);
  return row && readTill(row);
}

export type ListedTill = Till & {
  /** When a person last signed in on it, if that is known (ms). */
  readonly lastUsedAt: number | null;
};

/** The tills of a store: those that are enrolled first, then the newest. */
export function* listTills(storeId: number, limit: number): Script<readonly ListedTill[]> {
  const rows = yield* all(sql<TillRow & { last_used_at: bigint | null }>`
    select ${tills.of('d')}, (select max(s.created_at) from staff_sessions s
        where s.store_id = ${storeId} and s.till_id = d.id) as last_used_at
    from tills d where d.store_id = ${storeId}
    order by case when d.revoked_at is null then 0 else 1 end, d.id desc limit ${limit}`);
  return rows.map((row) => ({ ...readTill(row), lastUsedAt: toNumberOrNull(row.last_used_at) }));
}

/** Sets where a till is; null: at no location. Returns undefined if there is no such till that is enrolled. */
export function* moveTill({ storeId, id }: TillKey, locationId: number | null): Script<Till | undefined> {
  const row = yield* first(sql<TillRow>`
    update tills set location_id = ${locationId}
    where store_id = ${storeId} and id = ${id} and revoked_at is null
    returning ${tills.names}`);
  return row && readTill(row);
}

/** Sets the width of the paper of a till. Returns undefined if there is no such till that is enrolled. */
export function* setTillPaper({ storeId, id }: TillKey, paperMm: PaperMm): Script<Till | undefined> {
  const row = yield* first(sql<TillRow>`
    update tills set paper_mm = ${paperMm}
    where store_id = ${storeId} and id = ${id} and revoked_at is null
    returning ${tills.names}`);
  return row && readTill(row);
}

/** The location of a till; null: it is at none, or does not exist. */
export function* findTillLocation({ storeId, id }: TillKey): Script<number | null> {
  const row = yield* first(sql<{ location_id: bigint | null }>`
    select location_id from tills where store_id = ${storeId} and id = ${id}`);
  return toNumberOrNull(row?.location_id ?? null);
}

/** Finds a till, also one that was revoked. */
export function* findTill({ storeId, id }: TillKey): Script<Till | undefined> {
  const row = yield* first(sql<TillRow>`
    select ${tills.names} from tills where store_id = ${storeId} and id = ${id}`);
  return row && readTill(row);
}

/** The names of tills, also of those that were revoked, by id. */
export function* findTillNames(storeId: number, ids: readonly number[]): Script<ReadonlyMap<number, string>> {
  const names = new Map<number, string>();
  for (const id of ids) {
    const row = yield* first(sql<{ id: bigint; name: string }>`
      select id, name from tills where store_id = ${storeId} and id = ${id}`);
    if (row) names.set(toNumber(row.id), row.name);
  }
  return names;
}
