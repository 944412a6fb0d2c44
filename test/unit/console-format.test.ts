import assert from 'node:assert/strict';
import test from 'node:test';
import { amountText, decimalText, signedText } from '../../src/pages/kit/format.ts';
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

test('a negative amount has the minus sign in each language of the pages', () => {
  const amount = { ...money('7.00'), minor: -700n };
  for (const language of ['en', 'de', 'es', 'fr'] as const)
    for (const text of [
      amountText(amount, language),
      signedText(amount, language),
      decimalText(amount, language),
    ]) {
      assert.match(text, /^−/, `${language} ${text}`);
      assert.doesNotMatch(text, /-/, `${language} ${text}`);
    }
});
