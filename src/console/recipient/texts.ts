/** The texts of recipients, in all languages of emails: `locales/recipient/<tag>.json`. */

import ar from '../locales/recipient/ar.json' with { type: 'json' };
import de from '../locales/recipient/de.json' with { type: 'json' };
import en from '../locales/recipient/en.json' with { type: 'json' };
import es from '../locales/recipient/es.json' with { type: 'json' };
import fr from '../locales/recipient/fr.json' with { type: 'json' };
import he from '../locales/recipient/he.json' with { type: 'json' };
import it from '../locales/recipient/it.json' with { type: 'json' };
import ja from '../locales/recipient/ja.json' with { type: 'json' };
import ko from '../locales/recipient/ko.json' with { type: 'json' };
import nl from '../locales/recipient/nl.json' with { type: 'json' };
import pl from '../locales/recipient/pl.json' with { type: 'json' };
import pt from '../locales/recipient/pt.json' with { type: 'json' };
import sv from '../locales/recipient/sv.json' with { type: 'json' };
import tr from '../locales/recipient/tr.json' with { type: 'json' };
import uk from '../locales/recipient/uk.json' with { type: 'json' };
import zhHans from '../locales/recipient/zh-Hans.json' with { type: 'json' };
import { localeIn } from '../../domain/stores/region.ts';
import type { Store } from '../../domain/stores/store.ts';
import type { ConsoleServices, CustomerLanguage } from '../kit/route.ts';
import { acceptedTags } from '../kit/texts.ts';

type RecipientTexts = typeof en;

const catalogue: Readonly<Record<string, RecipientTexts>> = {
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

const textsByLanguage: ReadonlyMap<string, RecipientTexts> = new Map(Object.entries(catalogue));

/** The tags of the languages. */
export const recipientLanguages: readonly string[] = [...textsByLanguage.keys()];

export type RecipientLanguage = Omit<CustomerLanguage, 'texts'> & {
  /** For the `lang` attribute. The locale, which can have a region, is for amounts and dates. */
  readonly tag: string;
  readonly texts: RecipientTexts;
  /** Texts that emails have as well. */
  readonly shared: CustomerLanguage['texts'];
};

/** The language of a locale; undefined: it has no texts, or the tag is invalid. */
function tagOf(locale: string): string | undefined {
  try {
    const { language, script = '' } = new Intl.Locale(locale).maximize();
    const tag = language === 'zh' ? `zh-${script}` : language;
    return textsByLanguage.has(tag) ? tag : undefined;
  } catch {
    return undefined;
  }
}

/** A language that a visitor can choose, with its own name. */
export type LanguageChoice = Pick<RecipientLanguage, 'tag' | 'direction'> & { readonly name: string };

export function languageChoices({
  customerLanguage,
}: Pick<ConsoleServices, 'customerLanguage'>): readonly LanguageChoice[] {
  return Array.from(textsByLanguage, ([tag, { name }]) => ({
    tag,
    direction: customerLanguage(tag).direction,
    name,
  }));
}

/** The tag that a visitor has chosen; undefined: none, or one that has no texts. */
export function chosenTag(query: ReadonlyMap<string, string>): string | undefined {
  const tag = query.get('lang') ?? '';
  return textsByLanguage.has(tag) ? tag : undefined;
}

/**
 * The language that the visitor has chosen, else the first one that the browser accepts, else that of the store's emails.
 * The formats are those of the visitor's region, or else of the store's.
 * @param chosen a tag of `recipientLanguages`.
 */
export function recipientLanguageOf(
  { customerLanguage }: Pick<ConsoleServices, 'customerLanguage'>,
  acceptLanguage: string,
  {
    emailLocale,
    store,
  }: { readonly emailLocale: string; readonly store: Pick<Store, 'timeZone' | 'currency'> },
  chosen?: string,
): RecipientLanguage {
  const isWanted = (known: string | undefined): boolean =>
    chosen === undefined ? known !== undefined : known === chosen;
  const known = [...acceptedTags(acceptLanguage), emailLocale].find((each) => isWanted(tagOf(each)));
  const { locale, direction, texts: shared } = customerLanguage(known ?? chosen ?? emailLocale);
  const tag = tagOf(locale) ?? 'en';
  return { tag, locale: localeIn(locale, store), direction, texts: textsByLanguage.get(tag) ?? en, shared };
}

/** The texts of a page without a store, as `recipientLanguageOf` chooses them. Default: English. */
export function textsOfVisitor(
  acceptLanguage: string,
  chosen: string | undefined,
): { readonly tag: string; readonly texts: RecipientTexts } {
  const accepted = acceptedTags(acceptLanguage).flatMap((each) => tagOf(each) ?? []);
  const tag = chosen ?? accepted[0] ?? 'en';
  return { tag, texts: textsByLanguage.get(tag) ?? en };
}
