import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  codeAlphabet,
  lastCharactersOf,
  lastCharactersPattern,
  parseLastCharacters,
  randomCode,
  randomTag,
  tagOf,
} from '../../src/core/cards/domain/code.ts';
import { readGivenCode } from '../../src/core/cards/domain/given-code.ts';
import { Secret } from '../../src/platform/secret.ts';
import { errorOf, show, valueOf } from './samples.ts';

test('a random code is the tag and 12 symbols, one of each of 12 random bytes', () => {
  const asked: number[] = [];
  const code = randomCode((length) => {
    asked.push(length);
    return Uint8Array.from({ length }, (_, index) => index * 2 + 1);
  }, 'w0xz');
  assert.deepEqual(asked, [12]);
  assert.equal(code.reveal(), 'w0xz13579bdfhknq');
});

test('a tag has 4 symbols, one of each of 4 random bytes', () => {
  const asked: number[] = [];
  const tag = randomTag((length) => {
    asked.push(length);
    return Uint8Array.of(31, 32, 254, 9);
  });
  assert.deepEqual(asked, [4]);
  assert.equal(tag, 'z0y9');
});

test('every symbol of the alphabet is as likely as every other, in the tag and after it', () => {
  for (const generate of [
    (bytes: (length: number) => Uint8Array) => randomTag(bytes),
    (bytes: (length: number) => Uint8Array) => randomCode(bytes, '').reveal(),
  ]) {
    const counts = new Map<string, number>();
    for (let first = 0; first < 256; first += 4) {
      const text = generate((length) => Uint8Array.from({ length }, (_, index) => first + (index % 4)));
      for (const symbol of text) counts.set(symbol, (counts.get(symbol) ?? 0) + 1);
    }
    assert.deepEqual([...counts.keys()].toSorted(), codeAlphabet.split('').toSorted());
    assert.equal(new Set(counts.values()).size, 1);
  }
});

test('only a text that can be a random code has a tag', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
      const tag = randomTag(() => bytes.subarray(0, 4));
      const code = randomCode(() => bytes.subarray(4), tag);
      assert.equal(code.reveal().length, 16);
      assert.equal(tagOf(code), tag);
    }),
  );
  const others = [
    '0000000000000000z',
    '000000000000000',
    'i000000000000000',
    '000000000000000u',
    '0'.repeat(20),
  ];
  for (const text of others) assert.equal(tagOf(new Secret(text)), undefined);
});

test('the alphabet has 32 lower-case symbols, without the look-alikes i, l, o and u', () => {
  assert.equal(new Set(codeAlphabet).size, 32);
  assert.match(codeAlphabet, /^[0-9a-z]{32}$/);
  assert.doesNotMatch(codeAlphabet, /[ilou]/);
});

test('a random code is parsed unchanged', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
      const code = randomCode(
        () => bytes.subarray(4),
        randomTag(() => bytes.subarray(0, 4)),
      );
      assert.equal(valueOf(readGivenCode(code.reveal()))[0].code.reveal(), code.reveal());
    }),
  );
});

test('the last characters of a code are its last four', () => {
  assert.equal(lastCharactersOf(new Secret('abcdefgh')), 'efgh');
  assert.equal(lastCharactersOf(new Secret('q2m8xk4w9c0d7f3k')), '7f3k');
});

test('a search accepts exactly four letters or digits, in either case', async (t) => {
  for (const [text, canonical] of [
    ['7f3k', '7f3k'],
    ['7F3K', '7f3k'],
    ['0000', '0000'],
    ['ILOU', 'ilou'],
  ] as const) {
    assert.equal(valueOf(parseLastCharacters(text)), canonical);
  }
  const rejected: readonly unknown[] = [
    '', '7f3', '7f3k5', ' 7f3k', '7f3k ', '7f3k\n', '7f-3k', '7f 3', '7f3%', '____', 'äöüß', '\u212aelv', '１２３４', '😀😀',
    7_331, null, undefined, true, ['7f3k'], {},
  ]; // prettier-ignore
  for (const value of rejected) {
    await t.test(show(value), () => {
      assert.equal(errorOf(parseLastCharacters(value)), 'must be exactly 4 letters or digits');
      if (typeof value === 'string') assert.doesNotMatch(value, new RegExp(lastCharactersPattern));
    });
  }
});
