import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { editableFields, fixedFields, propertyOf } from '../../src/core/cards/domain/fields.ts';
import type { Card } from '../../src/core/cards/domain/card.ts';
import { versionTagOf } from '../../src/core/cards/service/version.ts';
import { amount, cardWith } from './samples.ts';

/** The values of a card that a change can change, except its version. */
const details = {
  balance: fc.bigInt(0n, 10n ** 15n).map((minor) => amount(minor)),
  held: fc.bigInt(0n, 10n ** 15n).map((minor) => amount(minor)),
  disabledAt: fc.option(fc.integer({ min: 1, max: 2 ** 43 })),
  lastCharacters: fc.stringMatching(/^[a-z0-9]{4}$/),
  recipient: fc.option(fc.maxSafeNat().map((id) => ({ id, email: 'grace@example.com' }))),
  ...Object.fromEntries(
    editableFields.map((name) => [propertyOf(name), fc.option(fc.string({ maxLength: 30 }))]),
  ),
} satisfies Partial<{ [Name in keyof Card]: fc.Arbitrary<Card[Name]> }>;

const state = fc.record(details).map(cardWith);

test('the version of a card has its number at the end, and two states with one number differ', () => {
  fc.assert(
    fc.property(state, fc.constantFrom(...Object.keys(details)), fc.record(details), (card, name, other) => {
      assert.match(versionTagOf(card), /^\d{1,10}-3$/);
      assert.equal(versionTagOf({ ...card, balance: { ...card.balance } }), versionTagOf(card));
      const changed: Card = { ...card, [name]: other[name as keyof typeof other] };
      const text = (value: Card): string =>
        JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each));
      assert.equal(versionTagOf(changed) === versionTagOf(card), text(changed) === text(card));
    }),
    { numRuns: 5_000 },
  );
});

test('similar states have different versions', () => {
  const tags = new Set<string>();
  for (let minor = 0n; minor < 300n; minor += 1n)
    for (let held = 0n; held < 100n; held += 1n)
      tags.add(versionTagOf(cardWith({ balance: amount(minor), held: amount(held) })));
  for (let day = 0; day < 2_000; day += 1) tags.add(versionTagOf(cardWith({ note: `Sold on day ${day}` })));
  assert.equal(tags.size, 32_000);
});

test('an erased customer is another state, and so is an erased field that no update changes', () => {
  const given = Object.fromEntries(fixedFields.map((name) => [propertyOf(name), 'text']));
  const erased = [{}, { customer: null }, ...fixedFields.map((name) => ({ [propertyOf(name)]: null }))];
  const tags = erased.map((changed) => versionTagOf(cardWith({ ...given, ...changed })));
  assert.equal(new Set(tags).size, tags.length);
});
