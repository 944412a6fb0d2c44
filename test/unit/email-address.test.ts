import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import isEmail from 'validator/lib/isEmail.js';
import { isWithin } from '../support/deadline.ts';
import { emailLengthMax, parseEmail } from '../../src/core/domain/email-address.ts';
import { anyUnits, errorOf, show, valueOf } from './samples.ts';

test('an email is stored as given, in normalization form C and without surrounding blanks', async (t) => {
  const cases = {
    'ada@example.com': 'ada@example.com',
    'Ada.Lovelace@Example.COM': 'Ada.Lovelace@Example.COM',
    ' ada@example.com': 'ada@example.com',
    'ada@example.com  ': 'ada@example.com',
    '\t ada@example.com \t': 'ada@example.com',
    'ada+cards@mail.example.co.uk': 'ada+cards@mail.example.co.uk',
    "o'hara@example.com": "o'hara@example.com",
    'a@b.co': 'a@b.co',
    'jürgen@example.com': 'jürgen@example.com',
    'ada@bücher.example': 'ada@bücher.example',
    'ju\u0308rgen@example.com': 'j\u00fcrgen@example.com',
    '\u212aevin@example.org': 'Kevin@example.org',
    'a\u030angstrom@example.org': '\u00e5ngstrom@example.org',
    '1@example.com': '1@example.com',
  };
  for (const [text, address] of Object.entries(cases)) {
    await t.test(show(text), () => assert.equal(valueOf(parseEmail(text)).address, address));
  }
});

test('spellings of one email that differ in case, space or normal form have one key', () => {
  const keyOf = (text: string): string => valueOf(parseEmail(text)).key;
  assert.equal(keyOf(' Ada@EXAMPLE.com\t'), keyOf('ada@example.com'));
  assert.equal(keyOf('JÜRGEN@example.com'), keyOf('jürgen@example.com'));
  assert.equal(keyOf('ju\u0308rgen@example.com'), keyOf('j\u00fcrgen@example.com'));
  assert.equal(keyOf('JU\u0308RGEN@example.com'), keyOf('j\u00fcrgen@example.com'));
  assert.equal(keyOf('\u212aEVIN@example.com'), keyOf('kevin@example.com'));
  assert.equal(keyOf('J\u030cA@example.com'), keyOf('\u01f0a@example.com'));
  assert.equal(keyOf('ΝΙΚΟΣ@example.com'), keyOf('νικος@example.com'));
  assert.notEqual(keyOf('\u0130da@example.com'), keyOf('ida@example.com'));
  assert.notEqual(keyOf('\u0130da@example.com'), keyOf('i\u0307da@example.com'));
  assert.notEqual(keyOf('\u0131da@example.com'), keyOf('ida@example.com'));
  assert.notEqual(keyOf('\u017fam@example.com'), keyOf('sam@example.com'));
  assert.notEqual(keyOf('ada@example.com'), keyOf('adb@example.com'));
  assert.notEqual(keyOf('a.da@example.com'), keyOf('ada@example.com'));
  assert.notEqual(keyOf('ada+1@example.com'), keyOf('ada@example.com'));
});

/** Every code point except surrogates. */
const codePoints = Array.from({ length: 0x11_0000 }, (_, code) => code).filter(
  (code) => code < 0xd800 || code > 0xdfff,
);

const ascii = /[\0-\x7f]/;

test('no text is shorter than a quarter of itself after normalization', () => {
  for (const code of codePoints) {
    const symbol = String.fromCodePoint(code).normalize('NFC');
    assert.ok(symbol.normalize('NFD').length <= 4 * symbol.length, code.toString(16));
  }
});

/** Every character that is valid in the local part of an email, as it is stored and in its key. */
const letters = codePoints.flatMap((code) => {
  const parsed = parseEmail(`${String.fromCodePoint(code)}@example.com`);
  if (!parsed.ok) return [];
  const [local = '', key = ''] = [parsed.value.address, parsed.value.key].map(
    (text) => text.split('@', 1)[0],
  );
  return [{ local, key }];
});

test('only ASCII letters have ASCII letters in their key, in any form', () => {
  for (const { local, key } of letters) {
    if (ascii.test(local)) assert.equal(key, local.toLowerCase());
    else assert.doesNotMatch(key, ascii, show(local));
  }
  assert.ok(letters.length > 40_000, `only ${letters.length} characters were accepted`);
});

test('two letters share a key only if they differ in case, by Unicode case folding', () => {
  const byKey = Map.groupBy(letters, ({ key }) => key);
  const spelled = [...byKey.values()].map((group) => new Set(group.map(({ local }) => local)));
  const shared = spelled.filter(({ size }) => size > 1);
  for (const [first = '', ...others] of shared) {
    const isFirst = new RegExp(`^${RegExp.escape(first)}$`, 'iu');
    for (const other of others) assert.match(other, isFirst);
  }
  assert.ok(shared.length > 500, `only ${shared.length} letters have two cases`);
});

test('the key of an email is an email with the same key, in form C', () => {
  const letter = fc.constantFrom('I\u0307', 'i\u0307', '\u0130', 'J\u030c', 'Σ', 'σ', 'ς', 'K', '\u212a', 'ϴ', 'Θ', 'ẞ', 'Ǆ', 'ǅ', 'E\u0301', 'a', 'Z');
  fc.assert(
    fc.property(fc.array(letter, { minLength: 1, maxLength: 10 }), (symbols) => {
      const { address, key } = valueOf(parseEmail(`${symbols.join('')}@example.com`));
      assert.equal(address, address.normalize('NFC'));
      assert.equal(key, key.normalize('NFC'));
      assert.equal(valueOf(parseEmail(key)).key, key);
    }),
    { numRuns: 1_000 },
  );
}); // prettier-ignore

test('the case of an email does not change its key', () => {
  const local = fc.stringMatching(/^[A-Za-z0-9+_-]{1,20}$/);
  const domain = fc.stringMatching(/^[A-Za-z0-9]{1,20}\.[A-Za-z]{2,8}$/);
  fc.assert(
    fc.property(local, domain, (user, host) => {
      const address = `${user}@${host}`;
      const { key } = valueOf(parseEmail(address));
      for (const spelling of [address.toUpperCase(), address.toLowerCase(), ` ${address}`, `${address}\t`]) {
        assert.equal(valueOf(parseEmail(spelling)).key, key);
      }
      assert.equal(valueOf(parseEmail(key)).key, key);
    }),
    { numRuns: 1_000 },
  );
});

/** Returns an email of exactly this many characters. */
function addressOf(length: number): string {
  const local = 'a'.repeat(64);
  const rest = length - local.length - 1 - '.com'.length;
  const labels = [];
  for (let left = rest; left > 0; left -= 64) labels.push('b'.repeat(Math.min(left, 63)));
  return `${local}@${labels.join('.')}.com`;
}

test('an email has at most 254 characters; surrounding space does not count', () => {
  assert.equal(emailLengthMax, 254);
  const longest = addressOf(254);
  assert.equal(longest.length, 254);
  assert.equal(valueOf(parseEmail(longest)).address, longest);
  assert.equal(valueOf(parseEmail(`  ${longest}\t`)).address, longest);
  assert.equal(errorOf(parseEmail(addressOf(255))), 'must have at most 254 characters');
  assert.equal(errorOf(parseEmail('a'.repeat(60_000))), 'must have at most 254 characters');
});

test('a plain email is valid by the rules of every other one', () => {
  const alphanumerics = ['a', 'b', 'z', 'A', 'Z', '0', '9'];
  const signs = ['.', '_', '+', '-', '@', ' ', '"'];
  const local = fc.string({
    unit: fc.constantFrom(...alphanumerics, ...alphanumerics, ...signs),
    maxLength: 20,
  });
  const domain = fc.string({
    unit: fc.constantFrom(...alphanumerics, ...alphanumerics, '.', '-', '_'),
    maxLength: 30,
  });
  const ending = fc.constantFrom('.com', '.c', '.museum', '.xn--p1ai', '.c0m', '.', '');
  const texts = fc.tuple(local, domain, ending).map((parts) => `${parts[0]}@${parts[1]}${parts[2]}`);
  const plainTexts = fc.stringMatching(
    /^[a-zA-Z\d]{1,30}([._+-][a-zA-Z\d]{1,9})?@[a-z\d]{1,30}(-[A-Z\d]{1,9})?\.[a-z]{2,6}$/,
  );
  fc.assert(
    fc.property(fc.oneof(texts, plainTexts), (text) => {
      const parsed = parseEmail(text);
      const isValid = isEmail.default(text) && !/[" ]/.test(text);
      if (text.trim() === text) assert.equal(parsed.ok, isValid, text);
      if (parsed.ok) assert.equal(parsed.value.key, text.trim().toLowerCase());
    }),
    { numRuns: 20_000 },
  );
});

test('the parts of a plain email have maximum lengths', () => {
  const isAccepted = (text: string): boolean => parseEmail(text).ok;
  assert.equal(isAccepted(`${'a'.repeat(64)}@example.com`), true);
  assert.equal(isAccepted(`${'a'.repeat(65)}@example.com`), false);
  assert.equal(isAccepted(`a@${'b'.repeat(63)}.example`), true);
  assert.equal(isAccepted(`a@${'b'.repeat(64)}.example`), false);
});

test('a text that is not one valid email is rejected', async (t) => {
  const texts = [
    '', ' ', 'ada', 'ada@', '@example.com', 'ada@example', 'ada@@example.com', 'ada@b@example.com', 'ada @example.com', 'ada@ example.com',
    'ada@example..com', 'ada@.example.com', 'ada@example.com.', '.ada@example.com', 'ada.@example.com', 'a..da@example.com',
    'ada@-example.com', 'ada@exa_mple.com', 'ada@127.0.0.1', 'ada@[127.0.0.1]', 'ada@localhost',
    'ada@example.com,grace@example.com', 'ada@example.com;grace@example.com', 'ada@example.com grace@example.com',
    'Ada <ada@example.com>', '<ada@example.com>', 'mailto:ada@example.com', '"Ada" ada@example.com', 'ada(comment)@example.com',
    `${'a'.repeat(65)}@example.com`, `ada@${'b'.repeat(64)}.com`,
    '\ud800@example.com', 'ada\udfff@example.com', 'ada@ex\ud800ample.com',
  ]; // prettier-ignore
  for (const text of texts) {
    await t.test(show(text), () =>
      assert.equal(errorOf(parseEmail(text)), 'must be one valid email address'),
    );
  }
});

/** Characters that are invisible or look like a space. */
const unseen = {
  'a no-break space': '\u00a0',
  'an ideographic space': '\u3000',
  'a line separator': '\u2028',
  'a paragraph separator': '\u2029',
  'a soft hyphen': '\u00ad',
  'a zero-width space': '\u200b',
  'a zero-width joiner': '\u200d',
  'a word joiner': '\u2060',
  'a byte order mark': '\ufeff',
  'a right-to-left override': '\u202e',
  'a right-to-left mark': '\u200f',
  'an isolate': '\u2066',
  'an Arabic letter mark': '\u061c',
  'a grapheme joiner': '\u034f',
  'a variation selector': '\ufe0f',
  'a Hangul filler': '\u3164',
  'a Braille blank': '\u2800',
  'a tag': '\u{e0041}',
};

for (const [name, symbol] of Object.entries(unseen)) {
  test(`an email with ${name} is rejected`, () => {
    for (const text of [`ad${symbol}a@example.com`, `ada@exa${symbol}mple.com`, `ada${symbol}@example.com`]) {
      assert.equal(
        errorOf(parseEmail(text)),
        'must not contain spaces, invisible or bidirectional characters',
        show(text),
      );
    }
    for (const text of [`${symbol}ada@example.com`, `ada@example.com${symbol}`])
      assert.equal(parseEmail(text).ok, false, show(text));
  });
}

test('the time for the blanks around an email is linear', () => {
  const blanks = ' \t'.repeat(500_000);
  const startedAt = performance.now();
  for (const text of [blanks, `a${blanks}b`, `${blanks}@`, `a${blanks}`])
    assert.equal(parseEmail(text).ok, false);
  assert.equal(valueOf(parseEmail(`${blanks}ada@example.com${blanks}`)).address, 'ada@example.com');
  // Linear processing of a million characters takes milliseconds. Quadratic processing takes minutes.
  assert.ok(isWithin(performance.now() - startedAt, 2_000));
});

test('a value of another type is not an email', () => {
  for (const value of [null, undefined, 5, true, ['ada@example.com'], { address: 'ada@example.com' }]) {
    assert.equal(errorOf(parseEmail(value)), 'must be an email address');
  }
});

test('an email that would add a header is rejected', async (t) => {
  const texts = [
    'ada@example.com\r\nBcc: eve@example.com',
    'ada@example.com\nBcc: eve@example.com',
    'ada@example.com\r',
    'ada@example.com\n',
    '\nada@example.com',
    '\r\n ada@example.com',
    'ada\r\nBcc: eve@example.com',
    'ada%0d%0aBcc:eve@example.com\n',
    'ada@example.com\u0000',
    'ada@example.com\u0085',
    'ada\u0001@example.com',
    'ada@exam\u007fple.com',
  ];
  for (const text of texts) {
    await t.test(show(text), () =>
      assert.equal(errorOf(parseEmail(text)), 'must be one valid email address'),
    );
  }
});

test('an email with a quoted local part that would add a header is rejected', async (t) => {
  const texts = [
    '"ada\r\nBcc: eve@example.com\r\n"@example.com',
    '"ada\nda"@example.com',
    '"\r"@example.com',
    '"\\\r"@example.com',
    '"ada\u0001"@example.com',
    '"ada\u007f"@example.com',
    '"ada\u0085"@example.com',
    '"ada\u2028da"@example.com',
  ];
  for (const text of texts) {
    await t.test(show(text), () =>
      assert.equal(errorOf(parseEmail(text)), 'must be one valid email address'),
    );
  }
});

test('a space of another script around an email does not create another customer', async (t) => {
  for (const space of ['\u00a0', '\u1680', '\u2003', '\u2028', '\u2029', '\u202f', '\u3000', '\ufeff']) {
    await t.test(show(space), () => {
      for (const text of [`${space}ada@example.com`, `ada@example.com${space}`]) {
        const parsed = parseEmail(text);
        if (parsed.ok) assert.equal(parsed.value.key, 'ada@example.com');
      }
    });
  }
});

test('every accepted email is one printable line of valid Unicode', () => {
  const local = fc.oneof(
    anyUnits,
    fc.stringMatching(/^[a-z.+\t\n\r "<>,;:()]{1,12}$/),
    fc.stringMatching(/^"[ -!#-[\]-~\t\n\r]{0,12}"$/),
  );
  const text = fc.oneof(
    anyUnits,
    fc
      .tuple(local, fc.constantFrom('@example.com', '@example.com\n', '@ex\rample.com'))
      .map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(text, (sent) => {
      const parsed = parseEmail(sent);
      if (!parsed.ok) return;
      assert.doesNotMatch(parsed.value.address, /[\p{Cc}\u2028\u2029]/u);
      assert.ok(parsed.value.address.isWellFormed());
    }),
    { numRuns: 5_000 },
  );
});
