/**
 * The languages of emails.
 *
 * A *language* has texts (`locales/`). A *locale* is a BCP 47 tag such as `de-AT`, which decides the format of amounts
 * and dates. Without texts for a locale's language, the whole email is in English, so that it never mixes two.
 *
 * A word in braces in a text is replaced by a value: {store}, {amount}, {date}, {address} or {name}. Values do not inflect:
 * a translation puts a noun before them where its grammar needs one ("the shop {store}"). To add a language, add its
 * file here; the compiler lists missing texts, and a test compares the placeholders.
 */

import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import ar from './locales/ar.json' with { type: 'json' };
import de from './locales/de.json' with { type: 'json' };
import en from './locales/en.json' with { type: 'json' };
import es from './locales/es.json' with { type: 'json' };
import fr from './locales/fr.json' with { type: 'json' };
import he from './locales/he.json' with { type: 'json' };
import it from './locales/it.json' with { type: 'json' };
import ja from './locales/ja.json' with { type: 'json' };
import ko from './locales/ko.json' with { type: 'json' };
import nl from './locales/nl.json' with { type: 'json' };
import pl from './locales/pl.json' with { type: 'json' };
import pt from './locales/pt.json' with { type: 'json' };
import sv from './locales/sv.json' with { type: 'json' };
import tr from './locales/tr.json' with { type: 'json' };
import uk from './locales/uk.json' with { type: 'json' };
import zhHans from './locales/zh-Hans.json' with { type: 'json' };

export type TextName = keyof typeof en;

/** All texts of a language. */
type Texts = Readonly<Record<TextName, string>>;

const texts: Readonly<Record<string, Texts>> = {
  en,
  ar,
  de,
  es,
  fr,
  he,
  it,
  ja,
  ko,
  nl,
  pl,
  pt,
  sv,
  tr,
  uk,
  'zh-Hans': zhHans,
};

const textsByLanguage: ReadonlyMap<string, Texts> = new Map(Object.entries(texts));

/** The tags of all languages with texts. */
export const languages: readonly string[] = [...textsByLanguage.keys()];

export type Language = {
  /** For `lang` attributes, `Content-Language` and Intl. */
  readonly locale: string;
  readonly direction: 'ltr' | 'rtl';
  readonly texts: Texts;
};

const localeLengthMax = 35;

/** Parses any valid BCP 47 tag into its canonical form. */
function parseLocale(value: unknown): Parsed<string> {
  const message = 'must be a language tag such as "de" or "pt-BR"';
  if (typeof value !== 'string' || value.length > localeLengthMax) return rejected(message);
  try {
    return accepted(new Intl.Locale(value).toString());
  } catch {
    return rejected(message);
  }
}

/** Parses a locale whose language has texts. */
export function parseKnownLocale(value: unknown): Parsed<string> {
  const locale = parseLocale(value);
  if (!locale.ok || textsOf(locale.value)) return locale;
  return rejected(`must be a tag of a known language: ${languages.join(', ')}`);
}

type LocaleParts = {
  /** One of `languages`. */
  readonly language: string;
  /** Such as `AT`; empty: none. */
  readonly region: string;
};

/** The language and the region of a locale; English if it has no texts or the locale is invalid. */
export function localePartsOf(locale: string): LocaleParts {
  const parsed = parseKnownLocale(locale);
  if (!parsed.ok) return { language: 'en', region: '' };
  return { language: textsOf(parsed.value)?.tag ?? 'en', region: new Intl.Locale(parsed.value).region ?? '' };
}

const regionNames = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });

/** The locale of a language in a region. The error names the part that is not known. */
export function localeOfParts({ language, region }: LocaleParts): Parsed<string> {
  if (!languages.includes(language)) return rejected('language');
  if (region === '') return accepted(language);
  const code = region.toUpperCase();
  if (!/^[A-Z]{2}$/.test(code) || regionNames.of(code) === undefined) return rejected('region');
  return parseKnownLocale(`${language}-${code}`);
}

/** The language of a locale with its texts; undefined if there are no texts. */
function textsOf(locale: string): { readonly tag: string; readonly texts: Texts } | undefined {
  const { language, script } = new Intl.Locale(locale).maximize();
  // Chinese has two scripts; the texts of every other language are in its only one.
  const tag = language === 'zh' ? `zh-${script}` : language;
  const found = textsByLanguage.get(tag);
  return found && { tag, texts: found };
}

/** The language of a locale; English if it has no texts or the locale is invalid. */
export function languageOf(locale: string): Language {
  const parsed = parseLocale(locale);
  const known = parsed.ok ? textsOf(parsed.value) : undefined;
  if (!parsed.ok || !known) return { locale: 'en', direction: 'ltr', texts: en };
  const { tag } = known;
  // Without the extensions, which could select other calendars and digits.
  const { baseName } = new Intl.Locale(parsed.value);
  return { locale: baseName, direction: tag === 'ar' || tag === 'he' ? 'rtl' : 'ltr', texts: known.texts };
}
