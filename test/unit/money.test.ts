import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { currencyOf, type Currency } from '../../src/core/money/domain/currency.ts';
import {
  decimalPattern,
  equal,
  exceeds,
  formatMoney,
  InexactNumber,
  integerDigitsMax,
  parseAmount,
  subtract,
} from '../../src/core/money/domain/money.ts';
import { amount, anyCurrency, anyUnits, errorOf, show, valueOf } from './samples.ts';

const usd = currencyOf('USD');
const positive = (currency: Currency) => ({ currency, zeroAllowed: false });
const orZero = (currency: Currency) => ({ currency, zeroAllowed: true });

test('an amount is parsed by its exact value, from a string or a JSON number', async (t) => {
  const cases: readonly (readonly [value: unknown, code: string, minor: bigint])[] = [
    [15, 'USD', 1_500n],
    [15.0, 'USD', 1_500n],
    ['15', 'USD', 1_500n],
    ['15.0', 'USD', 1_500n],
    ['15.00', 'USD', 1_500n],
    ['4.0', 'USD', 400n],
    ['0.01', 'USD', 1n],
    [0.01, 'USD', 1n],
    ['0.10', 'USD', 10n],
    [1e3, 'USD', 100_000n],
    // A hundred times each of these is not a whole number in floating point.
    [0.29, 'USD', 29n],
    [1.15, 'USD', 115n],
    [4.35, 'USD', 435n],
    [1_000_000.57, 'USD', 100_000_057n],
    ['999999999999.99', 'USD', 99_999_999_999_999n],
    [999_999_999_999.99, 'USD', 99_999_999_999_999n],
    ['15', 'JPY', 15n],
    [15, 'JPY', 15n],
    ['999999999999', 'JPY', 999_999_999_999n],
    ['15', 'KWD', 15_000n],
    ['1.005', 'KWD', 1_005n],
    [1.005, 'KWD', 1_005n],
    ['0.0001', 'CLF', 1n],
    [0.0001, 'CLF', 1n],
    ['999999999999.9999', 'CLF', 9_999_999_999_999_999n],
  ];
  for (const [value, code, minor] of cases) {
    await t.test(`${show(value)} ${code}`, () => {
      const read = valueOf(parseAmount(value, positive(currencyOf(code))));
      assert.deepEqual(read, amount(minor, code));
    });
  }
});

test('a string that is not a plain decimal number is rejected', async (t) => {
  const texts = [
    '1e3', '+5', ' 5', '1,00', '0x10', 'NaN', '.5', '5.', '05',
    '', '.', '-', '5 ', '5\n', '5\t', '\u00a05', '5\u0000', '00', '00.5', '-5', '-0', '--5', '1E3', '1e0', '5e-1', '1.2.3', '1..2',
    '0b1', '0o7', '1_000', '1 000', '1’000', '1.000,00', '$5', '5 USD', '５', '٥', '5n', 'Infinity', '-Infinity', 'null', 'true',
    '²', '½', '(5)', '5;', '[5]', '5\u2028',
  ]; // prettier-ignore
  for (const text of texts) {
    await t.test(show(text), () => {
      for (const options of [positive(usd), orZero(usd)]) {
        assert.equal(errorOf(parseAmount(text, options)), 'must be a decimal number such as "15.00"');
      }
    });
  }
});

test('a value of another type is not an amount', async (t) => {
  const values: readonly (readonly [name: string, value: unknown])[] = [
    ['null', null],
    ['undefined', undefined],
    ['true', true],
    ['false', false],
    ['an array of an amount', ['5']],
    ['an empty array', []],
    ['an object', {}],
    ['an object with a numeric value', { valueOf: () => 5, toString: () => '5' }],
    ['a boxed string', Object('5')],
    ['a boxed number', Object(5)],
    ['a bigint', 5n],
    ['a symbol', Symbol('5')],
    ['a function', () => 5],
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['-Infinity', Number.NEGATIVE_INFINITY],
  ];
  for (const [name, value] of values) {
    await t.test(name, () => {
      assert.equal(errorOf(parseAmount(value, orZero(usd))), 'must be a decimal number such as "15.00"');
    });
  }
});

test('an amount with more decimals than its currency is rejected, never rounded', async (t) => {
  const cases: readonly (readonly [value: unknown, code: string, words: string])[] = [
    [4.005, 'USD', 'must have at most 2 decimals, as USD has'],
    ['4.005', 'USD', 'must have at most 2 decimals, as USD has'],
    ['4.000', 'USD', 'must have at most 2 decimals, as USD has'],
    ['0.001', 'USD', 'must have at most 2 decimals, as USD has'],
    [0.1 + 0.2, 'USD', 'must have at most 2 decimals, as USD has'],
    [1e-7, 'USD', 'must have at most 2 decimals, as USD has'],
    [Number.MIN_VALUE, 'USD', 'must have at most 2 decimals, as USD has'],
    [1.5, 'JPY', 'must be a whole number: JPY has no decimals'],
    ['15.0', 'JPY', 'must be a whole number: JPY has no decimals'],
    ['1.0005', 'KWD', 'must have at most 3 decimals, as KWD has'],
    [1.0005, 'KWD', 'must have at most 3 decimals, as KWD has'],
    ['1.00005', 'CLF', 'must have at most 4 decimals, as CLF has'],
    [0.000_01, 'CLF', 'must have at most 4 decimals, as CLF has'],
  ];
  for (const [value, code, words] of cases) {
    await t.test(`${show(value)} ${code}`, () => {
      assert.equal(errorOf(parseAmount(value, positive(currencyOf(code)))), words);
      assert.equal(errorOf(parseAmount(value, orZero(currencyOf(code)))), words);
    });
  }
});

test('zero is an amount only if zero is allowed', async (t) => {
  for (const value of [0, -0, '0', '0.0', '0.00']) {
    await t.test(Object.is(value, -0) ? '-0' : show(value), () => {
      assert.equal(errorOf(parseAmount(value, positive(usd))), 'must be greater than 0');
      assert.deepEqual(valueOf(parseAmount(value, orZero(usd))), amount(0n));
    });
  }
});

test('a negative number is rejected with the lower bound', async (t) => {
  for (const value of [-5, -0.01, -4.005, -1e21, -1e-7, -Number.MAX_VALUE]) {
    await t.test(show(value), () => {
      assert.equal(errorOf(parseAmount(value, positive(usd))), 'must be greater than 0');
      assert.equal(errorOf(parseAmount(value, orZero(usd))), 'must be at least 0');
    });
  }
});

test('an amount has at most 12 digits before the point', async (t) => {
  assert.equal(integerDigitsMax, 12);
  for (const value of [
    '1000000000000',
    '1000000000000.00',
    1e12,
    1_234_567_890_123,
    1e15,
    1e21,
    1e300,
    '9'.repeat(5_000),
  ]) {
    await t.test(show(value).slice(0, 40), () => {
      for (const code of ['USD', 'JPY', 'CLF']) {
        if (code === 'JPY' && typeof value === 'string' && value.includes('.')) continue;
        const error = errorOf(parseAmount(value, positive(currencyOf(code))));
        assert.equal(error, 'must have at most 12 digits before the point');
      }
    });
  }
  assert.equal(valueOf(parseAmount(999_999_999_999, positive(usd))).minor, 99_999_999_999_900n);
});

test('a number that a double cannot hold is rejected, even if it would round to a valid amount', () => {
  for (const source of ['4.9999999999999999999', '1e400', '0', '15.00']) {
    assert.equal(
      errorOf(parseAmount(new InexactNumber(source), orZero(usd))),
      'is a number that cannot be represented exactly; send it as a string',
    );
  }
});

test('a formatted amount is parsed to the same amount', () => {
  fc.assert(
    fc.property(anyCurrency, fc.bigInt({ min: 0n, max: 10n ** 16n - 1n }), (currency, raw) => {
      const minor = raw % 10n ** BigInt(integerDigitsMax + currency.decimals);
      const money = { minor, currency };
      assert.deepEqual(valueOf(parseAmount(formatMoney(money), orZero(currency))), money);
      const strict = parseAmount(formatMoney(money), positive(currency));
      assert.equal(strict.ok, minor > 0n);
    }),
    { numRuns: 3_000 },
  );
});

test('a JSON number and its text are the same amount', () => {
  fc.assert(
    fc.property(
      anyCurrency,
      fc.integer({ min: 0, max: 9_999_999_999 }),
      fc.nat({ max: 9_999 }),
      (currency, whole, fraction) => {
        const decimals = String(fraction).padStart(4, '0').slice(0, currency.decimals);
        const text = decimals === '' ? String(whole) : `${whole}.${decimals}`;
        assert.deepEqual(parseAmount(Number(text), orZero(currency)), parseAmount(text, orZero(currency)));
      },
    ),
    { numRuns: 3_000 },
  );
});

test('a string is an amount if and only if it has the format of one', () => {
  const almost = fc.oneof(
    fc.stringMatching(/^[-+ 0]?[0-9]{0,14}[.,]?[0-9]{0,5}[ e]?$/),
    fc.stringMatching(/^(?:0|[1-9][0-9]{0,12})(?:\.[0-9]{1,5})?$/),
    anyUnits,
  );
  fc.assert(
    fc.property(anyCurrency, almost, fc.boolean(), (currency, text, zeroAllowed) => {
      const parsed = parseAmount(text, { currency, zeroAllowed });
      assert.equal(parsed.ok, isAmount(text, currency.decimals, zeroAllowed), show(text));
      if (!parsed.ok) return;
      // The formatted text is the same, padded to the decimals of the currency.
      const [whole = '', fraction = ''] = text.split('.');
      const padded = fraction.padEnd(currency.decimals, '0');
      assert.equal(formatMoney(parsed.value), padded === '' ? whole : `${whole}.${padded}`);
    }),
    { numRuns: 10_000 },
  );
});

/** A second implementation of the rule, character by character. */
function isAmount(text: string, decimals: number, zeroAllowed: boolean): boolean {
  const parts = text.split('.');
  const [whole = '', fraction] = parts;
  const isDigits = (part: string): boolean =>
    part !== '' &&
    Array.from({ length: part.length }, (_, index) => part.charCodeAt(index)).every(
      (unit) => unit >= 48 && unit <= 57,
    );
  if (parts.length > 2 || !isDigits(whole) || (fraction !== undefined && !isDigits(fraction))) return false;
  if (whole.length > 1 && whole.startsWith('0')) return false;
  if (whole.length > 12 || (fraction ?? '').length > decimals) return false;
  return zeroAllowed || /[1-9]/.test(text);
}

test('any value is parsed or rejected, and the result is never below the minimum', () => {
  fc.assert(
    fc.property(fc.anything(), anyCurrency, fc.boolean(), (value, currency, zeroAllowed) => {
      const parsed = parseAmount(value, { currency, zeroAllowed });
      if (parsed.ok) assert.ok(parsed.value.minor >= (zeroAllowed ? 0n : 1n));
    }),
    { numRuns: 3_000 },
  );
});

test('every double is parsed by its value or rejected', () => {
  fc.assert(
    fc.property(fc.double(), anyCurrency, (value, currency) => {
      const parsed = parseAmount(value, orZero(currency));
      if (parsed.ok) assert.equal(Number(formatMoney(parsed.value)), value === 0 ? 0 : value);
    }),
    { numRuns: 5_000 },
  );
});

test('the documented pattern of an amount is plain decimal notation', () => {
  const pattern = new RegExp(decimalPattern);
  for (const text of ['0', '15', '15.0', '0.01', '4.005']) assert.match(text, pattern);
  for (const text of ['05', '5.', '.5', '-5', '1e3', '15.00\n']) assert.doesNotMatch(text, pattern);
});

test('an amount is formatted with exactly the decimals of its currency', async (t) => {
  const cases: readonly (readonly [minor: bigint, code: string, text: string])[] = [
    [1_500n, 'USD', '15.00'],
    [15n, 'JPY', '15'],
    [15_000n, 'KWD', '15.000'],
    [15n, 'CLF', '0.0015'],
    [0n, 'USD', '0.00'],
    [0n, 'JPY', '0'],
    [1n, 'USD', '0.01'],
    [10n, 'USD', '0.10'],
    [99n, 'USD', '0.99'],
    [100n, 'USD', '1.00'],
    [-5n, 'USD', '-0.05'],
    [-1_500n, 'USD', '-15.00'],
    [-15n, 'JPY', '-15'],
    [9_999_999_999_999_999n, 'CLF', '999999999999.9999'],
  ];
  for (const [minor, code, text] of cases) {
    await t.test(`${text} ${code}`, () => assert.equal(formatMoney(amount(minor, code)), text));
  }
});

test('amounts of one currency are compared and subtracted', () => {
  assert.deepEqual(subtract(amount(500n), amount(200n)), amount(300n));
  assert.deepEqual(subtract(amount(200n), amount(500n)), amount(-300n));
  assert.equal(equal(amount(200n), amount(200n)), true);
  assert.equal(equal(amount(200n), amount(201n)), false);
  assert.equal(exceeds(amount(201n), amount(200n)), true);
  assert.equal(exceeds(amount(200n), amount(200n)), false);
  assert.equal(exceeds(amount(199n), amount(200n)), false);
});

test('arithmetic on two currencies is an error', () => {
  for (const combine of [subtract, equal, exceeds]) {
    assert.throws(() => combine(amount(1n, 'USD'), amount(1n, 'EUR')), RangeError);
    assert.throws(() => combine(amount(0n, 'JPY'), amount(0n, 'USD')), /JPY cannot be combined with USD/);
  }
});
