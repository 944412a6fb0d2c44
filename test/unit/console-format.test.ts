import assert from 'node:assert/strict';
import test from 'node:test';
import { amountText, signedText } from '../../src/console/format.ts';
import { money } from '../support/fixtures.ts';

test('where text runs from right to left, a mark keeps the sign of a currency at its letters', () => {
  const amount = money('50.00');
  assert.match(amountText(amount, 'ar'), /^\u200f?50\.00\u00a0US\$\u200e$/u);
  assert.match(signedText(amount, 'ar'), /50\.00\u00a0US\$\u200e$/u);
  assert.match(amountText(amount, 'he'), /50\.00\u00a0\u200f?\$$/u);
});

test('elsewhere there is none', () => {
  assert.equal(amountText(money('50.00'), 'en'), '$50.00');
  assert.equal(signedText(money('50.00'), 'de'), '+50,00\u00a0$');
});
