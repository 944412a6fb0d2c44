import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  adjustmentOf,
  captureOf,
  chainStart,
  committedText,
  creditOf,
  debitOf,
  effectOf,
  entryContent,
  type LedgerTexts,
  hasText,
  isReversible,
  issueOf,
  reversalOf,
  systemAccounts,
  type EntryDetails,
  type Movement,
  type Transfer,
  type TransferKind,
} from '../../src/core/money/domain/ledger.ts';
import { amount, transferWith } from './samples.ts';

const transfer = transferWith();

test('an issue moves the value from sales to the card', () => {
  assert.deepEqual(issueOf(amount(2_500n)), {
    kind: 'issue',
    amount: amount(2_500n),
    debit: 'sales',
    credit: 'card',
  });
  assert.equal(effectOf(issueOf(amount(2_500n))), 2_500n);
});

test('an adjustment upwards credits the card, and one downwards debits it', () => {
  assert.deepEqual(adjustmentOf(amount(1_000n), amount(2_500n)), {
    kind: 'adjustment',
    amount: amount(1_500n),
    debit: 'adjustments',
    credit: 'card',
  });
  assert.deepEqual(adjustmentOf(amount(2_500n), amount(1_000n)), {
    kind: 'adjustment',
    amount: amount(1_500n),
    debit: 'card',
    credit: 'adjustments',
  });
});

test('an adjustment by zero or into another currency is an error', () => {
  assert.throws(() => adjustmentOf(amount(5n), amount(5n)), RangeError);
  assert.throws(() => adjustmentOf(amount(0n), amount(0n)), RangeError);
  assert.throws(() => adjustmentOf(amount(5n, 'USD'), amount(6n, 'EUR')), RangeError);
});

test('an adjustment moves a positive amount from any balance to any target', () => {
  const balances = fc.bigInt({ min: 0n, max: 10n ** 16n });
  fc.assert(
    fc.property(balances, balances, (balance, target) => {
      fc.pre(balance !== target);
      const movement = adjustmentOf(amount(balance, 'KWD'), amount(target, 'KWD'));
      assert.equal(balance + effectOf(movement), target);
      assert.ok(movement.amount.minor > 0n);
      assert.equal(movement.amount.currency.code, 'KWD');
      assert.notEqual(movement.debit, movement.credit);
      assert.ok([movement.debit, movement.credit].includes('card'));
    }),
    { numRuns: 1_000 },
  );
});

test('a debit and a capture move an amount from the card to redemptions, a credit from sales to the card', () => {
  const taken = { amount: amount(1_500n), debit: 'card', credit: 'redemptions' };
  assert.deepEqual(debitOf(amount(1_500n)), { kind: 'debit', ...taken });
  assert.deepEqual(captureOf(amount(1_500n)), { kind: 'capture', ...taken });
  assert.deepEqual(creditOf(amount(1_500n)), {
    kind: 'credit',
    amount: amount(1_500n),
    debit: 'sales',
    credit: 'card',
  });
  assert.equal(effectOf(debitOf(amount(1_500n))), -1_500n);
  assert.equal(effectOf(captureOf(amount(1_500n))), -1_500n);
  assert.equal(effectOf(creditOf(amount(1_500n))), 1_500n);
});

test('only debits, captures, credits and top-ups can be reversed', () => {
  const expected = {
    issue: false,
    adjustment: false,
    debit: true,
    credit: true,
    top_up: true,
    capture: true,
    reversal: false,
  } as const satisfies Record<TransferKind, boolean>;
  const kinds = Object.keys(expected) as (keyof typeof expected)[];
  assert.deepEqual(Object.fromEntries(kinds.map((kind) => [kind, isReversible(kind)])), expected);
});

test('a reversal moves its amount between the same accounts in the opposite direction', () => {
  assert.deepEqual(reversalOf(debitOf(amount(1_500n)), amount(400n)), {
    kind: 'reversal',
    amount: amount(400n),
    debit: 'redemptions',
    credit: 'card',
  });
  assert.deepEqual(reversalOf(creditOf(amount(1_500n)), amount(1_500n)), {
    kind: 'reversal',
    amount: amount(1_500n),
    debit: 'card',
    credit: 'sales',
  });
});

test('a movement and its full reversal add up to zero, in any currency', () => {
  const positive = fc.bigInt({ min: 1n, max: 10n ** 16n });
  const make = fc.constantFrom<(value: Movement['amount']) => Movement>(debitOf, captureOf, creditOf);
  fc.assert(
    fc.property(positive, make, fc.constantFrom('USD', 'JPY', 'KWD'), (minor, of, code) => {
      const movement = of(amount(minor, code));
      const reversal = reversalOf(movement, movement.amount);
      assert.equal(effectOf(movement) + effectOf(reversal), 0n);
      assert.deepEqual(movement.amount, amount(minor, code));
      assert.deepEqual([reversal.debit, reversal.credit], [movement.credit, movement.debit]);
      assert.ok(isReversible(movement.kind) && !isReversible(reversal.kind));
    }),
  );
});

test('only a credit of the card raises its balance', () => {
  assert.equal(effectOf({ amount: amount(7n), credit: 'card' }), 7n);
  for (const credit of systemAccounts) assert.equal(effectOf({ amount: amount(7n), credit }), -7n);
});

test('a chain starts from 32 zero bytes', () => {
  assert.deepEqual(
    [...chainStart],
    Array.from({ length: 32 }, () => 0),
  );
});

const salt = Uint8Array.from({ length: 16 }, (_, index) => index);
const textDigest = new Uint8Array(32).fill(255);
const noTexts: LedgerTexts = { reference: null, note: null, orderReference: null, externalId: null };
const later: EntryDetails = { opening: null, textDigest: null };

test('the content of an entry has the bytes that existing hash chains contain', () => {
  assert.equal(
    entryContent(transfer, later),
    '["transfer/2",17,244212357349,2,244212357350,"adjustment","15.00","USD","card","adjustments","10.00","api_client:7",null,null,null,null,1755261458999,null,null]',
  );
  assert.equal(
    entryContent(
      {
        ...transfer,
        sequence: 1,
        kind: 'issue',
        amount: amount(5n, 'JPY'),
        balanceAfter: amount(5n, 'JPY'),
        debit: 'sales',
        credit: 'card',
        actor: 'é\n"',
        reference: 'is not part of it',
        note: 'neither is this',
        orderId: 1001,
        holdId: 7,
        reverses: 9,
      },
      { opening: { salt, expiresOn: '2027-12-31', vat: null }, textDigest },
    ),
    '["transfer/2",17,244212357349,1,244212357350,"issue","5","JPY","sales","card","5","é\\n\\"","//////////////////////////////////////////8=",1001,7,9,1755261458999,"AAECAwQFBgcICQoLDA0ODw==",["2027-12-31",null]]',
  );
  assert.equal(
    entryContent({ ...transfer, orderReference: 'no part', externalId: 'no part', locationId: 91 }, later),
    '["transfer/3",17,244212357349,2,244212357350,"adjustment","15.00","USD","card","adjustments","10.00","api_client:7",null,null,null,null,1755261458999,null,null,91]',
  );
  assert.match(
    entryContent(
      { ...transfer, locationId: 91 },
      { opening: { salt, expiresOn: null, vat: null }, textDigest: null },
    ),
    /^\["transfer\/3",.*,"AAECAwQFBgcICQoLDA0ODw==",\[null,null\],91\]$/,
  );
  assert.match(
    entryContent(transfer, { opening: { salt, expiresOn: null, vat: null }, textDigest: null }),
    /,"AAECAwQFBgcICQoLDA0ODw==",\[null,null\]\]$/,
  );
  assert.match(
    entryContent(transfer, {
      opening: { salt, expiresOn: null, vat: 'single_purpose 19' },
      textDigest: null,
    }),
    /,"AAECAwQFBgcICQoLDA0ODw==",\[null,"single_purpose 19"\]\]$/,
  );
});

test('every field of a transfer except its texts is part of its content', async (t) => {
  const others: Omit<Transfer, keyof LedgerTexts> = {
    storeId: 18,
    cardId: 244_212_357_348,
    sequence: 3,
    id: 244_212_357_351,
    kind: 'issue',
    amount: amount(1_501n),
    debit: 'sales',
    credit: 'card',
    balanceAfter: amount(1_001n),
    actor: 'api_client:8',
    orderId: 1,
    locationId: 3,
    holdId: 2,
    reverses: 0,
    createdAt: 1_755_261_459_000,
  };
  const content = entryContent(transfer, later);
  for (const [field, value] of Object.entries(others)) {
    await t.test(field, () => {
      const edited: Transfer = { ...transfer, [field]: value };
      assert.notEqual(entryContent(edited, later), content);
    });
  }
  await t.test('the currency', () =>
    assert.notEqual(entryContent({ ...transfer, amount: amount(1_500n, 'EUR') }, later), content),
  );
  await t.test('the texts', () =>
    assert.equal(
      entryContent({ ...transfer, reference: 'r', note: 'n', orderReference: 'o', externalId: 'e' }, later),
      content,
    ),
  );
});

test('an entry commits to its texts, which each have their own form', () => {
  const texts = fc.option(fc.constantFrom('', 'null', ',', '","', 'a', 'a","b', '\\', '\ud800'), {
    nil: null,
  });
  const sets = fc.record({ reference: texts, note: texts, orderReference: texts, externalId: texts });
  fc.assert(
    fc.property(sets, sets, (left, right) => {
      assert.equal(
        hasText(left),
        Object.values(left).some((value) => value !== null),
      );
      const same = JSON.stringify(left) === JSON.stringify(right);
      assert.equal(committedText(left) === committedText(right), same);
    }),
    { numRuns: 1_000 },
  );
  assert.equal(committedText({ ...noTexts, reference: 'order "7"' }), '["order \\"7\\"",null]');
  assert.equal(committedText({ ...noTexts, orderReference: 'A-7' }), '[null,null,"A-7",null]');
  assert.equal(committedText({ ...noTexts, note: 'n', externalId: 'e' }), '[null,"n",null,"e"]');
});

test('two different entries have different content', () => {
  const small8 = fc.integer({ min: 0, max: 2 });
  const digest = fc.option(
    small8.map((fill) => new Uint8Array(32).fill(fill)),
    { nil: null },
  );
  const details = fc.record({
    opening: fc.option(
      fc.record({
        salt: small8.map((fill) => new Uint8Array(16).fill(fill)),
        expiresOn: fc.constantFrom(null, '2027-12-31', '2028-01-01'),
        vat: fc.constantFrom(null, 'multi_purpose', 'single_purpose 19'),
      }),
      { nil: null },
    ),
    textDigest: digest,
  }) satisfies fc.Arbitrary<EntryDetails>;
  const small = fc.integer({ min: 1, max: 12 });
  const any = fc.record({
    storeId: small,
    cardId: small,
    sequence: small,
    id: small,
    kind: fc.constantFrom('issue', 'adjustment'),
    amount: fc
      .tuple(fc.bigInt({ min: 1n, max: 12n }), fc.constantFrom('USD', 'JPY', 'KWD'))
      .map(([minor, code]) => amount(minor, code)),
    debit: fc.constantFrom('card', ...systemAccounts),
    credit: fc.constantFrom('card', ...systemAccounts),
    balanceAfter: fc.bigInt({ min: 0n, max: 12n }).map((minor) => amount(minor)),
    actor: fc.constantFrom('a', '","', 'development'),
    reference: fc.constant(null),
    note: fc.constant(null),
    orderReference: fc.constant(null),
    externalId: fc.constant(null),
    locationId: fc.option(small, { nil: null }),
    orderId: fc.option(small, { nil: null }),
    holdId: fc.option(small, { nil: null }),
    reverses: fc.option(small, { nil: null }),
    createdAt: small,
  }) satisfies fc.Arbitrary<Transfer>;
  // Two transfers that differ in up to three fields, as after a manipulation.
  const pair = fc.tuple(any, any, fc.subarray(Object.keys(transfer), { maxLength: 3 })).map(
    ([left, right, fields]) =>
      [
        left,
        {
          ...left,
          ...Object.fromEntries(Object.entries(right).filter(([field]) => fields.includes(field))),
        },
      ] as const,
  );
  fc.assert(
    fc.property(pair, details, fc.option(details), ([left, right], ofLeft, changed) => {
      const ofRight = changed ?? ofLeft;
      const same = JSON.stringify([left, ofLeft], plain) === JSON.stringify([right, ofRight], plain);
      assert.equal(entryContent(left, ofLeft) === entryContent(right, ofRight), same);
    }),
    { numRuns: 3_000 },
  );
});

/** JSON has no bigint. A balance has the currency of its amount. */
function plain(key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  return key === 'balanceAfter' ? String((value as Transfer['balanceAfter']).minor) : value;
}
