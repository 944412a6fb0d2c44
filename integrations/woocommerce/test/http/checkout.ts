/** Checkouts with cards: block and classic, again after a failed payment, and at the same time. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { assertBooks } from './books.ts';
import { BlockCustomer, ClassicCustomer, classicOrderIdOf, orderIdOf } from './customer.ts';
import { balanceOf, sell } from './seller.ts';
import { cents, control, gatewayMode, type Shop } from './shop.ts';

export function checkoutTests(shop: () => Shop, suite: string): void {
  test(`${suite}: block checkout with two cards, a coupon, tax and shipping charges the rest`, async () => {
    const [small, large] = [await sell(shop(), '20.00'), await sell(shop(), '50.00')];
    const customer = new BlockCustomer();
    await customer.adds('table', 'lamp', 'pin');
    await customer.usesCoupon('ten');
    const whole = await customer.total();
    assert.equal((await customer.enters(small.code.toUpperCase().replaceAll(/(.{4})/g, '$1-'))).status, 200);
    assert.equal(await customer.total(), whole - 20_00);
    await customer.enters(large.code);
    const cart = await customer.cart();
    assert.equal(Number(cart.totals.total_price), whole - 70_00);
    assert.deepEqual(
      cart.extensions.largesse.cards.map(({ amount, available }) => [amount, available]),
      [
        [20_00, 20_00],
        [50_00, 50_00],
      ],
    );
    await customer.draft();
    const id = orderIdOf(await customer.places());
    const order = await assertBooks(shop(), id);
    assert.deepEqual([order.status, cents(order.total)], ['processing', whole - 70_00]);
    assert.deepEqual([await balanceOf(shop(), small), await balanceOf(shop(), large)], ['0.00', '0.00']);
  });

  test(`${suite}: a card pays a whole order, without a gateway`, async () => {
    const card = await sell(shop(), '300.00');
    const block = new BlockCustomer();
    await block.adds('table');
    const whole = await block.total();
    await block.enters(card.code);
    assert.equal(await block.total(), 0);
    const order = await assertBooks(shop(), orderIdOf(await block.places('')));
    assert.deepEqual([order.status, order.total, order.method], ['processing', '0.00', 'Gift card']);
    assert.equal(cents(await balanceOf(shop(), card)), 300_00 - whole);

    const classic = new ClassicCustomer();
    await classic.adds('lamp');
    assert.equal((await classic.enters(card.code)).status, 200);
    const second = await assertBooks(shop(), classicOrderIdOf(await classic.places('')));
    assert.deepEqual([second.status, second.total], ['processing', '0.00']);
  });

  test(`${suite}: classic checkout shows the card, and charges the rest`, async () => {
    const card = await sell(shop(), '33.33');
    const customer = new ClassicCustomer();
    await customer.adds('table', 'pin');
    assert.deepEqual((await customer.enters('nosuchcode')).status, 422);
    assert.equal((await customer.enters(card.code)).status, 200);
    const page = await customer.page('/classic-cart/');
    assert.match(page, /Gift card …/);
    assert.match(page, /33\.33/);
    const order = await assertBooks(shop(), classicOrderIdOf(await customer.places()));
    assert.equal(order.status, 'processing');
    assert.equal(await balanceOf(shop(), card), '0.00');
    const received = await customer.page(`/classic-checkout/order-received/${order.id}/?key=${order.key}`);
    assert.match(received, /Gift card …/);
  });

  for (const mode of ['decline', 'fail'] as const)
    test(`${suite}: block checkout again after a payment that did ${mode} has the same total and one hold`, async () => {
      const card = await sell(shop(), '30.00');
      const customer = new BlockCustomer();
      await customer.adds('table');
      const whole = await customer.total();
      await customer.enters(card.code);
      await gatewayMode(mode);
      for (let attempt = 1; attempt <= 3; attempt += 1) {
        const outcome = await customer.places();
        assert.equal(outcome.status, 400, JSON.stringify(outcome.body));
        assert.equal(await customer.total(), whole - 30_00);
      }
      await gatewayMode('pay');
      const order = await assertBooks(shop(), orderIdOf(await customer.places()));
      assert.deepEqual([order.status, cents(order.total)], ['processing', whole - 30_00]);
      assert.equal(await balanceOf(shop(), card), '0.00');
    });

  for (const mode of ['decline', 'fail'] as const)
    test(`${suite}: classic checkout again after a payment that did ${mode} has the same total and one hold`, async () => {
      const card = await sell(shop(), '30.00');
      const customer = new ClassicCustomer();
      await customer.adds('table');
      await customer.enters(card.code);
      await gatewayMode(mode);
      for (let attempt = 1; attempt <= 2; attempt += 1)
        assert.equal((await customer.places()).body['result'], 'failure');
      await gatewayMode('pay');
      const order = await assertBooks(shop(), classicOrderIdOf(await customer.places()));
      assert.equal(order.status, 'processing');
      assert.equal(await balanceOf(shop(), card), '0.00');
    });

  test(`${suite}: a cart that changes after a declined payment takes its card along`, async () => {
    const card = await sell(shop(), '30.00');
    const customer = new BlockCustomer();
    await customer.adds('table');
    await customer.enters(card.code);
    await gatewayMode('decline');
    await customer.places();
    await customer.adds('lamp');
    await gatewayMode('pay');
    const order = await assertBooks(shop(), orderIdOf(await customer.places()));
    assert.equal(order.status, 'processing');
    assert.equal(await balanceOf(shop(), card), '0.00');
    const { ids } = await control<{ ids: readonly number[] }>('orders');
    for (const id of ids.filter((known) => known >= order.id - 3)) await assertBooks(shop(), id);
  });

  test(`${suite}: a card that is removed is not held`, async () => {
    const card = await sell(shop(), '30.00');
    const customer = new BlockCustomer();
    await customer.adds('table');
    await customer.enters(card.code);
    await gatewayMode('decline');
    await customer.places();
    await customer.removes(card.id);
    await gatewayMode('pay');
    const order = await assertBooks(shop(), orderIdOf(await customer.places()));
    assert.equal(order.total, order.goods);
    await control('tasks');
    assert.equal((await shop().cards().cards.retrieveBalance(card.id)).gift_card.available, '30.00');
  });

  test(`${suite}: two checkouts at the same time spend a card once`, async () => {
    for (let round = 0; round < 3; round += 1) {
      const card = await sell(shop(), '60.00');
      const [one, other] = [new BlockCustomer(), new BlockCustomer()];
      for (const customer of [one, other]) {
        await customer.adds('table');
        await customer.enters(card.code);
      }
      const whole = (await one.total()) + 60_00;
      const outcomes = await Promise.all([one.places(), other.places()]);
      const [won, lost, loser] =
        outcomes[0].status === 200 ? [...outcomes, other] : [outcomes[1], outcomes[0], one];
      assert.deepEqual([won.status, lost.status], [200, 409], JSON.stringify(outcomes));
      assert.match(String(lost.body['message']), /has changed/);
      await assertBooks(shop(), orderIdOf(won));
      assert.equal(await balanceOf(shop(), card), '0.00');
      assert.equal(await loser.total(), whole);
      const order = await assertBooks(shop(), orderIdOf(await loser.places()));
      assert.equal(cents(order.total), whole);
    }
  });

  test(`${suite}: the same checkout sent twice at the same time holds once`, async () => {
    const card = await sell(shop(), '60.00');
    const customer = new BlockCustomer();
    await customer.adds('table');
    await customer.enters(card.code);
    await customer.draft();
    await gatewayMode('redirect');
    const outcomes = await Promise.all([customer.places(), customer.places()]);
    await gatewayMode('pay');
    const ids = new Set(outcomes.filter(({ status }) => status === 200).map(orderIdOf));
    for (const id of ids) await assertBooks(shop(), id);
    const { gift_card: left } = await shop().cards().cards.retrieveBalance(card.id);
    assert.equal(left.held, '60.00');
  });
}
