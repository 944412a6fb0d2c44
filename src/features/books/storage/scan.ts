/** Reads all cards and transfers of a store with the few columns that the sums of its days need. */

import { idsAt } from '../../../platform/random.ts';
import { all, scan, type ScannedInteger, type Script } from '../../../database/sql/sql.ts';
import { entryKindOf } from './books.ts';
import { idSkewMaxMs } from '../../../core/money/storage/transfer.ts';
import type { CardIdRange } from '../../proofs/storage/ledger-scan.ts';

/** A constant in the statements: without it, a planner could sort all rows for every page. */
export const scannedRows = 500;

/** A card as the sums need it. */
export type CardOfBooks = {
  readonly id: ScannedInteger;
  readonly created_at: ScannedInteger;
  readonly expires_on: string | null;
  readonly vat: string | null;
  /** 1: the card was never changed or disabled; or 0. */
  readonly is_constant: ScannedInteger;
};

/** Returns the page of cards with ids above `after`, in the order of their ids. */
export function* scanCardsOfBooks(storeId: number, after: ScannedInteger): Script<readonly CardOfBooks[]> {
  return yield* all(scan<CardOfBooks>`
    select g.id, g.created_at, g.expires_on, g.vat,
      case when g.last_change_id is null and g.disabled_at is null then 1 else 0 end as is_constant
    from gift_cards g where g.store_id = ${storeId} and g.id > ${after} order by g.id limit 500`);
}

/** A transfer as the sums need it. */
export type TransferOfBooks = {
  readonly id: ScannedInteger;
  readonly card_id: ScannedInteger;
  readonly created_at: ScannedInteger;
  readonly amount: ScannedInteger;
  /**
   * Its kind in the books, the debited and the credited account, 1 if it is the first of its card, its location or `-`, and
   * the actor.
   */
  readonly movement: string;
};

/**
 * Returns the page after the id `after` of the transfers that are not late, in the order of their ids.
 * @param untilAt the end of the period, which it does not include.
 */
export function* scanTransfersOfBooks(
  storeId: number,
  {
    range,
    after,
    fromAt,
    untilAt,
  }: {
    readonly range: CardIdRange;
    readonly after: ScannedInteger;
    readonly fromAt: number;
    readonly untilAt: number;
  },
): Script<readonly TransferOfBooks[]> {
  return yield* all(scan<TransferOfBooks>`
    select t.id, t.card_id, t.created_at, t.amount,
      ${entryKindOf(storeId)} || ' ' || t.debit_account || ' ' || t.credit_account
        || case when t.sequence = 1 then ' 1 ' else ' 0 ' end
        || coalesce(cast(t.location_id as text), '-') || ' ' || t.actor as movement
    from transfers t
    where t.store_id = ${storeId} and t.id > ${after} and t.id < ${idsAt(untilAt + idSkewMaxMs + 1)}
      and t.card_id > ${range.after} and t.card_id <= ${range.upTo}
      and t.created_at >= ${fromAt} and t.created_at < ${untilAt}
      and not exists (select 1 from late_entries l where l.store_id = ${storeId} and l.id = t.id)
    order by t.id limit 500`);
}
