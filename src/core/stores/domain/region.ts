/** Regions, whose formats dates and amounts have: that of a locale, or else that of the store. */

import type { Store } from './store.ts';

/** The currencies of regions whose shops mostly sell in them. */
export const currencyOfRegion = {
  AE: 'AED', AR: 'ARS', AT: 'EUR', AU: 'AUD', BE: 'EUR', BG: 'EUR', BR: 'BRL', CA: 'CAD', CH: 'CHF', CL: 'CLP',
  CN: 'CNY', CO: 'COP', CY: 'EUR', CZ: 'CZK', DE: 'EUR', DK: 'DKK', EE: 'EUR', ES: 'EUR', FI: 'EUR', FR: 'EUR',
  GB: 'GBP', GR: 'EUR', HK: 'HKD', HR: 'EUR', HU: 'HUF', IE: 'EUR', IL: 'ILS', IN: 'INR', IS: 'ISK', IT: 'EUR',
  JP: 'JPY', LI: 'CHF', LT: 'EUR', LU: 'EUR', LV: 'EUR', MT: 'EUR', MX: 'MXN', NL: 'EUR', NO: 'NOK', NZ: 'NZD',
  PE: 'PEN', PL: 'PLN', PT: 'EUR', RO: 'RON', SA: 'SAR', SE: 'SEK', SG: 'SGD', SI: 'EUR', SK: 'EUR', TR: 'TRY',
  TW: 'TWD', UA: 'UAH', US: 'USD', ZA: 'ZAR',
} as const satisfies Readonly<Record<string, string>>; // prettier-ignore

export type Region = keyof typeof currencyOfRegion;

export const regions = Object.keys(currencyOfRegion) as readonly Region[];

export function findRegion(code: string | undefined): Region | undefined {
  return regions.find((each) => each === code);
}

/** The time zones of a region. @param region an ISO 3166-1 code. */
export function timeZonesOf(region: string): readonly string[] {
  return new Intl.Locale(`und-${region}`).getTimeZones?.() ?? [];
}

/** The regions of time zones, by the names that stores use. */
const zones = new Map<string, Region | undefined>();

function regionOfZone(timeZone: string): Region | undefined {
  if (zones.size === 0)
    for (const region of regions) for (const zone of timeZonesOf(region)) zones.set(zone, region);
  if (!zones.has(timeZone)) {
    // Intl lists each zone under one of its names, and formatters return the same one.
    const { timeZone: listed } = new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions();
    zones.set(timeZone, zones.get(listed));
  }
  return zones.get(timeZone);
}

/** Regions with formats of English. Those of another language would be mixed with those of English: 1.234 and 1,234.00. */
const englishRegions: ReadonlySet<string> = new Set([
  'AU', 'CA', 'GB', 'HK', 'IE', 'IN', 'MT', 'NZ', 'SG', 'US', 'ZA', '001',
]); // prettier-ignore

/** The region whose formats texts of a language have in a region: in English, that of Britain where there are no others. */
export function formatRegionOf<Code extends string>(language: string, region: Code): Code | 'GB' {
  return language === 'en' && !englishRegions.has(region) ? 'GB' : region;
}

/**
 * The region of a store, by its time zone, or else by its currency: of several regions with the currency, the main one of the
 * language, or else one in which people mostly speak it. Undefined: neither says it.
 */
export function regionOf(
  { timeZone, currency }: Pick<Store, 'timeZone' | 'currency'>,
  language: string,
): Region | undefined {
  const ofZone = regionOfZone(timeZone);
  if (ofZone) return ofZone;
  const sameCurrency = regions.filter((region) => currencyOfRegion[region] === currency.code);
  const [only, ...others] = sameCurrency;
  if (others.length === 0) return only;
  const { region: main } = new Intl.Locale(language).maximize();
  return (
    sameCurrency.find((region) => region === main) ??
    sameCurrency.find((region) => new Intl.Locale(`und-${region}`).maximize().language === language)
  );
}

/** A locale with the region of its formats: its own, or else the store's. @param locale a valid tag. */
export function localeIn(locale: string, store: Pick<Store, 'timeZone' | 'currency'>): string {
  const { language, region, script } = new Intl.Locale(locale);
  const found = region ?? regionOf(store, language);
  if (found === undefined) return locale;
  return [language, script, formatRegionOf(language, found)].filter(Boolean).join('-');
}
