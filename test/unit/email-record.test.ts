import assert from 'node:assert/strict';
import test from 'node:test';
import type { EmailDelivery } from '../../src/core/emails/domain/email.ts';
import { emailRecordOf } from '../../src/features/emails/domain/record.ts';
import type { Delivery } from '../../src/features/webhooks/domain/webhook.ts';
import { attemptRecordOf, deliveryRecordOf } from '../../src/features/webhooks/domain/webhook-record.ts';
import { emailWith, show, sameIds } from './samples.ts';

const now = Date.UTC(2026, 5, 15, 12, 1);
const recordOf = (given: Partial<EmailDelivery> = {}) =>
  emailRecordOf(sameIds, emailWith(given), { domain: 'flowers.example', now });

test('the record of an email has the same form as that of a webhook delivery', () => {
  assert.equal(
    JSON.stringify(recordOf()),
    JSON.stringify({
      id: 244_212_357_360,
      gift_card_id: 244_212_357_349,
      kind: 'gift_card',
      recipient: 'grace@example.com',
      status: 'deferred',
      message_id: '<244212357349.244212357360@flowers.example>',
      send_at: '2026-06-15T12:00:00Z',
      created_at: '2026-06-15T12:00:00Z',
      attempts: 1,
      next_attempt_at: '2026-06-15T12:04:00Z',
      last_attempt: {
        attempted_at: '2026-06-15T12:00:01Z',
        response: '451 4.7.1 Try again later',
        failure: null,
      },
      cancel_reason: null,
      ended_at: null,
    }),
  );
  const delivery: Delivery = {
    webhookId: 1,
    eventId: 2,
    eventType: 'gift_card.created',
    status: 'retrying',
    createdAt: 0,
    attempts: 1,
    nextAt: 1,
    last: { at: 0, durationMs: 3, result: { kind: 'responded', status: 503, body: 'later' } },
  };
  const [email, webhook] = [Object.keys(recordOf()), Object.keys(deliveryRecordOf(delivery))];
  const shared = ['status', 'created_at', 'attempts', 'next_attempt_at', 'last_attempt'];
  for (const keys of [email, webhook])
    assert.deepEqual(
      keys.filter((key) => shared.includes(key)),
      shared,
    );
  assert.ok(delivery.last);
  assert.deepEqual(attemptRecordOf(delivery.last), {
    attempted_at: '1970-01-01T00:00:00Z',
    duration_ms: 3,
    response: { status: 503, body: 'later' },
    failure: null,
  });
});

test('the reply of a mail server is the response of the last attempt, and any other error is its failure', () => {
  const cases: readonly (readonly [Partial<EmailDelivery>, string | null, string | null])[] = [
    [{ response: '550-5.1.1 no such user' }, '550-5.1.1 no such user', null],
    [{ response: '451' }, '451', null],
    [{ response: 'connect ECONNREFUSED 127.0.0.1:25' }, null, 'connect ECONNREFUSED 127.0.0.1:25'],
    [{ response: '5500 is not a reply code' }, null, '5500 is not a reply code'],
    [{ response: null }, null, null],
    // No mail server had it.
    [{ state: 'kept', response: 'kept as 1.eml', nextAt: null }, null, null],
  ];
  for (const [given, response, detail] of cases) {
    const { last_attempt: last, cancel_reason: reason } = recordOf(given);
    assert.equal(last?.response, response, show(given));
    assert.deepEqual(last?.failure, detail === null ? null : { reason: 'no-response', detail }, show(given));
    assert.equal(reason, null);
  }
});

test('an email without an attempt has no last attempt, even after a claim and its release', () => {
  for (const given of [{ attempts: 0, lastAt: null, response: null }, { attempts: 0 }])
    assert.equal(recordOf(given).last_attempt, null);
});

test('a cancelled email has a reason and no response', () => {
  const cancelled = { state: 'cancelled', response: 'the card is disabled', nextAt: null } as const;
  const { status, cancel_reason: reason, last_attempt: last } = recordOf(cancelled);
  assert.deepEqual([status, reason], ['cancelled', 'the card is disabled']);
  assert.deepEqual([last?.response, last?.failure], [null, null]);
});
