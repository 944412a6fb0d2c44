/** Codes as people type them and scanners read them, and the keys of redemptions. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { isCurrent, isKeyOf, newKey } from '../../src/features/till/pages/key.ts';
import { parseTypedCode } from '../../src/core/cards/domain/code.ts';
import { manualClock, testContext } from '../support/fixtures.ts';

function codesOf(typed: string): readonly string[] | undefined {
  const parsed = parseTypedCode(typed);
  return parsed.ok ? parsed.value.map((code) => code.reveal()) : undefined;
}

test('separators and case do not matter in a typed code', () => {
  for (const typed of [
    'ab12cd34',
    'AB12 CD34',
    'ab12-cd34',
    'AB12–CD34',
    'ab12\u00a0cd34\r\n',
    '\u0002ab12.cd_34/',
  ])
    assert.deepEqual(codesOf(typed), ['ab12cd34'], JSON.stringify(typed));
});

test('a link to a card has its code, also as scanners type it for other keyboards', () => {
  for (const typed of [
    'https://cards.example/b/flowers.example/card#AB12CD34',
    'http://localhost:3000/x/b/card#ab12cd34\r\n',
    'HTTPS://CARDS.EXAMPLE/B/CARD#AB12CD34',
    'https://cards.example/b/card?lang=de#AB12CD34',
    `https://${'a'.repeat(250)}.example/b/${'b'.repeat(240)}.example/card#AB12CD34`,
    'httpsÖ--cards.example-b-flowers.example-card§AB12CD34',
    'https>&&cards.example&b&card£AB12CD34',
  ])
    assert.deepEqual(codesOf(typed), ['ab12cd34'], typed);
  // A code of a store can be like a part of a link.
  assert.deepEqual(codesOf('https://cards.example/b/card#GIFTCARD'), ['giftcard', 'g1ftcard']);
  assert.deepEqual(codesOf('https-1234'), ['https1234']);
  for (const typed of [
    'https://cards.example/b/flowers.example',
    'https://cards.example/b/flowershop/card',
    'https://cards.example/b/card#',
    'https://cards.example/b/card#ab12',
  ])
    assert.equal(codesOf(typed), undefined, typed);
});

test('letters that look like digits have a second reading', () => {
  assert.deepEqual(codesOf('OIL0 abcd'), ['oil0abcd', '0110abcd']);
});

test('a text that is too long or has other characters is not a code', () => {
  for (const typed of [
    '',
    'abc',
    'a'.repeat(21),
    'ä'.repeat(8),
    'ab12cd34?',
    `${' '.repeat(701)}ab12cd34`,
    'ſſſſſſſſ',
  ])
    assert.equal(codesOf(typed), undefined, typed);
});

const found = { storeId: 1, staffId: 2, cardId: 3 };

test('a key is of one person and one card', () => {
  const clock = manualClock();
  const ctx = testContext({ clock });
  const key = newKey(ctx, found);
  assert.equal(isKeyOf(ctx, key, found), true);
  for (const other of [{ storeId: 9 }, { staffId: 9 }, { cardId: 9 }])
    assert.equal(isKeyOf(ctx, key, { ...found, ...other }), false);
  const bytes = Buffer.from(key, 'base64url');
  for (const place of bytes.keys()) {
    const changed = Buffer.from(bytes);
    changed[place] = (changed[place] ?? 0) ^ 1;
    assert.equal(isKeyOf(ctx, changed.toString('base64url'), found), false, `byte ${place}`);
  }
  clock.advance(20 * 60 * 60_000);
  assert.equal(isKeyOf(ctx, key, found), false);
});

test('a key can be used for 20 hours', () => {
  const clock = manualClock();
  const ctx = testContext({ clock });
  const key = newKey(ctx, found);
  assert.match(key, /^[\w-]{22}$/);
  assert.notEqual(newKey(ctx, found), key);
  assert.equal(isCurrent(ctx, key), true);
  clock.advance(20 * 60 * 60_000 - 60_000);
  assert.equal(isCurrent(ctx, key), true);
  clock.advance(60_000);
  assert.equal(isCurrent(ctx, key), false);
  for (const text of ['', 'x', 'A'.repeat(22), '_'.repeat(22)]) assert.equal(isCurrent(ctx, text), false);
});
