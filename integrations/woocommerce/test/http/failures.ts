/** Lost messages, a frozen service and restarts: money moves once, and customers wait only seconds. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { assertBooks } from './books.ts';
import { BlockCustomer, orderIdOf } from './customer.ts';
import { balanceOf, sell } from './seller.ts';
import {
  control,
  freezing,
  gatewayMode,
  losing,
  orderOf,
  type Shop,
  type ShopOrder,
  firstRow,
} from './shop.ts';

/** The longest time that a customer waits for a frozen service. */
const patienceMs = 9_000;

async function timed<T>(body: () => Promise<T>): Promise<readonly [T, number]> {
  const start = performance.now();
  return [await body(), performance.now() - start];
}

/** After a failure the circuit is open for a while, which only some tests want. */
const closeCircuit = (): Promise<unknown> => control('options', {});

export function failureTests(shop: () => Shop, suite: string): void {
  const withCard = async (amount = '40.00') => {
    const card = await sell(shop(), amount);
    const customer = new BlockCustomer();
    await customer.adds('table');
    await customer.enters(card.code);
    return { card, customer };
  };

  for (const fate of ['before', 'after'] as const)
    test(`${suite}: a hold whose message is lost ${fate} it happened is made once`, async () => {
      const { card, customer } = await withCard();
      let id = 0;
      const requests = await losing(shop(), { path: /\/holds$/, fate }, async () => {
        id = orderIdOf(await customer.places());
      });
      assert.equal(requests, 2);
      await assertBooks(shop(), id);
      assert.equal(await balanceOf(shop(), card), '0.00');
      await closeCircuit();
    });

  test(`${suite}: a hold whose responses are all lost is voided, and the customer pays in another way or again`, async () => {
    const { card, customer } = await withCard();
    await losing(shop(), { path: /\/holds$/, fate: 'after', count: Infinity }, async () => {
      const outcome = await customer.places();
      assert.equal(outcome.status, 409);
      assert.match(String(outcome.body['message']), /cannot be checked/);
    });
    await closeCircuit();
    await control('tasks');
    assert.equal((await shop().cards().cards.retrieveBalance(card.id)).gift_card.available, '40.00');
    const order = await assertBooks(shop(), orderIdOf(await customer.places()));
    assert.equal(order.status, 'processing');
    assert.equal(await balanceOf(shop(), card), '0.00');
  });

  for (const fate of ['before', 'after'] as const)
    test(`${suite}: a capture whose messages are lost ${fate} it happened is repeated by a task`, async () => {
      const { card, customer } = await withCard();
      let id = 0;
      await losing(shop(), { path: /\/capture$/, fate, count: Infinity }, async () => {
        id = orderIdOf(await customer.places());
      });
      assert.equal((await orderOf(id)).status, 'processing');
      await closeCircuit();
      await control('tasks');
      await assertBooks(shop(), id);
      assert.equal(await balanceOf(shop(), card), '0.00');
    });

  test(`${suite}: a refund whose responses are lost is made once`, async () => {
    const { card, customer } = await withCard();
    const id = orderIdOf(await customer.places());
    await losing(shop(), { path: /\/reverse$/, fate: 'after', count: Infinity }, async () => {
      const order = await control<ShopOrder>('refund', { id, cards: { [card.id]: 15_00 }, other: 0 });
      assert.equal(order.cards?.refunds[0]?.state, 'pending');
    });
    assert.match(
      String((await control<ShopOrder>('refund', { id, cards: { [card.id]: 25_01 }, other: 0 })).error),
      /More than a gift card paid/,
    );
    await closeCircuit();
    await control('tasks');
    await assertBooks(shop(), id);
    assert.equal(await balanceOf(shop(), card), '15.00');
  });

  test(`${suite}: a frozen service does not delay a checkout without a card, and others only by seconds`, async () => {
    const { customer } = await withCard();
    const other = new BlockCustomer();
    await other.adds('table');
    await freezing(shop(), async () => {
      const [plain, plainMs] = await timed(() => other.places());
      orderIdOf(plain);
      assert.ok(plainMs < 4_000, `${plainMs} ms without a card`);
      const [outcome, firstMs] = await timed(() => customer.places());
      assert.equal(outcome.status, 409);
      assert.ok(firstMs < patienceMs, `${firstMs} ms`);
      const [typed, typedMs] = await timed(() => customer.enters('abcdefgh12345678'));
      assert.equal(typed.status, 400);
      assert.ok(typedMs < patienceMs, `${typedMs} ms`);
      // By now, the circuit is open: nothing waits.
      const [again, againMs] = await timed(() => customer.places());
      assert.equal(again.status, 409);
      assert.ok(againMs < 3_000, `${againMs} ms`);
    });
    await closeCircuit();
    await control('tasks');
  });

  test(`${suite}: a service that freezes after the hold lets the order be paid, and the capture follows`, async () => {
    const { card, customer } = await withCard();
    await gatewayMode('redirect');
    const id = orderIdOf(await customer.places());
    await gatewayMode('pay');
    await freezing(shop(), async () => {
      const [, ms] = await timed(() => control('pay', { id }));
      assert.ok(ms < patienceMs + 3_000, `${ms} ms`);
      const order = await orderOf(id);
      assert.deepEqual([order.status, order.cards?.rows[0]?.state], ['processing', 'held']);
    });
    await closeCircuit();
    await control('tasks');
    await assertBooks(shop(), id);
    assert.equal(await balanceOf(shop(), card), '0.00');
  });

  test(`${suite}: a kill of the service between the hold and the capture changes nothing`, async () => {
    const { card, customer } = await withCard();
    await gatewayMode('redirect');
    const id = orderIdOf(await customer.places());
    await gatewayMode('pay');
    await shop().restartLargesse();
    await assertBooks(shop(), id);
    await control('pay', { id });
    await assertBooks(shop(), id);
    assert.equal(await balanceOf(shop(), card), '0.00');
  });

  test(`${suite}: hourly, the holds of waiting orders are extended`, async () => {
    const { customer } = await withCard();
    await gatewayMode('redirect');
    const id = orderIdOf(await customer.places());
    await gatewayMode('pay');
    const { hold } = await shop()
      .cards()
      .holds.retrieve(firstRow(await orderOf(id)).hold);
    // Times of the service are whole seconds.
    await wait(2_000);
    await control('hook', { name: 'largesse_extend_holds' });
    const later = (await shop().cards().holds.retrieve(hold.id)).hold;
    assert.ok(Date.parse(later.expires_at) > Date.parse(hold.expires_at));
  });
}
