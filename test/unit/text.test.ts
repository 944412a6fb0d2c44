import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { parseText, textLengthMax } from '../../src/core/domain/text.ts';
import { anyUnits, errorOf, show, valueOf } from './samples.ts';

test('empty text and null both mean null', () => {
  assert.equal(valueOf(parseText('')), null);
  assert.equal(valueOf(parseText(null)), null);
});

test('text is stored unchanged', () => {
  for (const text of [
    ' ',
    'Happy birthday!',
    'a\nb\tc',
    '  x  ',
    '生日快乐',
    '👩‍👩‍👧',
    '\u00a0',
    '\u2028',
    '<b>&amp;',
    '0',
    'null',
  ]) {
    assert.equal(valueOf(parseText(text)), text);
  }
});

test('text can contain no control characters except newline and tab, including C1', async (t) => {
  for (let unit = 0; unit <= 0xa0; unit += 1) {
    const isControl = unit < 0x20 || (unit >= 0x7f && unit < 0xa0);
    const text = `a${String.fromCharCode(unit)}b`;
    const parsed = parseText(text);
    if (isControl && unit !== 0x09 && unit !== 0x0a) {
      await t.test(`U+${unit.toString(16).padStart(4, '0')} is rejected`, () =>
        assert.equal(errorOf(parsed), 'must not contain control characters other than newline and tab'),
      );
    } else assert.equal(valueOf(parsed), text);
  }
});

test('a lone surrogate is rejected in any position', async (t) => {
  for (const text of ['\ud800', 'a\udc00', '\udc00\ud800', 'ab\ud83d', '\ud83dx\ude00', '😀\ude00']) {
    await t.test(show(text), () => assert.equal(errorOf(parseText(text)), 'must be valid Unicode'));
  }
});

test('text has at most 5,000 characters, counted as code points', async (t) => {
  assert.equal(textLengthMax, 5_000);
  const accepted = {
    letters: 'a'.repeat(5_000),
    'emoji, two UTF-16 units each': '😀'.repeat(5_000),
    'letters with combining marks, two code points each': 'e\u0301'.repeat(2_500),
    'letters and emoji': 'a'.repeat(2_500) + '😀'.repeat(2_500),
    newlines: '\n'.repeat(5_000),
  };
  for (const [name, text] of Object.entries(accepted)) {
    await t.test(`5,000: ${name}`, () => assert.equal(valueOf(parseText(text)), text));
  }
  const rejected = {
    letters: 'a'.repeat(5_001),
    'emoji, two UTF-16 units each': '😀'.repeat(5_001),
    'letters with combining marks, two code points each': `${'e\u0301'.repeat(2_500)}e`,
    'letters and an emoji': `${'a'.repeat(5_000)}😀`,
    'an emoji and letters': `😀${'a'.repeat(5_000)}`,
  };
  for (const [name, text] of Object.entries(rejected)) {
    await t.test(`5,001: ${name}`, () =>
      assert.equal(errorOf(parseText(text)), 'must have at most 5,000 characters'),
    );
  }
});

test('a value of another type is not text', () => {
  for (const value of [0, 5, true, false, undefined, [], ['a'], {}, { note: 'a' }]) {
    assert.equal(errorOf(parseText(value)), 'must be a string');
  }
});

test('text is accepted if and only if it is valid Unicode without other control characters', () => {
  fc.assert(
    fc.property(
      fc.oneof(anyUnits, fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' })),
      (text) => {
        const isClean = text.isWellFormed() && !/\p{Cc}/u.test(text.replaceAll(/[\n\t]/g, ''));
        const parsed = parseText(text);
        assert.equal(parsed.ok, isClean, show(text));
        if (parsed.ok) assert.equal(parsed.value, text === '' ? null : text);
      },
    ),
    { numRuns: 5_000 },
  );
});
