/** Gift cards as products, the balance check, the account, the status page, and what the shop never stores. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { assertBooks } from './books.ts';
import { BlockCustomer, ClassicCustomer, classicOrderIdOf, orderIdOf } from './customer.ts';
import { balanceOf, sell, soldCodes } from './seller.ts';
import {
  cents,
  control,
  gatewayMode,
  losing,
  orderOf,
  shopUrl,
  type Shop,
  type ShopOrder,
  itemOf,
} from './shop.ts';

async function statesOf(shop: Shop, { issued }: ShopOrder): Promise<readonly string[]> {
  const states: string[] = [];
  for (const { card } of issued)
    states.push((await shop.cards().cards.retrieveDetails(card)).gift_card.state);
  return states;
}

export function saleTests(shop: () => Shop, suite: string): void {
  const gift = {
    largesse_amount: 'own',
    largesse_own_amount: '42.50',
    largesse_recipient_name: 'Grace',
    largesse_recipient_email: 'grace@example.com',
    largesse_sender_name: 'Ada',
    largesse_message: 'For you,\r\nAda',
    largesse_design: 'birthday',
  };
  const bought = async (quantity: string): Promise<number> => {
    const customer = new ClassicCustomer();
    await customer.addsCard({ ...gift, quantity });
    const cart = await customer.page('/classic-cart/');
    assert.match(cart, /Grace \(grace@example\.com\)/);
    return classicOrderIdOf(await customer.places());
  };

  test(`${suite}: a paid order issues one card for each of its quantity, and a lost response issues none twice`, async () => {
    let id = 0;
    await losing(shop(), { path: /\/gift_card$/, fate: 'after', count: 2 }, async () => {
      id = await bought('3');
    });
    await control('options', {});
    await control('tasks');
    const order = await orderOf(id);
    assert.deepEqual(
      order.issued.map(({ state }) => state),
      ['issued', 'issued', 'issued'],
    );
    assert.equal(new Set(order.issued.map(({ card }) => card)).size, 3);
    for (const { card } of order.issued) {
      const { gift_card: details } = await shop().cards().cards.retrieveDetails(card);
      assert.deepEqual(
        [
          details.balance,
          details.recipient_email,
          details.sender_name,
          details.recipient_name,
          details.design,
          details.message,
        ],
        ['42.50', 'grace@example.com', 'Ada', 'Grace', 'birthday', 'For you,\nAda'],
      );
    }
    let count = 0;
    for await (const { note } of shop().cards().cards.list({}))
      if (note === `WooCommerce order ${order.number}`) count += 1;
    assert.equal(count, 3);
  });

  test(`${suite}: a cancelled order suspends its cards, and a paid one resumes them`, async () => {
    const id = await bought('2');
    assert.deepEqual(await statesOf(shop(), await control('status', { id, status: 'cancelled' })), [
      'suspended',
      'suspended',
    ]);
    assert.deepEqual(await statesOf(shop(), await control('status', { id, status: 'processing' })), [
      'active',
      'active',
    ]);
    const { items } = await orderOf(id);
    const line = itemOf({ items }, 'Gift card');
    const partly = await control<ShopOrder>('refund', {
      id,
      cards: {},
      other: 42_50,
      items: { [line]: 1 },
    });
    assert.equal(partly.error, null);
    assert.deepEqual(await statesOf(shop(), await orderOf(id)), ['active', 'suspended']);
  });

  test(`${suite}: a gift card that is paid at the delivery is issued when the order is completed`, async () => {
    const customer = new ClassicCustomer();
    await customer.addsCard(gift);
    const id = classicOrderIdOf(await customer.places('cod'));
    const placed = await orderOf(id);
    assert.deepEqual([placed.status, placed.issued], ['processing', []]);
    const completed = await control<ShopOrder>('status', { id, status: 'completed' });
    assert.deepEqual(await statesOf(shop(), completed), ['active']);
  });

  test(`${suite}: a gift card that staff add to an order is issued for its price`, async () => {
    const customer = new BlockCustomer();
    await customer.adds('lamp');
    await gatewayMode('hold');
    const id = orderIdOf(await customer.places());
    await gatewayMode('pay');
    const before = await assertBooks(shop(), id);
    const after = await control<ShopOrder>('addItem', { id, sku: 'card' });
    // The smallest amount of the product.
    assert.equal(cents(after.total), cents(before.total) + 10_00);
    const paid = await control<ShopOrder>('status', { id, status: 'processing' });
    const [issued = assert.fail('no card was issued'), ...others] = paid.issued;
    assert.deepEqual(others, []);
    const { gift_card: details } = await shop().cards().cards.retrieveDetails(issued.card);
    assert.deepEqual([details.balance, details.state], ['10.00', 'active']);
  });

  test(`${suite}: the page of an order names the recipient`, async () => {
    const customer = new ClassicCustomer();
    await customer.addsCard(gift);
    const { id, key } = await orderOf(classicOrderIdOf(await customer.places()));
    const page = await customer.page(`/classic-checkout/order-received/${id}/?key=${key}`);
    assert.match(page, /Grace \(<a [^>]*>grace@example\.com<\/a>\)|Grace \(grace@example\.com\)/);
  });

  test(`${suite}: a form with a mistake keeps what the customer typed`, async () => {
    const page = await new ClassicCustomer().addsCard({ ...gift, largesse_recipient_email: 'grace' });
    assert.match(page, /email of the recipient is not valid/);
    for (const text of ['value="42.50"', 'value="Grace"', 'value="grace"', 'value="Ada"', 'For you,'])
      assert.ok(page.includes(text), text);
    for (const chosen of ['own', 'birthday'])
      assert.match(page, new RegExp(`value="${chosen}"[^>]*selected`));
  });

  test(`${suite}: amounts that the shop does not sell, and wrong fields, are rejected`, async () => {
    for (const [fields, text] of [
      [{ ...gift, largesse_own_amount: '9.99' }, /Choose an amount/],
      [{ ...gift, largesse_own_amount: '200.01' }, /Choose an amount/],
      [{ ...gift, largesse_recipient_email: 'grace' }, /email of the recipient/],
      [{ ...gift, largesse_send_on: '2020-01-01' }, /day of delivery/],
    ] as const) {
      assert.match(await new ClassicCustomer().addsCard(fields), text);
    }
  });

  for (const [coupon, total] of [
    // Gift card 42.50, shipping with tax 5.36, and the lamp of 19.99 less the discount, with tax.
    ['ten', '67.33'],
    ['five', '64.08'],
  ] as const)
    test(`${suite}: the coupon ${coupon} reduces the price of goods and not of gift cards`, async () => {
      const customer = new ClassicCustomer();
      await customer.addsCard(gift);
      await customer.adds('lamp');
      await customer.page('/classic-cart/', { coupon_code: coupon, apply_coupon: 'Apply coupon' });
      const order = await assertBooks(shop(), classicOrderIdOf(await customer.places()));
      assert.equal(order.total, total);
      assert.equal((await control<ShopOrder>('recalculateCoupons', { id: order.id })).total, total);
    });

  test(`${suite}: cards do not pay for cards`, async () => {
    const card = await sell(shop(), '100.00');
    const customer = new ClassicCustomer();
    await customer.addsCard(gift);
    await customer.adds('lamp');
    await customer.enters(card.code);
    const order = await assertBooks(shop(), classicOrderIdOf(await customer.places()));
    assert.equal(order.total, '42.50');
    assert.equal(cents(await balanceOf(shop(), card)), 100_00 - (cents(order.goods) - 42_50));
  });

  test(`${suite}: the balance check shows balances, and limits unknown codes`, async () => {
    const card = await sell(shop(), '12.34');
    const customer = new ClassicCustomer();
    assert.match(await customer.page('/balance/', { largesse_balance_code: card.code }), /12\.34/);
    const printed = card.code
      .toUpperCase()
      .replaceAll('0', 'O')
      .replaceAll(/(.{4})(?=.)/g, '$1–');
    assert.match(await customer.page('/balance/', { largesse_balance_code: `Code: ${printed}` }), /12\.34/);
    assert.match(
      await customer.page('/balance/', { largesse_balance_code: 'short' }),
      /not the code of a gift card/,
    );
    let last = '';
    for (let attempt = 0; attempt < 12; attempt += 1)
      last = await customer.page('/balance/', { largesse_balance_code: 'abcdefgh12345678' });
    assert.match(last, /Too many unknown codes/);
    await control('forgetVisitors');
  });

  test(`${suite}: guesses at the same time have one limit`, async () => {
    const guesses = Array.from({ length: 40 }, (_, index) =>
      new ClassicCustomer().page('/balance/', { largesse_balance_code: `abcdefgh123456${10 + index}` }),
    );
    const pages = await Promise.all(guesses);
    await control('forgetVisitors');
    assert.equal(pages.filter((page) => page.includes('There is no gift card with this code')).length, 10);
    assert.equal(pages.filter((page) => page.includes('Too many unknown codes')).length, 30);
  });

  test(`${suite}: the account shows the cards whose codes were entered, with their history`, async () => {
    const card = await sell(shop(), '64.00');
    await shop().cards().cards.debit(card.id, { amount: '4.00' });
    const customer = new ClassicCustomer();
    await customer.signsIn('admin', 'admin-password');
    const page = await customer.page('/my-account/gift-cards/');
    const [, nonce = ''] = /name="_wpnonce" value="(\w+)"/.exec(page) ?? [];
    await customer.page('/my-account/gift-cards/', {
      largesse_account: 'add',
      code: card.code,
      _wpnonce: nonce,
    });
    const shown = await customer.page('/my-account/gift-cards/');
    assert.match(shown, /60\.00/);
    assert.match(shown, /-(?:<[^>]+>|&#36;|\$)*4\.00|4\.00/);
    assert.ok(!shown.includes(card.code));
  });

  test(`${suite}: the comparison names a hold that no order uses, and the status page shows it`, async () => {
    const card = await sell(shop(), '20.00');
    const { value: shopId } = await control<{ value: { id: string } }>('read', { name: 'largesse_shop' });
    const client = await import('../../../../packages/client/src/index.ts');
    await client.createClient({ url: shop().gateway.url, token: shop().token }).cards.hold(card.id, {
      amount: '5.00',
      external_id: `woocommerce:${shopId.id}:999999:hold:${card.id}:1`,
    });
    await control('hook', { name: 'largesse_compare' });
    const admin = new ClassicCustomer();
    await admin.signsIn('admin', 'admin-password');
    const page = await admin.page('/wp-admin/admin.php?page=wc-status');
    assert.match(page, /reserved on a gift card that the order does not use/);
    assert.match(page, /#999999/);
  });

  test(`${suite}: the connection test names what is wrong`, async () => {
    const { problems } = await control<{ problems: readonly string[] }>('problems');
    assert.deepEqual(problems, []);
    await shop().connect({ token: 'lgs_wrong' });
    assert.match(
      (await control<{ problems: readonly string[] }>('problems')).problems.join(),
      /rejects the token/,
    );
    await shop().connect();
    for (const [forwarded, found] of [
      ['198.51.100.7', 1],
      ['198.51.100.7, 127.0.0.1', 0],
    ] as const) {
      const response = await fetch(`${shopUrl}/wp-json/largesse-test/problems`, {
        method: 'POST',
        headers: { 'x-forwarded-for': forwarded },
      });
      const named = (await response.json()) as { problems: readonly string[] };
      assert.equal(named.problems.filter((text) => /address of the proxy .*127/.test(text)).length, found);
    }
  });

  test(`${suite}: a copy of the shop under another URL sends nothing`, async () => {
    const { value: known } = await control<{ value: object }>('read', { name: 'largesse_shop' });
    await control('options', { largesse_shop: { ...known, url: 'shop.example' } });
    const card = await sell(shop(), '20.00');
    const customer = new BlockCustomer();
    await customer.adds('lamp');
    assert.equal((await customer.enters(card.code)).status, 400);
    await control('options', { largesse_shop: known });
    assert.equal((await customer.enters(card.code)).status, 200);
  });

  test(`${suite}: without the plugin, an order says what cards paid, and the plugin comes back`, async () => {
    const card = await sell(shop(), '20.00');
    const customer = new BlockCustomer();
    await customer.adds('table');
    await customer.enters(card.code);
    const paid = await assertBooks(shop(), orderIdOf(await customer.places()));
    await control('options', { active_plugins: ['woocommerce/woocommerce.php'] });
    const plain = await orderOf(paid.id);
    assert.deepEqual([plain.total, plain.status], [paid.total, paid.status]);
    assert.ok(
      plain.notes.some((note) => /20\.00 were taken from Gift card/.test(note)),
      JSON.stringify(plain.notes),
    );
    await control('options', {
      active_plugins: ['woocommerce/woocommerce.php', 'largesse-gift-cards/largesse-gift-cards.php'],
    });
    await assertBooks(shop(), paid.id);
  });

  test(`${suite}: without the plugin, customers cannot buy a gift card that is not issued`, async () => {
    const customer = new ClassicCustomer();
    await control('deactivate');
    try {
      await customer.adds('card');
      assert.match(await customer.page('/classic-cart/'), /cart is currently empty/);
    } finally {
      await control('activate');
    }
    await customer.addsCard(gift);
    assert.match(await customer.page('/classic-cart/'), /42\.50/);
  });

  test(`${suite}: what the plugin had not finished when it was deactivated is finished after it is active again`, async () => {
    const placed = async (mode: 'pay' | 'hold') => {
      const card = await sell(shop(), '40.00');
      const customer = new BlockCustomer();
      await customer.adds('table');
      await customer.enters(card.code);
      await gatewayMode(mode);
      const id = orderIdOf(await customer.places());
      await gatewayMode('pay');
      await control('options', {});
      return { id, card };
    };
    const waiting = await placed('hold');
    const refunded = await placed('pay');
    await losing(shop(), { path: /\/reverse$/, fate: 'before', count: Infinity }, () =>
      control('refund', { id: refunded.id, cards: { [refunded.card.id]: 15_00 }, other: 0 }),
    );
    let captured = refunded;
    let sold = 0;
    await losing(shop(), { path: /\/(?:capture|gift_card)$/, fate: 'before', count: Infinity }, async () => {
      captured = await placed('pay');
      sold = await bought('2');
    });
    assert.deepEqual((await orderOf(sold)).issued, []);
    await control('options', {});

    await control('deactivate');
    try {
      await control('status', { id: waiting.id, status: 'cancelled' });
      await control('flush');
    } finally {
      await control('activate');
    }
    await control('tasks');
    const { value } = await control<{ value: { differences: { order: number; text: string }[] } }>('read', {
      name: 'largesse_comparison',
    });
    for (const [id, text] of [
      [waiting.id, /cancelled or has failed, but .* still reserves/],
      [captured.id, /is paid, but/],
      [refunded.id, /were not given back/],
      [sold, /were not issued: 2/],
    ] as const)
      assert.ok(
        value.differences.some((one) => one.order === id && text.test(one.text)),
        `${text}: ${JSON.stringify(value.differences)}`,
      );
    for (const { id } of [waiting, captured, refunded]) await assertBooks(shop(), id);
    assert.equal((await shop().cards().cards.retrieveBalance(waiting.card.id)).gift_card.available, '40.00');
    assert.equal(await balanceOf(shop(), captured.card), '0.00');
    assert.equal(await balanceOf(shop(), refunded.card), '15.00');
    assert.deepEqual(await statesOf(shop(), await orderOf(sold)), ['active', 'active']);

    await control('hook', { name: 'largesse_compare' });
    const { value: later } = await control<{ value: { differences: { order: number }[] } }>('read', {
      name: 'largesse_comparison',
    });
    const own = new Set([waiting.id, captured.id, refunded.id, sold]);
    assert.deepEqual(
      later.differences.filter(({ order }) => own.has(order)),
      [],
    );

    const customer = new ClassicCustomer();
    await customer.signsIn('admin', 'admin-password');
    assert.match(await customer.page('/my-account/gift-cards/'), /Code of a gift card/);
  });

  test(`${suite}: an erasure of personal data of an order erases recipients and messages`, async () => {
    const id = await bought('1');
    assert.deepEqual(await control('erase', { id }), { found: [] });
  });

  test(`${suite}: uninstalling leaves what an order says, and removes the settings`, async () => {
    const card = await sell(shop(), '20.00');
    const customer = new BlockCustomer();
    await customer.adds('table');
    await customer.enters(card.code);
    const paid = await assertBooks(shop(), orderIdOf(await customer.places()));
    assert.deepEqual(await control('uninstall'), { left: false });
    const order = await orderOf(paid.id);
    assert.deepEqual([order.total, order.cards, order.notes], [paid.total, paid.cards, paid.notes]);
    await shop().connect();
  });

  test(`${suite}: no code of a card is in the database or the logs of the shop`, async () => {
    assert.ok(soldCodes.length > 10);
    assert.deepEqual(await control('search', { texts: soldCodes }), { found: [] });
    assert.equal((await fetch(shopUrl)).status, 200);
  });
}
