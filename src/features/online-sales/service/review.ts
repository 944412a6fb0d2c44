/** Decisions about paid sales that staff review before their cards are made. */

import { Fault } from '../../../core/domain/fault.ts';
import { keyOfSale, type OnlineSale, type SaleKey } from '../domain/sale.ts';
import type { Context } from '../../../core/storage/context.ts';
import { listRefunds } from '../storage/refund.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { insertRequested } from './going-back.ts';
import { isIssuable, issueSale } from './issuing.ts';
import { requireSale, returned, settlePaid } from './settle.ts';
import { pageOf } from './settings.ts';

/** A sale after a decision, and whether this decision was made: a sale that is not in review does not change. */
export type Decided = { readonly sale: OnlineSale; readonly isDecided: boolean };

/** Makes the card of a reviewed sale. @throws Fault `not-found`, `store-closed`; `no-address` if its buyer was erased. */
export function* releaseSale(ctx: Context, key: SaleKey): Script<Decided> {
  const { store, sale } = yield* requireSale(key);
  if (sale.state !== 'review') return { sale, isDecided: false };
  if (!isIssuable(sale)) throw new Fault('no-address');
  const issued = yield* issueSale(ctx, { store, page: yield* pageOf(store), sale });
  const refunds = yield* listRefunds(keyOfSale(sale));
  return { sale: yield* settlePaid(ctx, { store, before: sale, sale: issued, refunds }), isDecided: true };
}

/** Sends the money of a reviewed sale back. @throws Fault `not-found`, `store-closed`. */
export function* returnSale(
  ctx: Context,
  key: SaleKey,
  { actor, reason }: { readonly actor: string; readonly reason: string | null },
): Script<Decided> {
  const { store, sale } = yield* requireSale(key);
  if (sale.state !== 'review') return { sale, isDecided: false };
  const decided = returned(sale, { reason: 'staff', now: ctx.clock.now() });
  const refund = yield* insertRequested(ctx, decided, { by: 'review', actor, reason, amount: sale.paid });
  const refunds = [...(yield* listRefunds(key)), refund];
  return { sale: yield* settlePaid(ctx, { store, before: sale, sale: decided, refunds }), isDecided: true };
}
