/** Staff actions with cards on a day: entries of the ledger, with details from the audit log. */

import type { Account, TransferKind } from '../../../core/money/domain/ledger.ts';
import type { StaffEntry } from '../domain/till-day.ts';
import { idsAt } from '../../../platform/random.ts';
import { idSkewMaxMs } from '../../../core/money/storage/transfer.ts';
import { all, sql, toNumber, toNumberOrNull, type Script } from '../../../database/sql/sql.ts';
import { indexedBy } from '../../../database/sql/fragments.ts';

/** A part of a period, after an id. The ids of rows follow their times with a small difference. */
export type PeriodPage = {
  readonly after: number;
  readonly fromAt: number;
  readonly untilAt: number;
  readonly limit: number;
};

function idsIn({ after, fromAt, untilAt }: PeriodPage) {
  return { from: Math.max(after, idsAt(fromAt - idSkewMaxMs) - 1), until: idsAt(untilAt + idSkewMaxMs + 1) };
}

/** The transfers of a period that members of staff made, oldest first. Those of API clients are not read. */
export function* listStaffEntries(storeId: number, page: PeriodPage): Script<readonly StaffEntry[]> {
  const { from, until } = idsIn(page);
  const rows = yield* all(sql<{
    id: bigint;
    card_id: bigint;
    last_characters: string;
    created_at: bigint;
    kind: TransferKind;
    amount: bigint;
    debit_account: Account;
    credit_account: Account;
    actor: string;
    location_id: bigint | null;
  }>`
    select t.id, t.card_id, g.last_characters, t.created_at, t.kind, t.amount, t.debit_account, t.credit_account, t.actor,
      t.location_id
    from transfers t ${indexedBy('transfers_by_staff')}
    join gift_cards g on g.store_id = ${storeId} and g.id = t.card_id
    where t.store_id = ${storeId} and t.id > ${from} and t.id < ${until}
      and t.actor >= 'staff:' and t.actor < 'staff;'
      and t.created_at >= ${page.fromAt} and t.created_at < ${page.untilAt}
    order by t.id limit ${page.limit}`);
  return rows.map((row) => ({
    id: toNumber(row.id),
    cardId: toNumber(row.card_id),
    lastCharacters: row.last_characters,
    createdAt: toNumber(row.created_at),
    kind: row.kind,
    amount: row.amount,
    debit: row.debit_account,
    credit: row.credit_account,
    staffId: Number(row.actor.slice('staff:'.length)),
    locationId: toNumberOrNull(row.location_id),
  }));
}

/** Actions on cards that can belong to an entry of the ledger. */
const entryActions = [
  'card-issued',
  'card-changed',
  'card-disabled',
  'card-redeemed',
  'card-refunded',
  'card-credited',
] as const;

export type EntryActionName = (typeof entryActions)[number];

export { entryActions };

export type ReadAction = {
  readonly id: number;
  /** Instant in ms. */
  readonly at: number;
  readonly tillId: number | null;
  readonly details: Readonly<Record<string, unknown>>;
};

/** The actions of one name in a period, oldest first. */
export function* listEntryActions(
  storeId: number,
  action: EntryActionName,
  page: PeriodPage,
): Script<readonly ReadAction[]> {
  const { from, until } = idsIn(page);
  const rows = yield* all(sql<{ id: bigint; at: bigint; till_id: bigint | null; details: string }>`
    select id, at, till_id, details from staff_actions ${indexedBy('staff_actions_by_action')}
    where store_id = ${storeId} and action = ${action} and id > ${from} and id < ${until}
    order by id limit ${page.limit}`);
  return rows.map((row) => ({
    id: toNumber(row.id),
    at: toNumber(row.at),
    tillId: toNumberOrNull(row.till_id),
    details: JSON.parse(row.details) as ReadAction['details'],
  }));
}
