/** The changes of liability in closed months. */

import type { Store } from '../../../core/stores/domain/store.ts';
import { all, sql, type Script } from '../../../database/sql/sql.ts';
import { indexedBy } from '../../../database/sql/fragments.ts';

/** The change of what a store owes in a closed month, and the cards that it issued, by the month's name. */
export type ClosedMonth = { readonly month: string; readonly change: bigint; readonly cards: number };

/** Returns the months of closed days, the earliest first. */
export function* listClosedMonths({
  id,
  currency,
}: Pick<Store, 'id' | 'currency'>): Script<readonly ClosedMonth[]> {
  const rows = yield* all(sql<{ month: string; change: string; cards: string }>`
    select month, cast(sum(raised - lowered) as text) as change, cast(sum(cards) as text) as cards
    from store_ages ${indexedBy('store_ages_of_months')}
    where store_id = ${id} and currency = ${currency.code} and length(month) = 7
    group by month order by month`);
  return rows.map(({ month, change, cards }) => ({ month, change: BigInt(change), cards: Number(cards) }));
}
