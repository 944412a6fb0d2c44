/** The state of online sales of which nothing is due: each card has as much as was paid and did not go back. */

import assert from 'node:assert/strict';
import type { Payment } from '../../src/features/online-sales/domain/payment.ts';
import { isPaid } from '../../src/features/online-sales/domain/sale.ts';
import { listDifferences } from '../../src/features/online-sales/service/compare.ts';
import { requireCard } from '../../src/core/cards/service/present-card.ts';
import type { StoredSale } from '../../src/features/online-sales/storage/sale.ts';
import { all, sql, toNumber } from '../../src/database/sql/sql.ts';
import type { Shop } from './sale-world.ts';

type HeldPayment = Pick<Payment, 'state' | 'amount' | 'refunds' | 'dispute'>;

/** A sale, and its payment as the provider has it. */
export type SaleAtEnd = { readonly sale: StoredSale; readonly payment: HeldPayment | undefined };

type Entry = { card_id: bigint; kind: string; amount: bigint };

function refundedOf({ refunds }: HeldPayment): bigint {
  return refunds
    .filter(({ state }) => state !== 'failed')
    .reduce((sum, { amount }) => sum + amount.minor, 0n);
}

/** The part of a payment that the store keeps: less refunds, less the amount of a dispute. */
function netOf(payment: HeldPayment | undefined): bigint {
  if (payment?.state !== 'paid') return 0n;
  const { dispute: disputed } = payment;
  const taken = disputed?.state === 'lost' || disputed?.state === 'open' ? disputed.amount.minor : 0n;
  return payment.amount.minor - refundedOf(payment) - taken;
}

/** Asserts the state of one sale. @param own the entries of its card on the account of online sales. */
async function assertSaleBalanced(
  { storage, store }: Shop,
  { sale, payment }: SaleAtEnd,
  own: readonly Entry[],
): Promise<void> {
  const label = `${sale.key}: ${sale.state}, payment ${payment?.state}, dispute ${payment?.dispute?.state}`;
  assert.equal(isPaid(sale.state), payment?.state === 'paid', label);
  assert.notEqual(sale.state, 'review', label);
  const issues = own.filter(({ kind }) => kind === 'issue');
  assert.equal(issues.length, sale.state === 'issued' ? 1 : 0, label);
  const onCard = own.reduce(
    (total, entry) => total + (entry.kind === 'issue' ? entry.amount : -entry.amount),
    0n,
  );
  const net = netOf(payment);
  // While a dispute is open, its card keeps the amount and is stopped, unless it was taken off before.
  const open = payment?.dispute?.state === 'open' ? payment.dispute.amount.minor : 0n;
  const isKept = open > 0n && sale.state === 'issued' && onCard > 0n;
  const expected = isKept ? net + open : net + sale.loss.minor;
  assert.equal(onCard, expected, `${label}, loss ${sale.loss.minor}, owed ${sale.owed.minor}`);
  assert.equal(sale.owed.minor, 0n, label);
  if (payment) assert(refundedOf(payment) <= payment.amount.minor, `${label}: refunded twice`);
  const { cardId } = sale;
  if (cardId === null) return;
  const card = await storage.read(() => requireCard(store.id, cardId));
  // A loss is what was spent: nothing of it is left on the card.
  if (sale.loss.minor > 0n) assert.equal(card.balance.minor, 0n, label);
  if (net === 0n && !isKept && card.held.minor === 0n) assert.equal(card.balance.minor, 0n, label);
  const isStopped = card.disabledAt !== null || card.suspendedAt !== null;
  if (net === 0n) assert(isStopped, `${label} is not stopped`);
  if (payment?.dispute?.state === 'open' || payment?.dispute?.state === 'warning')
    assert(isStopped, `${label} is not suspended`);
}

/**
 * Asserts that each card has as much as was paid and did not go back, that no sale has two cards and no card has no sale, and
 * that the comparison with the provider finds nothing.
 */
export async function assertSalesBalanced(
  shop: Shop,
  sales: readonly SaleAtEnd[],
): Promise<{ readonly issued: number; readonly paid: number }> {
  const { ctx, storage, store } = shop;
  const entries = await storage.read(function* () {
    return yield* all(sql<Entry>`
      select card_id, kind, amount from transfers
      where debit_account = 'online_sales' or credit_account = 'online_sales'`);
  });
  const byCard = Map.groupBy(entries, ({ card_id: id }) => toNumber(id));
  for (const each of sales)
    await assertSaleBalanced(shop, each, byCard.get(each.sale.cardId ?? Number.NaN) ?? []);
  const issued = sales.filter(({ sale }) => sale.cardId !== null).length;
  const issues = entries.filter(({ kind }) => kind === 'issue');
  assert.equal(issues.length, issued, 'a card was issued for no sale');
  const differences = await storage.read(() => listDifferences(ctx, store));
  assert.deepEqual(differences, []);
  return { issued, paid: sales.filter(({ payment }) => payment?.state === 'paid').length };
}
