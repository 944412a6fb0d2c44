/** Compares an order of Vendure with the ledger of Largesse. */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { decimalOf, integerOf } from '../src/amounts.ts';
import type { ShopOrder, ShopPayment } from './administrator.ts';
import type { Shop } from './shop.ts';

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

/** The refunds of a payment that were made. */
export function refundedOf({ refunds }: ShopPayment): number {
  return sum(refunds.filter(({ state }) => state === 'Settled').map(({ total }) => total));
}

/** Runs `compareBooks` until it passes, for some seconds: Vendure reacts to a change of an order after the response. */
export async function assertBooks(shop: Shop, code: string): Promise<ShopOrder> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await compareBooks(shop, code);
    } catch (error) {
      if (attempts === 25) throw error;
      await wait(200);
    }
  }
}

/**
 * Asserts that the payments of an order are its goods and tax, that its entries in the ledger are what its settled payments
 * took less what was refunded, and that its open holds are those of its authorized payments.
 */
async function compareBooks(shop: Shop, code: string): Promise<ShopOrder> {
  const order = await shop.administrator.order(code);
  const goodsAndTax = order.subTotal + order.shipping + sum(order.taxSummary.map(({ taxTotal }) => taxTotal));
  const counted = order.payments.filter(({ state }) => state === 'Authorized' || state === 'Settled');
  const cards = counted.filter(({ method }) => method === 'gift-card');
  const others = counted.filter(({ method }) => method !== 'gift-card');
  if (order.state !== 'Cancelled') {
    assert.equal(order.totalWithTax, goodsAndTax, code);
    const paid = sum(others.map(({ amount }) => amount)) + sum(cards.map(({ amount }) => amount));
    if (order.state === 'ArrangingPayment') assert.ok(paid < goodsAndTax, code);
    else assert.equal(paid, goodsAndTax, code);
  }
  const settled = cards.filter(({ state }) => state === 'Settled');
  const taken = sum(settled.map((payment) => payment.amount - refundedOf(payment)));
  let entries = 0;
  for await (const { amount } of shop.cards().transactions.list({ order_reference: code }))
    entries += amount.startsWith('-') ? -integerOf(amount.slice(1), 2) : integerOf(amount, 2);
  assert.equal(entries + taken, 0, `${code}: the entries in the ledger`);
  const open: string[] = [];
  for await (const { id, amount } of shop.cards().holds.list({ order_reference: code, status: 'open' }))
    open.push(`${id} ${amount}`);
  const authorized = cards
    .filter(({ state }) => state === 'Authorized')
    .map(({ transactionId, amount }) => `${transactionId} ${Number(decimalOf(amount, 2)).toFixed(2)}`);
  assert.deepEqual(open.toSorted(), authorized.toSorted(), `${code}: the open holds`);
  return order;
}
