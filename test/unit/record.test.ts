import assert from 'node:assert/strict';
import test from 'node:test';
import type { Card } from '../../src/domain/card.ts';
import { InexactNumber } from '../../src/domain/money.ts';
import { claimableFields, isTrue, recordOf, type ClaimableField } from '../../src/domain/record.ts';
import { amount, cardWith, show } from './samples.ts';

/** In the specification's order; `code` is only in the answer to a creation. */
const specified = [
  'id', 'balance', 'created_at', 'currency', 'initial_value', 'disabled_at', 'line_item_id', 'api_client_id', 'user_id', 'customer_id',
  'customer_email', 'recipient_id', 'recipient_email', 'note', 'expires_on', 'message', 'last_characters', 'order_id',
]; // prettier-ignore

const bare = cardWith({
  customer: null,
  recipient: null,
  note: null,
  message: null,
  expiresOn: null,
  lineItemId: null,
  orderId: null,
  userId: null,
  apiClientId: null,
});

test('a record has every field of the specification, in its order', () => {
  assert.deepEqual(Object.keys(recordOf(cardWith())), specified);
  assert.deepEqual(Object.keys(recordOf(bare)), specified);
});

test('a record says what the card is', () => {
  assert.deepEqual(recordOf(cardWith({ disabledAt: Date.UTC(2026, 0, 2, 3, 4, 5, 678) })), {
    id: 244_212_357_349,
    balance: '10.50',
    created_at: '2025-08-15T12:37:38Z',
    currency: 'USD',
    initial_value: '25.00',
    disabled_at: '2026-01-02T03:04:05Z',
    line_item_id: 61,
    api_client_id: 64,
    user_id: 63,
    customer_id: 51,
    customer_email: 'Ada@Example.com',
    recipient_id: 52,
    recipient_email: 'grace@example.com',
    note: 'Sold at the counter',
    expires_on: '2031-12-31',
    message: 'Happy birthday!',
    last_characters: '7f3k',
    order_id: 62,
  });
});

test('a field without a value is null, never left out', () => {
  const record = recordOf(bare);
  const empty = specified.filter((name) => Reflect.get(record, name) === null);
  assert.deepEqual(empty, [
    'disabled_at', 'line_item_id', 'api_client_id', 'user_id', 'customer_id', 'customer_email', 'recipient_id', 'recipient_email',
    'note', 'expires_on', 'message', 'order_id',
  ]); // prettier-ignore
  assert.deepEqual(JSON.parse(JSON.stringify(record)), record);
});

test('amounts have exactly the decimals of the currency', () => {
  const yen = recordOf(cardWith({ initialValue: amount(1_500n, 'JPY'), balance: amount(0n, 'JPY') }));
  assert.deepEqual([yen.initial_value, yen.balance, yen.currency], ['1500', '0', 'JPY']);
  const dinar = recordOf(cardWith({ initialValue: amount(15_000n, 'KWD'), balance: amount(5n, 'KWD') }));
  assert.deepEqual([dinar.initial_value, dinar.balance, dinar.currency], ['15.000', '0.005', 'KWD']);
});

test('an instant of the year 1970 is a time and not an absence', () => {
  assert.equal(recordOf(cardWith({ disabledAt: 0 })).disabled_at, '1970-01-01T00:00:00Z');
});

test('the fields that no operation sets are those of the record but balance, note and expires_on', () => {
  const settable = new Set(['balance', 'note', 'expires_on']);
  assert.deepEqual(
    [...claimableFields],
    specified.filter((name) => !settable.has(name)),
  );
});

test('a record that is sent back as it was read is true in every field', async (t) => {
  const cards: Readonly<Record<string, Card>> = {
    full: cardWith(),
    disabled: cardWith({ disabledAt: 1_000 }),
    bare,
    yen: cardWith({ initialValue: amount(5n, 'JPY'), balance: amount(5n, 'JPY') }),
  };
  for (const [name, card] of Object.entries(cards)) {
    const sent = JSON.parse(JSON.stringify(recordOf(card))) as Readonly<Record<string, unknown>>;
    for (const field of claimableFields) {
      await t.test(`${name}: ${field}`, () => {
        assert.equal(isTrue(sent[field], field, card), true);
        assert.equal(isTrue(asFormText(sent[field]), field, card), true);
      });
    }
  }
});

/** As a form sends a value: everything is text, and no value is the empty text. */
function asFormText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

test('what a card says may be written in another way', () => {
  const card = cardWith();
  const cases: readonly (readonly [ClaimableField, unknown])[] = [
    ['initial_value', 25],
    ['initial_value', '25'],
    ['initial_value', '25.0'],
    ['customer_email', 'ada@example.com'],
    ['customer_email', ' ADA@EXAMPLE.COM\t'],
    ['recipient_email', 'GRACE@example.com'],
    ['last_characters', '7F3K'],
  ];
  for (const [field, claim] of cases)
    assert.equal(isTrue(claim, field, card), true, `${field} ${show(claim)}`);
});

test('another value than the present one is not true', async (t) => {
  const cases: readonly (readonly [ClaimableField, readonly unknown[]])[] = [
    [
      'id',
      [244_212_357_348, '244212357348', '0244212357349', ' 244212357349', null, '', true, [244_212_357_349]],
    ],
    [
      'created_at',
      ['2025-08-15T12:37:39Z', '2025-08-15T12:37:38.999Z', '2025-08-15', null, 1_755_261_458_999],
    ],
    ['currency', ['EUR', 'usd', null, '', ['USD']]],
    [
      'initial_value',
      [24, '24.99', '25.000', '25.001', null, '', '2.5e1', true, new InexactNumber('25'), '10.50'],
    ],
    ['disabled_at', ['2025-08-15T12:37:38Z', true, false, 0]],
    ['line_item_id', [62, '62', null, '', 0]],
    ['api_client_id', [63, '63', null]],
    ['user_id', [64, '64', null]],
    ['customer_id', [52, '52', null]],
    ['customer_email', ['grace@example.com', 'ada@example.co', null, '', 5]],
    ['recipient_id', [51, '51', null]],
    ['recipient_email', ['ada@example.com', null, '']],
    ['message', ['Happy birthday', 'happy birthday!', 'Happy birthday! ', null, '']],
    ['last_characters', ['7f3', '7f3j', 'k3f7', null, '', 7]],
    ['order_id', [61, '61', null]],
  ];
  assert.deepEqual(
    cases.map(([field]) => field),
    [...claimableFields],
  );
  for (const [field, claims] of cases) {
    await t.test(field, () => {
      for (const claim of claims) assert.equal(isTrue(claim, field, cardWith()), false, show(claim));
    });
  }
});

test('where the card has no value, only null and the empty text of a form are true', () => {
  const empty = claimableFields.filter((field) => recordOf(bare)[field] === null);
  assert.ok(empty.length > 5);
  for (const field of empty) {
    assert.equal(isTrue(null, field, bare), true);
    assert.equal(isTrue('', field, bare), true);
    for (const claim of [0, false, ' ', 'null', undefined, [], {}]) {
      assert.equal(isTrue(claim, field, bare), false, `${field} ${show(claim)}`);
    }
  }
});
