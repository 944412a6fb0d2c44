/** The status of stores that move, and the record of stores that were copied into this database. */

import type { StoreStatus } from '../../../core/stores/domain/store.ts';
import { columns, integer, text, unchanged, type RowOf } from '../../../database/sql/columns.ts';
import {
  all,
  execute,
  first,
  one,
  parallel,
  sql,
  toNumber,
  toNumberOrNull,
  type Script,
} from '../../../database/sql/sql.ts';

/** The status of a store, and what its moves recorded. */
export type StoreState = {
  readonly id: number;
  readonly domain: string;
  readonly status: StoreStatus;
  readonly isDemonstration: boolean;
  /** When it was last closed (ms); null: it is open. */
  readonly closedAt: number | null;
  readonly movedTo: string | null;
};

type StateRow = {
  readonly id: bigint;
  readonly domain: string;
  readonly status: StoreStatus;
  readonly demonstration: bigint;
  readonly closed_at: bigint | null;
  readonly moved_to: string | null;
};

function toState(row: StateRow): StoreState {
  return {
    id: toNumber(row.id),
    domain: row.domain,
    status: row.status,
    isDemonstration: row.demonstration === 1n,
    closedAt: toNumberOrNull(row.closed_at),
    movedTo: row.moved_to,
  };
}

export function* findStoreState(domain: string): Script<StoreState | undefined> {
  const row = yield* first(sql<StateRow>`
    select id, domain, status, demonstration, closed_at, moved_to from stores where domain = ${domain}`);
  return row && toState(row);
}

export function* findStoreStateById(id: number): Script<StoreState | undefined> {
  const row = yield* first(sql<StateRow>`
    select id, domain, status, demonstration, closed_at, moved_to from stores where id = ${id}`);
  return row && toState(row);
}

/**
 * Changes the status of a store that has the status `from`.
 * @returns whether it had.
 */
export function* changeStatus(
  id: number,
  {
    from,
    to,
    closedAt,
    movedTo,
  }: {
    readonly from: StoreStatus;
    readonly to: StoreStatus;
    readonly closedAt: number | null;
    readonly movedTo: string | null;
  },
): Script<boolean> {
  const rows = yield* all(sql`
    update stores set status = ${to}, closed_at = ${closedAt}, moved_to = ${movedTo}
    where id = ${id} and status = ${from} returning id`);
  return rows.length === 1;
}

/** Counts the emails, webhook deliveries and updates of wallets of a store that a process is sending (ms). */
export function* countClaims(storeId: number, now: number): Script<number> {
  const [emails, deliveries, updates, months] = yield* parallel(
    one(sql<{ claims: bigint }>`
      select count(*) as claims from email_deliveries
      where store_id = ${storeId} and next_at > ${now} and lease is not null`),
    one(sql<{ claims: bigint }>`
      select count(*) as claims from webhook_deliveries
      where store_id = ${storeId} and next_at > ${now} and lease is not null`),
    one(sql<{ claims: bigint }>`
      select count(*) as claims from wallet_cards
      where store_id = ${storeId} and next_at > ${now} and lease is not null`),
    one(sql<{ claims: bigint }>`
      select count(*) as claims from accountant_emails
      where store_id = ${storeId} and next_at > ${now} and lease is not null`),
  );
  return toNumber(emails.claims + deliveries.claims + updates.claims + months.claims);
}

export type StoreCopyState = 'copying' | 'failed' | 'complete';

/** The record that a store was copied into this database. */
export type StoreCopy = {
  readonly storeId: number;
  /** Identifies the source database. */
  readonly source: string;
  readonly sourceShown: string;
  /** When the store was closed there (ms). */
  readonly closedAt: number;
  readonly run: string;
  readonly state: StoreCopyState;
  readonly startedAt: number;
};

const storeCopies = columns({
  store_id: integer('storeId'),
  source: text('source'),
  source_shown: text('sourceShown'),
  closed_at: integer('closedAt'),
  run: text('run'),
  state: unchanged<StoreCopyState>()('state'),
  started_at: integer('startedAt'),
});

export function* findStoreCopy(storeId: number): Script<StoreCopy | undefined> {
  const row = yield* first(sql<RowOf<typeof storeCopies>>`
    select ${storeCopies.names} from store_copies where store_id = ${storeId}`);
  return row && storeCopies.read(row);
}

export function* insertStoreCopy(copy: StoreCopy): Script<void> {
  yield* execute(sql`insert into store_copies (${storeCopies.names}) values (${storeCopies.values(copy)})`);
}

/** Replaces the run of a copy. Further writes of the previous one are rejected. */
export function* replaceStoreRun(storeId: number, run: string): Script<void> {
  yield* execute(sql`update store_copies set run = ${run} where store_id = ${storeId}`);
}

/** Returns whether the copy belongs to this run, and locks it until the transaction ends. */
export function* keepStoreRun(storeId: number, run: string): Script<boolean> {
  const rows = yield* all(sql`
    update store_copies set run = ${run} where store_id = ${storeId} and run = ${run} returning store_id`);
  return rows.length === 1;
}

/** Ends a copy. */
export function* endStoreCopy(
  storeId: number,
  { state, at }: { readonly state: Exclude<StoreCopyState, 'copying'>; readonly at: number },
): Script<void> {
  yield* execute(sql`update store_copies set state = ${state}, ended_at = ${at} where store_id = ${storeId}`);
}

/** Deletes the rows of an arriving store that its copy does not contain, and the store itself. */
export function* deleteArrivingStore(storeId: number): Script<void> {
  yield* execute(
    sql`delete from verifications where store_id = ${storeId}`,
    sql`delete from log_cursors where store_id = ${storeId}`,
    sql`delete from log_backfills where store_id = ${storeId}`,
    sql`delete from store_copies where store_id = ${storeId}`,
    sql`delete from stores where id = ${storeId} and status = 'arriving'`,
  );
}
