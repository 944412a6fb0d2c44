/** The server in the place of Stripe behaves as the official library expects. */

import assert from 'node:assert/strict';
import { Agent } from 'node:https';
import test, { after } from 'node:test';
import Stripe from 'stripe';
import { idIn } from '../../support/stripe-objects.ts';
import { stripeHint, stripeService, stripeVersion } from '../../support/stripe.ts';

let now = Date.now();
const service = await stripeService(() => now);
after(() => service[Symbol.asyncDispose]());
service.keys.set('sk_test_0123456789abcdef', []);

const agent = new Agent({ ca: service.authority });
after(() => agent.destroy());

function clientOf(key = 'sk_test_0123456789abcdef'): Stripe {
  return new Stripe(key, {
    host: 'localhost',
    port: service.port,
    httpAgent: agent,
    maxNetworkRetries: 0,
    telemetry: false,
  });
}

const client = clientOf();

const request = {
  mode: 'payment',
  line_items: [
    { quantity: 1, price_data: { currency: 'eur', unit_amount: 5_000, product_data: { name: 'Gift card' } } },
  ],
  client_reference_id: 'sale-1',
  metadata: { sale: 'sale-1' },
  payment_intent_data: { metadata: { sale: 'sale-1' }, description: 'Gift card' },
  success_url: 'https://cards.flowers.example/order',
  cancel_url: 'https://cards.flowers.example/buy',
  locale: 'de',
} satisfies Stripe.Checkout.SessionCreateParams;

async function paid() {
  const session = await client.checkout.sessions.create(request);
  service.pay(session.id);
  return session;
}

test('the library uses the version of the service', () => {
  assert.equal(Stripe.API_VERSION, stripeVersion);
});

test('a session is created once for a key, and rejects other parameters with it', async () => {
  const first = await client.checkout.sessions.create(request, { idempotencyKey: 'a' });
  const again = await client.checkout.sessions.create(request, { idempotencyKey: 'a' });
  assert.deepEqual([again.id, first.status, first.url?.slice(0, 8)], [first.id, 'open', 'https://']);
  await assert.rejects(
    client.checkout.sessions.create({ ...request, locale: 'en' }, { idempotencyKey: 'a' }),
    Stripe.errors.StripeIdempotencyError,
  );
});

test('a session rejects what the published schema does not have', async () => {
  const wrong = { ...request, amount: 5 } as unknown as Stripe.Checkout.SessionCreateParams;
  await assert.rejects(client.checkout.sessions.create(wrong), { code: 'parameter_unknown' });
  await assert.rejects(client.checkout.sessions.create({ ...request, line_items: [] }), {
    code: 'parameter_missing',
  });
  await assert.rejects(clientOf('sk_test_unknown').checkout.sessions.create(request), {
    type: 'StripeAuthenticationError',
  });
});

test('a paid session has a charge with its card', async () => {
  const { id } = await paid();
  const session = await client.checkout.sessions.retrieve(id, { expand: ['payment_intent.latest_charge'] });
  const intent = session.payment_intent as Stripe.PaymentIntent;
  const charge = intent.latest_charge as Stripe.Charge;
  assert.deepEqual(
    [session.status, session.payment_status, intent.status, charge.amount, charge.metadata],
    ['complete', 'paid', 'succeeded', 5_000, { sale: 'sale-1' }],
  );
  assert.equal(charge.payment_method_details?.card?.three_d_secure?.result, 'authenticated');
});

test('an open session expires by request and by itself, and a paid one does not', async () => {
  const open = await client.checkout.sessions.create(request);
  assert.equal((await client.checkout.sessions.expire(open.id)).status, 'expired');
  const { id } = await paid();
  await assert.rejects(client.checkout.sessions.expire(id), { type: 'StripeInvalidRequestError' });
  const late = await client.checkout.sessions.create(request);
  now += 86_400_000;
  assert.equal((await client.checkout.sessions.retrieve(late.id)).status, 'expired');
});

test('refunds are listed by payment, and never exceed it', async () => {
  const { id } = await paid();
  const { payment_intent: intent } = await client.checkout.sessions.retrieve(id);
  const payment = idIn(intent);
  const made = await client.refunds.create({
    payment_intent: payment,
    amount: 2_000,
    metadata: { refund: 'r' },
  });
  assert.deepEqual([made.status, made.metadata], ['succeeded', { refund: 'r' }]);
  await assert.rejects(client.refunds.create({ payment_intent: payment, amount: 3_001 }), {
    type: 'StripeInvalidRequestError',
  });
  await client.refunds.create({ payment_intent: payment });
  await assert.rejects(client.refunds.create({ payment_intent: payment }), {
    code: 'charge_already_refunded',
  });
  const list = await client.refunds.list({ payment_intent: payment });
  assert.deepEqual(
    list.data.map(({ amount }) => amount),
    [3_000, 2_000],
  );
});

test('disputes, warnings and the balance are listed in pages', async () => {
  const { id } = await paid();
  const dispute = service.dispute(id);
  const warning = service.warn(id);
  const [found] = (await client.disputes.list({ limit: 1 })).data;
  assert.deepEqual([found?.id, found?.status], [dispute, 'needs_response']);
  assert.equal((await client.radar.earlyFraudWarnings.list({ limit: 1 })).data[0]?.id, warning);
  const all = [];
  for await (const each of client.balanceTransactions.list({ limit: 2 })) all.push(each.id);
  assert.deepEqual(all, [...service.transactions.keys()].toReversed());
  const [newest] = (await client.balanceTransactions.list({ limit: 1, expand: ['data.source'] })).data;
  assert.equal((newest?.source as Stripe.Dispute | undefined)?.id, dispute);
});

test('the library accepts the signatures of its webhooks, with each of two secrets', () => {
  const event = { type: 'checkout.session.completed', object: { id: 'cs_test_1' } };
  const secrets = ['whsec_first', 'whsec_second'];
  const { body, headers } = stripeHint(event, { secrets, at: Date.now() });
  for (const secret of secrets) {
    const read = client.webhooks.constructEvent(body, headers['stripe-signature'], secret);
    assert.equal(read.type, event.type);
  }
  assert.throws(() => client.webhooks.constructEvent(body, headers['stripe-signature'], 'whsec_third'));
});
