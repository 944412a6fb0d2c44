/**
 * Languages of mails.
 *
 * Terms: a *language* here is one for which there are texts; a *locale* is a BCP 47 tag such as `de-AT`,
 * which says how amounts and dates are written. A locale whose language has no texts is answered in
 * English altogether, so that no mail mixes two languages.
 */

import { accepted, refused, type Parsed } from '../../domain/parsed.ts';
import { ar } from './texts/ar.ts';
import { de } from './texts/de.ts';
import { en, type Texts } from './texts/en.ts';
import { es } from './texts/es.ts';
import { fr } from './texts/fr.ts';
import { he } from './texts/he.ts';
import { it } from './texts/it.ts';
import { ja } from './texts/ja.ts';
import { ko } from './texts/ko.ts';
import { nl } from './texts/nl.ts';
import { pl } from './texts/pl.ts';
import { pt } from './texts/pt.ts';
import { sv } from './texts/sv.ts';
import { tr } from './texts/tr.ts';
import { uk } from './texts/uk.ts';
import { zhHans } from './texts/zh-hans.ts';

const textsByLanguage: ReadonlyMap<string, Texts> = new Map(
  Object.entries({ en, ar, de, es, fr, he, it, ja, ko, nl, pl, pt, sv, tr, uk, 'zh-Hans': zhHans }),
);

/** Every language that has texts, as BCP 47 tags. */
export const languages: readonly string[] = [...textsByLanguage.keys()];

export type Language = {
  /** For `lang` attributes, `Content-Language` and Intl. */
  readonly locale: string;
  readonly direction: 'ltr' | 'rtl';
  readonly texts: Texts;
};

/** Reads a locale: any valid BCP 47 tag, in its canonical spelling. */
function parseLocale(value: unknown): Parsed<string> {
  const refusal = 'must be a language tag such as "de" or "pt-BR"';
  if (typeof value !== 'string' || value.length > 35) return refused(refusal);
  try {
    return accepted(new Intl.Locale(value).toString());
  } catch {
    return refused(refusal);
  }
}

/** Reads a locale for whose language there are texts. */
export function parseKnownLocale(value: unknown): Parsed<string> {
  const locale = parseLocale(value);
  if (!locale.ok || textsOf(locale.value)) return locale;
  return refused(`must be a tag of a known language: ${languages.join(', ')}`);
}

/** The tag of a locale's language, and its texts if there are any. */
function textsOf(locale: string): { readonly tag: string; readonly texts: Texts } | undefined {
  const { language, script } = new Intl.Locale(locale).maximize();
  // Chinese is written in two scripts; every other language here in one, which its texts are in.
  const tag = language === 'zh' ? `zh-${script}` : language;
  const texts = textsByLanguage.get(tag);
  return texts && { tag, texts };
}

/** The language for a locale: English if there are no texts for it, or if it is no locale. */
export function languageOf(locale: string): Language {
  const parsed = parseLocale(locale);
  const known = parsed.ok ? textsOf(parsed.value) : undefined;
  if (!parsed.ok || !known) return { locale: 'en', direction: 'ltr', texts: en };
  const { tag, texts } = known;
  // Extensions of a tag could ask for other calendars and digits; the region is all that counts.
  const { baseName } = new Intl.Locale(parsed.value);
  return { locale: baseName, direction: tag === 'ar' || tag === 'he' ? 'rtl' : 'ltr', texts };
}
