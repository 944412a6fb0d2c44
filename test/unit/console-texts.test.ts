/** The texts of the pages: every language has all of them, and no page has a text outside of the catalogues. */

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import test from 'node:test';
import { parseSync, Visitor } from 'oxc-parser';
import { pageLanguages, type TextLanguage } from '../../src/pages/kit/texts.ts';

type Texts = { readonly [name: string]: string | Texts };
type Text = { readonly name: string; readonly text: string };

const folder = 'src/pages/locales';
const scripts = globSync('src/**/*.ts').map((path) => ({ path, source: readFileSync(path, 'utf8') }));
const pages = scripts.filter(({ path }) => /^src\/(?:pages|features\/[\w-]+\/pages)\//.test(path));

const catalogues = Object.fromEntries(
  pageLanguages.map((language) => [
    language,
    JSON.parse(readFileSync(`${folder}/${language}.json`, 'utf8')) as Texts,
  ]),
) as Readonly<Record<TextLanguage, Texts>>;
const areas = Object.keys(catalogues.en);

function textsIn(language: TextLanguage, area: string): readonly Text[] {
  const flat = (texts: Texts, prefix: string): readonly Text[] =>
    Object.entries(texts).flatMap(([key, text]) =>
      typeof text === 'string' ? [{ name: `${prefix}${key}`, text }] : flat(text, `${prefix}${key}.`),
    );
  const texts = catalogues[language][area];
  return typeof texts === 'object' ? flat(texts, '') : [];
}

function placeholdersOf(text: string): readonly string[] {
  return (text.match(/\{[a-z]+\}/g) ?? []).toSorted();
}

test('every language has the areas, texts and placeholders of English', () => {
  assert.ok(areas.length > 0);
  for (const language of pageLanguages) {
    assert.deepEqual(Object.keys(catalogues[language]), areas);
    for (const area of areas) {
      const english = textsIn('en', area);
      const texts = textsIn(language, area);
      const where = `${language}/${area}`;
      assert.deepEqual(
        texts.map(({ name }) => name),
        english.map(({ name }) => name),
        where,
      );
      for (const [index, { name, text }] of texts.entries()) {
        const { text: original = '' } = english[index] ?? {};
        const isPlural = name.endsWith('.one');
        const wanted = placeholdersOf(original).filter((each) => !isPlural || each !== '{count}');
        const found = placeholdersOf(text).filter((each) => !isPlural || each !== '{count}');
        assert.deepEqual([...new Set(found)], [...new Set(wanted)], `${where}: ${name}`);
      }
    }
  }
});

test('a text is not empty, has no blanks around it, and is not HTML', () => {
  for (const language of pageLanguages) {
    for (const area of areas) {
      for (const { name, text } of textsIn(language, area)) {
        const where = `${language}/${area}: ${name}`;
        assert.equal(text, text.trim(), where);
        assert.notEqual(text, '', where);
        assert.doesNotMatch(text, /<\/?\w|&(?:\w+|#\d+);/, where);
        assert.doesNotMatch(text.replaceAll(/\{[a-z]+\}/g, ''), /[{}]/, `${where}: an invalid placeholder`);
      }
    }
  }
});

test('texts of other languages are translated', () => {
  // Names, and words that the languages share, are the same. A whole sentence is not.
  for (const language of pageLanguages.filter((each) => each !== 'en')) {
    for (const area of areas) {
      const english = new Map(textsIn('en', area).map(({ name, text }) => [name, text]));
      for (const { name, text } of textsIn(language, area)) {
        if (text.split(' ').length > 4)
          assert.notEqual(text, english.get(name), `${language}/${area}: ${name}`);
      }
    }
  }
});

/**
 * The product has one name in each language; where it is clear, texts shorten it to *card*. The law's term for its VAT is
 * another one.
 */
const otherNames = {
  en: /(?<!-purpose )\bvouchers?\b|gift certificate/i,
  de: /(?<!(?:Einzweck|Mehrzweck)-)gutschein|wertkarte|guthabenkarte|geschenkekarte/i,
  fr: /ch[eè]que|\bbons? (?:cadeau|d’achat)|carte-cadeau|cartes cadeau\b/i,
  es: /tarjetas? de regalo|tarjetas regalos|\b(?:vale|cheque)s? (?:de )?regalo|\bbonos? (?!(?:uni|poli)valente)/i,
} as const;

const productNames = {
  en: ['Gift card', 'Gift cards'],
  de: ['Geschenkkarte', 'Geschenkkarten'],
  fr: ['Carte cadeau', 'Cartes cadeaux'],
  es: ['Tarjeta regalo', 'Tarjetas regalo'],
} as const;

test('the product has one name in each language', () => {
  for (const language of pageLanguages) {
    const files = [
      `src/pages/locales/public/${language}.json`,
      `src/features/emails/delivery/locales/${language}.json`,
    ];
    const outside = files.map((path) => readFileSync(path, 'utf8'));
    for (const text of [
      ...areas.flatMap((area) => textsIn(language, area).map((each) => each.text)),
      ...outside,
    ])
      assert.doesNotMatch(text, otherNames[language], language);
    for (const area of areas) {
      const english = new Map(textsIn('en', area).map(({ name, text }) => [name, text]));
      for (const { name, text } of textsIn(language, area)) {
        const index = productNames.en.findIndex((each) => each === english.get(name));
        if (index >= 0) assert.equal(text, productNames[language][index], `${language}/${area}: ${name}`);
      }
    }
  }
});

test('every text is used', () => {
  const has = (sources: typeof scripts, pattern: RegExp): boolean =>
    sources.some(({ source }) => pattern.test(source));
  const isNamed = (sources: typeof scripts, word: string): boolean =>
    has(sources, new RegExp(`(?<![\\w-])${word}(?![\\w-])`));
  /** By its name, or as one of several with the same end: `${kind}Title`. */
  const uses = (sources: typeof scripts, word: string): boolean => {
    if (isNamed(sources, word)) return true;
    const [, start = '', end = ''] = /^(.+)([A-Z][a-z]+)$/.exec(word) ?? [];
    return end !== '' && has(sources, new RegExp(`\\}${end}\``)) && isNamed(sources, start);
  };
  const unused = areas.flatMap((area) => {
    // An area's texts can be passed on to other files.
    const others = pages.filter(({ path }) => !path.includes('/locales/'));
    return textsIn('en', area)
      .filter(({ name }) => {
        const [first = '', ...inner] = name.split('.');
        // Texts for the values of a type are found by the value, which another layer defines.
        return !uses(others, first) || inner.some((key) => !uses(scripts, key));
      })
      .map(({ name }) => `${area}: ${name}`);
  });
  assert.deepEqual(unused, []);
});

/** Texts that are the same in every language. */
const allowed = [
  /\bLargesse\b/g,
  /\bAPI\b/g,
  /\bEd25519\b/g,
  /\bnpx largesse [\w @.-]+/g,
  /\b\w{4}(?: \w{4}){3}\b/g,
];

/** The texts in a template of `markup`, with `\0` for each of its values. */
function literalTexts(template: string): readonly string[] {
  // Attributes without a tag: ` required`.
  if (/^(?:\s[\w-]+(?:="[^"]*")?)+\s?$/.test(template)) return [];
  const attributes = Array.from(
    template.matchAll(/\s(?:aria-label|title|alt|placeholder|aria-description)="([^"]*)"/g),
    ([, value = '']) => value,
  );
  const text = template.replaceAll(/<(code|kbd|style)\b[^>]*>.*?<\/\1>/gs, '').replaceAll(/<[^>]*>/g, '\n');
  return [...attributes, ...text.split(/[\n\0]/)]
    .map((each) =>
      allowed.reduce((rest, pattern) => rest.replaceAll(pattern, ''), each.replaceAll(/&#?\w+;/g, '')).trim(),
    )
    .filter((each) => /\p{L}{2}/u.test(each));
}

function templatesOf(path: string, source: string): readonly string[] {
  const found: string[] = [];
  new Visitor({
    TaggedTemplateExpression({ tag, quasi }) {
      if (tag.type === 'Identifier' && tag.name === 'markup')
        found.push(quasi.quasis.map(({ value }) => value.raw).join('\0'));
    },
  }).visit(parseSync(path, source).program);
  return found;
}

test('pages have no visible text in their templates', () => {
  assert.deepEqual(literalTexts('<p title="Close">Hello <b>\0</b></p>'), ['Close', 'Hello']);
  assert.deepEqual(literalTexts('<p class="soft">\0 · Largesse<code>npm start</code></p>'), []);
  assert.deepEqual(literalTexts(' aria-current="page"'), []);
  assert.deepEqual(literalTexts('Sign in'), ['Sign in']);
  const found = pages.flatMap(({ path, source }) =>
    templatesOf(path, source).flatMap((template) => literalTexts(template).map((text) => `${path}: ${text}`)),
  );
  assert.deepEqual(found, []);
});
