import assert from 'node:assert/strict';
import test from 'node:test';
import {
  currencyCodes,
  currencyOf,
  findCurrency,
  findNewCurrency,
} from '../../src/core/money/domain/currency.ts';

/** From ISO 4217, list one. `Intl` has other digits for the marked ones. */
const decimals: Readonly<Record<string, number>> = {
  USD: 2, EUR: 2, GBP: 2, CHF: 2, TWD: 2, SEK: 2, MXN: 2, MRU: 2,
  JPY: 0, KRW: 0, ISK: 0, UGX: 0, CLP: 0, PYG: 0, VND: 0, XAF: 0, XOF: 0, XPF: 0, UYI: 0,
  KWD: 3, BHD: 3, JOD: 3, LYD: 3, OMR: 3, TND: 3,
  CLF: 4, UYW: 4,
  // Intl: 0
  IQD: 3, IRR: 2, LBP: 2, HUF: 2, AFN: 2, ALL: 2, COP: 2, IDR: 2, KPW: 2, LAK: 2, MGA: 2, MMK: 2, PKR: 2, RSD: 2,
  SOS: 2, SYP: 2, TZS: 2, YER: 2,
}; // prettier-ignore

test('a currency has the decimals of ISO 4217, not those of Intl', async (t) => {
  for (const [code, expected] of Object.entries(decimals)) {
    await t.test(`${code} ${expected}`, () => {
      assert.deepEqual(findCurrency(code), { code, decimals: expected });
      assert.deepEqual(currencyOf(code), { code, decimals: expected });
    });
  }
});

test('the currencies with another number of decimals than 2 are those of ISO 4217', () => {
  const odd = currencyCodes().filter((code) => currencyOf(code).decimals !== 2);
  const expected = {
    0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
    3: 'BHD IQD JOD KWD LYD OMR TND',
    4: 'CLF UYW',
  };
  assert.deepEqual(
    { ...Object.groupBy(odd, (code) => currencyOf(code).decimals) },
    Object.fromEntries(Object.entries(expected).map(([count, codes]) => [count, codes.split(' ')])),
  );
});

test('a code without a currency is rejected', async (t) => {
  const codes = [
    'XAU', 'XAG', 'XPT', 'XPD', 'XXX', 'XTS', 'XDR', 'XSU', 'XUA', 'XBA', 'XBB', 'XBC', 'XBD',
    '', 'usd', 'Usd', 'US', 'USDX', ' USD', 'USD ', '840', 'DEM', 'ZZZ', '__proto__', 'constructor', 'toString',
  ]; // prettier-ignore
  for (const code of codes) {
    await t.test(JSON.stringify(code), () => {
      assert.equal(findCurrency(code), undefined);
      assert.throws(() => currencyOf(code), RangeError);
      assert.ok(!currencyCodes().includes(code));
    });
  }
});

test('the Caribbean guilder, in ISO 4217 since March 2025, is a currency', () => {
  assert.deepEqual(findCurrency('XCG'), { code: 'XCG', decimals: 2 });
});

test('a currency that was withdrawn is one of existing stores, and not a choice of new ones', () => {
  for (const code of ['ANG', 'BGN', 'CUC']) {
    assert.deepEqual(currencyOf(code), { code, decimals: 2 });
    assert.equal(findNewCurrency(code), undefined, code);
    assert.ok(!currencyCodes().includes(code), code);
  }
  for (const code of ['XCG', 'EUR', 'CUP', 'ZWG', 'SLE'])
    assert.equal(findNewCurrency(code), findCurrency(code), code);
});

test('the codes are unique, sorted and in upper case', () => {
  const codes = currencyCodes();
  assert.ok(codes.length > 150, `only ${codes.length}`);
  assert.deepEqual(codes, [...new Set(codes)].toSorted());
  for (const code of codes) assert.match(code, /^[A-Z]{3}$/);
});

test('a currency is one frozen object', () => {
  const usd = currencyOf('USD');
  assert.equal(findCurrency('USD'), usd);
  assert.ok(Object.isFrozen(usd));
});
