/** The texts of recipients and buyers: every language of emails has all of them. */

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import test from 'node:test';
import { cardDesigns } from '../../src/core/cards/domain/design.ts';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { recipientLanguageOf, recipientLanguages } from '../../src/features/recipient/pages/texts.ts';
import { fill, fillPlain } from '../../src/pages/kit/texts.ts';
import { markup } from '../../src/platform/markup.ts';
import { languageOf, languages } from '../../src/features/emails/delivery/language.ts';

type Area = 'recipient' | 'buyer';

const folder = 'src/pages/locales/public';

function textsOf(tag: string, area: Area = 'recipient'): ReadonlyMap<string, string> {
  const file = readFileSync(`${folder}/${tag}.json`, 'utf8');
  return new Map(Object.entries((JSON.parse(file) as Record<Area, Readonly<Record<string, string>>>)[area]));
}

/** @param sources files of the pages that have the texts. */
function testTexts(area: Area, sources: string): void {
  const english = textsOf('en', area);

  test(`every language of emails has the texts and placeholders of English for a ${area}`, () => {
    assert.deepEqual(recipientLanguages.toSorted(), languages.toSorted());
    const files = globSync(`${folder}/*.json`).map((path) => basename(path, '.json'));
    assert.deepEqual(files.toSorted(), languages.toSorted());
    const placeholders = (text: string): readonly string[] => (text.match(/\{\w*\}/g) ?? []).toSorted();
    for (const tag of languages) {
      const texts = textsOf(tag, area);
      assert.deepEqual([...texts.keys()], [...english.keys()], tag);
      for (const [name, text] of texts) {
        const original = english.get(name) ?? '';
        assert.deepEqual(placeholders(text), placeholders(original), `${tag}: ${name}`);
        assert.equal(text, text.trim().normalize('NFC'), `${tag}: ${name}`);
        assert.match(text, /\p{L}/u, `${tag}: ${name}`);
        assert.doesNotMatch(text, /[<>]|&\w+;/, `${tag}: ${name}`);
        if (tag !== 'en' && original.length > 24) assert.notEqual(text, original, `${tag}: ${name}`);
      }
    }
  });

  test(`every text for a ${area} is used`, () => {
    const source = globSync(sources)
      .map((path) => readFileSync(path, 'utf8'))
      .join('\n');
    const designs: ReadonlySet<string> = new Set(cardDesigns);
    for (const name of english.keys())
      if (!designs.has(name)) assert.match(source, new RegExp(`(?:texts\\.|')${name}\\b`), name);
  });
}

testTexts('recipient', 'src/features/recipient/pages/*.ts');
testTexts('buyer', 'src/features/online-sales/pages/buy/*.ts');

test('the page is in the first language that the browser accepts, or in that of the store', () => {
  const services = { customerLanguage: languageOf };
  const store = { timeZone: 'Europe/London', currency: currencyOf('GBP') };
  const cases = [
    ['de-AT,en;q=0.5', 'fr', 'de', 'de-AT', 'ltr'],
    ['tlh, ar;q=0.8, en;q=0.4', 'fr', 'ar', 'ar-GB', 'rtl'],
    ['zh-TW, zh-CN;q=0.9', 'fr', 'zh-Hans', 'zh-CN', 'ltr'],
    ['ja;q=0, *', 'he', 'he', 'he-GB', 'rtl'],
    ['', 'pt-BR', 'pt', 'pt-BR', 'ltr'],
    ['not a tag, x', 'tlh', 'en', 'en-GB', 'ltr'],
    ['en', 'fr', 'en', 'en-GB', 'ltr'],
    ['en-US', 'fr', 'en', 'en-US', 'ltr'],
  ] as const;
  for (const [accepted, stored, tag, locale, direction] of cases) {
    const found = recipientLanguageOf(services, accepted, { emailLocale: stored, store });
    assert.deepEqual([found.tag, found.locale, found.direction], [tag, locale, direction], accepted);
    assert.equal(found.texts.title, textsOf(tag).get('title'));
    assert.equal(found.shared.cardTitle, languageOf(tag).texts.cardTitle);
  }
});

test('in every language, a sentence of the pages that ends with a name with a full stop has one', () => {
  const twoStops = /\.[\u200e\u200f\u2066-\u2069]*\./;
  for (const tag of languages) {
    for (const area of ['recipient', 'buyer'] as const) {
      for (const [name, text] of textsOf(tag, area)) {
        const names = (text.match(/(?<=\{)\w+(?=\})/g) ?? []).map((key) => [key, 'Flowers & Co.'] as const);
        const marked = names.map(([key, value]) => [key, markup`<bdi>${value}</bdi>`] as const);
        assert.doesNotMatch(fillPlain(text, Object.fromEntries(names)), twoStops, `${tag} ${name}`);
        const html = String(fill(text, Object.fromEntries(marked)));
        assert.doesNotMatch(html.replaceAll(/<[^>]*>/g, ''), twoStops, `${tag} ${name}`);
      }
    }
  }
}); // prettier-ignore
