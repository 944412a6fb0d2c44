import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  unheldOf,
  choose,
  effectiveChanges,
  isDisabled,
  isExpired,
  validateChanges,
  type Card,
  type CardChanges,
} from '../../src/core/cards/domain/card.ts';
import { amount, cardWith } from './samples.ts';

const today = '2026-06-15';

test('a card is usable until the end of its last day, and expired from the next day on', () => {
  assert.equal(isExpired(cardWith({ expiresOn: '2026-06-16' }), today), false);
  assert.equal(isExpired(cardWith({ expiresOn: '2026-06-15' }), today), false);
  assert.equal(isExpired(cardWith({ expiresOn: '2026-06-14' }), today), true);
  assert.equal(isExpired(cardWith({ expiresOn: '2025-12-31' }), today), true);
  assert.equal(isExpired(cardWith({ expiresOn: null }), today), false);
});

test('a card is disabled if it has a disabling time', () => {
  assert.equal(isDisabled(cardWith({ disabledAt: null })), false);
  assert.equal(isDisabled(cardWith({ disabledAt: 1 })), true);
  assert.equal(isDisabled(cardWith({ disabledAt: 0 })), true);
});

test('expiry does not disable a card, and disabling does not expire it', () => {
  assert.equal(isDisabled(cardWith({ expiresOn: '2000-01-01' })), false);
  assert.equal(isExpired(cardWith({ disabledAt: 5, expiresOn: null }), today), false);
});

test('the held amount of a balance is not available, down to zero', () => {
  const cases = [[1_050n, 0n, 1_050n], [1_050n, 400n, 650n], [1_050n, 1_050n, 0n], [0n, 0n, 0n]] as const; // prettier-ignore
  for (const [balance, held, available] of cases) {
    const card = { balance: amount(balance, 'KWD'), held: amount(held, 'KWD') };
    assert.deepEqual(unheldOf(card), amount(available, 'KWD'));
  }
  assert.throws(() => unheldOf({ balance: amount(5n, 'USD'), held: amount(0n, 'EUR') }), RangeError);
});

test('only a value that differs from the card is a change', async (t) => {
  const card = cardWith({ balance: amount(1_050n), expiresOn: '2031-12-31', note: 'a' });
  const bare = cardWith({ expiresOn: null, note: null });
  const disabled = cardWith({ disabledAt: 5 });
  const cases: readonly (readonly [name: string, card: Card, named: CardChanges, effective: CardChanges])[] =
    [
      ['nothing named', card, {}, {}],
      [
        'present values',
        card,
        { disable: false, balance: amount(1_050n), expiresOn: '2031-12-31', note: 'a' },
        {},
      ],
      ['present nulls', bare, { expiresOn: null, note: null }, {}],
      ['disabling again', disabled, { disable: true }, {}],
      ['disabling', card, { disable: true }, { disable: true }],
      ['another balance', card, { balance: amount(1_049n) }, { balance: amount(1_049n) }],
      ['a balance of zero', card, { balance: amount(0n) }, { balance: amount(0n) }],
      ['another day', card, { expiresOn: '2031-12-30' }, { expiresOn: '2031-12-30' }],
      ['no expiry', card, { expiresOn: null }, { expiresOn: null }],
      ['a first expiry', bare, { expiresOn: '2031-12-31' }, { expiresOn: '2031-12-31' }],
      ['another note', card, { note: 'b' }, { note: 'b' }],
      ['no note', card, { note: null }, { note: null }],
      [
        'all at once',
        card,
        { disable: true, balance: amount(1n), expiresOn: null, note: null },
        { disable: true, balance: amount(1n), expiresOn: null, note: null },
      ],
      ['some of several', card, { balance: amount(1n), note: 'a' }, { balance: amount(1n) }],
    ];
  for (const [name, given, named, effective] of cases) {
    await t.test(name, () => assert.deepEqual(effectiveChanges(given, named), effective));
  }
});

const keeping = { releaseHolds: false };

test('a card with open holds is disabled only with their release, and updates cannot use the held amount', () => {
  const card = cardWith({ balance: amount(1_000n), held: amount(400n) });
  const held = ['must be at least 4.00, the held amount'];
  const open = ['cannot be true: the card has open holds, which release_holds releases'];
  assert.deepEqual(validateChanges(card, { disable: true }, keeping), { disable: open });
  assert.deepEqual(validateChanges(card, { disable: true }, { releaseHolds: true }), {});
  assert.deepEqual(validateChanges(card, { disable: false }, keeping), {});
  assert.deepEqual(validateChanges(card, { balance: amount(399n) }, keeping), { balance: held });
  assert.deepEqual(validateChanges(card, { balance: amount(400n) }, keeping), {});
  assert.deepEqual(validateChanges(card, { balance: amount(0n) }, { releaseHolds: true }), { balance: held });
  assert.deepEqual(validateChanges(card, { balance: amount(0n), disable: true }, { releaseHolds: true }), {});
});

test('a card that is not disabled accepts every change', () => {
  const changes = { disable: false, balance: amount(0n), expiresOn: '2000-01-01', note: 'x' };
  assert.deepEqual(validateChanges(cardWith(), changes, keeping), {});
  assert.deepEqual(validateChanges(cardWith(), { disable: true, balance: amount(1n) }, keeping), {});
  assert.deepEqual(validateChanges(cardWith({ expiresOn: '2000-01-01' }), changes, keeping), {});
});

test('a disabled card rejects changes of balance and expiry, accepts a note, and cannot be enabled', async (t) => {
  const card = cardWith({ disabledAt: 5, balance: amount(1_050n), expiresOn: '2031-12-31' });
  const fixed = ['cannot be changed: the card is disabled'];
  const cases: readonly (readonly [name: string, changes: CardChanges, errors: object])[] = [
    ['nothing', {}, {}],
    ['disabling again', { disable: true }, {}],
    ['enabling', { disable: false }, { disable: ['cannot be undone'] }],
    ['the balance', { balance: amount(1_049n) }, { balance: fixed }],
    ['the current balance', { balance: amount(1_050n) }, {}],
    ['the expiry', { expiresOn: '2031-12-30' }, { expires_on: fixed }],
    ['the expiry, to never', { expiresOn: null }, { expires_on: fixed }],
    ['the current expiry', { expiresOn: '2031-12-31' }, {}],
    ['the note', { note: 'x' }, {}],
    [
      'everything',
      { disable: false, balance: amount(0n), expiresOn: null, note: null },
      { disable: ['cannot be undone'], balance: fixed, expires_on: fixed },
    ],
  ];
  for (const [name, changes, errors] of cases) {
    await t.test(name, () => assert.deepEqual(validateChanges(card, changes, keeping), errors));
  }
});

const someCard = fc
  .record({
    id: fc.integer({ min: 1, max: 9 }),
    createdAt: fc.integer({ min: 1, max: 4 }),
    disabledAt: fc.constantFrom(null, null, 7),
    expiresOn: fc.constantFrom(null, '2026-06-14', '2026-06-15', '2026-06-16'),
  })
  .map(cardWith);

test('a search prefers a usable card to a disabled or expired one, then the newest', async (t) => {
  const old = cardWith({ id: 1, createdAt: 10, expiresOn: null });
  const newer = cardWith({ id: 2, createdAt: 20, expiresOn: null });
  const disabled = cardWith({ id: 3, createdAt: 30, expiresOn: null, disabledAt: 31 });
  const expired = cardWith({ id: 4, createdAt: 40, expiresOn: '2026-06-14' });
  const lastDay = cardWith({ id: 5, createdAt: 5, expiresOn: today });
  const twin = cardWith({ id: 9, createdAt: 20, expiresOn: null });
  const cases: readonly (readonly [name: string, cards: readonly Card[], chosen: Card | undefined])[] = [
    ['no card of no cards', [], undefined],
    ['the only card, even if it is not usable', [disabled], disabled],
    ['the newer card', [old, newer], newer],
    ['a usable old one before a newer disabled one', [disabled, old], old],
    ['a usable old one before a newer expired one', [expired, old], old],
    ['a card on its last day is usable', [expired, disabled, lastDay], lastDay],
    ['the newer of two unusable cards', [disabled, expired], expired],
    ['the larger id of two cards with the same time', [newer, twin], twin],
  ];
  for (const [name, cards, chosen] of cases) {
    await t.test(name, () => {
      assert.equal(choose(cards, today), chosen);
      assert.equal(choose(cards.toReversed(), today), chosen);
    });
  }
});

test('the result of a search does not depend on the order of the cards', () => {
  const isUsable = (card: Card): boolean =>
    card.disabledAt === null && (card.expiresOn === null || card.expiresOn >= today);
  const rank = (card: Card): readonly number[] => [Number(isUsable(card)), card.createdAt, card.id];
  fc.assert(
    fc.property(fc.uniqueArray(someCard, { selector: ({ id }) => id, minLength: 1 }), (cards) => {
      const [best] = cards.toSorted((left, right) => {
        const others = rank(right);
        const at = rank(left).findIndex((value, index) => value !== others[index]);
        return (others[at] ?? 0) - (rank(left)[at] ?? 0);
      });
      assert.equal(choose(cards, today), best);
    }),
    { numRuns: 2_000 },
  );
});

test('applied changes no longer count as changes', () => {
  const someChanges = fc.record(
    {
      disable: fc.boolean(),
      balance: fc.bigInt({ min: 1_049n, max: 1_051n }).map((minor) => amount(minor)),
      expiresOn: fc.constantFrom(null, '2026-06-15', '2026-06-16'),
      note: fc.constantFrom(null, 'Sold at the counter', 'x'),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(someCard, someChanges, (card, changes) => {
      const { disable, ...values } = effectiveChanges(card, changes);
      const changed: Card = { ...card, ...values, disabledAt: disable ? 8 : card.disabledAt };
      assert.deepEqual(effectiveChanges(changed, changes), {});
      if (card.disabledAt === null) assert.deepEqual(validateChanges(card, changes, keeping), {});
    }),
    { numRuns: 2_000 },
  );
});
