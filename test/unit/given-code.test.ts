/** Codes as people type them, and as scanners type them on the keyboards of several countries. */

import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { codeAlphabet } from '../../src/core/cards/domain/code.ts';
import {
  givenCodeLengthMax,
  lastReadingsMax,
  readChosenCode,
  readGivenCode,
  readingsMax,
  readLastCharacters,
  readNewCode,
} from '../../src/core/cards/domain/given-code.ts';
import { onUsKeyboard } from '../../src/core/cards/domain/keyboards.ts';
import { anyUnits, errorOf, show, valueOf } from './samples.ts';

/** The readings as `code:way`. */
function readingsOf(given: unknown): readonly string[] | undefined {
  const parsed = readGivenCode(given);
  return parsed.ok ? parsed.value.map(({ code, way }) => `${code.reveal()}:${way}`) : undefined;
}

function exactOf(given: string): string | undefined {
  const parsed = readGivenCode(given);
  const [first] = parsed.ok ? parsed.value : [];
  return first?.way === 'exact' ? first.code.reveal() : undefined;
}

/** The keys that a scanner presses for codes and what is around them, and what they type elsewhere. */
const pressed = '1234567890qwertyuiopasdfghjklzxcvbnmQWERTYUIOPASDFGHJKLZXCVBNM -./;=]:#*%^?_,\r\n';
const typedOn = {
  german: '1234567890qwertzuiopasdfghjklyxcvbnmQWERTZUIOPASDFGHJKLYXCVBNM ß.-ö´+Ö§(%&_?,\r\n',
  'swiss-german': "1234567890qwertzuiopasdfghjklyxcvbnmQWERTZUIOPASDFGHJKLYXCVBNM '.-ö^¨é*(%&_?,\r\n",
  'swiss-french': "1234567890qwertzuiopasdfghjklyxcvbnmQWERTZUIOPASDFGHJKLYXCVBNM '.-é^¨ö*(%&_?,\r\n",
  french: '&é"\'(-è_çàazertyuiopqsdfghjklmwxcvbn,AZERTYUIOPQSDFGHJKLWXCVBN? ):!m=$M3856§°;\r\n',
  belgian: '&é"\'(§è!çàazertyuiopqsdfghjklmwxcvbn,AZERTYUIOPQSDFGHJKLWXCVBN? ):=m-$M3856+°;\r\n',
} as const;

/** The text that the keys of another keyboard type. */
function typedBy(keys: string, text: string): string {
  return Array.from(text, (key) => {
    const place = pressed.indexOf(key);
    assert.ok(place >= 0, key);
    return keys.charAt(place);
  }).join('');
}

/** A row of a French keyboard has one letter more than `pressed` has keys of it. */
const layouts = Object.entries(typedOn).map(([name, keys]) => {
  const isFrench = name === 'french' || name === 'belgian';
  const row = isFrench ? keys.replace('qsdfghjklm', 'qsdfghjkl') : keys;
  assert.equal(row.length, pressed.length, name);
  return [name, row] as const;
});

const groups = (code: string): readonly string[] => code.match(/.{1,4}/g) ?? [];

const framings: readonly ((code: string) => string)[] = [
  (code) => code,
  (code) => code.toUpperCase(),
  (code) => groups(code).join('-'),
  (code) => groups(code).join(' '),
  (code) => `${code.toUpperCase()}\r\n`,
  (code) => `*${code.toUpperCase()}*`,
  (code) => `]C1${code.toUpperCase()}`,
  (code) => `%${code.toUpperCase()}?`,
  (code) => `%B${code.toUpperCase()}^GIFT.CARD^99120000?`,
  (code) => `;${code}=99120000?`,
  (code) => `https://cards.example/b/flowers.example/card#${code.toUpperCase()}`,
  (code) => `HTTPS://CARDS.EXAMPLE/B/CARD#${code.toUpperCase()}`,
  (code) => `Code: ${groups(code).join('-')}`,
];

const separators = [
  '\u00a0', '–', '\u2011', '.', '_', '/', ',', '\t', '\u200b', '\u00ad', ' - ', '·', '|', ':', '+', '\u2009',
]; // prettier-ignore

const generated = fc.array(fc.constantFrom(...codeAlphabet.split('')), { minLength: 16, maxLength: 16 });

test('a generated code is among the readings on every keyboard, in every framing and with every separator', () => {
  let run = 0;
  fc.assert(
    fc.property(generated, (symbols) => {
      run += 1;
      const code = symbols.join('');
      assert.equal(exactOf(code), code, 'a code that is given exactly comes first');
      const framing = framings[run % framings.length] ?? String;
      assert.equal(exactOf(framing(code)), code, framing(code));
      const separator = separators[run % separators.length] ?? '';
      const separated = groups(code).join(separator);
      assert.equal(exactOf(separated), code, separated);
      for (const [name, keys] of layouts) {
        const typed = typedBy(keys, framing(code));
        const readings = readingsOf(typed) ?? [];
        assert.ok(
          readings.some((reading) => reading.startsWith(`${code}:`)),
          `${name}: ${typed}`,
        );
        assert.ok(readings.length <= readingsMax);
        assert.equal(new Set(readings.map((each) => each.split(':')[0])).size, readings.length);
      }
    }),
    { numRuns: 10_000 },
  );
});

test('a keyboard types what its table says, and nothing else has a key on it', () => {
  for (const [name, keys] of layouts) {
    assert.equal(onUsKeyboard(keys, name as keyof typeof typedOn), pressed, name);
    assert.equal(onUsKeyboard('ab€cd', name as keyof typeof typedOn), undefined);
  }
});

test('what is around a code is removed', () => {
  const cases = {
    'SPRING-2031-0001': 'spring20310001',
    'ab cd ef gh': 'abcdefgh',
    '\u0002ab12.cd_34/': 'ab12cd34',
    '"AB12CD34"': 'ab12cd34',
    '„AB12CD34“,': 'ab12cd34',
    "'AB12CD34": 'ab12cd34',
    '="AB12CD34"': 'ab12cd34',
    'Code: AB12-CD34': 'ab12cd34',
    'Gift card no. 7: AB12CD34': 'ab12cd34',
    ＡＢ１２ＣＤ３４: 'ab12cd34',
    '١٢٣٤٥٦٧٩': '12345679',
    AB१२CD३४: 'ab12cd34',
    'ab12cd34?': 'ab12cd34',
    'cards.example/b/flowers.example/card#AB12CD34': 'ab12cd34',
    'localhost/card?lang=de#AB12CD34': 'ab12cd34',
    // The lower case of the Kelvin sign, and the upper case of the long s, are ASCII letters.
    '\u212aelvin123': 'kelvin123',
  };
  for (const [given, code] of Object.entries(cases)) assert.equal(exactOf(given), code, given);
});

test('the readings of a code follow the exact one, in order', () => {
  assert.deepEqual(readingsOf('OIL0 bcde'), ['oil0bcde:exact', '0110bcde:similar']);
  assert.deepEqual(readingsOf('yoze1111'), ['yoze1111:exact', 'y0ze1111:similar', 'zoye1111:german']);
  assert.deepEqual(readingsOf('412345678903'), ['412345678903:exact', '0412345678903:zero']);
  assert.deepEqual(readingsOf('0412345678903'), [
    '0412345678903:exact',
    '00412345678903:zero',
    '412345678903:zero',
  ]);
  // A text that is too short or too long is not a reading.
  assert.deepEqual(readingsOf('1234567'), ['01234567:zero']);
  assert.deepEqual(readingsOf('1'.repeat(20)), [`${'1'.repeat(20)}:exact`]);
  // Readings are not combined: the keys are those of the text as it was received.
  assert.ok(!(readingsOf('yoze1111') ?? []).some((reading) => reading.startsWith('z0ye')));
});

test('a text that has no code in any reading is rejected, and its error names the rule', () => {
  const texts = ['', ' ', '++++++++', '123456', 'a'.repeat(21), 'ä'.repeat(8), '😀😀😀😀', '\ud800', '••••'];
  for (const text of texts)
    assert.equal(errorOf(readGivenCode(text)), 'must have 8 to 20 letters or digits', show(text));
  for (const text of [
    'https://cards.example/b/flowers.example',
    'https://cards.example/b/card#',
    'https://cards.example/b/card#ab12',
  ])
    assert.equal(readGivenCode(text).ok, false, text);
  const long = `${' '.repeat(givenCodeLengthMax)}ab12cd34`;
  assert.equal(errorOf(readGivenCode(long)), 'must have 8 to 20 letters or digits');
  for (const value of [12_345_678, null, undefined, true, ['abcdefgh'], { code: 'abcdefgh' }])
    assert.equal(errorOf(readGivenCode(value)), 'must be a string of 8 to 20 letters or digits');
});

test('the error of a code does not contain it', () => {
  fc.assert(
    fc.property(fc.oneof(anyUnits, fc.stringMatching(/^[0-9A-Z-]{21,30}$/)), (text) => {
      for (const parsed of [readGivenCode(text), readNewCode(text)])
        if (!parsed.ok && text.trim().length > 12) assert.ok(!parsed.error.includes(text.trim()));
    }),
    { numRuns: 1_000 },
  );
});

test('a new code is neither a link, nor masked, nor trivial', () => {
  const link = 'must be a code, not a link';
  const masked = 'is masked: the file or request does not have the codes, only parts of them';
  const run = 'is too easy to guess: it is a run of symbols';
  const repeated = 'is too easy to guess: it is one symbol repeated';
  const few = 'must have at least 4 different letters or digits';
  const errors = {
    'https://cards.example/b/flowers.example/card#AB12CD34': link,
    'https://a.example': link,
    'xxxx-xxxx-xxxx-9012': masked,
    'XXXX-XXXX-XXXX-9012': masked,
    '••••9012': masked,
    '************9012': masked,
    '12345678': run,
    '90123456': run,
    '8765-4321': run,
    abcdefgh: run,
    ZYXWVUTSR: run,
    '11111111': repeated,
    '12121212': few,
    aabbccaa: few,
    '1234567': 'must have 8 to 20 letters or digits',
    sandboxempty: 'is a fixed code of sandboxes',
  };
  for (const [given, error] of Object.entries(errors))
    assert.equal(errorOf(readNewCode(given)), error, given);
  // A code that is given can be any of them, if it is a code at all.
  assert.equal(valueOf(readChosenCode('12345678')).newError, run);
  for (const given of ['SPRING-2031-0001', '13572468', 'abcd1234', 'xxx-1234-xxx'])
    assert.equal(valueOf(readNewCode(given)).newError, null, given);
});

test('last characters have the readings of look-alikes and keyboards, after the exact one', () => {
  assert.deepEqual(valueOf(readLastCharacters('7F3K')), ['7f3k']);
  assert.deepEqual(valueOf(readLastCharacters('OLyz')), ['olyz', '01yz', 'olzy', 'olyw']);
  assert.deepEqual(valueOf(readLastCharacters("gp'k")), ['', 'gp4k']);
  assert.deepEqual(valueOf(readLastCharacters(' 7f-3k ')), ['7f3k']);
  fc.assert(
    fc.property(fc.string({ maxLength: 6 }), (text) => {
      const parsed = readLastCharacters(text);
      assert.ok(!parsed.ok || parsed.value.length <= lastReadingsMax);
    }),
  );
  for (const value of ['', '7f3', '7f3k5', '++++', 7_331, null, 'x'.repeat(1_000)])
    assert.equal(errorOf(readLastCharacters(value)), 'must be exactly 4 letters or digits');
});
