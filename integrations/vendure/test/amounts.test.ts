/** Amounts of Vendure and of Largesse, exactly, in currencies with and without decimals. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { decimalOf, integerOf, roundedDown } from '../src/amounts.ts';
import { seeded } from '../../../test/support/seeded.ts';

test('amounts have the decimals that the shop has', () => {
  assert.equal(decimalOf(12_50, 2), '12.5');
  assert.equal(decimalOf(5, 2), '0.05');
  assert.equal(decimalOf(0, 2), '0');
  assert.equal(decimalOf(1500_00, 2), '1500');
  assert.equal(decimalOf(1500, 0), '1500');
  assert.equal(decimalOf(1_234, 3), '1.234');
  assert.equal(decimalOf(Number.MAX_SAFE_INTEGER, 2), '90071992547409.91');
  for (const amount of [-1, 0.5, Number.NaN, Infinity, 2 ** 53])
    assert.throws(() => decimalOf(amount, 2), RangeError);
  assert.equal(integerOf('12.50', 2), 12_50);
  assert.equal(integerOf('1500', 2), 1500_00);
  assert.equal(integerOf('1.239', 2), 1_23);
  assert.equal(integerOf('90071992547409.91', 2), Number.MAX_SAFE_INTEGER);
  for (const text of [
    '',
    '-1',
    '1e3',
    '1.',
    '.5',
    ' 1',
    '1,00',
    '90071992547409.92',
    '9'.repeat(17),
    '1.1234567',
  ])
    assert.throws(() => integerOf(text, 2), RangeError);
});

test('every amount returns as it was, and nothing is rounded up', () => {
  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  const random = seeded(seed);
  for (let run = 0; run < 20_000; run += 1) {
    const precision = random.between(0, 4);
    const amount = random.between(0, 10 ** random.between(0, 12));
    const decimal = decimalOf(amount, precision);
    const context = `SEED=${seed}: ${amount} with ${precision} decimals`;
    assert.match(decimal, /^(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/, context);
    assert.equal(integerOf(decimal, precision), amount, context);
    assert.ok((decimal.split('.')[1] ?? '').length <= precision, context);

    // A card of a currency with 0 (JPY), 2 (USD) or 3 decimals (KWD).
    const decimals = [0, 2, 3][random.between(0, 2)] ?? 2;
    const sample = decimals === 0 ? '7' : `7.${'0'.repeat(decimals)}`;
    const rounded = roundedDown(amount, precision, sample);
    const unit = 10 ** Math.max(0, precision - decimals);
    assert.ok(rounded <= amount && amount - rounded < unit, context);
    assert.ok((decimalOf(rounded, precision).split('.')[1] ?? '').length <= decimals, context);
  }
});
