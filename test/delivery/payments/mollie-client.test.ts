/** The server in the place of Mollie behaves as the official library expects. */

import assert from 'node:assert/strict';
import https from 'node:https';
import test, { after } from 'node:test';
import { createMollieClient, PaymentEmbed, PaymentStatus, type MollieClient } from '@mollie/api-client';
import { mollieService } from '../../support/mollie.ts';

let now = Date.now();
const service = await mollieService(() => now);
after(() => service[Symbol.asyncDispose]());
const apiKey = 'test_0123456789abcdef0123456789abcd';
service.keys.add(apiKey);

/** The library trusts a list of its own, so that its agent gets the authority of the server here. */
function clientOf(key = apiKey): MollieClient {
  const { Agent } = https;
  https.Agent = class extends Agent {
    constructor(options?: https.AgentOptions) {
      super({ ...options, ca: service.authority });
    }
  };
  try {
    return createMollieClient({ apiKey: key, apiEndpoint: `https://localhost:${service.port}/v2/` });
  } finally {
    https.Agent = Agent;
  }
}

const client = clientOf();

const request = {
  amount: { currency: 'EUR', value: '50.00' },
  description: 'Gift card',
  redirectUrl: 'https://cards.flowers.example/order',
  cancelUrl: 'https://cards.flowers.example/buy',
  webhookUrl: 'https://cards.flowers.example/payments/mollie/1',
  metadata: { sale: 'sale-1' },
};

test('a payment is created once for a key, and leads to the checkout', async () => {
  const first = await client.payments.create({ ...request, idempotencyKey: 'a' });
  const again = await client.payments.create({ ...request, idempotencyKey: 'a' });
  assert.deepEqual([again.id, first.status], [first.id, PaymentStatus.open]);
  assert.match(first.getCheckoutUrl() ?? '', /^https:\/\//);
  now += 3_600_001;
  assert.notEqual((await client.payments.create({ ...request, idempotencyKey: 'a' })).id, first.id);
});

test('a payment rejects what the published schema does not have', async () => {
  await assert.rejects(client.payments.create({ ...request, amount: { currency: 'EUR', value: '50.0' } }), {
    statusCode: 422,
    field: 'amount.value',
  });
  await assert.rejects(client.payments.create({ ...request, webhookUrl: 'http://localhost/hint' }), {
    field: 'webhookUrl',
  });
  await assert.rejects(client.payments.create({ ...request, surprise: 1 } as typeof request), {
    statusCode: 422,
  });
  await assert.rejects(clientOf('test_ffffffffffffffffffffffffffffff').payments.create(request), {
    statusCode: 401,
  });
  await assert.rejects(client.payments.get('tr_none'), { statusCode: 404 });
});

test('a paid payment has its card, refunds and chargebacks, and sends webhooks', async () => {
  const { id } = await client.payments.create(request);
  service.hints.length = 0;
  service.pay(id);
  const refund = await client.paymentRefunds.create({
    paymentId: id,
    amount: { currency: 'EUR', value: '20.00' },
    description: 'back',
    metadata: { refund: 'r' },
  });
  const chargeback = service.chargeBack(id);
  const payment = await client.payments.get(id, { embed: [PaymentEmbed.refunds, PaymentEmbed.chargebacks] });
  assert.deepEqual(
    [payment.status, payment.amountRefunded?.value, payment.metadata, payment.details],
    [PaymentStatus.paid, '20.00', { sale: 'sale-1' }, payment.details],
  );
  const { refunds, chargebacks } = (payment as unknown as { _embedded: Record<string, { id: string }[]> })
    ._embedded;
  assert.deepEqual([refunds?.[0]?.id, chargebacks?.[0]?.id], [refund.id, chargeback]);
  assert.deepEqual(
    service.hints,
    Array.from({ length: 3 }, () => ({ url: request.webhookUrl, body: `id=${id}` })),
  );
  await assert.rejects(
    client.paymentRefunds.create({
      paymentId: id,
      amount: { currency: 'EUR', value: '30.01' },
      description: 'x',
    }),
    { statusCode: 422 },
  );
});

test('a payment is canceled only if it can be, and an open one expires', async () => {
  const open = await client.payments.create(request);
  await assert.rejects(client.payments.cancel(open.id), { statusCode: 422 });
  service.choose(open.id, 'banktransfer');
  assert.equal((await client.payments.cancel(open.id)).status, PaymentStatus.canceled);
  const late = await client.payments.create(request);
  now += 16 * 60_000;
  assert.equal((await client.payments.get(late.id)).status, PaymentStatus.expired);
});

test('the library reads lists in pages, the profile and the methods', async () => {
  const ids = [];
  for await (const { id } of client.payments.iterate({ valuesPerMinute: 100_000 })) ids.push(id);
  assert.deepEqual(ids, [...service.payments.keys()].toReversed());
  const first = await client.payments.page({ limit: 2 });
  assert.deepEqual(
    first.map(({ id }) => id),
    ids.slice(0, 2),
  );
  assert.equal((await client.profiles.getCurrent()).name, 'Flowers');
  assert.equal((await client.methods.list()).length, 2);
});
