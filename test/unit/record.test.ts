import assert from 'node:assert/strict';
import test from 'node:test';
import type { Card } from '../../src/core/cards/domain/card.ts';
import type { PublicIds } from '../../src/platform/public-id.ts';
import type { Transfer } from '../../src/core/money/domain/ledger.ts';
import { InexactNumber } from '../../src/core/money/domain/money.ts';
import { readOnlyFields as claimableFields } from '../../src/core/cards/api/cards.ts';
import {
  holdRecordOf,
  matchesRecord as isTrueOn,
  recordOf,
  detailRecordOf,
  spendableRecordOf,
  transactionOf,
  type ReadOnlyField,
} from '../../src/core/cards/domain/record.ts';
import { amount, cardWith, holdWith, show, transferWith, sameIds } from './samples.ts';

/** In the specification's order. Only a creation also returns `code`. */
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

const today = '2026-06-15';
const matchesRecord = (ids: PublicIds, claim: unknown, field: ReadOnlyField, card: Card): boolean =>
  isTrueOn(ids, claim, field, { card, today, emailStatus: 'none' });

test('a record has every field of the specification, in its order', () => {
  assert.deepEqual(Object.keys(recordOf(sameIds, cardWith())), specified);
  assert.deepEqual(Object.keys(recordOf(sameIds, bare)), specified);
});

test('a record contains the data of the card', () => {
  assert.deepEqual(recordOf(sameIds, cardWith({ disabledAt: Date.UTC(2026, 0, 2, 3, 4, 5, 678) })), {
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

test('a field without a value is null, never omitted', () => {
  const record = recordOf(sameIds, bare);
  const empty = specified.filter((name) => Reflect.get(record, name) === null);
  assert.deepEqual(empty, [
    'disabled_at', 'line_item_id', 'api_client_id', 'user_id', 'customer_id', 'customer_email', 'recipient_id', 'recipient_email',
    'note', 'expires_on', 'message', 'order_id',
  ]); // prettier-ignore
  assert.deepEqual(JSON.parse(JSON.stringify(record)), record);
});

test('amounts have exactly the decimals of the currency', () => {
  const yen = recordOf(
    sameIds,
    cardWith({ initialValue: amount(1_500n, 'JPY'), balance: amount(0n, 'JPY') }),
  );
  assert.deepEqual([yen.initial_value, yen.balance, yen.currency], ['1500', '0', 'JPY']);
  const dinar = recordOf(
    sameIds,
    cardWith({ initialValue: amount(15_000n, 'KWD'), balance: amount(5n, 'KWD') }),
  );
  assert.deepEqual([dinar.initial_value, dinar.balance, dinar.currency], ['15.000', '0.005', 'KWD']);
});

test('an instant in 1970 is a time, not null', () => {
  assert.equal(recordOf(sameIds, cardWith({ disabledAt: 0 })).disabled_at, '1970-01-01T00:00:00Z');
});

test('a spendable record is the record with the held and the available amount', () => {
  const card = cardWith({ balance: amount(1_050n), held: amount(400n) });
  const spendable = spendableRecordOf(sameIds, card, '2026-03-15');
  assert.deepEqual(spendable, {
    ...recordOf(sameIds, card),
    held: '4.00',
    available: '6.50',
    state: 'active',
  });
  assert.deepEqual(Object.keys(spendable), [...specified, 'held', 'available', 'state']);
  const yen = spendableRecordOf(
    sameIds,
    cardWith({ initialValue: amount(9n, 'JPY'), balance: amount(9n, 'JPY'), held: amount(9n, 'JPY') }),
    '2026-03-15',
  );
  assert.deepEqual([yen.balance, yen.held, yen.available], ['9', '9', '0']);
});

test('a transaction contains the data of the transfer', () => {
  const transfer = transferWith({
    kind: 'reversal',
    debit: 'redemptions',
    credit: 'card',
    reference: 'receipt-1017',
    note: 'Returned',
    orderId: 1001,
    orderReference: 'B-1001',
    externalId: 'refund-55',
    locationId: 91,
    holdId: 7,
    reverses: 9,
  });
  const expected = {
    id: 244_212_357_350,
    gift_card_id: 244_212_357_349,
    kind: 'reversal',
    amount: '15.00',
    currency: 'USD',
    balance_after: '10.00',
    actor: 'api_client:7',
    reference: 'receipt-1017',
    note: 'Returned',
    order_id: 1001,
    order_reference: 'B-1001',
    external_id: 'refund-55',
    location_id: 91,
    hold_id: 7,
    reverses: 9,
    created_at: '2025-08-15T12:37:38Z',
  };
  assert.equal(JSON.stringify(transactionOf(sameIds, transfer)), JSON.stringify(expected));
  const plain = transactionOf(sameIds, transferWith());
  assert.deepEqual(Object.keys(plain), Object.keys(expected));
  const empty = Object.entries(plain).flatMap(([name, value]) => (value === null ? [name] : []));
  assert.deepEqual(empty, [
    'reference',
    'note',
    'order_id',
    'order_reference',
    'external_id',
    'location_id',
    'hold_id',
    'reverses',
  ]);
});

test('the sign of a transaction is that of its effect on the balance, whatever its kind', () => {
  const cases: readonly (readonly [given: Partial<Transfer>, shown: string])[] = [
    [{ kind: 'issue', debit: 'sales', credit: 'card' }, '15.00'],
    [{ kind: 'credit', debit: 'sales', credit: 'card' }, '15.00'],
    [{ kind: 'debit', debit: 'card', credit: 'redemptions' }, '-15.00'],
    [{ kind: 'capture', debit: 'card', credit: 'redemptions' }, '-15.00'],
    [{ kind: 'adjustment', debit: 'adjustments', credit: 'card' }, '15.00'],
    [{ kind: 'adjustment', debit: 'card', credit: 'adjustments' }, '-15.00'],
    [{ kind: 'reversal', debit: 'redemptions', credit: 'card' }, '15.00'],
    [{ kind: 'reversal', debit: 'card', credit: 'sales' }, '-15.00'],
    [{ amount: amount(5n, 'JPY'), balanceAfter: amount(0n, 'JPY') }, '-5'],
    [{ amount: amount(5n, 'KWD'), balanceAfter: amount(0n, 'KWD') }, '-0.005'],
  ];
  for (const [given, shown] of cases) {
    const record = transactionOf(sameIds, transferWith(given));
    assert.equal(record.amount, shown, show(given.kind));
    assert.equal(record.currency, given.amount?.currency.code ?? 'USD');
  }
});

test('an open hold contains its data', () => {
  const { createdAt } = holdWith();
  assert.equal(
    JSON.stringify(holdRecordOf(sameIds, holdWith(), createdAt)),
    JSON.stringify({
      id: 244_212_361_001,
      gift_card_id: 244_212_357_349,
      status: 'open',
      amount: '10.00',
      captured_amount: '0.00',
      currency: 'USD',
      actor: 'api_client:7',
      reference: 'checkout-77',
      note: 'Held at the counter',
      order_id: 1001,
      order_reference: 'B-1001',
      external_id: 'checkout-77-1',
      location_id: 91,
      created_at: '2026-06-15T12:00:00Z',
      expires_at: '2026-06-15T12:15:00Z',
      closed_at: null,
    }),
  );
});

test('an open hold is expired from its expiry time on, closed or not, and as of that time', () => {
  const hold = holdWith();
  const endOf = (now: number) => {
    const { status, closed_at } = holdRecordOf(sameIds, hold, now);
    return [status, closed_at];
  };
  assert.deepEqual(endOf(hold.expiresAt - 1), ['open', null]);
  for (const later of [0, 1, 10 ** 9]) {
    assert.deepEqual(endOf(hold.expiresAt + later), ['expired', '2026-06-15T12:15:00Z']);
  }
});

test('a closed hold keeps its status at any later time', () => {
  const closedAt = Date.UTC(2026, 5, 15, 12, 5);
  for (const status of ['captured', 'voided', 'expired'] as const) {
    const hold = holdWith({ status, closedAt, captured: amount(status === 'captured' ? 800n : 0n) });
    for (const now of [closedAt, hold.expiresAt, hold.expiresAt + 10 ** 9]) {
      const record = holdRecordOf(sameIds, hold, now);
      assert.equal(record.status, status);
      assert.equal(record.closed_at, '2026-06-15T12:05:00Z');
      assert.equal(record.captured_amount, status === 'captured' ? '8.00' : '0.00');
      assert.equal(record.amount, '10.00');
    }
  }
});

test('the read-only fields are those of the records except balance, expires_on, note, names and tags', () => {
  const settable = new Set(['balance', 'note', 'expires_on']);
  assert.deepEqual(
    [...claimableFields],
    [
      ...specified.filter((name) => !settable.has(name)),
      'held',
      'available',
      'state',
      'suspended_at',
      'suspend_reason',
      'email_status',
      'external_id',
    ],
  );
});

test('every field of a retrieved record matches the card', async (t) => {
  const cards: Readonly<Record<string, Card>> = {
    full: cardWith(),
    disabled: cardWith({ disabledAt: 1_000 }),
    suspended: cardWith({ suspendedAt: 1_000, suspendReason: 'The payment is disputed' }),
    bare,
    holding: cardWith({ held: amount(200n) }),
    yen: cardWith({ initialValue: amount(5n, 'JPY'), balance: amount(5n, 'JPY'), held: amount(0n, 'JPY') }),
  };
  for (const [name, card] of Object.entries(cards)) {
    const read = detailRecordOf(sameIds, card, { today, emailStatus: 'none' });
    const sent = JSON.parse(JSON.stringify(read)) as Readonly<Record<string, unknown>>;
    for (const field of claimableFields) {
      await t.test(`${name}: ${field}`, () => {
        assert.equal(matchesRecord(sameIds, sent[field], field, card), true);
        // The parser has converted an id in a form to an integer.
        assert.equal(
          matchesRecord(sameIds, asFormText(sent[field]), field, card),
          typeof sent[field] !== 'number',
        );
      });
    }
  }
});

/** Returns the value as a form sends it: as text, with an empty text for null. */
function asFormText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

test('a field can match the card in another notation', () => {
  const card = cardWith();
  const cases: readonly (readonly [ReadOnlyField, unknown])[] = [
    ['initial_value', 25],
    ['initial_value', '25'],
    ['initial_value', '25.0'],
    ['customer_email', 'ada@example.com'],
    ['customer_email', ' ADA@EXAMPLE.COM\t'],
    ['recipient_email', 'GRACE@example.com'],
    ['last_characters', '7F3K'],
    ['held', 0],
    ['held', '0'],
    ['available', '10.5'],
    ['available', 10.5],
  ];
  for (const [field, claim] of cases)
    assert.equal(matchesRecord(sameIds, claim, field, card), true, `${field} ${show(claim)}`);
});

test('a value that differs from the card does not match', async (t) => {
  const cases: readonly (readonly [ReadOnlyField, readonly unknown[]])[] = [
    [
      'id',
      [244_212_357_348, '244212357349', '0244212357349', ' 244212357349', null, '', true, [244_212_357_349]],
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
    ['held', ['0.01', 1, null, '', '-0', 'none', false, '0.000']],
    ['available', ['25.00', 10, '10.51', null, '', '1050', true]],
    ['state', ['disabled', 'expired', 'suspended', 'empty', 'scheduled', 'Active', null, '', true]],
    ['suspended_at', ['2025-08-15T12:37:38Z', true, false, 0]],
    ['suspend_reason', ['The payment is disputed', true, 0]],
    ['email_status', ['sent', 'scheduled', 'None', null, '', true]],
    ['external_id', ['order-2', 7, true]],
  ];
  assert.deepEqual(
    cases.map(([field]) => field),
    [...claimableFields],
  );
  for (const [field, values] of cases) {
    await t.test(field, () => {
      for (const claim of values)
        assert.equal(matchesRecord(sameIds, claim, field, cardWith()), false, show(claim));
    });
  }
});

test('a state is that of the day: disabled before expired, and active until the end of the last day', () => {
  const states: readonly (readonly [Partial<Card>, string])[] = [
    [{ expiresOn: null }, 'active'],
    [{ expiresOn: today }, 'active'],
    [{ expiresOn: '2026-06-14' }, 'expired'],
    [{ expiresOn: '2026-06-14', disabledAt: 1_000 }, 'disabled'],
    [{ suspendedAt: 1_000, expiresOn: today }, 'suspended'],
    [{ suspendedAt: 1_000, expiresOn: '2026-06-14' }, 'expired'],
    [{ suspendedAt: 1_000, disabledAt: 1_000 }, 'disabled'],
  ];
  for (const [given, state] of states) {
    for (const claim of ['active', 'expired', 'disabled'])
      assert.equal(
        matchesRecord(sameIds, claim, 'state', cardWith(given)),
        claim === state,
        `${show(given)} ${claim}`,
      );
  }
});

test('if the card has no value, only null and the empty text of a form match', () => {
  const record: Readonly<Record<string, unknown>> = recordOf(sameIds, bare);
  const empty = claimableFields.filter((field) => record[field] === null);
  assert.ok(empty.length > 5);
  for (const field of empty) {
    assert.equal(matchesRecord(sameIds, null, field, bare), true);
    assert.equal(matchesRecord(sameIds, '', field, bare), true);
    for (const claim of [0, false, ' ', 'null', undefined, [], {}]) {
      assert.equal(matchesRecord(sameIds, claim, field, bare), false, `${field} ${show(claim)}`);
    }
  }
});
