/** Lost messages, a frozen or ended service, and kills of the shop: nothing is held, captured or refunded twice. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { ShopPayment } from './administrator.ts';
import { assertBooks } from './books.ts';
import { Customer } from './customer.ts';
import { freezing, losing, type Kind } from './losses.ts';
import { openShop } from './shop.ts';

const shop = await openShop();
after(() => shop[Symbol.asyncDispose]());
const { administrator } = shop;
/** Longer than a step of Vendure can be in progress. */
const stepMs = 5_000;

async function sell(initial_value: string) {
  const { gift_card: card } = await shop.cards().cards.create({ initial_value });
  return { id: card.id, code: 'code' in card ? card.code : assert.fail() };
}

async function balanceOf({ id }: { readonly id: number }) {
  const { gift_card: card } = await shop.cards().cards.retrieveBalance(id);
  return [card.balance, card.available];
}

/** A customer at the payment of an order of 34.88 with tax. */
async function customerOf(): Promise<Customer> {
  const customer = new Customer(shop);
  await customer.orders(3);
  return customer;
}

/** An order that a card of 50.00 has paid. */
async function paidOrder() {
  const card = await sell('50.00');
  const customer = await customerOf();
  await customer.paysWithGiftCard(card.code);
  const { id, payments } = await assertBooks(shop, customer.code);
  const paymentOf = async (): Promise<ShopPayment> =>
    (await administrator.order(customer.code)).payments[0] ?? assert.fail();
  return { card, id, code: customer.code, paymentId: payments[0]?.id ?? assert.fail(), paymentOf };
}

for (const fate of ['before', 'after'] as const) {
  test(`the loss of each message ${fate} its handling is repaired within the step`, async () => {
    const once = { fate, count: 1 };
    const card = await sell('50.00');
    const customer = await customerOf();
    for (const kind of ['lookup', 'hold'] as const) {
      const cancelled = await customerOf();
      const requests = await losing(shop, { kind, ...once }, async () => {
        assert.equal((await cancelled.paysWithGiftCard(card.code)).state, 'PaymentAuthorized');
      });
      assert.equal(requests, 2, kind);
      const {
        payments: [payment],
      } = await assertBooks(shop, cancelled.code);
      await losing(shop, { kind: 'void', ...once }, async () => {
        assert.equal((await administrator.cancels(payment?.id ?? '')).state, 'Cancelled');
      });
      assert.deepEqual(await balanceOf(card), ['50.00', '50.00']);
    }
    await customer.paysWithGiftCard(card.code);
    const {
      payments: [payment],
    } = await assertBooks(shop, customer.code);
    assert.ok(payment);
    const captures = await losing(shop, { kind: 'capture', ...once }, async () => {
      assert.equal((await administrator.settles(payment.id)).state, 'Settled');
    });
    const reversals = await losing(shop, { kind: 'reverse', ...once }, async () => {
      assert.equal((await administrator.refunds(payment.id, 10_00)).state, 'Settled');
    });
    assert.deepEqual([captures, reversals], [2, 2]);
    await assertBooks(shop, customer.code);
    assert.deepEqual(await balanceOf(card), ['25.12', '25.12']);
  });
}

test('a checkout without any response to its hold leaves no hold, and can be repeated', async () => {
  const card = await sell('50.00');
  const customer = await customerOf();
  await losing(shop, { kind: 'hold', fate: 'after' }, async () => {
    const { __typename, paymentErrorMessage } = await customer.paysWithGiftCard(card.code);
    assert.equal(__typename, 'PaymentFailedError');
    assert.match(paymentErrorMessage ?? '', /cannot be checked at the moment/);
  });
  assert.deepEqual(await balanceOf(card), ['50.00', '50.00']);
  assert.equal((await customer.paysWithGiftCard(card.code)).state, 'PaymentAuthorized');
  await assertBooks(shop, customer.code);
});

test('a frozen service costs a customer some seconds, and the order is paid in another way', async () => {
  const card = await sell('50.00');
  const customer = await customerOf();
  await freezing(shop, async () => {
    const startedAt = performance.now();
    assert.equal((await customer.paysWithGiftCard(card.code)).__typename, 'PaymentFailedError');
    assert.ok(performance.now() - startedAt < 5_000, `${performance.now() - startedAt} ms`);
    assert.equal((await customer.paysWithBankCard()).state, 'PaymentAuthorized');
  });
  await assertBooks(shop, customer.code);
  assert.deepEqual(await balanceOf(card), ['50.00', '50.00']);
});

test('a service that has ended leaves payments as they are, and each step can be repeated', async () => {
  const { card, code, paymentId, paymentOf } = await paidOrder();
  shop.killLargesse();
  for (const step of ['settles', 'cancels'] as const) {
    const { paymentErrorMessage } = await administrator[step](paymentId);
    assert.match(paymentErrorMessage ?? '', /^Largesse did not respond/);
    assert.equal((await paymentOf()).state, 'Authorized');
  }
  await shop.restartLargesse();
  assert.equal((await administrator.settles(paymentId)).state, 'Settled');
  shop.killLargesse();
  const { state, metadata } = await administrator.refunds(paymentId, 10_00);
  assert.equal(state, 'Failed');
  assert.match(String(metadata?.['errorMessage']), /Repeat the same refund/);
  await shop.restartLargesse();
  assert.equal((await administrator.refunds(paymentId, 10_00)).state, 'Settled');
  await assertBooks(shop, code);
  assert.deepEqual(await balanceOf(card), ['25.12', '25.12']);
});

test('steps whose responses were all lost are found when they are repeated', async () => {
  const { card, code, paymentId, paymentOf } = await paidOrder();
  await losing(shop, { kind: 'capture', fate: 'after' }, async () => {
    const { paymentErrorMessage } = await administrator.settles(paymentId);
    assert.match(paymentErrorMessage ?? '', /may have happened\. Settle the payment again/);
  });
  assert.equal((await paymentOf()).state, 'Authorized');
  const { paymentErrorMessage } = await administrator.cancels(paymentId);
  assert.match(paymentErrorMessage ?? '', /was captured\. Settle the payment, and refund it/);
  assert.equal((await administrator.settles(paymentId)).state, 'Settled');
  await assertBooks(shop, code);

  await losing(shop, { kind: 'reverse', fate: 'after' }, async () => {
    assert.equal((await administrator.refunds(paymentId, 10_00)).state, 'Failed');
  });
  await wait(stepMs);
  const other = await administrator.refunds(paymentId, 5_00);
  assert.deepEqual(
    [other.state, other.metadata?.['errorMessage']],
    [
      'Failed',
      'An earlier refund of another amount happened, but is missing here. Repeat that refund first.',
    ],
  );
  assert.equal((await administrator.refunds(paymentId, 10_00)).state, 'Settled');
  assert.equal((await administrator.refunds(paymentId, 5_00)).state, 'Settled');
  await assertBooks(shop, code);
  assert.deepEqual(await balanceOf(card), ['30.12', '30.12']);
});

/** Kills Vendure after Largesse has handled a request, and starts it again. */
async function killedAfter(kind: Kind, body: () => Promise<unknown>): Promise<void> {
  await losing(shop, { kind, fate: 'after', count: 1, lost: shop.killVendure }, async () => {
    await assert.rejects(body());
  });
  await shop.restartVendure();
}

test('a shop that is killed after a hold releases it when the customer tries again', async () => {
  const card = await sell('20.00');
  const customer = await customerOf();
  await killedAfter('hold', () => customer.paysWithGiftCard(card.code));
  assert.deepEqual(await balanceOf(card), ['20.00', '0.00']);
  await wait(stepMs);
  assert.equal((await customer.paysWithGiftCard(card.code)).state, 'ArrangingPayment');
  assert.equal((await customer.paysWithBankCard()).state, 'PaymentAuthorized');
  await assertBooks(shop, customer.code);
});

test('a hold of a shop that was killed is released when the order is paid in another way', async () => {
  const card = await sell('20.00');
  const customer = await customerOf();
  await killedAfter('hold', () => customer.paysWithGiftCard(card.code));
  assert.equal((await customer.paysWithBankCard()).state, 'PaymentAuthorized');
  await assertBooks(shop, customer.code);
  assert.deepEqual(await balanceOf(card), ['20.00', '20.00']);
});

test('a shop that is killed after a capture, a refund or a void repeats each step once', async () => {
  const { card, code, paymentId, paymentOf } = await paidOrder();
  await killedAfter('capture', () => administrator.settles(paymentId));
  assert.equal((await paymentOf()).state, 'Authorized');
  assert.equal((await administrator.settles(paymentId)).state, 'Settled');
  await killedAfter('reverse', () => administrator.refunds(paymentId, 4_88));
  assert.deepEqual((await paymentOf()).refunds, []);
  await wait(stepMs);
  assert.equal((await administrator.refunds(paymentId, 4_88)).state, 'Settled');
  await assertBooks(shop, code);
  assert.deepEqual(await balanceOf(card), ['20.00', '20.00']);

  const cancelled = await paidOrder();
  await killedAfter('void', () => administrator.cancels(cancelled.paymentId));
  assert.equal((await cancelled.paymentOf()).state, 'Authorized');
  assert.equal((await administrator.cancels(cancelled.paymentId)).state, 'Cancelled');
  assert.deepEqual(await balanceOf(cancelled.card), ['50.00', '50.00']);
});
