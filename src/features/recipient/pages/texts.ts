/**
 * The texts of pages without a session, in all languages of emails: `locales/public/<tag>.json`, with an object for the pages
 * of recipients and one for those of buyers.
 */

import ar from '../../../pages/locales/public/ar.json' with { type: 'json' };
import de from '../../../pages/locales/public/de.json' with { type: 'json' };
import en from '../../../pages/locales/public/en.json' with { type: 'json' };
import es from '../../../pages/locales/public/es.json' with { type: 'json' };
import fr from '../../../pages/locales/public/fr.json' with { type: 'json' };
import he from '../../../pages/locales/public/he.json' with { type: 'json' };
import it from '../../../pages/locales/public/it.json' with { type: 'json' };
import ja from '../../../pages/locales/public/ja.json' with { type: 'json' };
import ko from '../../../pages/locales/public/ko.json' with { type: 'json' };
import nl from '../../../pages/locales/public/nl.json' with { type: 'json' };
import pl from '../../../pages/locales/public/pl.json' with { type: 'json' };
import pt from '../../../pages/locales/public/pt.json' with { type: 'json' };
import sv from '../../../pages/locales/public/sv.json' with { type: 'json' };
import tr from '../../../pages/locales/public/tr.json' with { type: 'json' };
import uk from '../../../pages/locales/public/uk.json' with { type: 'json' };
import zhHans from '../../../pages/locales/public/zh-Hans.json' with { type: 'json' };
import { localeIn } from '../../../core/stores/domain/region.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { ConsoleServices, CustomerLanguage } from '../../../pages/kit/services.ts';
import { acceptedTags } from '../../../pages/kit/texts.ts';

type PublicTexts = typeof en;

type RecipientTexts = PublicTexts['recipient'];

export type BuyTexts = PublicTexts['buyer'];

const catalogue: Readonly<Record<string, PublicTexts>> = {
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

const textsByLanguage: ReadonlyMap<string, PublicTexts> = new Map(Object.entries(catalogue));

/** The tags of the languages. */
export const recipientLanguages: readonly string[] = [...textsByLanguage.keys()];

export type RecipientLanguage = Omit<CustomerLanguage, 'texts'> & {
  /** For the `lang` attribute. The locale, which can have a region, is for amounts and dates. */
  readonly tag: string;
  readonly texts: RecipientTexts;
  /** Texts that emails have as well. */
  readonly shared: CustomerLanguage['texts'];
};

/** @param tag one of `recipientLanguages`. */
function textsOf(tag: string): PublicTexts {
  return textsByLanguage.get(tag) ?? en;
}

/** @param tag one of `recipientLanguages`. */
export function buyTextsOf(tag: string): BuyTexts {
  return textsOf(tag).buyer;
}

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
  return Array.from(textsByLanguage, ([tag, { recipient }]) => ({
    tag,
    direction: customerLanguage(tag).direction,
    name: recipient.name,
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
  return { tag, locale: localeIn(locale, store), direction, texts: textsOf(tag).recipient, shared };
}

/** The texts of a page without a store, as `recipientLanguageOf` chooses them. Default: English. */
export function textsOfVisitor(
  acceptLanguage: string,
  chosen: string | undefined,
): { readonly tag: string; readonly texts: RecipientTexts } {
  const accepted = acceptedTags(acceptLanguage).flatMap((each) => tagOf(each) ?? []);
  const tag = chosen ?? accepted[0] ?? 'en';
  return { tag, texts: textsOf(tag).recipient };
}
