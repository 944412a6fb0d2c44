/**
 * The languages of the pages, and their texts: `locales/<language>.json`, with an object for each area of pages. English
 * decides which texts there are; the compiler rejects a language that lacks one, and a test compares the placeholders.
 */

import {
  findRegion,
  formatRegionOf,
  regionOf,
  regions,
  type Region,
} from '../../core/stores/domain/region.ts';
import type { Store } from '../../core/stores/domain/store.ts';
import { endsWithStop, markup, type Markup, type MarkupPart } from '../../platform/markup.ts';
import de from '../locales/de.json' with { type: 'json' };
import en from '../locales/en.json' with { type: 'json' };
import es from '../locales/es.json' with { type: 'json' };
import fr from '../locales/fr.json' with { type: 'json' };

/** The languages that have texts. */
export const pageLanguages = ['en', 'de', 'fr', 'es'] as const;

export type TextLanguage = (typeof pageLanguages)[number];

type RegionCode = Region | '001' | '419';

/** For `lang` attributes and Intl: a language that has texts, with the region whose dates and amounts the page has. */
export type PageLanguage = TextLanguage | `${TextLanguage}-${RegionCode}`;

/** A value for each language. Regions have that of their language. */
export type ByLanguage<Value> = Readonly<Record<PageLanguage, Value>>;

/** The world's English and the Spanish of Latin America. */
const widerRegions = ['001', '419'] as const;

export function byLanguage<Value>(values: Readonly<Record<TextLanguage, Value>>): ByLanguage<Value> {
  const entries = pageLanguages.flatMap((language) => [
    [language, values[language]] as const,
    ...[...regions, ...widerRegions].map((region) => [`${language}-${region}`, values[language]] as const),
  ]);
  return Object.fromEntries(entries) as ByLanguage<Value>;
}

export type Texts = typeof en;

/** All texts, by language. */
export const catalogue: ByLanguage<Texts> = byLanguage<Texts>({ en, de, fr, es });

/** The texts of one area, for modules that are not a page. */
export function textsOf<Area extends keyof Texts>(area: Area): ByLanguage<Texts[Area]> {
  return byLanguage<Texts[Area]>({ en: en[area], de: de[area], fr: fr[area], es: es[area] });
}

const textLanguages: ByLanguage<TextLanguage> = byLanguage({ en: 'en', de: 'de', fr: 'fr', es: 'es' });

/** The language without its region. */
export function textLanguageOf(language: PageLanguage): TextLanguage {
  return textLanguages[language];
}

const headerLengthMax = 500;

/** The language tags of an Accept-Language header (RFC 9110, 12.5.4), in lower case, the preferred one first. */
export function acceptedTags(acceptLanguage: string | undefined): readonly string[] {
  const ranges = (acceptLanguage ?? '').slice(0, headerLengthMax).toLowerCase().split(',');
  return ranges
    .map((range) => {
      const [tag = '', ...parameters] = range.split(';').map((part) => part.trim());
      const weight = parameters.find((parameter) => parameter.startsWith('q='));
      return { tag, quality: weight === undefined ? 1 : Number(weight.slice(2)) };
    })
    .filter(({ tag, quality }) => tag !== '' && quality > 0 && quality <= 1)
    .toSorted((left, right) => right.quality - left.quality)
    .map(({ tag }) => tag);
}

/**
 * The language that a browser prefers, by its Accept-Language header, with the region of its tag, or else the store's.
 * Default: English.
 * @param store undefined: it is not known.
 */
export function pageLanguageOf(
  acceptLanguage: string | undefined,
  store?: Pick<Store, 'timeZone' | 'currency'>,
): PageLanguage {
  const [first = { language: 'en' }] = acceptedTags(acceptLanguage).flatMap(
    (tag) => languageOfTag(tag) ?? [],
  );
  const { language, region = store && regionOf(store, language) } = first;
  return region ? `${language}-${formatRegionOf(language, region)}` : language;
}

/** @param tag in lower case: `en-gb`, or with a script `en-latn-gb`. */
function languageOfTag(
  tag: string,
): { readonly language: TextLanguage; readonly region?: RegionCode | undefined } | undefined {
  const [primary, ...subtags] = tag.split('-');
  const language = pageLanguages.find((each) => each === primary);
  if (language === undefined) return undefined;
  const code = subtags.find((each) => /^(?:[a-z]{2}|\d{3})$/.test(each))?.toUpperCase();
  return { language, region: findRegion(code) ?? widerRegions.find((each) => each === code) };
}

export type TextValues = Readonly<Record<string, MarkupPart>>;

const placeholder = /\{([a-z]{1,20})\}/;

/** A text with its values in place of `{name}`, escaped. @throws RangeError if a placeholder has no value. */
export function fill(text: string, values: TextValues): Markup {
  return markup`${filledParts(text, values)}`;
}

/** Fills a text as `fill` does, as plain text for titles and attributes. */
export function fillPlain(text: string, values: Readonly<Record<string, string | number>>): string {
  return filledParts(text, values).map(String).join('');
}

/** The parts of a text with its values. A value with a final full stop replaces that of the sentence. */
function filledParts<Value extends MarkupPart>(
  text: string,
  values: Readonly<Record<string, Value>>,
): readonly (string | Value)[] {
  let isEnded = false;
  return text.split(placeholder).map((part, index) => {
    if (index % 2 === 0) return isEnded && part.startsWith('.') ? part.slice(1) : part;
    const value = requireValue(values, part);
    isEnded = endsWithStop(value);
    return value;
  });
}

function requireValue<Value>(values: Readonly<Record<string, Value>>, name: string): Value {
  if (!Object.hasOwn(values, name)) throw new RangeError(`{${name}} has no value`);
  return values[name] as Value;
}

/** The two plural forms of the four languages. */
export type Plural = { readonly one: string; readonly other: string };

const pluralRules = byLanguage({
  en: new Intl.PluralRules('en'),
  de: new Intl.PluralRules('de'),
  fr: new Intl.PluralRules('fr'),
  es: new Intl.PluralRules('es'),
});

/** The form for a number, with `{count}` as one of its values. */
export function plural(
  language: PageLanguage,
  { one, other }: Plural,
  count: number,
  values: Readonly<Record<string, string | number>> = {},
): string {
  const text = pluralRules[language].select(count) === 'one' ? one : other;
  return fillPlain(text, { ...values, count: new Intl.NumberFormat(language).format(count) });
}
