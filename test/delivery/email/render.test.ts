import assert from 'node:assert/strict';
import test from 'node:test';
import { crc32, inflateSync } from 'node:zlib';
import { cardDesigns, designColors, type PicturedDesign } from '../../../src/core/cards/domain/design.ts';
import { brandOf, legibilityOn } from '../../../src/features/emails/delivery/colour.ts';
import { drawingImage } from '../../../src/features/emails/delivery/drawing.ts';
import { designCid } from '../../../src/features/emails/delivery/html.ts';
import {
  languageOf,
  languages,
  localeOfParts,
  localePartsOf,
} from '../../../src/features/emails/delivery/language.ts';
import { renderEmail } from '../../../src/features/emails/delivery/render.ts';
import en from '../../../src/features/emails/delivery/locales/en.json' with { type: 'json' };
import { everyContent, groupedCode, money, contentWith, senderWith } from './samples.ts';

/** The text that a client shows: without tags, unescaped. */
function shownText(html: string): string {
  const body = html
    .slice(html.indexOf('<body'))
    .replaceAll(/<!--[\s\S]*?-->/g, '')
    .replaceAll(/<br \/>/g, '\n')
    .replaceAll(/<\/?bdi[^>]*>/g, '')
    .replaceAll(/<[^>]*>/g, ' ');
  const named: Readonly<Record<string, string>> = { nbsp: '\u00a0', bull: '•' };
  return body.replaceAll(/&(?:#(\d+)|(\w+));/g, (_, digits?: string, name: string = '') =>
    digits === undefined ? (named[name] ?? assert.fail(`&${name};`)) : String.fromCodePoint(Number(digits)),
  );
}

const squeezed = (text: string): string =>
  text.replaceAll(/[\u2066-\u2069\u200e\u200f]/g, '').replaceAll(/\s+/g, ' ');

test('every language has every text, with the placeholders of the English one', async (t) => {
  assert.ok(languages.length >= 16, `only ${languages.length} languages`);
  const placeholders = (text: string): readonly string[] => (text.match(/\{\w*\}/g) ?? []).toSorted();
  for (const language of languages) {
    await t.test(language, () => {
      const { texts } = languageOf(language);
      assert.deepEqual(Object.keys(texts), Object.keys(en));
      for (const [name, english] of Object.entries(en)) {
        const text = texts[name as keyof typeof en];
        assert.deepEqual(placeholders(text), placeholders(english), name);
        assert.equal(text, text.trim().normalize('NFC'), name);
        // Two languages share short words only; an equal sentence is not translated.
        if (language !== 'en' && english.length > 20) assert.notEqual(text, english, name);
      }
    });
  }
});

test('in every language, the plain text of every kind contains everything in the HTML', async (t) => {
  for (const locale of languages) {
    await t.test(locale, () => {
      for (const content of everyContent()) {
        const { subject, html, text, kind } = renderEmail(content, senderWith({ locale }));
        for (const part of [subject, html, text])
          assert.doesNotMatch(part, /undefined|null|NaN|\[object|\{\w+\}/);
        assert.match(subject, /\S/);
        const plain = squeezed(text);
        const preheader = /mso-hide:all">([\s\S]*?)<\/div>/.exec(html)?.[0] ?? '';
        const shown = shownText(html.replace(preheader, '>'));
        // Every text between two tags of the HTML is in the plain text, except the dots of the card.
        for (const line of shown.split(/ {2,}|\n/).map((part) => squeezed(part).trim())) {
          assert.ok(
            plain.includes(line.replace('•••• ', '')),
            `${kind}: "${line}" is not in the text:\n${plain}`,
          );
        }
        for (const [, url = ''] of html.matchAll(/href="([^"]*)"/g)) {
          assert.ok(text.includes(shownText(`<body>${url}`).trim()), `${kind}: ${url}`);
        }
      }
    });
  }
});

test('in right-to-left emails, the letters of a currency such as US$ stay at its sign', () => {
  for (const locale of ['ar', 'ar-EG', 'he']) {
    for (const [currency, symbol] of [
      ['USD', locale === 'he' ? '$' : 'US$'],
      ['CAD', 'CA$'],
    ] as const) {
      const amount = money(5_000n, currency);
      for (const content of everyContent({ amount })) {
        const { html, text, subject } = renderEmail(content, senderWith({ locale }));
        for (const part of [html, text, subject]) {
          // The mark after the sign gives it the direction of the letters before it.
          const symbols = [...part.matchAll(/[A-Z]+\$(.?)/gu)];
          for (const [found, mark] of symbols) assert.equal(mark, '\u200e', found);
          if (symbol !== '$' && part !== subject) assert.ok(symbols.length > 0, `${content.kind}: ${part}`);
        }
      }
    }
  }
  const { text } = renderEmail(contentWith('gift_card', { amount: money(5_000n, 'USD') }), senderWith());
  assert.doesNotMatch(text, /\u200e/);
});

test('only the gift card email contains the code, in groups and as a QR code', () => {
  for (const content of everyContent()) {
    const { html, text, images, subject } = renderEmail(content, senderWith());
    const everything = `${subject}${html}${text}`;
    const isCard = content.kind === 'gift_card';
    assert.equal(text.includes(groupedCode), isCard, content.kind);
    assert.equal(html.includes(groupedCode), isCard, content.kind);
    assert.equal(images.length, isCard ? 1 : 0);
    for (const image of images) assert.ok(html.includes(`src="cid:${image.cid}"`));
    if (!isCard) assert.doesNotMatch(everything, /qyw7|j8tj|rj3p/i);
    assert.doesNotMatch(everything, /qyw7j8tjrj3pvkhh/i);
  }
});

test('amounts have the format of the locale and the decimals of the currency, and are never rounded', async (t) => {
  const cases: readonly (readonly [string, bigint, string, string])[] = [
    ['en', 123_450n, 'USD', '$1,234.50'],
    ['de', 123_450n, 'EUR', '1.234,50 €'],
    ['de-AT', 123_450n, 'EUR', '€ 1.234,50'],
    ['de-CH', 123_450n, 'CHF', "CHF 1'234.50"],
    ['fr', 123_450n, 'EUR', '1 234,50 €'],
    ['ja', 5_000n, 'JPY', '￥5,000'],
    ['en', 5_000n, 'JPY', '¥5,000'],
    ['en', 12_345n, 'KWD', 'KWD 12.345'],
    ['ar', 12_345n, 'KWD', '12.345 د.ك.'],
    ['he', 123_450n, 'ILS', '1,234.50 ₪'],
    ['uk', 123_450n, 'UAH', '1 234,50 ₴'],
    ['ko', 5_000n, 'KRW', '₩5,000'],
    ['pt-BR', 123_450n, 'BRL', 'R$ 1.234,50'],
    ['zh-Hans', 123_450n, 'CNY', '¥1,234.50'],
    ['en', 9_007_199_254_740_993n, 'CLF', 'CLF 900,719,925,474.0993'],
    ['en', 99_999_999_999_999n, 'USD', '$999,999,999,999.99'],
  ];
  for (const [locale, minor, currency, written] of cases) {
    await t.test(`${locale} ${currency}: ${written}`, () => {
      const content = contentWith('gift_card', { amount: money(minor, currency) });
      const { text, html } = renderEmail(content, senderWith({ locale }));
      assert.ok(squeezed(text).includes(` ${written}`), text);
      assert.ok(squeezed(shownText(html)).includes(written));
    });
  }
});

test('days have the format of the locale, in the Gregorian calendar', async (t) => {
  const cases = {
    en: 'December 31, 2031',
    'en-GB': '31 December 2031',
    de: '31. Dezember 2031',
    fr: '31 décembre 2031',
    pl: '31 grudnia 2031',
    ja: '2031年12月31日',
    ko: '2031년 12월 31일',
    he: '31 בדצמבר 2031',
    'ar-SA': '٣١ ديسمبر ٢٠٣١',
  };
  for (const [locale, written] of Object.entries(cases)) {
    await t.test(locale, () => {
      const { text } = renderEmail(contentWith('expiry_reminder'), senderWith({ locale }));
      assert.ok(squeezed(text).includes(written), text);
    });
  }
});

test('an email in a language without texts is completely in English', () => {
  const english = renderEmail(contentWith('gift_card'), senderWith());
  for (const locale of ['fi', 'zh-TW', 'zh-Hant', 'th-TH-u-ca-buddhist-nu-thai', '', 'not a language', 'x']) {
    assert.deepEqual(renderEmail(contentWith('gift_card'), senderWith({ locale })), english, locale);
  }
  assert.match(renderEmail(contentWith('gift_card'), senderWith({ locale: 'zh-CN' })).subject, /礼品卡/);
  assert.match(
    renderEmail(contentWith('gift_card'), senderWith({ locale: 'DE_de'.replace('_', '-') })).html,
    /lang="de-DE"/,
  );
});

test('right-to-left emails declare their direction and keep codes, addresses and values in order', () => {
  for (const locale of ['ar', 'he', 'ar-EG']) {
    for (const content of everyContent()) {
      const { html, text } = renderEmail(content, senderWith({ locale }));
      assert.match(html, new RegExp(`<html lang="${locale}" dir="rtl"`));
      assert.match(html, /text-align:right/);
      assert.match(html, /<bdi dir="ltr">help@flowers\.example<\/bdi>/);
      assert.ok(text.includes('\u2066help@flowers.example\u2069'));
      if (content.kind === 'gift_card') {
        assert.ok(html.includes(`<bdi dir="ltr">${groupedCode}</bdi>`));
        // On its own line, without an invisible character that would be copied with it.
        assert.ok(text.split('\n').includes(groupedCode));
      }
    }
  }
  for (const locale of languages.filter((language) => !['ar', 'he'].includes(language))) {
    const { html, text } = renderEmail(contentWith('gift_card'), senderWith({ locale }));
    assert.match(html, new RegExp(`<html lang="${locale}" dir="ltr"`));
    assert.doesNotMatch(text, /[\u2066-\u2069]/);
  }
});

/** Two full stops of any script, with nothing between them but quotation marks and invisible characters. */
const twoStops = /[.。]["'»”“’」\u200e\u200f\u2066-\u2069]*[.。।]/u;

test('in every language, a sentence that ends with the name of a store or of a person has one full stop', async (t) => {
  assert.match(renderEmail(contentWith('gift_card'), senderWith({ name: 'Flowers & Co.' })).text, /to spend at Flowers & Co\.\n/);
  for (const locale of languages) {
    await t.test(locale, () => {
      // The symbol of dirhams has full stops in Arabic.
      for (const content of ['EUR', 'AED'].flatMap((currency) => everyContent({ senderName: 'Ada Jr.', recipientName: 'Grace Sr.', amount: money(5_000n, currency) }))) {
        const email = renderEmail(content, senderWith({ locale, name: 'Flowers & Co.' }));
        for (const part of [email.subject, email.text, email.html.replaceAll(/<[^>]*>/g, '')]) assert.doesNotMatch(part, twoStops, content.kind);
      }
    });
  }
}); // prettier-ignore

test('text on a store’s colour is readable', async (t) => {
  const cases = {
    '#ffffff': '#1a1a1a',
    '#f5c518': '#1a1a1a',
    '#000000': '#ffffff',
    '#1f4d3f': '#ffffff',
    '#c2185b': '#ffffff',
  } as const;
  for (const [colour, foreground] of Object.entries(cases)) {
    await t.test(colour, () => {
      const { html } = renderEmail(contentWith('gift_card'), senderWith({ colour: colour as `#${string}` }));
      assert.ok(html.includes(`bgcolor="${colour}"`));
      assert.ok(html.includes(`<td colspan="2" style="color:${foreground};`), html);
    });
  }
  const { html } = renderEmail(
    contentWith('gift_card'),
    senderWith({ colour: '#fff;background:url(https://x.example)' }),
  );
  assert.doesNotMatch(html, /x\.example/);
});

test('every email says below itself who the shop is and how to reach it, in HTML and as text', () => {
  const sender = senderWith({
    name: 'Flowers <i>',
    website: 'https://flowers.example/a?b="c',
    phone: '+33 (0)1 42',
    hours: 'Mo–Sa <9–19>\nSo',
    terms: 'https://flowers.example/agb',
    place: { name: 'Market', address: '12 <b>Street</b>\n\n75001 Paris' },
  });
  for (const content of everyContent()) {
    const { html, text } = renderEmail(content, sender);
    const [, foot = ''] = html.split('<table class="rule"');
    for (const shown of [
      '<bdi>Flowers &lt;i&gt;</bdi>',
      '<bdi>Market</bdi> &middot; <bdi>12 &lt;b&gt;Street&lt;/b&gt;</bdi> &middot; <bdi>75001 Paris</bdi>',
      'href="tel:+330142"',
      'href="https://flowers.example/a?b=%22c"',
      'flowers.example/a?b=%22c</a>',
      '<bdi>Mo–Sa &lt;9–19&gt;</bdi>',
      'href="https://flowers.example/agb"',
    ])
      assert.ok(foot.includes(shown), `${content.kind} ${shown}`);
    const lines = [
      '12 <b>Street</b>',
      '75001 Paris',
      '+33 (0)1 42',
      'https://flowers.example/a?b=%22c',
      'Mo–Sa <9–19>',
    ];
    const [, end = ''] = text.split('\n-- \n');
    for (const line of [...lines, 'Terms of gift cards:', 'https://flowers.example/agb'])
      assert.ok(`\n${end}`.includes(`\n${line}\n`), `${content.kind} ${line}`);
  }
  const plain = renderEmail(contentWith('receipt'), senderWith({ terms: 'javascript:alert(1)' }));
  assert.doesNotMatch(plain.html, /tel:|javascript|undefined|null/);
});

test('links and buttons have shades of the color that can be read on light and on dark ground', () => {
  const { html } = renderEmail(contentWith('gift_card'), senderWith({ colour: '#ffee00' }));
  const { light, dark } = brandOf('#ffee00').shades;
  assert.ok(html.includes(`<td class="call" align="center" bgcolor="${light.color}"`));
  assert.ok(html.includes(`font-weight:600;color:${light.text}`));
  assert.ok(html.includes(`.call { background: ${dark.color} !important;`));
  assert.ok(html.includes(`.link { color: ${dark.color} !important; }`));
});

test('rendering throws for a link that is neither https nor http to this machine', () => {
  const render = (pageUrl: string) => () => renderEmail(contentWith('gift_card', { pageUrl }), senderWith());
  for (const url of [
    'http://flowers.example/',
    'javascript:alert(1)',
    'flowers.example',
    'https://user:pw@flowers.example/',
  ])
    assert.throws(render(url), /must be https/, url);
  for (const url of ['http://localhost:3000/x', 'http://127.0.0.1:3000/x', 'http://[::1]:3000/'])
    render(url)();
});

test('the HTML loads no resource, runs no script, and is far below Gmail’s limit', () => {
  for (const locale of languages) {
    for (const content of everyContent({ message: 'm'.repeat(5_000) })) {
      const { html } = renderEmail(content, senderWith({ locale }));
      assert.doesNotMatch(
        html,
        /<(?:script|link|iframe|form|svg|video|object)|@import|url\(|javascript:|\son\w+=/i,
      );
      assert.ok(Buffer.byteLength(html) < 60_000);
      for (const [, source = ''] of html.matchAll(/src="([^"]*)"/g)) assert.match(source, /^cid:/);
      for (const [tag = ''] of html.matchAll(/<img[^>]*>/g)) assert.match(tag, / alt="[^"]+"/);
      for (const [tag = ''] of html.matchAll(/<table[^>]*>/g)) assert.match(tag, /role="presentation"/);
      assert.match(html, /<meta name="color-scheme" content="light dark"/);
      assert.match(html, /prefers-color-scheme: dark/);
      assert.match(html, /max-width:600px/);
    }
  }
});

test('every locale is the one of its language and region', () => {
  for (const language of languages) {
    for (const region of ['', 'CH', 'MO']) {
      const locale = localeOfParts({ language, region });
      assert.ok(locale.ok, `${language} ${region}`);
      assert.deepEqual(localePartsOf(locale.value), { language, region });
    }
  }
  assert.deepEqual(localePartsOf('zh-TW'), { language: 'en', region: '' });
  assert.deepEqual(localePartsOf('zh-CN'), { language: 'zh-Hans', region: 'CN' });
  for (const region of ['XY', '1', 'DEU', 'd-'])
    assert.deepEqual(localeOfParts({ language: 'de', region }), { ok: false, error: 'region' });
  assert.deepEqual(localeOfParts({ language: 'tlh', region: '' }), { ok: false, error: 'language' });
});

test('no color has text that is harder to read than on the worst gray', () => {
  let worst = 21;
  for (let level = 0; level < 256; level += 1) {
    const { contrast, isReadable } = legibilityOn(`#${level.toString(16).padStart(2, '0').repeat(3)}`);
    assert.equal(isReadable, contrast >= 4.5);
    worst = Math.min(worst, contrast);
  }
  assert.ok(worst > 4.1 && worst < 4.5, String(worst));
  const { foreground, hasEdge, colour } = legibilityOn(null);
  assert.deepEqual([foreground, hasEdge, colour], ['white', false, '#1f4d3f']);
});

test('a gift card with a design is a card with its texts on the ground, with and without its drawing', () => {
  for (const locale of ['en', 'ar']) {
    for (const design of cardDesigns) {
      const content = contentWith('gift_card', { design });
      const { html, images, text } = renderEmail(content, senderWith({ locale }));
      const drawing = images.find(({ filename }) => filename === 'gift.png');
      assert.equal(drawing !== undefined, design !== 'plain', design);
      assert.equal(html.includes(`src="cid:${designCid}"`), design !== 'plain', design);
      const shown = html.slice(html.indexOf('<h1'));
      assert.ok(shown.indexOf('Happy birthday!') < shown.indexOf('50.00'), 'the message comes first');
      assert.match(text, /> Happy birthday!\n\n[^\n]*Ada/);
      if (design === 'plain') continue;
      const { ground, ink } = designColors[design];
      const [, card = ''] = html.split(`bgcolor="${ground}"`);
      assert.match(card, new RegExp(`color:${ink}"[^]*50\\.00`));
      assert.doesNotMatch(html.replaceAll(/<img[^>]*>/g, ''), new RegExp(designCid));
    }
  }
});

test('a card without a design of its own has that of the store, and only the gift card has one', () => {
  for (const content of everyContent()) {
    const { images, html } = renderEmail(content, senderWith({ design: 'winter' }));
    assert.equal(
      images.some(({ cid }) => cid === designCid),
      content.kind === 'gift_card',
      content.kind,
    );
    assert.equal(html.includes(designColors.winter.ground), content.kind === 'gift_card', content.kind);
  }
});

/** The lines of a drawing, without its palette: the numbers of the colors. */
function linesOf(file: Uint8Array): readonly (readonly number[])[] {
  const bytes = Buffer.from(file);
  const parts: Buffer[] = [];
  for (let at = 8; at < bytes.length;) {
    const length = bytes.readUInt32BE(at);
    const body = bytes.subarray(at + 4, at + 8 + length);
    assert.equal(bytes.readUInt32BE(at + 8 + length), crc32(body), 'the checksum of each part');
    if (body.toString('latin1', 0, 4) === 'IDAT') parts.push(body.subarray(4));
    at += 12 + length;
  }
  const width = bytes.readUInt32BE(16);
  const pixels = inflateSync(Buffer.concat(parts));
  assert.equal(pixels.length, (width + 1) * bytes.readUInt32BE(20));
  return Array.from({ length: bytes.readUInt32BE(20) }, (_, line) => [
    ...pixels.subarray(line * (width + 1) + 1, (line + 1) * (width + 1)),
  ]);
}

test('the drawings of emails have the ground of their designs, and are mirrored for right-to-left languages', () => {
  let size = 0;
  for (const [design, { ground }] of Object.entries(designColors)) {
    const name = design as PicturedDesign;
    const file = Buffer.from(drawingImage(name, false));
    size += file.length;
    const palette = file.subarray(file.indexOf('PLTE') + 4);
    const lines = linesOf(file);
    const colorAt = (index: number): string => `#${palette.toString('hex', 3 * index, 3 * index + 3)}`;
    const edge = lines.map(([first = 0]) => colorAt(first));
    assert.ok(
      edge.filter((color) => color === ground).length > lines.length / 2,
      `${design}: ${edge.join()}`,
    );
    assert.deepEqual(
      linesOf(drawingImage(name, true)),
      lines.map((line) => line.toReversed()),
      design,
    );
  }
  assert.ok(size < 100_000, String(size));
});
