/** Payments at Mollie: every state, every failure, and what is never done twice. */

import assert from 'node:assert/strict';
import test, { after, beforeEach } from 'node:test';
import { openMollie } from '../../../src/features/online-sales/delivery/mollie.ts';
import { currencyOf } from '../../../src/core/money/domain/currency.ts';
import type { ProviderMovementPage, Payment } from '../../../src/features/online-sales/domain/payment.ts';
import { mollieService, type MollieMethod } from '../../support/mollie.ts';
import { credentialOf, sessionRequest, valueOf } from '../../support/provider-payments.ts';

const key = 'test_0123456789abcdef0123456789abcd';
const eur = currencyOf('EUR');
const dayMs = 86_400_000;
let now = Date.parse('2027-03-01T10:00:00Z');
const service = await mollieService(() => now);
after(() => service[Symbol.asyncDispose]());
const provider = openMollie(service.network, () => now);
after(() => provider[Symbol.dispose]());
service.keys.add(key);
const credential = credentialOf(key);

beforeEach(() => {
  service.fault = () => undefined;
  service.hints.length = 0;
});

async function opened(given: Parameters<typeof sessionRequest>[1] = {}) {
  return valueOf(await provider.createSession(credential, sessionRequest(now, given)));
}

async function read(id: string): Promise<Payment> {
  return valueOf(await provider.readPayment(credential, id));
}

async function paid(method?: MollieMethod): Promise<Payment> {
  const { id } = await opened();
  service.pay(id, method);
  return await read(id);
}

test('a payment has the amount, the key of the sale and the URLs', async () => {
  const request = sessionRequest(now);
  const { id, url, expiresAt } = valueOf(await provider.createSession(credential, request));
  const payment = service.payments.get(id);
  assert.deepEqual(
    [payment?.amount, payment?.['metadata'], payment?.['redirectUrl'], payment?.['cancelUrl']],
    [{ currency: 'EUR', value: '50.00' }, { sale: request.saleKey }, request.returnUrl, request.cancelUrl],
  );
  assert.deepEqual([payment?.['webhookUrl'], payment?.['locale']], [request.hintUrl, 'de_DE']);
  assert.match(url, /^https:\/\/www\.mollie\.com\/checkout\//);
  assert.equal(expiresAt, now + 15 * 60_000);
  const { id: unhinted } = await opened({ hintUrl: null, locale: 'ja' });
  assert.deepEqual(
    Object.keys(service.payments.get(unhinted) ?? {}).filter((name) => /webhook|locale/.test(name)),
    [],
  );
});

test('a lost response does not make a second payment', async () => {
  const request = sessionRequest(now);
  const before = service.payments.size;
  for (const fault of ['lost-after', 'lost-before', undefined] as const) {
    service.fault = () => fault;
    const outcome = await provider.createSession(credential, request);
    assert.equal(outcome.kind, fault === undefined ? 'done' : 'unknown');
  }
  assert.equal(service.payments.size, before + 1);
});

test('what Mollie does not accept is rejected with its words', async () => {
  const outcome = await provider.createSession(
    credential,
    sessionRequest(now, { amount: { minor: 5_000n, currency: currencyOf('KWD') } }),
  );
  assert.deepEqual(outcome, {
    kind: 'rejected',
    detail: 'responded with 422: The currency is not supported',
    status: 422,
  });
  const local = await provider.createSession(
    credential,
    sessionRequest(now, { hintUrl: 'http://localhost:4700/x' }),
  );
  assert.equal(local.kind, 'rejected');
});

test('a payment is open, and then paid, waiting, failed, canceled or expired', async () => {
  const { id } = await opened();
  assert.deepEqual([(await read(id)).state, (await read(id)).paidAt], ['open', null]);
  const payment = await paid();
  assert.deepEqual(payment, {
    ...payment,
    state: 'paid',
    paymentId: payment.sessionId,
    amount: { minor: 5_000n, currency: eur },
    paidAt: now,
    method: 'Visa •••• 4242',
    fingerprint: 'fHB3CCKx9REkz8fPplT8N4nq',
    cardCountry: 'NL',
    isBankChecked: true,
    isRisky: false,
    refunds: [],
    dispute: null,
  });
  const unchecked = await paid({ method: 'creditcard', details: { cardSecurity: 'normal' } });
  assert.equal(unchecked.isBankChecked, false);
  const ideal = await paid({ method: 'ideal' });
  assert.deepEqual([ideal.method, ideal.fingerprint, ideal.isBankChecked], ['iDEAL', null, null]);
  const { id: transfer } = await opened();
  service.choose(transfer, 'banktransfer');
  assert.equal((await read(transfer)).state, 'waiting');
  service.pay(transfer, { method: 'banktransfer' });
  assert.deepEqual([(await read(transfer)).state, (await read(transfer)).method], ['paid', 'SEPA']);
  const ends = { failed: 'failed', canceled: 'expired', expired: 'expired' } as const;
  for (const status of ['failed', 'canceled', 'expired'] as const) {
    const { id: ended } = await opened();
    service.end(ended, status);
    assert.equal((await read(ended)).state, ends[status]);
  }
});

test('a refund is made once, even hours later with lost responses', async () => {
  const { sessionId } = await paid();
  const request = { refundKey: 'refund-1', paymentId: sessionId, amount: { minor: 2_000n, currency: eur } };
  service.fault = ({ method }) => (method === 'POST' ? 'lost-after' : undefined);
  assert.equal((await provider.refund(credential, request)).kind, 'unknown');
  service.fault = () => undefined;
  now += 5 * 3_600_000;
  const made = valueOf(await provider.refund(credential, request));
  assert.deepEqual([made.state, made.amount.minor, made.refundKey], ['pending', 2_000n, 'refund-1']);
  service.changeRefund(made.id, 'refunded');
  assert.deepEqual((await read(sessionId)).refunds, [{ ...made, state: 'paid' }]);
});

test('a refund rejects more than is left, and a failed one is named', async () => {
  const { sessionId } = await paid();
  const request = { refundKey: 'more', paymentId: sessionId, amount: { minor: 5_001n, currency: eur } };
  assert.equal((await provider.refund(credential, request)).kind, 'rejected');
  const id = service.refund(sessionId, '10.00', 'processing');
  assert.equal((await read(sessionId)).refunds[0]?.state, 'pending');
  service.changeRefund(id, 'failed');
  assert.deepEqual(
    (await read(sessionId)).refunds.map(({ state, refundKey }) => [state, refundKey]),
    [['failed', null]],
  );
  const other = await provider.refund(credential, { ...request, paymentId: 'tr_none' });
  assert.equal(other.kind, 'rejected');
});

test('a chargeback is open, won when it is reversed, and lost after 120 days without it', async () => {
  const { sessionId } = await paid();
  const id = service.chargeBack(sessionId);
  const { dispute } = await read(sessionId);
  assert.deepEqual([dispute?.state, dispute?.amount.minor], ['open', 5_000n]);
  service.reverse(id);
  assert.equal((await read(sessionId)).dispute?.state, 'won');
  const other = await paid();
  service.chargeBack(other.sessionId);
  now += 121 * dayMs;
  assert.equal((await read(other.sessionId)).dispute?.state, 'lost');
});

test('failures of the server are unknown, and a wrong key is rejected', async () => {
  const { id } = await opened();
  for (const status of [409, 429, 500, 503]) {
    service.fault = () => ({ status, body: { detail: 'later' }, headers: { 'retry-after': '7' } });
    const expected = { kind: 'unknown', detail: `responded with ${status}: later`, retryAfterMs: 7_000 };
    assert.deepEqual(await provider.readPayment(credential, id), expected);
  }
  for (const body of ['', '[]', { id, status: 'sold' }, 'x'.repeat(1_100_000)]) {
    service.fault = () => ({ status: 200, body });
    assert.equal((await provider.readPayment(credential, id)).kind, 'unknown');
  }
  service.fault = () => undefined;
  const other = await provider.readPayment(credentialOf('test_ffffffffffffffffffffffffffffff'), id);
  assert.equal(other.kind, 'rejected');
});

test('examining a key names its profile, and rejects one that cannot accept payments', async () => {
  const live = 'live_0123456789abcdef0123456789abcd';
  service.keys.add(live);
  assert.deepEqual(valueOf(await provider.examine(credential)), {
    account: 'Flowers (pfl_QkEhN94Ba)',
    isTest: true,
    currencies: null,
  });
  assert.equal(valueOf(await provider.examine(credentialOf(live))).isTest, false);
  const { profile } = service;
  service.profile = { ...profile, status: 'unverified' };
  assert.equal((await provider.examine(credentialOf(live))).kind, 'rejected');
  assert.equal((await provider.examine(credential)).kind, 'done');
  service.profile = profile;
  service.methods = [];
  assert.equal((await provider.examine(credential)).kind, 'rejected');
  service.methods = ['ideal'];
});

async function movementsSince(since: number) {
  const movements = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const page: ProviderMovementPage = valueOf(await provider.listMovements(credential, { since, cursor }));
    movements.push(...page.movements);
    cursor = page.next;
    pages += 1;
  } while (cursor !== null);
  return { movements, pages };
}

test('the movements since an instant have late payments, refunds, and chargebacks with their end', async () => {
  const { id: transfer } = await opened();
  service.choose(transfer, 'banktransfer');
  const before = await paid();
  const chargeback = service.chargeBack((await paid()).sessionId);
  now += 10 * dayMs;
  const since = now;
  service.pay(transfer, { method: 'banktransfer' });
  const refund = service.refund(before.sessionId, '10.00');
  service.changeRefund(service.refund(before.sessionId, '5.00'), 'failed');
  service.reverse(chargeback);
  const { movements } = await movementsSince(since);
  assert.deepEqual(
    movements.map(({ id, kind, amount }) => [id, kind, amount.minor]),
    [
      [transfer, 'payment', 5_000n],
      [refund, 'refund', -1_000n],
      [`${chargeback}-reversed`, 'dispute', 5_000n],
    ],
  );
  assert.match(movements[0]?.saleKey ?? '', /^sale-/);
  assert.equal((await provider.listMovements(credential, { since, cursor: 'profiles:x' })).kind, 'rejected');
});

test('movements are listed in pages', async () => {
  now += 200 * dayMs;
  const since = now;
  for (let count = 0; count < 60; count += 1) await paid();
  const { movements, pages } = await movementsSince(since);
  assert.deepEqual([new Set(movements.map(({ id }) => id)).size, pages], [60, 4]);
});

test('a webhook names its payment, and nothing else is one', async () => {
  const { id } = await opened();
  service.pay(id);
  const idsOf = (body: string) =>
    provider.readHint(credential, { headers: {}, body: Buffer.from(body), now }).ids;
  assert.deepEqual(
    service.hints.map(({ body }) => idsOf(body)),
    [[id]],
  );
  for (const body of ['', 'id=', 'id=re_1', 'id=../tr_1', `id=tr_${'x'.repeat(200)}`, '{"id":"tr_1"}'])
    assert.deepEqual(idsOf(body), [], body);
});
