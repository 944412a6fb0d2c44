/** Every status of an order, edits by staff, and refunds to cards, to the gateway and to both. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { assertBooks } from './books.ts';
import { BlockCustomer, orderIdOf } from './customer.ts';
import { balanceOf, sell, type SoldCard } from './seller.ts';
import { cents, control, gatewayMode, orderOf, type Shop, type ShopOrder, firstRow, itemOf } from './shop.ts';

const stateOf = ({ cards }: ShopOrder): string => (cards?.rows ?? []).map(({ state }) => state).join();

const refund = (id: number, cards: Record<number, number>, other: number, items = {}): Promise<ShopOrder> =>
  control<ShopOrder>('refund', { id, cards, other, items });

export function orderTests(shop: () => Shop, suite: string): void {
  /** An order for a table, of which a card pays an amount. */
  const placed = async (
    amount: string,
    {
      mode = 'pay',
      method = 'largesse_test',
    }: { readonly mode?: 'pay' | 'hold' | 'redirect'; readonly method?: string } = {},
  ): Promise<{ id: number; card: SoldCard; customer: BlockCustomer }> => {
    const card = await sell(shop(), amount);
    const customer = new BlockCustomer();
    await customer.adds('table');
    await customer.enters(card.code);
    await gatewayMode(mode);
    const id = orderIdOf(await customer.places(method));
    await gatewayMode('pay');
    return { id, card, customer };
  };
  const setStatus = async (id: number, status: string): Promise<ShopOrder> => {
    await control('status', { id, status });
    return assertBooks(shop(), id);
  };
  const availableOf = async ({ id }: SoldCard): Promise<string> =>
    (await shop().cards().cards.retrieveBalance(id)).gift_card.available;

  test(`${suite}: an order on hold keeps its hold for a week, and captures it when it is paid`, async () => {
    for (const [mode, method] of [
      ['hold', 'largesse_test'],
      ['pay', 'bacs'],
    ] as const) {
      const { id, card } = await placed('40.00', { mode, method });
      const order = await assertBooks(shop(), id);
      assert.deepEqual([order.status, stateOf(order)], ['on-hold', 'held']);
      const { hold } = await shop().cards().holds.retrieve(firstRow(order).hold);
      const days = (Date.parse(hold.expires_at) - Date.parse(hold.created_at)) / 86_400_000;
      assert.ok(days > 6.9 && days <= 7, `${days} days`);
      assert.equal(await balanceOf(shop(), card), '40.00');
      assert.equal(stateOf(await setStatus(id, 'processing')), 'captured');
      assert.equal(await balanceOf(shop(), card), '0.00');
      assert.equal(stateOf(await setStatus(id, 'completed')), 'captured');
    }
  });

  test(`${suite}: cancelled, failed, trashed and deleted orders void their holds`, async () => {
    for (const status of ['cancelled', 'failed'] as const) {
      const { id, card } = await placed('40.00', { mode: 'hold' });
      assert.equal(stateOf(await setStatus(id, status)), 'released');
      assert.equal(await availableOf(card), '40.00');
      // Staff open it again, and it is paid.
      assert.equal(stateOf(await setStatus(id, 'processing')), 'captured');
      assert.equal(await balanceOf(shop(), card), '0.00');
    }
    for (const operation of ['trash', 'delete'] as const) {
      const { id, card } = await placed('40.00', { mode: 'hold' });
      await control(operation, { id });
      assert.equal(await availableOf(card), '40.00', operation);
    }
  });

  test(`${suite}: cash on delivery captures the card when the order is placed`, async () => {
    const { id, card } = await placed('40.00', { method: 'cod' });
    const order = await assertBooks(shop(), id);
    assert.deepEqual([order.status, stateOf(order)], ['processing', 'captured']);
    assert.equal(await balanceOf(shop(), card), '0.00');
  });

  test(`${suite}: a payment that is reported after the hold has ended still collects the card`, async () => {
    const { id, card } = await placed('40.00', { mode: 'redirect' });
    const order = await assertBooks(shop(), id);
    assert.deepEqual([order.status, stateOf(order)], ['pending', 'held']);
    await shop().expire(firstRow(order).hold);
    await control('pay', { id });
    assert.equal(stateOf(await assertBooks(shop(), id)), 'captured');
    assert.equal(await balanceOf(shop(), card), '0.00');
  });

  test(`${suite}: an order whose card is empty when the payment is reported is on hold, and staff take the card off`, async () => {
    const { id, card } = await placed('40.00', { mode: 'redirect' });
    const before = await orderOf(id);
    await shop().expire(firstRow(before).hold);
    await shop().cards().cards.debit(card.id, { amount: '40.00' });
    await control('pay', { id });
    const order = await assertBooks(shop(), id);
    assert.deepEqual([order.status, stateOf(order)], ['on-hold', 'failed']);
    assert.ok(
      order.notes.some((note) => note.includes('could not be collected')),
      JSON.stringify(order.notes),
    );
    await control('hook', { name: 'largesse_compare' });
    const { value } = await control<{ value: { differences: { order: number }[] } }>('read', {
      name: 'largesse_comparison',
    });
    assert.ok(value.differences.some((difference) => difference.order === id));
    const removed = await control<ShopOrder>('remove', { id, card: card.id });
    assert.equal(removed.total, removed.goods);
    await assertBooks(shop(), id);
  });

  test(`${suite}: a failed order is paid on its own page, and its card is held again`, async () => {
    const { id, card } = await placed('40.00', { mode: 'redirect' });
    await setStatus(id, 'failed');
    assert.equal(await availableOf(card), '40.00');
    const customer = new BlockCustomer();
    await customer.cart();
    orderIdOf(await customer.pays(await orderOf(id)));
    assert.equal(stateOf(await assertBooks(shop(), id)), 'captured');
    assert.equal(await balanceOf(shop(), card), '0.00');
  });

  test(`${suite}: a failed order whose card is empty asks for the whole amount on its own page`, async () => {
    const { id, card } = await placed('40.00', { mode: 'redirect' });
    await setStatus(id, 'failed');
    await shop().cards().cards.debit(card.id, { amount: '40.00' });
    const customer = new BlockCustomer();
    await customer.cart();
    assert.equal((await customer.pays(await orderOf(id))).status, 409);
    const order = await assertBooks(shop(), id);
    assert.equal(order.total, order.goods);
  });

  test(`${suite}: edits by staff keep the total and the cards together`, async () => {
    const { id, card } = await placed('150.00', { mode: 'hold' });
    const before = await assertBooks(shop(), id);
    await control('recalculate', { id });
    assert.equal((await assertBooks(shop(), id)).total, before.total);
    const more = await control<ShopOrder>('addItem', { id, sku: 'lamp' });
    assert.ok(cents(more.total) > cents(before.total));
    await assertBooks(shop(), id);
    // Without the table, the goods cost less than the card pays.
    const table = itemOf(more, 'Table');
    const less = await control<ShopOrder>('removeItem', { id, item: table });
    assert.equal(less.total, '0.00');
    await control('status', { id, status: 'processing' });
    const paid = await assertBooks(shop(), id);
    assert.equal(cents(await balanceOf(shop(), card)), 150_00 - cents(paid.goods));
    await control('recalculate', { id });
    await assertBooks(shop(), id);
  });

  test(`${suite}: refunds go to the card, to the gateway and to both, and never beyond what each paid`, async () => {
    const { id, card } = await placed('40.00');
    const { total, items } = await assertBooks(shop(), id);
    assert.equal((await refund(id, { [card.id]: 10_00 }, 0)).error, null);
    assert.equal((await refund(id, {}, 20_00)).error, null);
    assert.equal((await refund(id, { [card.id]: 5_00 }, 5_00)).error, null);
    assert.equal(await balanceOf(shop(), card), '15.00');
    assert.match(String((await refund(id, { [card.id]: 25_01 }, 0)).error), /More than a gift card paid/);
    assert.match(String((await refund(id, {}, cents(total) - 25_00 + 1)).error), /More than was paid/);
    assert.match(String((await refund(id, {}, 0)).error), /Enter an amount/);
    const table = itemOf({ items }, 'Table');
    assert.match(String((await refund(id, { [card.id]: 1_00 }, 0, { [table]: 1 })).error), /The items cost/);
    assert.equal((await assertBooks(shop(), id)).status, 'processing');
    const rest = await refund(id, { [card.id]: 25_00 }, cents(total) - 25_00);
    assert.deepEqual([rest.error, rest.status], [null, 'refunded']);
    const order = await assertBooks(shop(), id);
    assert.equal(order.refunded, order.total);
    assert.equal(await balanceOf(shop(), card), '40.00');
    const { value: refunds } = await control<{ value: { order: number; amount: string }[] }>('read', {
      name: 'largesse_test_refunds',
    });
    const money = refunds.filter((one) => one.order === id).map(({ amount }) => cents(amount));
    assert.equal(
      money.reduce((sum, amount) => sum + amount, 0),
      cents(total),
    );
  });

  test(`${suite}: items are refunded to the card and the gateway in one step`, async () => {
    const { id, card } = await placed('40.00');
    const { items, goods } = await assertBooks(shop(), id);
    const everything = Object.fromEntries(items.map((item) => [item.id, 1]));
    const done = await refund(id, { [card.id]: 40_00 }, cents(goods) - 40_00, everything);
    assert.deepEqual([done.error, done.status], [null, 'refunded']);
    await assertBooks(shop(), id);
    assert.equal(await balanceOf(shop(), card), '40.00');
  });

  test(`${suite}: an order that a card paid is refunded in parts to the card`, async () => {
    const { id, card } = await placed('300.00', { method: '' });
    const before = cents(await balanceOf(shop(), card));
    const { goods } = await assertBooks(shop(), id);
    const first = await refund(id, { [card.id]: 50_00 }, 0);
    assert.deepEqual([first.error, first.status], [null, 'processing']);
    await assertBooks(shop(), id);
    const second = await refund(id, { [card.id]: cents(goods) - 50_00 }, 0);
    assert.deepEqual([second.error, second.status], [null, 'refunded']);
    await assertBooks(shop(), id);
    assert.equal(cents(await balanceOf(shop(), card)), before + cents(goods));
  });

  test(`${suite}: the refund of WooCommerce pays the money back, and leaves the card to staff`, async () => {
    const { id, card } = await placed('40.00');
    const { total } = await assertBooks(shop(), id);
    assert.notEqual(
      (await control<ShopOrder>('refundMoney', { id, amount: String(cents(total) / 100 + 1) })).error,
      null,
    );
    const money = await control<ShopOrder>('refundMoney', { id, amount: total });
    assert.deepEqual([money.error, money.status], [null, 'processing']);
    const rest = await refund(id, { [card.id]: 40_00 }, 0);
    assert.deepEqual([rest.error, rest.status], [null, 'refunded']);
    await assertBooks(shop(), id);
  });

  test(`${suite}: a cancelled order whose card was captured is named by the comparison`, async () => {
    const { id, card } = await placed('40.00');
    await setStatus(id, 'cancelled');
    assert.equal(await balanceOf(shop(), card), '0.00');
    await control('hook', { name: 'largesse_compare' });
    const { value } = await control<{ value: { differences: { order: number; text: string }[] } }>('read', {
      name: 'largesse_comparison',
    });
    assert.ok(value.differences.some(({ order, text }) => order === id && text.includes('cancelled')));
    assert.equal((await refund(id, { [card.id]: 40_00 }, 0)).error, null);
    await assertBooks(shop(), id);
    await control('hook', { name: 'largesse_compare' });
    const { value: later } = await control<{ value: { differences: { order: number }[] } }>('read', {
      name: 'largesse_comparison',
    });
    assert.ok(!later.differences.some(({ order }) => order === id), JSON.stringify(later));
  });
}
