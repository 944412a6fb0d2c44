/** The choices and suggestions of the form of a new shop. */

import assert from 'node:assert/strict';
import test from 'node:test';
import {
  currencyOptions,
  parseCurrency,
  parseTimeZone,
  suggestedLimit,
  suggestionsOf,
} from '../../src/features/setup/pages/setup-choices.ts';
import { localeText } from '../../src/pages/kit/locale-text.ts';
import { currencyCodes, currencyOf } from '../../src/core/money/domain/currency.ts';
import { formatMoney } from '../../src/core/money/domain/money.ts';
import { domainOfName, parseDomain, parseStoreName } from '../../src/core/stores/domain/store.ts';

test('a currency is found by its code, its name and each suggestion of the list', () => {
  for (const language of ['en', 'de', 'fr', 'es'] as const) {
    const options = currencyOptions(language);
    assert.equal(options.length, currencyCodes().length);
    for (const [index, option] of options.entries())
      assert.equal(parseCurrency(option, language)?.code, currencyCodes()[index], option);
  }
  assert.equal(parseCurrency('eur', 'en')?.code, 'EUR');
  assert.equal(parseCurrency('swiss franc', 'en')?.code, 'CHF');
  assert.equal(parseCurrency('Schweizer Franken', 'de')?.code, 'CHF');
  for (const text of ['', 'XXX', 'BGN', 'Bulgarian Lev', 'EUROS', 'EU', 'EUR EUR', 'x'.repeat(10_000)])
    assert.equal(parseCurrency(text, 'en'), undefined, text);
});

test('a time zone is found by its name or its city, in any case and with blanks', () => {
  assert.equal(parseTimeZone('Europe/Paris'), 'Europe/Paris');
  assert.equal(parseTimeZone('america/new york'), 'America/New_York');
  assert.equal(parseTimeZone('utc'), 'UTC');
  assert.equal(parseTimeZone(' London'), 'Europe/London');
  assert.equal(parseTimeZone('new york'), 'America/New_York');
  for (const text of ['', 'Nowhere', 'Europe', '+25:00', 'x'.repeat(10_000)])
    assert.equal(parseTimeZone(text), undefined, text);
});

test('a suggestion follows the preferred language with a region, and the time zone of the machine', () => {
  const locales = ['en', 'de', 'fr', 'pt', 'zh-Hans'];
  const suggested = (header: string, serverZone = 'UTC') =>
    suggestionsOf(header, { locales, language: 'en', serverZone });
  assert.deepEqual(suggested('fr-FR,fr;q=0.9,en-US;q=0.8'), {
    currency: 'EUR',
    timeZone: 'Europe/Paris',
    locale: 'fr',
  });
  assert.equal(suggested('fr', 'America/Montreal').timeZone, 'America/Montreal');
  assert.deepEqual(suggested('en-US'), { currency: 'USD', timeZone: 'UTC', locale: 'en' });
  assert.equal(suggested('pt-BR').locale, 'pt');
  assert.equal(suggested('zh-CN').locale, 'zh-Hans');
  assert.equal(suggested('zh-TW').locale, 'en', 'another script is another language');
  for (const header of ['', '*', ';;,', 'en', 'x-y-z', `${'a,'.repeat(100_000)}fr`])
    assert.deepEqual(suggested(header), { currency: '', timeZone: 'UTC', locale: 'en' }, header.slice(0, 20));
});

test('a language is shown with its own name', () => {
  assert.equal(localeText('de', 'en'), 'German (Deutsch)');
  assert.equal(localeText('de', 'de'), 'Deutsch');
});

test('the suggested highest balance fits the decimals of the currency', () => {
  const shown = (code: string) => formatMoney(suggestedLimit(currencyOf(code)));
  assert.deepEqual(['EUR', 'JPY', 'KWD'].map(shown), ['2000.00', '200000', '2000.000']);
});

test('a domain is made from any name', () => {
  for (const [name, domain] of [
    ['Flowers of Example Street', 'flowers-of-example-street'],
    ['Blumen & Bücher GmbH.', 'blumen-bucher-gmbh'],
    ['花屋', 'shop'],
    ['--', 'shop'],
    [`${'a'.repeat(62)} b`, 'a'.repeat(62)],
  ] as const) {
    assert.equal(domainOfName(name), domain);
    assert.ok(parseDomain(domainOfName(name)).ok, name);
  }
});

test('the name of a store is one visible line', () => {
  assert.deepEqual(parseStoreName(' Flowers '), { ok: true, value: 'Flowers' });
  for (const name of ['', '  ', 'a\nb', 'a\u202eb', 'x'.repeat(201), 'x'.repeat(1_000_000)])
    assert.equal(parseStoreName(name).ok, false, name.slice(0, 10));
});
