/** The handler with stores in currencies of 0, 2 and 3 decimals, called as Vendure calls it. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import {
  CurrencyCode,
  Order,
  Payment,
  RequestContext,
  type PaymentMethod,
  type PaymentMethodHandler,
} from '@vendure/core';
import { createClient } from 'largesse-client';
import { databaseToServe, serve } from '../../../test/support/served.ts';
import { openGiftCards } from '../src/gift-cards.ts';
import { createGiftCardHandler } from '../src/index.ts';
import { settingsOf } from '../src/options.ts';
import { refundToCard } from '../src/payment.ts';
import { openStore } from './store.ts';

const database = await databaseToServe();
after(() => database[Symbol.asyncDispose]());
const stores = new Map<string, Awaited<ReturnType<typeof openStore>>>();
for (const currency of ['USD', 'JPY', 'KWD'])
  stores.set(currency, await openStore(database.environment, currency));
const service = await serve(database.environment);
after(() => service[Symbol.asyncDispose]());

const context = RequestContext.empty();
// The handler needs nothing of its payment method.
const method = {} as PaymentMethod;

/** A handler of the store in a currency, and a client of its operator. */
function shopIn(currency: string, precision: number) {
  const { token, operatorToken } = stores.get(currency) ?? assert.fail();
  const handler = createGiftCardHandler({ url: service.url, token, decimalsOf: () => precision });
  return { handler, client: createClient({ url: service.url, token: operatorToken }) };
}

async function sold(client: ReturnType<typeof createClient>, initial_value: string) {
  const { gift_card: card } = await client.cards.create({ initial_value });
  return { id: card.id, code: 'code' in card ? card.code : assert.fail() };
}

let orders = 0;
function orderIn(currencyCode: CurrencyCode): Order {
  orders += 1;
  return new Order({ code: `ORDER-${orders}`, currencyCode, payments: [] });
}

async function pay(
  handler: PaymentMethodHandler,
  order: Order,
  { due, code }: { readonly due: number; readonly code: string },
): Promise<Payment> {
  const result = await handler.createPayment(context, order, due, [], { code }, method);
  return new Payment({ ...result, id: order.code });
}

test('a card of another currency is declined', async () => {
  const { handler, client } = shopIn('JPY', 2);
  const { code } = await sold(client, '500');
  const { state, errorMessage } = await pay(handler, orderIn(CurrencyCode.USD), { due: 10_00, code });
  assert.deepEqual([state, errorMessage], ['Declined', 'This gift card is in JPY, and the order is in USD']);
});

for (const { currency, precision, initial, due, held, balance } of [
  // Vendure has two decimals for every currency by default.
  { currency: 'JPY', precision: 2, initial: '2000', due: 1500_00, held: 1500_00, balance: '500' },
  { currency: 'JPY', precision: 2, initial: '2000', due: 1500_99, held: 1500_00, balance: '500' },
  { currency: 'JPY', precision: 0, initial: '2000', due: 1500, held: 1500, balance: '500' },
  { currency: 'JPY', precision: 0, initial: '2000', due: 2500, held: 2000, balance: '0' },
  { currency: 'KWD', precision: 2, initial: '1.239', due: 5_00, held: 1_23, balance: '0.009' },
  { currency: 'KWD', precision: 3, initial: '1.239', due: 5_000, held: 1_239, balance: '0.000' },
  { currency: 'USD', precision: 3, initial: '9.00', due: 1_239, held: 1_230, balance: '7.77' },
] as const)
  test(`${due} is due in ${currency} with ${precision} decimals: a card of ${initial} pays ${held}`, async () => {
    const { handler, client } = shopIn(currency, precision);
    const card = await sold(client, initial);
    const order = orderIn(CurrencyCode[currency]);
    const payment = await pay(handler, order, { due, code: card.code });
    assert.deepEqual([payment.state, payment.amount], ['Authorized', held]);

    const settled = await handler.settlePayment(context, order, payment, [], method);
    assert.equal(settled.success, true);
    assert.equal((await client.cards.retrieve(card.id)).gift_card.balance, balance);
  });

test('an amount that a currency cannot express is not refunded in part', async () => {
  const { handler, client } = shopIn('USD', 3);
  const card = await sold(client, '9.00');
  const order = orderIn(CurrencyCode.USD);
  const payment = await pay(handler, order, { due: 5_000, code: card.code });
  const settled = await handler.settlePayment(context, order, payment, [], method);
  const { token } = stores.get('USD') ?? assert.fail();
  const cards = openGiftCards(settingsOf({ url: service.url, token }));
  payment.metadata = { ...payment.metadata, ...settled.metadata };
  const step = { order, payment, precision: 3, refunds: 0, reason: 'Half\u0000 a cent\nless' };
  const { state } = await refundToCard(cards, { ...step, amount: 5 });
  assert.equal(state, 'Failed');
  assert.equal((await client.cards.retrieve(card.id)).gift_card.balance, '4.00');
  assert.equal((await refundToCard(cards, { ...step, amount: 10 })).state, 'Settled');
  assert.equal((await client.cards.retrieve(card.id)).gift_card.balance, '4.01');
});

test('codes of orders of any form become external ids', async () => {
  const { handler, client } = shopIn('USD', 2);
  const card = await sold(client, '100.00');
  for (const code of ['Bestellung Nr. 7 – ä', 'x'.repeat(300), 'a/b?c#d%e', '..', ':']) {
    const order = new Order({ code, currencyCode: CurrencyCode.USD, payments: [] });
    const payment = await pay(handler, order, { due: 1_00, code: card.code });
    assert.equal(payment.state, 'Authorized', code);
    assert.equal((await handler.cancelPayment(context, order, payment, [], method))?.success, true);
  }
  assert.equal((await client.cards.retrieveBalance(card.id)).gift_card.available, '100.00');
});
