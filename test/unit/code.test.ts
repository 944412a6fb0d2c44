import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  codeAlphabet,
  codePattern,
  lastCharactersOf,
  lastCharactersPattern,
  parseCode,
  parseLastCharacters,
  randomCode,
  randomTag,
  tagOf,
} from '../../src/core/cards/domain/code.ts';
import { Secret } from '../../src/platform/secret.ts';
import { anyUnits, errorOf, show, valueOf } from './samples.ts';

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
      assert.equal(valueOf(parseCode(code.reveal())).reveal(), code.reveal());
    }),
  );
});

test('a custom code is stored in lower case, without spaces and hyphens', async (t) => {
  const cases = {
    'SPRING-2031-0001': 'spring20310001',
    abcdefgh: 'abcdefgh',
    ABCDEFGH: 'abcdefgh',
    'ab cd ef gh': 'abcdefgh',
    ' -ab--cd  efgh- ': 'abcdefgh',
    '12345678': '12345678',
    iloUILO0: 'ilouilo0',
    '12345678901234567890': '12345678901234567890',
    '1234-5678-9012-3456-7890': '12345678901234567890',
  };
  for (const [text, canonical] of Object.entries(cases)) {
    await t.test(show(text), () => {
      assert.equal(valueOf(parseCode(text)).reveal(), canonical);
      assert.match(text, new RegExp(codePattern));
    });
  }
});

test('a code has 8 to 20 letters or digits; separators do not count', async (t) => {
  const texts = [
    '',
    ' ',
    '--------',
    '1234567',
    '1-2-3-4-5-6-7',
    '1234567 ',
    '1'.repeat(21),
    `${'12 '.repeat(10)}1`,
  ];
  for (const text of texts) {
    await t.test(show(text), () => {
      assert.equal(errorOf(parseCode(text)), 'must have 8 to 20 letters or digits');
      assert.doesNotMatch(text, new RegExp(codePattern));
    });
  }
});

test('a code consists of ASCII letters and digits only', async (t) => {
  const texts = [
    'abcdefgh_', 'abcdefgh.', 'abcdefgh\n', 'abcdefgh\t', '\u00a0abcdefgh', 'abcd\u2011efgh', 'abcd–efgh', 'äbcdefgh', 'ａｂｃｄｅｆｇｈ',
    '١٢٣٤٥٦٧٨', 'abcdefg\u0000', '😀😀😀😀', '\ud800abcdefgh', 'abcd/efgh', 'abcd+efgh', 'abcd\u00adefgh', 'abcd\u200befgh',
    // The lower case of the Kelvin sign is the ASCII letter k.
    '\u212aelvin123',
    // The upper case of the long s is the ASCII letter S.
    '\u017fpring12',
  ]; // prettier-ignore
  for (const text of texts) {
    await t.test(show(text), () => {
      assert.equal(errorOf(parseCode(text)), 'must consist of the letters A to Z and digits');
      assert.doesNotMatch(text, new RegExp(codePattern));
    });
  }
});

test('a value of another type is not a code', () => {
  for (const value of [12_345_678, null, undefined, true, ['abcdefgh'], { code: 'abcdefgh' }]) {
    assert.equal(errorOf(parseCode(value)), 'must be a string of 8 to 20 letters or digits');
  }
});

test('case and separators do not change a code', () => {
  const symbol = fc.constantFrom(...'0123456789abcdefghijklmnopqrstuvwxyz'.split(''));
  const separators = fc.stringMatching(/^[ -]{0,3}$/);
  fc.assert(
    fc.property(
      fc.array(fc.tuple(symbol, fc.boolean(), separators), { minLength: 8, maxLength: 20 }),
      separators,
      (parts, start) => {
        const written =
          start + parts.map(([one, isUpper, after]) => (isUpper ? one.toUpperCase() : one) + after).join('');
        assert.equal(valueOf(parseCode(written)).reveal(), parts.map(([one]) => one).join(''));
        assert.match(written, new RegExp(codePattern));
      },
    ),
    { numRuns: 1_000 },
  );
});

test('the error of an invalid code does not contain it', () => {
  fc.assert(
    fc.property(fc.oneof(anyUnits, fc.stringMatching(/^[0-9A-Z-]{21,30}$/)), (text) => {
      const parsed = parseCode(text);
      if (!parsed.ok && text.trim().length > 4) assert.ok(!parsed.error.includes(text.trim()));
    }),
    { numRuns: 1_000 },
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
