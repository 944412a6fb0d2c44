/**
 * The languages of the pages, and their texts: `locales/<language>/<area>.json`, one area for each group of pages. English
 * decides which texts there are; the compiler rejects a language that lacks one, and a test compares the placeholders.
 */

import { markup, type Markup, type MarkupPart } from '../markup.ts';

export const pageLanguages = ['en', 'de', 'fr', 'es'] as const;

export type PageLanguage = (typeof pageLanguages)[number];

/** The texts of an area in every language. */
export type Catalogue<Texts> = Readonly<Record<PageLanguage, Texts>>;

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

/** The language that a browser prefers, by its Accept-Language header. Default: English. */
export function pageLanguageOf(acceptLanguage: string | undefined): PageLanguage {
  for (const tag of acceptedTags(acceptLanguage)) {
    const [primary] = tag.split('-', 1);
    const language = pageLanguages.find((each) => each === primary);
    if (language !== undefined) return language;
  }
  return 'en';
}

export type TextValues = Readonly<Record<string, MarkupPart>>;

const placeholder = /\{([a-z]{1,20})\}/;

/** A text with its values in place of `{name}`, escaped. @throws RangeError if a placeholder has no value. */
export function fill(text: string, values: TextValues): Markup {
  const parts = text
    .split(placeholder)
    .map((part, index) => (index % 2 === 0 ? part : requireValue(values, part)));
  return markup`${parts}`;
}

/** As `fill`, as plain text: for titles and attributes. */
export function fillPlain(text: string, values: Readonly<Record<string, string | number>>): string {
  return text
    .split(placeholder)
    .map((part, index) => (index % 2 === 0 ? part : String(requireValue(values, part))))
    .join('');
}

function requireValue<Value>(values: Readonly<Record<string, Value>>, name: string): Value {
  if (!Object.hasOwn(values, name)) throw new RangeError(`{${name}} has no value`);
  return values[name] as Value;
}

/** The two plural forms of the four languages. */
export type Plural = { readonly one: string; readonly other: string };

const pluralRules: Readonly<Record<PageLanguage, Intl.PluralRules>> = {
  en: new Intl.PluralRules('en'),
  de: new Intl.PluralRules('de'),
  fr: new Intl.PluralRules('fr'),
  es: new Intl.PluralRules('es'),
};

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
