/** Codes as people type them and scanners read them, and the keys of redemptions. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { isCurrent, newKey } from '../../src/console/till-key.ts';
import { parseTypedCode } from '../../src/domain/code.ts';
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
    `${' '.repeat(101)}ab12cd34`,
    'ſſſſſſſſ',
  ])
    assert.equal(codesOf(typed), undefined, typed);
});

test('a key can be used for 20 hours', () => {
  const clock = manualClock();
  const ctx = testContext({ clock });
  const key = newKey(ctx);
  assert.match(key, /^[\w-]{22}$/);
  assert.notEqual(newKey(ctx), key);
  assert.equal(isCurrent(ctx, key), true);
  clock.advance(20 * 60 * 60_000 - 60_000);
  assert.equal(isCurrent(ctx, key), true);
  clock.advance(60_000);
  assert.equal(isCurrent(ctx, key), false);
  for (const text of ['', 'x', 'A'.repeat(22), '_'.repeat(22)]) assert.equal(isCurrent(ctx, text), false);
});
