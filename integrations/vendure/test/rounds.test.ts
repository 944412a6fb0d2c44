/**
 * Random orders, with lost messages and kills of both servers: the money of each card is what its payments took and its refunds
 * gave back, and no finished order holds a card. `SEED`, `ORDERS` and `KILLS` choose another round.
 */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { seeded } from '../../../test/support/seeded.ts';
import { integerOf } from '../src/amounts.ts';
import type { Change, ShopOrder } from './administrator.ts';
import { assertBooks, refundedOf } from './books.ts';
import { Customer, type Outcome } from './customer.ts';
import { openShop } from './shop.ts';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const ordersCount = Number(process.env['ORDERS'] ?? 15);
/** A shop that has been killed takes some seconds to start. */
const killsMax = Number(process.env['KILLS'] ?? 2);
const random = seeded(seed);
const chance = (probability: number): boolean => random() < probability;

const shop = await openShop();
after(() => shop[Symbol.asyncDispose]());
const { administrator, gateway } = shop;

const cards: { readonly id: number; readonly code: string; readonly initial: number }[] = [];
let kills = 0;
let losses = 0;
/** Whether a step runs: only then Vendure is killed. */
let isStepping = false;
let isKilled = false;

/** From now on, a tenth of the messages are lost, and a few of these kill Vendure. */
function loseSome(): void {
  gateway.lose = ({ method }) => {
    if (method !== 'POST' || !chance(0.1)) return 'none';
    losses += 1;
    return chance(0.5) ? 'before' : 'after';
  };
  gateway.lost = () => {
    if (!isStepping || kills >= killsMax || !chance(0.3)) return;
    kills += 1;
    isKilled = true;
    shop.killVendure();
  };
}

/** Runs a step, after which the shop runs. @returns null if the shop was killed. */
async function step<Result>(body: () => Promise<Result>): Promise<Result | null> {
  isStepping = true;
  try {
    return await body();
  } catch (error) {
    if (!isKilled) throw error;
    return null;
  } finally {
    isStepping = false;
    if (isKilled) await shop.restartVendure();
    isKilled = false;
  }
}

/** Repeats a step of an administrator until it is done. Without a response, the administrator looks whether it is. */
async function until(body: () => Promise<Change>, isDone: () => Promise<boolean>): Promise<void> {
  for (let attempts = 1; ; attempts += 1) {
    const change = await step(body);
    if (change?.state === 'Settled' || (change === null && (await isDone()))) return;
    assert.ok(attempts < 20, `SEED=${seed}: not settled: ${JSON.stringify(change)}`);
    await wait(500);
  }
}

async function sell(): Promise<void> {
  const initial_value = (random.between(100, 4_000) / 100).toFixed(2);
  const { gift_card: card } = await shop.cards().cards.create({ initial_value });
  const code = 'code' in card ? card.code : assert.fail();
  cards.push({ id: card.id, code, initial: integerOf(initial_value, 2) });
}

/** Pays with some cards, perhaps with an unknown code and twice with the same card, and then with a bank card. */
async function checkOut(customer: Customer): Promise<void> {
  let outcome: Outcome | null = null;
  for (let count = random.between(0, 4); count > 0 && outcome?.state !== 'PaymentAuthorized'; count -= 1) {
    const card = cards[random.between(0, cards.length - 1)];
    outcome = await step(() => customer.paysWithGiftCard(chance(0.1) ? 'unknowncode00001' : card?.code));
  }
  // A response that was lost does not say whether the order is paid.
  const { state } = await administrator.order(customer.code);
  if (state === 'ArrangingPayment') outcome = await step(() => customer.paysWithBankCard());
  assert.equal(
    (await administrator.order(customer.code)).state,
    'PaymentAuthorized',
    `SEED=${seed}: ${outcome?.__typename}`,
  );
}

async function settle({ payments }: ShopOrder): Promise<void> {
  for (const { id, state } of payments)
    if (state === 'Authorized')
      await until(
        () => administrator.settles(id),
        async () => false,
      );
}

/** The amount of a payment that was not refunded. */
async function leftOf(code: string, paymentId: string): Promise<number> {
  const { payments } = await administrator.order(code);
  const payment = payments.find(({ id }) => id === paymentId) ?? assert.fail();
  return payment.amount - refundedOf(payment);
}

async function refundSome(code: string): Promise<void> {
  const { payments } = await administrator.order(code);
  for (const payment of payments) {
    let left =
      payment.state === 'Settled' && payment.method === 'gift-card'
        ? payment.amount - refundedOf(payment)
        : 0;
    for (let count = random.between(0, 2); count > 0 && left > 0; count -= 1) {
      const amount = chance(0.3) ? left : random.between(1, left);
      const leftAfter = left - amount;
      await until(
        () => administrator.refunds(payment.id, amount),
        async () => (await leftOf(code, payment.id)) === leftAfter,
      );
      left = leftAfter;
    }
  }
}

test(`${ordersCount} random orders conserve the money of all cards`, { timeout: 600_000 }, async (t) => {
  t.diagnostic(`SEED=${seed}`);
  const codes: string[] = [];
  for (let count = 0; count < ordersCount; count += 1) {
    await sell();
    if (cards.length === 1) await sell();
    const customer = new Customer(shop);
    await customer.orders(random.between(1, 4), random.between(0, 1));
    codes.push(customer.code);
    loseSome();
    await checkOut(customer);
    if (chance(0.1)) await shop.restartLargesse();
    const order = await administrator.order(customer.code);
    if (chance(0.2)) await step(() => administrator.cancelsOrder(order.id));
    else {
      await settle(order);
      await refundSome(customer.code);
    }
    gateway.lose = () => 'none';
    gateway.lost = () => {};
  }
  t.diagnostic(`${losses} lost messages, ${kills} kills`);
  assert.ok(losses > 0);

  const moved = new Map<number, number>();
  for (const code of codes) {
    const { state, payments } = await assertBooks(shop, code);
    assert.ok(state === 'PaymentSettled' || state === 'Cancelled', `SEED=${seed}: ${code} is ${state}`);
    for (const payment of payments)
      if (payment.state === 'Settled' && payment.method === 'gift-card') {
        const id = Number(payment.metadata['giftCardId']);
        moved.set(id, (moved.get(id) ?? 0) + payment.amount - refundedOf(payment));
      }
  }
  for (const { id, initial } of cards) {
    const { gift_card: card } = await shop.cards().cards.retrieveBalance(id);
    const left = initial - (moved.get(id) ?? 0);
    assert.deepEqual(
      [integerOf(card.balance, 2), integerOf(card.available, 2)],
      [left, left],
      `SEED=${seed}: card ${id}`,
    );
  }
});
