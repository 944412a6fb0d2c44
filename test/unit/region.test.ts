/** The region whose dates and amounts pages and emails have. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { amountText, dayText, decimalText, timeText } from '../../src/pages/kit/format.ts';
import { byLanguage, pageLanguageOf } from '../../src/pages/kit/texts.ts';
import { senderOf } from '../../src/features/emails/delivery/sender.ts';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { defaultEmailSettings } from '../../src/core/emails/domain/email.ts';
import { localeIn, regionOf } from '../../src/core/stores/domain/region.ts';
import { money, newStore } from '../support/fixtures.ts';

function place(
  currency: string,
  timeZone = 'UTC',
): { currency: ReturnType<typeof currencyOf>; timeZone: string } {
  return { currency: currencyOf(currency), timeZone };
}

test('a page has the region of the tag that the browser sends, or else that of the store', () => {
  const cases = [
    ['en-GB,en-US;q=0.9,en;q=0.8', place('USD', 'America/New_York'), 'en-GB'],
    ['en-US,en;q=0.9', place('GBP', 'Europe/London'), 'en-US'],
    ['en', place('GBP'), 'en-GB'],
    ['en', place('EUR'), 'en-IE'],
    ['en', place('EUR', 'Europe/Berlin'), 'en-GB'],
    ['en-SE', place('USD'), 'en-GB'],
    ['en', place('JPY'), 'en-GB'],
    ['en', place('USD'), 'en-US'],
    ['en', place('INR', 'Asia/Kolkata'), 'en-IN'],
    ['de', place('CHF', 'Europe/Zurich'), 'de-CH'],
    ['de', place('EUR'), 'de-DE'],
    ['de-Latn-AT', place('EUR'), 'de-AT'],
    ['es-419', place('EUR'), 'es-419'],
    ['fr-XX', place('EUR'), 'fr-FR'],
    ['nl', place('XCD'), 'en'],
    [undefined, place('GBP'), 'en-GB'],
    ['en', undefined, 'en'],
  ] as const;
  for (const [header, where, expected] of cases)
    assert.equal(pageLanguageOf(header, where), expected, `${header} ${where?.currency.code}`);
});

test('dates and amounts have the formats of the region', () => {
  const noon = Date.UTC(2026, 10, 24, 12);
  const shown = (header: string, where: ReturnType<typeof place>): readonly string[] => {
    const language = pageLanguageOf(header, where);
    return [dayText('2026-11-24', language), timeText(noon, where, language)];
  };
  assert.deepEqual(shown('en', place('EUR')), ['24 Nov 2026', '24 Nov 2026, 12:00']);
  assert.deepEqual(shown('en-GB', place('USD')), ['24 Nov 2026', '24 Nov 2026, 12:00']);
  assert.equal(shown('en-US', place('GBP', 'Europe/London'))[0], 'Nov 24, 2026');
  const amount = money('1250.00');
  assert.equal(amountText(amount, pageLanguageOf('de-AT')), '$\u00a01.250,00');
  assert.equal(amountText(amount, pageLanguageOf('de')), '1.250,00\u00a0$');
  // The Swiss write a point before centimes, and a comma before other decimals.
  assert.equal(decimalText(amount, pageLanguageOf('fr-CH')), "1'250.00");
});

test('a language has the same value in all of its regions', () => {
  const texts = byLanguage({ en: 'card', de: 'Karte', fr: 'carte', es: 'tarjeta' });
  assert.equal(texts[pageLanguageOf('de-CH')], 'Karte');
  assert.equal(texts[pageLanguageOf('en-001')], 'card');
});

test('an email has the region of its locale, or else that of the store', () => {
  const given = newStore({ currency: currencyOf('GBP'), timeZone: 'Europe/London' });
  const later = {
    expiringSoonDays: 0,
    holdLimitDays: 7,
    lookupFailuresPerHour: null,
    vat: null,
    accountNames: {},
    datev: null,
  };
  const store = { ...given, ...later, id: 1, demonstration: false };
  const localeOf = (locale: string): string => {
    const settings = { ...defaultEmailSettings, locale };
    return senderOf({ store, settings, texts: [], logo: null }, 'cards@flowers.example').locale;
  };
  assert.equal(localeOf('en'), 'en-GB');
  assert.equal(localeOf('en-US'), 'en-US');
  assert.equal(localeOf('zh-Hans'), 'zh-Hans-GB');
  assert.equal(localeIn('pt', place('EUR')), 'pt-PT');
  assert.equal(regionOf(place('XCD'), 'en'), undefined);
});
