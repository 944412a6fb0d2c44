/** Compares an order of the shop with the ledger of Largesse, and with what its gateway has taken. */

import assert from 'node:assert/strict';
import { cents, control, orderOf, type Shop, type ShopOrder } from './shop.ts';

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

type Charge = { readonly order: number; readonly amount: string };

/**
 * Asserts that the total and the cards of an order are its goods, tax, shipping and discounts; that the entries in the ledger
 * are what its cards paid less what they got back; that its open holds are those of its cards; and that the gateway took the
 * total.
 */
export async function assertBooks(shop: Shop, id: number): Promise<ShopOrder> {
  const order = await orderOf(id);
  const rows = order.cards?.rows ?? [];
  const paid = sum(rows.map(({ amount }) => cents(amount)));
  assert.equal(cents(order.total) + paid, cents(order.goods), `${id}: the total and the cards`);

  const taken = sum(rows.filter(({ state }) => state === 'captured').map(({ amount }) => cents(amount)));
  const given = (order.cards?.refunds ?? []).filter(({ state }) => state === 'done');
  let entries = 0;
  for await (const { amount, kind } of shop.cards().transactions.list({ order_reference: order.number }))
    if (kind === 'capture' || kind === 'reversal') entries -= cents(amount);
  assert.equal(entries, taken - sum(given.map(({ amount }) => cents(amount))), `${id}: the ledger`);

  const open: string[] = [];
  for await (const hold of shop.cards().holds.list({ order_reference: order.number, status: 'open' }))
    open.push(`${hold.external_id} ${hold.amount}`);
  const held = rows.filter(({ state }) => state === 'held');
  assert.deepEqual(
    open.toSorted(),
    held.map(({ external, amount }) => `${external} ${Number(amount).toFixed(2)}`).toSorted(),
    `${id}: the open holds`,
  );

  const { value: charges } = await control<{ value: readonly Charge[] }>('read', {
    name: 'largesse_test_charges',
  });
  for (const { order: charged, amount } of charges)
    if (charged === id && order.status !== 'on-hold')
      assert.equal(cents(amount), cents(order.total), `${id}: the charge`);
  return order;
}
