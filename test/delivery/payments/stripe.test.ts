/** Payments at Stripe: every state, every failure, and what is never done twice. */

import assert from 'node:assert/strict';
import test, { after, beforeEach } from 'node:test';
import { openStripe } from '../../../src/features/online-sales/delivery/stripe.ts';
import { currencyOf } from '../../../src/core/money/domain/currency.ts';
import type {
  Payment,
  ProviderMovement,
  ProviderMovementPage,
} from '../../../src/features/online-sales/domain/payment.ts';
import { credentialOf, sessionRequest, valueOf } from '../../support/provider-payments.ts';
import { stripeHint, stripeService, stripeThinHint, type StripeCard } from '../../support/stripe.ts';

const key = 'sk_test_0123456789abcdef';
const secret = 'whsec_0123456789abcdef0123456789abcdef';
const eur = currencyOf('EUR');
let now = Date.parse('2027-03-01T10:00:00Z');
const service = await stripeService(() => now);
after(() => service[Symbol.asyncDispose]());
const provider = openStripe(service.network, () => now);
after(() => provider[Symbol.dispose]());
service.keys.set(key, []);
const credential = credentialOf(key, secret);

beforeEach(() => {
  service.fault = () => undefined;
  service.requests.length = 0;
});

async function opened(given: Parameters<typeof sessionRequest>[1] = {}) {
  return valueOf(await provider.createSession(credential, sessionRequest(now, given)));
}

async function paid(method: StripeCard | 'sepa_debit' | 'ideal' = {}): Promise<Payment> {
  const { id } = await opened();
  service.pay(id, method);
  return await read(id);
}

async function read(id: string): Promise<Payment> {
  return valueOf(await provider.readPayment(credential, id));
}

test('a session has the amount, the key of the sale and both URLs', async () => {
  const request = sessionRequest(now);
  const { id, url, expiresAt } = valueOf(await provider.createSession(credential, request));
  const session = service.sessions.get(id);
  assert.deepEqual(
    [session?.amount_total, session?.currency, session?.metadata, session?.client_reference_id],
    [5_000, 'eur', { sale: request.saleKey }, request.saleKey],
  );
  assert.deepEqual(
    [session?.success_url, session?.cancel_url, session?.customer_email, session?.locale],
    [request.returnUrl, request.cancelUrl, request.buyerAddress, 'de'],
  );
  assert.deepEqual([url, expiresAt], [session?.url, request.expiresAt]);
  assert.equal(session?.adaptive_pricing?.enabled, false);
});

test('a lost response does not make a second session', async () => {
  const request = sessionRequest(now);
  const faults = ['lost-after', 'lost-before', undefined] as const;
  const before = service.sessions.size;
  for (const fault of faults) {
    service.fault = () => fault;
    const outcome = await provider.createSession(credential, request);
    assert.equal(outcome.kind, fault === undefined ? 'done' : 'unknown');
  }
  assert.equal(service.sessions.size, before + 1);
});

test('an amount that Stripe rejects is rejected with its words, without the address of the buyer', async () => {
  const small = await provider.createSession(
    credential,
    sessionRequest(now, { amount: { minor: 49n, currency: eur } }),
  );
  assert.equal(small.kind, 'rejected');
  assert.match(small.kind === 'rejected' ? small.detail : '', /^responded with 400: .*minimum charge amount/);
  const wrong = await provider.createSession(
    credential,
    sessionRequest(now, { buyerAddress: 'buyer@example' }),
  );
  assert.deepEqual(wrong.kind === 'rejected' && /buyer/.test(wrong.detail), false);
  const dinar = { minor: 5_001n, currency: currencyOf('KWD') };
  assert.equal(
    (await provider.createSession(credential, sessionRequest(now, { amount: dinar }))).kind,
    'rejected',
  );
});

test('amounts of currencies without two decimals are exact', async () => {
  const cases = [
    ['JPY', 500n, 500],
    ['ISK', 500n, 50_000],
    ['KWD', 5_000n, 5_000],
    ['HUF', 500_000n, 500_000],
  ] as const;
  for (const [code, minor, stored] of cases) {
    const amount = { minor, currency: currencyOf(code) };
    const { id } = await opened({ amount });
    assert.equal(service.sessions.get(id)?.amount_total, stored, code);
    assert.deepEqual((await read(id)).amount, amount);
  }
});

test('a session is open, then expired', async () => {
  const { id } = await opened();
  const payment = await read(id);
  assert.deepEqual([payment.state, payment.paymentId, payment.paidAt], ['open', null, null]);
  service.expire(id);
  assert.equal((await read(id)).state, 'expired');
});

test('a paid session says with which card, from where, and what the bank and Stripe think of it', async () => {
  const payment = await paid();
  assert.match(payment.paymentId ?? '', /^pi_/);
  assert.deepEqual(payment, {
    ...payment,
    state: 'paid',
    amount: { minor: 5_000n, currency: eur },
    paidAt: now,
    method: 'Visa •••• 4242',
    fingerprint: 'AOB934RVNwzk6xtn',
    cardCountry: 'DE',
    isBankChecked: true,
    isRisky: false,
    refunds: [],
    dispute: null,
  });
  assert.match(payment.saleKey ?? '', /^sale-/);
  const risky = await paid({
    brand: 'amex',
    last4: '0005',
    country: 'US',
    threeDSecure: null,
    risk: 'elevated',
  });
  assert.deepEqual(
    [risky.method, risky.cardCountry, risky.isBankChecked, risky.isRisky],
    ['American Express •••• 0005', 'US', false, true],
  );
  assert.equal((await paid({ threeDSecure: 'attempt_acknowledged' })).isBankChecked, true);
  assert.equal((await paid({ threeDSecure: 'failed' })).isBankChecked, false);
  const ideal = await paid('ideal');
  assert.deepEqual([ideal.method, ideal.fingerprint, ideal.isBankChecked], ['iDEAL', null, null]);
});

test('a delayed method waits, and then pays or fails', async () => {
  for (const succeeds of [true, false]) {
    const waiting = await paid('sepa_debit');
    assert.deepEqual([waiting.state, waiting.method, waiting.paidAt], ['waiting', 'SEPA •••• 3000', null]);
    service.settle(waiting.sessionId, succeeds);
    assert.equal((await read(waiting.sessionId)).state, succeeds ? 'paid' : 'failed');
  }
});

test('a refund is made once, even days later with lost responses', async () => {
  const { paymentId, sessionId } = await paid();
  const request = {
    refundKey: 'refund-1',
    paymentId: paymentId ?? '',
    amount: { minor: 2_000n, currency: eur },
  };
  service.fault = ({ method }) => (method === 'POST' ? 'lost-after' : undefined);
  assert.equal((await provider.refund(credential, request)).kind, 'unknown');
  service.fault = () => undefined;
  now += 3 * 86_400_000;
  const made = valueOf(await provider.refund(credential, request));
  assert.deepEqual([made.state, made.amount.minor, made.refundKey], ['paid', 2_000n, 'refund-1']);
  assert.deepEqual((await read(sessionId)).refunds, [made]);
});

test('a refund rejects more than is left, and a failed one is named', async () => {
  const { paymentId, sessionId } = await paid();
  const more = { refundKey: 'more', paymentId: paymentId ?? '', amount: { minor: 5_001n, currency: eur } };
  assert.equal((await provider.refund(credential, more)).kind, 'rejected');
  const id = service.refund(sessionId, 1_000, 'pending');
  assert.deepEqual((await read(sessionId)).refunds[0]?.state, 'pending');
  service.changeRefund(id, 'failed');
  const [failed] = (await read(sessionId)).refunds;
  assert.deepEqual([failed?.state, failed?.refundKey], ['failed', null]);
});

test('a warning, a dispute and its end differ', async () => {
  const { sessionId } = await paid();
  const stateOf = async () => (await read(sessionId)).dispute?.state;
  service.warn(sessionId);
  assert.equal(await stateOf(), 'warning');
  const id = service.dispute(sessionId, 'warning_needs_response');
  assert.equal(await stateOf(), 'warning');
  const expected = [
    ['needs_response', 'open'],
    ['under_review', 'open'],
    ['a_later_state', 'open'],
    ['lost', 'lost'],
    ['appeal_under_review', 'lost'],
    ['won', 'won'],
    ['warning_closed', 'won'],
  ] as const;
  for (const [status, state] of expected) {
    service.changeDispute(id, status);
    assert.equal(await stateOf(), state, status);
  }
  service.changeDispute(id, 'prevented');
  assert.equal(await stateOf(), 'warning');
});

test('a failure of the server, a conflict and too many requests are unknown, with the time to wait', async () => {
  const { id } = await opened();
  for (const status of [409, 429, 500, 503]) {
    service.fault = () => ({
      status,
      body: { error: { message: 'later' } },
      headers: { 'retry-after': '7' },
    });
    assert.deepEqual(await provider.readPayment(credential, id), {
      kind: 'unknown',
      detail: `responded with ${status}: later`,
      retryAfterMs: 7_000,
    });
  }
  for (const body of ['', '[]', '{"id":', { id }, { id: 5, status: 'open' }, 'x'.repeat(1_100_000)]) {
    service.fault = () => ({ status: 200, body });
    assert.equal((await provider.readPayment(credential, id)).kind, 'unknown');
  }
});

test('a key that does not work is rejected, and its detail does not have it', async () => {
  const { id } = await opened();
  service.fault = () => ({ status: 401, body: { error: { message: `Invalid API Key provided: ${key}` } } });
  const outcome = await provider.readPayment(credential, id);
  assert.deepEqual(outcome.kind, 'rejected');
  assert.doesNotMatch(JSON.stringify(outcome), /0123456789/);
});

test('examining a key names its account, and the permission that it lacks', async () => {
  assert.deepEqual(valueOf(await provider.examine(credential)), {
    account: 'Flowers (acct_1PgafTB7WZ01zgkW)',
    isTest: true,
    currencies: null,
  });
  service.keys.set('rk_live_0123456789abcdef', ['/v1/account']);
  const restricted = valueOf(await provider.examine(credentialOf('rk_live_0123456789abcdef')));
  assert.deepEqual([restricted.account, restricted.isTest], ['•••• cdef', false]);
  for (const path of ['/v1/refunds', '/v1/radar/early_fraud_warnings', '/v1/balance_transactions']) {
    service.keys.set('rk_live_0123456789abcdef', [path]);
    const outcome = await provider.examine(credentialOf('rk_live_0123456789abcdef'));
    assert.match(outcome.kind === 'rejected' ? outcome.detail : '', /403.*permissions/);
  }
  assert.equal((await provider.examine(credentialOf('sk_live_unknown12345'))).kind, 'rejected');
});

test('an account that cannot accept payments is rejected with a live key', async () => {
  const { account } = service;
  service.account = { ...account, charges_enabled: false };
  service.keys.set('sk_live_0123456789abcdef', []);
  assert.equal((await provider.examine(credentialOf('sk_live_0123456789abcdef'))).kind, 'rejected');
  assert.equal((await provider.examine(credential)).kind, 'done');
  service.account = account;
});

test('the movements since an instant have payments, refunds, disputes, fees and payouts', async () => {
  now += 86_400_000;
  const since = now;
  const payment = await paid();
  service.refund(payment.sessionId, 1_000);
  service.dispute(payment.sessionId, 'lost');
  const payout = service.payOut();
  const { movements, next } = valueOf(await provider.listMovements(credential, { since, cursor: null }));
  assert.deepEqual(
    movements
      .map(({ kind, amount, fee }) => [kind, amount.minor, fee.minor])
      .toReversed()
      .slice(0, 3),
    [
      ['payment', 5_000n, 100n],
      ['refund', -1_000n, 0n],
      ['dispute', -5_000n, 2_000n],
    ],
  );
  const [paidOut] = movements;
  assert.deepEqual([paidOut?.kind, paidOut?.payoutId, paidOut?.paymentId], ['payout', payout, null]);
  assert.ok(movements.slice(1).every(({ paymentId }) => paymentId === payment.paymentId));
  assert.equal(movements.at(-1)?.saleKey, payment.saleKey);
  // The payments before the instant are in the payout as well, and only its own list names it.
  assert.ok(movements.slice(1).every(({ payoutId }) => payoutId === null));
  const inPayout: ProviderMovement[] = [];
  for (let cursor = next; cursor !== null;) {
    const page: ProviderMovementPage = valueOf(await provider.listMovements(credential, { since, cursor }));
    inPayout.push(...page.movements);
    cursor = page.next;
  }
  assert.ok(inPayout.every(({ payoutId }) => payoutId === payout));
  assert.equal(inPayout.length, service.transactions.size);
  const repeated = inPayout.find(({ id }) => id === movements.at(-1)?.id);
  assert.deepEqual([repeated?.amount.minor, repeated?.fee.minor], [5_000n, 100n]);
  for (const cursor of ['po_1 txn_1 po?x=1', 'po/1', ' txn 1;2'])
    assert.equal((await provider.listMovements(credential, { since, cursor })).kind, 'rejected');
});

test('movements are listed in pages', async () => {
  now += 86_400_000;
  const since = now;
  for (let count = 0; count < 60; count += 1) await paid();
  const found = new Set<string>();
  let cursor: string | null = null;
  let pages = 0;
  do {
    const page: { readonly movements: readonly { readonly id: string }[]; readonly next: string | null } =
      valueOf(await provider.listMovements(credential, { since, cursor }));
    for (const { id } of page.movements) found.add(id);
    cursor = page.next;
    pages += 1;
  } while (cursor !== null);
  assert.deepEqual([found.size, pages], [60, 2]);
});

test('a hint names its session or payment only with a signature that is valid now', async () => {
  const { sessionId, paymentId } = await paid();
  const hintOf = (
    event: { readonly type: string; readonly object: object },
    secrets = [secret],
    at = now,
  ) => ({
    ...stripeHint(event, { secrets, at }),
    now,
  });
  const { events } = service;
  assert.deepEqual(
    events.slice(-1).map((event) => provider.readHint(credential, hintOf(event))),
    [{ signature: 'right', ids: [sessionId], related: null }],
  );
  service.refund(sessionId, 100);
  service.dispute(sessionId);
  service.warn(sessionId);
  for (const event of events.slice(-3))
    assert.deepEqual(provider.readHint(credential, hintOf(event)).ids, [paymentId]);
  const [event = { type: '', object: {} }] = events.slice(-1);
  const named = (hint: ReturnType<typeof hintOf>, by = credential) => provider.readHint(by, hint).ids.length;
  assert.equal(named(hintOf(event, ['whsec_other', secret])), 1);
  assert.equal(named(hintOf(event, ['whsec_other'])), 0);
  assert.equal(named(hintOf(event, [secret], now - 300_001)), 0);
  assert.equal(named(hintOf(event, [secret], now - 299_000)), 1);
  assert.equal(named(hintOf(event, [secret], now + 301_000)), 0);
  assert.equal(named(hintOf(event), credentialOf(key)), 0);
  const hint = hintOf(event);
  assert.equal(named({ ...hint, body: Buffer.from(`${hint.body.toString()} `) }), 0);
  assert.equal(named({ ...hint, headers: {} as typeof hint.headers }), 0);
  assert.equal(named(hintOf({ type: 'x', object: { id: '../etc' } })), 0);
  assert.equal(named(hintOf({ type: 'x', object: [] })), 0);
});

test('the signature of a hint is right, wrong, or not comparable', () => {
  const event = { type: 'x', object: { id: 'cs_1' } };
  const hintOf = (options: Partial<Parameters<typeof stripeHint>[1]> = {}) => ({
    ...stripeHint(event, { secrets: [secret], at: now, ...options }),
    now,
  });
  const signatureOf = (hint: Parameters<typeof provider.readHint>[1], by = credential) =>
    provider.readHint(by, hint).signature;
  const other = ['whsec_other'];
  assert.equal(signatureOf(hintOf()), 'right');
  assert.equal(signatureOf(hintOf({ secrets: other })), 'wrong');
  assert.equal(signatureOf({ ...hintOf(), headers: { 'stripe-signature': 'x' } }), 'wrong');
  assert.equal(signatureOf({ ...hintOf(), headers: {} }), 'none');
  assert.equal(signatureOf(hintOf(), credentialOf(key)), 'none');
  // The notifications of both modes come to one address.
  assert.equal(signatureOf(hintOf({ secrets: other, isLive: true })), 'none');
  assert.equal(signatureOf(hintOf({ isLive: true })), 'none');
  const live = credentialOf('sk_live_0123456789abcdef', secret);
  assert.equal(signatureOf(hintOf({ secrets: other, isLive: true }), live), 'wrong');
  assert.equal(signatureOf(hintOf({ secrets: other }), live), 'none');
});

test('a thin event names its session or payment, or the object whose payment is looked up', async () => {
  const { sessionId, paymentId } = await paid();
  const readThin = (related: { readonly id: string; readonly type: string }, secrets = [secret]) =>
    provider.readHint(credential, {
      ...stripeThinHint({ type: 'v1.x', related }, { secrets, at: now }),
      now,
    });
  for (const [id, type] of [
    [sessionId, 'checkout.session'],
    [paymentId ?? '', 'payment_intent'],
  ] as const) {
    assert.deepEqual(readThin({ id, type }), { signature: 'right', ids: [id], related: null });
    assert.deepEqual(readThin({ id, type }, ['whsec_other']), { signature: 'wrong', ids: [], related: null });
  }
  const [chargeId = ''] = [...service.charges.keys()].slice(-1);
  const refundId = service.refund(sessionId, 100);
  const disputeId = service.dispute(sessionId);
  const warningId = service.warn(sessionId);
  for (const [id, type, related] of [
    [chargeId, 'charge', `charges/${chargeId}`],
    [refundId, 'refund', `refunds/${refundId}`],
    [disputeId, 'dispute', `disputes/${disputeId}`],
    [warningId, 'radar.early_fraud_warning', `radar/early_fraud_warnings/${warningId}`],
  ] as const) {
    assert.deepEqual(readThin({ id, type }), { signature: 'right', ids: [], related });
    assert.equal(valueOf(await provider.findPaymentOf(credential, related)), paymentId);
  }
  for (const [id, type] of [
    ['../account', 'charge'],
    ['ch_1', 'constructor'],
    ['mtr_1', 'billing.meter'],
  ] as const)
    assert.equal(readThin({ id, type }).related, null);
  assert.equal((await provider.findPaymentOf(credential, 'charges/ch_unknown')).kind, 'rejected');
});
