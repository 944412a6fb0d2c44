/** The sums of what a member of staff has refunded, which limits use. */

import { idSkewMaxMs } from '../../money/storage/transfer.ts';
import type { Currency } from '../../money/domain/currency.ts';
import { idsAt } from '../../../platform/random.ts';
import { indexedBy } from '../../../database/sql/fragments.ts';
import { all, one, sql, type Script } from '../../../database/sql/sql.ts';

/** Instants in ms. */
type Period = { readonly fromAt: number; readonly untilAt: number };

/**
 * Returns the sum of what a member of staff has reversed in a period, in minor units. It excludes the reversal of an own
 * debit as a whole within `undoMs` of it, and that of an online sale, whose refund is a row of its own.
 */
export function* sumRefundsBy(
  { storeId, actor }: { readonly storeId: number; readonly actor: string },
  { fromAt, untilAt, undoMs }: Period & { readonly undoMs: number },
): Script<bigint> {
  const from = Math.max(0, idsAt(fromAt - idSkewMaxMs) - 1);
  const until = idsAt(untilAt + idSkewMaxMs + 1);
  const rows = yield* all(sql<{ amount: bigint }>`
    select t.amount from transfers t ${indexedBy('transfers_by_staff')}
    join transfers r on r.store_id = ${storeId} and r.id = t.reverses
    where t.store_id = ${storeId} and t.id > ${from} and t.id < ${until}
      and t.actor >= 'staff:' and t.actor < 'staff;' and t.actor = ${actor} and t.kind = 'reversal'
      and t.created_at >= ${fromAt} and t.created_at < ${untilAt}
      and not (r.actor = ${actor} and r.kind = 'debit' and r.amount = t.amount
        and t.created_at < r.created_at + ${undoMs})
      and not (r.kind = 'issue' and r.debit_account = 'online_sales')`);
  return rows.reduce((sum, { amount }) => sum + amount, 0n);
}

/**
 * Returns the sum of the refunds that a member of staff has requested in a period, in minor units. It excludes those that
 * have failed, which returned no money.
 */
export function* sumSaleRefundsBy(
  { storeId, actor }: { readonly storeId: number; readonly actor: string },
  { fromAt, untilAt, currency }: Period & { readonly currency: Currency },
): Script<bigint> {
  const { refunded } = yield* one(sql<{ refunded: bigint }>`
    select cast(coalesce(sum(amount), 0) as bigint) as refunded from online_sale_refunds
    where store_id = ${storeId} and created_at >= ${fromAt} and created_at < ${untilAt} and actor = ${actor}
      and currency = ${currency.code} and state <> 'failed'`);
  return refunded;
}
