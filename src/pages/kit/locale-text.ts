/** The names of languages. */

import { pageLanguages, textLanguageOf, type PageLanguage } from './texts.ts';

const names = new Map(
  pageLanguages.map((language) => [language, new Intl.DisplayNames(language, { type: 'language' })]),
);

/** A language's own name, with that in the language of the page if it is another one. */
export function localeText(tag: string, language: PageLanguage): string {
  const own = new Intl.DisplayNames(tag, { type: 'language' }).of(tag) ?? tag;
  const shown = names.get(textLanguageOf(language))?.of(tag) ?? tag;
  return own.toLowerCase() === shown.toLowerCase() ? shown : `${shown} (${own})`;
}
