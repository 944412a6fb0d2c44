/** Amounts as people write them: every notation, no ambiguity, and what the pages show is read back. */

import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { formatMoney } from '../../src/core/money/domain/money.ts';
import {
  ambiguousAmount,
  decimalSignOf,
  parseWrittenAmount,
  type DecimalSign,
} from '../../src/core/tables/domain/written-amount.ts';

const euro = currencyOf('EUR');
const signs = { en: '.', de: ',', es: ',', fr: ',' } as const;
const languages = ['en', 'de', 'es', 'fr'] as const;
const codes = ['EUR', 'USD', 'GBP', 'CHF', 'JPY', 'KWD', 'CLF', 'SEK', 'PLN', 'BRL'] as const;

function read(text: string, decimalSign: DecimalSign | null = null, code = 'EUR'): string {
  const parsed = parseWrittenAmount(text, { currency: currencyOf(code), decimalSign, zeroAllowed: true });
  return parsed.ok ? formatMoney(parsed.value) : parsed.error;
}

test('amounts are read in each notation, whatever the language', () => {
  const amounts: Readonly<Record<string, readonly string[]>> = {
    '1000.00': ['1.000,00', '1,000.00', '1 000,00', '1\u00a0000,00', '1\u202f000,00', "1'000.00", '1’000.00', '1000', '1000.0', '1000,00', '1 000', "1'000", '1000.', '1.000,-', '1.000,00 €', '€1,000.00'], // prettier-ignore
    '25.00': ['25,00 €', '€25', 'EUR 25,00', '25 eur', '25.00€', '€ 25', '25,-', '25.–', '25,-- €', ' 25 ', '25 Euro', '25 euros', '25,0', '\u200e25,00\u00a0€'], // prettier-ignore
    '0.50': ['0,50', '0.5', ',50', '.50', '€.50'],
    '1234567.80': ['1.234.567,80', '1,234,567.8', '1 234 567,80', "1'234'567,80"],
    '1234567.00': ['1.234.567', '1,234,567'],
    '0.00': ['0', '0,00', '€0'],
  };
  for (const [expected, texts] of Object.entries(amounts))
    for (const text of texts)
      for (const sign of [null, '.', ','] as const) assert.equal(read(text, sign), expected, text);
});

test('an ambiguous amount needs the decimal sign of its writer', () => {
  for (const text of ['1.000', '1,000', '€12,345', '123.456 €']) {
    assert.equal(read(text), ambiguousAmount);
    assert.equal(read(text, null, 'KWD'), text.includes('€') ? read(text, ',', 'KWD') : ambiguousAmount);
  }
  assert.equal(read('1.000', ','), '1000.00');
  assert.equal(read('1,000', '.'), '1000.00');
  assert.match(read('1.000', '.'), /at most 2 decimals/);
  assert.match(read('1,000', ','), /at most 2 decimals/);
  assert.equal(read('1.000', '.', 'KWD'), '1.000');
  assert.equal(read('1.000', ',', 'KWD'), '1000.000');
  assert.equal(read('1,000', null, 'JPY'), ambiguousAmount);
  assert.equal(read('1,000', '.', 'JPY'), '1000');
  assert.equal(read('0.500', null, 'KWD'), '0.500');
  assert.equal(read('1000,000', null, 'KWD'), '1000.000');
});

test('what is not exactly an amount is an error, and never another amount', () => {
  for (const text of [
    '',
    ' ',
    'x',
    '€',
    '25,0O',
    '2 5',
    '1 00',
    '10 00,00',
    '1,00,000',
    '1.000.00',
    '1,000,00.00',
    '1.00.000',
    '1.000,00,00',
    '1 000.000,00',
    '1,000 000',
    '007',
    '25²',
    '1e3',
    '(25)',
    '25 00',
    '12:30',
    '25%',
    '$25',
    '25 USD',
    '25 CHF',
    '£25',
    '25..',
    '..25',
    '25 €€',
    '٢٥',
    '２５',
    '1,2,3',
    '0.000,00',
    '25-25',
    '#REF!',
    '1'.repeat(65),
  ])
    // prettier-ignore
    for (const sign of [null, '.', ','] as const) assert.match(read(text, sign), /^must be an amount/, text);
  for (const text of ['-25', '−25,00 €', '-€25', '€-25', '25,00-']) assert.match(read(text), /at least 0/);
  assert.match(read('25,123', ','), /at most 2 decimals/);
  assert.match(read('1234567890123'), /at most 12 digits/);
  const zero = parseWrittenAmount('0,00', { currency: euro, decimalSign: ',' });
  assert.ok(!zero.ok && zero.error === 'must be greater than 0');
});

test('an amount shows the decimal sign of its writer, or does not', () => {
  for (const [text, expected] of [
    ['1.000,00', ','],
    ['1,000.00', '.'],
    ['25,5', ','],
    ['0.50', '.'],
    ['1.234.567', ','],
    ['1,234,567', '.'],
    ['1.000', null],
    ['1,000', null],
    ['1 000', null],
    ['25', null],
    ['x', null],
  ] as const)
    assert.equal(decimalSignOf(text, euro), expected, text);
});

test('what Intl writes in a language of the pages is read back exactly', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...languages),
      fc.constantFrom(...codes),
      fc.constantFrom('symbol', 'narrowSymbol', 'code', 'name'),
      fc.bigInt({ min: 0n, max: 10n ** 14n }),
      fc.constantFrom(true, false, 'always' as const, 'min2' as const),
      (language, code, currencyDisplay, minor, useGrouping) => {
        const currency = currencyOf(code);
        const { decimals } = currency;
        const style = { style: 'currency', currency: code, currencyDisplay } as const;
        const fractions = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
        const expected = formatMoney({ minor: minor % 10n ** BigInt(12 + decimals), currency });
        for (const options of [
          { ...style, ...fractions, useGrouping },
          { ...fractions, useGrouping },
        ]) {
          const text = new Intl.NumberFormat(language, options).format(expected as `${number}`);
          assert.equal(read(text, signs[language], code), expected, `${language} ${text}`);
          // Without the language it is the same amount or an error.
          const unknown = read(text, null, code);
          assert.ok(unknown === expected || unknown === ambiguousAmount, `${text}: ${unknown}`);
        }
      },
    ),
    { numRuns: 2_000 },
  );
});

test('any text is an amount or an error, in time that does not depend on it', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('0', '1', '5', '.', ',', ' ', "'", '-', '€', 'E', '\u00a0') }),
      (text) => {
        for (const sign of [null, '.', ','] as const) {
          const result = read(text, sign);
          // The digits of an amount are those of the text.
          if (/^\d/.test(result))
            assert.equal(
              result.replace(/\D/g, '').replace(/^0+/, '').replace(/0+$/, ''),
              text.replace(/\D/g, '').replace(/^0+/, '').replace(/0+$/, ''),
              text,
            );
        }
      },
    ),
    { numRuns: 5_000 },
  );
  for (const unit of ['1', '1,111', '.', '-', ' ', '€', '1 ']) read(unit.repeat(1_000_000));
});
