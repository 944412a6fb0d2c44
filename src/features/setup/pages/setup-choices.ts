/** The choices of a new shop, and the suggestions of the form by the languages that the browser prefers. */

import {
  currencyCodes,
  currencyOf,
  findNewCurrency,
  type Currency,
} from '../../../core/money/domain/currency.ts';
import { isTimeZone } from '../../../core/domain/day.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import { currencyOfRegion, findRegion, timeZonesOf } from '../../../core/stores/domain/region.ts';
import {
  pageLanguages,
  textLanguageOf,
  type PageLanguage,
  type TextLanguage,
} from '../../../pages/kit/texts.ts';

const namesOf = (type: 'currency' | 'language') =>
  new Map(pageLanguages.map((language) => [language, new Intl.DisplayNames(language, { type })]));
const currencyNames = namesOf('currency');

/** `EUR – Euro`: a browser finds it by the code and by the name. */
export function currencyText({ code }: Currency, language: PageLanguage): string {
  const name = currencyNames.get(textLanguageOf(language))?.of(code);
  return name === undefined || name === code ? code : `${code} – ${name}`;
}

const currencyTexts = new Map<TextLanguage, readonly string[]>();

/** All currencies, sorted by code. */
export function currencyOptions(language: PageLanguage): readonly string[] {
  const textLanguage = textLanguageOf(language);
  const made =
    currencyTexts.get(textLanguage) ??
    currencyCodes().map((code) => currencyText(currencyOf(code), language));
  currencyTexts.set(textLanguage, made);
  return made;
}

/** The currency of a typed text: a code, a suggestion, or a name. */
export function parseCurrency(text: string, language: PageLanguage): Currency | undefined {
  const [, code = ''] = /^([a-z]{3})(?: –.*)?$/i.exec(text) ?? [];
  const name = text.toLowerCase();
  return (
    findNewCurrency(code.toUpperCase()) ??
    findNewCurrency(
      currencyCodes().find(
        (each) => currencyNames.get(textLanguageOf(language))?.of(each)?.toLowerCase() === name,
      ) ?? '',
    )
  );
}

const zones: readonly string[] = ['UTC', ...Intl.supportedValuesOf('timeZone').filter(isTimeZone)];

export function timeZoneOptions(): readonly string[] {
  return zones;
}

/** The time zone of a typed text, in any case and with blanks for underscores: its whole name, or its city. */
export function parseTimeZone(text: string): string | undefined {
  const typed = text.trim().replaceAll(' ', '_').toLowerCase();
  const ofCity = zones.filter((each) => each.toLowerCase().endsWith(`/${typed}`));
  const zone =
    zones.find((each) => each.toLowerCase() === typed) ??
    (ofCity.length === 1 ? ofCity[0] : undefined) ??
    text;
  return zone.length <= 64 && isTimeZone(zone) ? zone : undefined;
}

export type Suggested = { readonly currency: string; readonly timeZone: string; readonly locale: string };

const tagsMax = 5;

/** @param acceptLanguage the header; its first tags count. @param serverZone the time zone of this machine. */
export function suggestionsOf(
  acceptLanguage: string,
  {
    locales,
    language,
    serverZone,
  }: { readonly locales: readonly string[]; readonly language: PageLanguage; readonly serverZone: string },
): Suggested {
  const tags = acceptLanguage
    .slice(0, 200)
    .split(',', tagsMax)
    .flatMap((range) => localeOf(range.split(';', 1)[0]?.trim() ?? '') ?? []);
  const [first] = tags;
  // A tag without a region, such as `de`, counts as that of the region with the most speakers; English does not.
  const region =
    tags.find((tag) => tag.region !== undefined)?.region ??
    (first && first.language !== 'en' ? first.maximize().region : undefined);
  const known = findRegion(region);
  // Any other region begins without a suggestion.
  const currency = known ? currencyOfRegion[known] : '';
  const ofRegion = region === undefined ? [] : timeZonesOf(region);
  const [onlyZone, ...others] = ofRegion;
  const regionZone = others.length === 0 && onlyZone !== undefined && isTimeZone(onlyZone) ? onlyZone : 'UTC';
  const timeZone = serverZone === 'UTC' ? regionZone : serverZone;
  const locale =
    tags.flatMap((tag) => locales.find((each) => matches(tag, each)) ?? [])[0] ?? textLanguageOf(language);
  return { currency, timeZone, locale };
}

function localeOf(tag: string): Intl.Locale | undefined {
  try {
    return new Intl.Locale(tag);
  } catch {
    return undefined;
  }
}

function matches(tag: Intl.Locale, locale: string): boolean {
  const [left, right] = [tag.maximize(), new Intl.Locale(locale).maximize()];
  return left.language === right.language && left.script === right.script;
}

/** The suggested highest balance of a card: it limits the damage of a mistyped amount. */
export function suggestedLimit(currency: Currency): Money {
  const units = currency.decimals === 0 ? 200_000n : 2_000n;
  return { minor: units * 10n ** BigInt(currency.decimals), currency };
}
