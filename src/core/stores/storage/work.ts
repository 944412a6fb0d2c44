/**
 * The work of background jobs for each store, with its due time: a job reads only the stores that have something due. Each
 * change that makes work due earlier calls `makeWorkDue` in its transaction. The job reads the row first, then the store, and
 * settles the row only if it has not changed since.
 */

import type { Context } from '../../storage/context.ts';
import { all, execute, joined, part, sql, toNumber, type Script } from '../../../database/sql/sql.ts';
import { ofOpenStore } from './store.ts';

/** Closing a day, a checkpoint, expiries, reminders, emails about months, and what is erased by age. */
export const workKinds = [
  'closing',
  'checkpoint',
  'expiry',
  'reminders',
  'months',
  'access',
  'events',
  'emails',
  'deliveries',
  'requests',
] as const;

export type WorkKind = (typeof workKinds)[number];

/** Work of a store, and what its row has in `at`. */
export type StoreWork = { readonly storeId: number; readonly kind: WorkKind; readonly at: number };

/** A place in the order of work. */
export type WorkPlace = Pick<StoreWork, 'at' | 'storeId'>;

/** The kinds whose rows have the age of the oldest row. */
const erasingKinds: ReadonlySet<WorkKind> = new Set(['access', 'events', 'emails', 'deliveries', 'requests']);

/** Adds the rows of a store that was copied from another database: all of its work is due. */
export function* insertWork(storeId: number): Script<void> {
  yield* insertRows(storeId, () => 0);
}

/** Adds the rows of a new store, which has nothing to do yet. */
export function* insertFirstWork(ctx: Context, storeId: number): Script<void> {
  const now = ctx.wallClock.now();
  yield* insertRows(storeId, (kind) => (erasingKinds.has(kind) ? now : null));
}

function* insertRows(storeId: number, atOf: (kind: WorkKind) => number | null): Script<void> {
  const rows = workKinds.map((kind) => part`(${storeId}, ${kind}, ${atOf(kind)})`);
  yield* execute(sql`
    insert into store_work (store_id, kind, at) values ${joined(rows, ', ')} on conflict do nothing`);
}

/**
 * Makes work of a store due at once. It always writes: a job that reads the store at the same time may not see the changes
 * of this transaction, and must not settle the row then.
 */
export function* makeWorkDue(
  ctx: Context,
  storeId: number,
  kinds: readonly [WorkKind, ...WorkKind[]],
): Script<void> {
  for (const kind of kinds)
    yield* execute(sql`
      update store_work set at = ${-ctx.random.id()} where store_id = ${storeId} and kind = ${kind}`);
}

/** The first place of a list of work. */
export const firstWork: WorkPlace = { at: Number.MIN_SAFE_INTEGER, storeId: 0 };

/** Returns work of a kind in open stores, in the order of `at` up to a value, after a place. */
export function* listWork(
  kind: WorkKind,
  {
    after,
    upTo,
    limit,
  }: {
    readonly after: WorkPlace;
    readonly upTo: number;
    readonly limit: number;
  },
): Script<readonly StoreWork[]> {
  const rows = yield* all(sql<{ store_id: bigint; at: bigint }>`
    select store_id, at from store_work
    where kind = ${kind} and (at, store_id) > (${after.at}, ${after.storeId}) and at <= ${upTo} and ${ofOpenStore}
    order by at, store_id limit ${limit}`);
  return rows.map((row) => ({ kind, storeId: toNumber(row.store_id), at: toNumber(row.at) }));
}

/** Work that was done, and when it is due again; null: nothing is expected. */
export type SettledWork = StoreWork & { readonly next: number | null };

/** Records when work is due again, unless something has made it due since. */
export function* settleWork(works: readonly SettledWork[]): Script<void> {
  yield* execute(
    ...works.map(
      ({ storeId, kind, at, next }) => sql`
        update store_work set at = ${next} where store_id = ${storeId} and kind = ${kind} and at = ${at}`,
    ),
  );
}
