/** The last verification of this database, for each store. */

import { columns, integer, text, type RowOf } from '../../../database/sql/columns.ts';
import { execute, first, one, sql, toNumber, type Script } from '../../../database/sql/sql.ts';

export type VerificationRecord = {
  readonly storeId: number;
  /** Instant in ms. */
  readonly verifiedAt: number;
  /** Rows of all stores that were read. */
  readonly rowsRead: number;
  /** Problems of the store, and of the database as a whole. */
  readonly mismatches: number;
  readonly actor: string;
};

const verifications = columns({
  store_id: integer('storeId'),
  verified_at: integer('verifiedAt'),
  rows_read: integer('rowsRead'),
  mismatches: integer('mismatches'),
  actor: text('actor'),
});

type VerificationRow = RowOf<typeof verifications>;

/** Replaces the record of a store, unless that is of a later verification. */
export function* saveVerification(record: VerificationRecord): Script<void> {
  yield* execute(sql`
    insert into verifications (${verifications.names}) values (${verifications.values(record)})
    on conflict (store_id) do update set ${verifications.excluded}
    where verifications.verified_at <= excluded.verified_at`);
}

/** Undefined if the store was never verified. */
export function* findVerification(storeId: number): Script<VerificationRecord | undefined> {
  const row = yield* first(sql<VerificationRow>`
    select ${verifications.names} from verifications where store_id = ${storeId}`);
  return row && verifications.read(row);
}

export type LastVerification = {
  /** When the last verification of any store ended, in ms; null if no store was verified. */
  readonly verifiedAt: number | null;
  /** The highest number of problems of a store. */
  readonly mismatches: number;
};

/** The last verification of all stores. */
export function* findLastVerification(): Script<LastVerification> {
  const { last, mismatches } = yield* one(
    sql<{ last: bigint | null; mismatches: bigint | null }>`
      select max(verified_at) as last, max(mismatches) as mismatches from verifications`,
  );
  return { verifiedAt: last === null ? null : toNumber(last), mismatches: toNumber(mismatches ?? 0n) };
}
