/** The texts of buyers, in all languages of emails: `locales/buyer/<tag>.json`. */

import ar from '../locales/buyer/ar.json' with { type: 'json' };
import de from '../locales/buyer/de.json' with { type: 'json' };
import en from '../locales/buyer/en.json' with { type: 'json' };
import es from '../locales/buyer/es.json' with { type: 'json' };
import fr from '../locales/buyer/fr.json' with { type: 'json' };
import he from '../locales/buyer/he.json' with { type: 'json' };
import it from '../locales/buyer/it.json' with { type: 'json' };
import ja from '../locales/buyer/ja.json' with { type: 'json' };
import ko from '../locales/buyer/ko.json' with { type: 'json' };
import nl from '../locales/buyer/nl.json' with { type: 'json' };
import pl from '../locales/buyer/pl.json' with { type: 'json' };
import pt from '../locales/buyer/pt.json' with { type: 'json' };
import sv from '../locales/buyer/sv.json' with { type: 'json' };
import tr from '../locales/buyer/tr.json' with { type: 'json' };
import uk from '../locales/buyer/uk.json' with { type: 'json' };
import zhHans from '../locales/buyer/zh-Hans.json' with { type: 'json' };

export type BuyTexts = typeof en;

const catalogue: Readonly<Record<string, BuyTexts>> = {
  ar,
  de,
  en,
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

const textsByLanguage: ReadonlyMap<string, BuyTexts> = new Map(Object.entries(catalogue));

/** The tags of the languages. */
export const buyLanguages: readonly string[] = [...textsByLanguage.keys()];

/** @param tag one of `buyLanguages`. */
export function buyTextsOf(tag: string): BuyTexts {
  return textsByLanguage.get(tag) ?? en;
}
