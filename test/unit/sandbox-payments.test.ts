/** The payments of a sandbox by themselves: the money of every sequence of actions adds up. */

import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import {
  actedInSandbox,
  movementsInSandbox,
  newSandboxPayment,
  paymentOfSandbox,
  refundedInSandbox,
  sandboxActions,
  sandboxActionsOf,
  sandboxPaymentAt,
  storeOfSession,
  type SandboxPayment,
} from '../../src/features/online-sales/domain/sandbox-payment.ts';
import { isTooShort } from '../../src/features/online-sales/domain/validity.ts';
import { isHintSecret, isTestKey } from '../../src/features/online-sales/domain/provider-keys.ts';
import { sessionRequest } from '../support/provider-payments.ts';

const eur = currencyOf('EUR');
const start = 1_000;
const dayMs = 86_400_000;

function created(): SandboxPayment {
  return newSandboxPayment(7, sessionRequest(start, { saleKey: 'x'.repeat(22), expiresAt: start + dayMs }));
}

const step = fc.oneof(
  fc.record({ kind: fc.constant('act' as const), action: fc.constantFrom(...sandboxActions) }),
  fc.record({
    kind: fc.constant('refund' as const),
    refundKey: fc.constantFrom('a', 'b', 'c'),
    minor: fc.bigInt({ min: 1n, max: 6_000n }),
  }),
  fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 2 * dayMs }) }),
);

test('refunds never exceed the payment, and its movements add up to what is left', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      let [payment, now] = [created(), start];
      for (const each of steps) {
        if (each.kind === 'wait') now += each.ms;
        const present = sandboxPaymentAt(payment, now);
        if (each.kind === 'act')
          payment = actedInSandbox(present, { action: each.action, method: 'card', now });
        if (each.kind === 'refund') payment = refundedInSandbox(present, { ...each, now }) ?? present;
      }
      payment = sandboxPaymentAt(payment, now);
      const { state, refunds, amount, dispute } = paymentOfSandbox(payment, eur);
      const refunded = refunds
        .filter((refund) => refund.state !== 'failed')
        .reduce((sum, refund) => sum + refund.amount.minor, 0n);
      assert.ok(refunded <= amount.minor);
      assert.equal(
        new Set(refunds.map(({ refundKey }) => refundKey ?? Symbol('other'))).size,
        refunds.length,
      );
      const balance = movementsInSandbox(payment, eur).reduce((sum, each) => sum + each.amount.minor, 0n);
      const isTaken = dispute?.state === 'open' || dispute?.state === 'lost';
      const paid = state === 'paid' ? amount.minor : 0n;
      assert.equal(balance, paid - refunded - (isTaken ? amount.minor : 0n));
      if (state !== 'paid') assert.deepEqual([refunds.length, dispute], [0, null]);
    }),
    { numRuns: 2_000 },
  );
});

test('a session expires, and a transfer pays after a day', () => {
  assert.equal(sandboxPaymentAt(created(), start + dayMs - 1).state, 'open');
  assert.equal(sandboxPaymentAt(created(), start + dayMs).state, 'expired');
  const waiting = actedInSandbox(created(), { action: 'pay-later', method: 'card', now: start });
  assert.equal(paymentOfSandbox(waiting, eur).state, 'waiting');
  const paid = sandboxPaymentAt(waiting, start + 5 * dayMs);
  assert.deepEqual([paid.state, paid.paidAt], ['paid', start + dayMs]);
  assert.deepEqual(sandboxActionsOf(paid), ['warn', 'dispute', 'refund']);
  const warned = actedInSandbox(paid, { action: 'warn', method: 'card', now: start + 6 * dayMs });
  assert.deepEqual(sandboxActionsOf(warned), ['dispute', 'refund']);
  assert.deepEqual(movementsInSandbox(warned, eur), movementsInSandbox(paid, eur));
});

test('the id of a session names its store, and nothing else is one', () => {
  assert.equal(storeOfSession(created().id), 7);
  for (const id of ['', 'sb_', 'sb_7_short', `sb_x_${'x'.repeat(22)}`, `sb_7_${'x'.repeat(23)}`, 'cs_test_1'])
    assert.equal(storeOfSession(id), undefined);
});

test('keys are recognized by their provider, and test keys by their prefix', () => {
  const cases = [
    ['stripe', 'sk_live_0123456789abcdef', false],
    ['stripe', 'rk_test_0123456789abcdef', true],
    ['stripe', 'pk_live_0123456789abcdef', undefined],
    ['stripe', `sk_live_${'x'.repeat(300)}`, undefined],
    ['stripe', 'sk_live_0123456789 abcdef', undefined],
    ['mollie', 'live_0123456789abcdef0123456789abcd', false],
    ['mollie', 'test_0123456789abcdef0123456789abcd', true],
    ['mollie', 'access_0123456789abcdef0123456789abcd', undefined],
  ] as const;
  for (const [kind, key, expected] of cases) assert.equal(isTestKey(kind, key), expected, key);
  assert.ok(isHintSecret('stripe', 'whsec_0123456789abcdef'));
  assert.ok(!isHintSecret('stripe', 'whsec_'));
  assert.ok(!isHintSecret('mollie', 'whsec_0123456789abcdef'));
});

test('a validity is compared with that of the country', () => {
  const cases = [
    ['US', 59, true],
    ['US', 60, false],
    ['CA', 600, true],
    ['FR', 1, false],
    [null, 1, false],
    ['DE', null, false],
  ] as const;
  for (const [country, months, expected] of cases) assert.equal(isTooShort(country, months), expected);
});
