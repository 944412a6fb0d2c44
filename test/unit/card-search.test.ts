/** The meaning of texts in the search field of the console. */

import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { likelyLastCharacters, meaningOf, type SearchMeaning } from '../../src/core/cards/domain/search.ts';
import { codeAlphabet } from '../../src/core/cards/domain/code.ts';

/** The meaning on one line: `code`, `code or text=Margaret`, `order_id=7`, … */
function lineOf(meaning: SearchMeaning): string {
  switch (meaning.kind) {
    case 'code':
      return meaning.otherwise
        ? `code or ${meaning.otherwise.name}=${meaning.otherwise.value}`
        : `code ${meaning.readings[0].code.reveal()}`;
    case 'filter':
      return [meaning.filter, ...meaning.others].map(({ name, value }) => `${name}=${value}`).join(' or ');
    case 'nothing':
    case 'invalid':
    case 'wrong-code':
      return meaning.kind;
  }
}

const meanings: readonly (readonly [typed: string, meaning: string])[] = [
  ['', 'nothing'],
  ['   ', 'nothing'],
  ['7f3k9mqxvkhh22p0', 'code 7f3k9mqxvkhh22p0'],
  [' 7F3K 9MQX VKHH 22P0 ', 'code 7f3k9mqxvkhh22p0'],
  ['7f3k-9mqx-vkhh-22p0', 'code 7f3k9mqxvkhh22p0'],
  ['gift2026abc', 'code gift2026abc'],
  ['7f3k9mqxvkhh22p', 'code 7f3k9mqxvkhh22p'],
  ['the card 7f3k9mqxvkhh22p0 please', 'code 7f3k9mqxvkhh22p0'],
  ['code:7f3k-9mqx-vkhh-22p0', 'code 7f3k9mqxvkhh22p0'],
  ['code: qhrzqtfbrzmzkfze', 'code or text=code: qhrzqtfbrzmzkfze'],
  ['the qhrzqtfbrzmzkfze or 7f3k9mqxvkhh22p0', 'code 7f3k9mqxvkhh22p0'],
  ['7f3k9mqxvkhh22p07f3k9mqxvkhh22p0', 'wrong-code'],
  // A scanner types these on a German and on a French keyboard, and in a link.
  ['qrhyqtfbrymzkfye-7', 'code qrhyqtfbrymzkfye7'],
  ['(5”ye', 'text=(5”ye'],
  ['&é"azerty&é"azer', 'code azertyazer'],
  ['https://cards.example/b/card#7F3K9MQXVKHH22P0', 'code 7f3k9mqxvkhh22p0'],
  ['Margaret', 'code or text=Margaret'],
  ['Emma Watt', 'code or text=Emma Watt'],
  ['1002003004', 'code or order_id=1002003004'],
  ['vkhh', 'last_characters=vkhh or text=vkhh'],
  ['VK7H', 'last_characters=vk7h or text=VK7H'],
  ['1009', 'last_characters=1009 or order_id=1009'],
  ['#1009', 'order_id=1009'],
  ['# 77', 'order_id=77'],
  ['77', 'order_id=77'],
  ['0', 'text=0'],
  ['grace@example.com', 'email=grace@example.com'],
  ['grace@', 'text=grace@'],
  ['Grace Hopper', 'text=Grace Hopper'],
  ['Jonas Weiß', 'text=Jonas Weiß'],
  ['“receipt1017”', 'code or note=receipt1017'],
  ['paid with receipt1017', 'code or text=paid with receipt1017'],
  ['"7f3k9mqxvkhh22p0"', 'code 7f3k9mqxvkhh22p0'],
  ['sold at the counter in 2025 for Anna', 'text=sold at the counter in 2025 for Anna'],
  ['7f3k 9mqx vkhh 22p0 7f3k 9mqx vkhh 22p0', 'wrong-code'],
  ['"counter"', 'note=counter'],
  ['«marché»', 'note=marché'],
  ['""', 'nothing'],
  ['a\u0000b', 'invalid'],
  ['x '.repeat(70), 'invalid'],
  ['x'.repeat(301), 'invalid'],
];

for (const [typed, meaning] of meanings)
  test(`the search field reads ${JSON.stringify(typed.slice(0, 40))} as ${meaning.slice(0, 60)}`, () => {
    assert.equal(lineOf(meaningOf(typed)), meaning);
  });

test('a generated code with a digit never becomes a filter, however it is written', () => {
  const symbols = fc.constantFrom(...Array.from(codeAlphabet));
  const codes = fc.string({ unit: symbols, minLength: 16, maxLength: 16 }).filter((code) => /\d/.test(code));
  const written = fc.tuple(
    codes,
    fc.constantFrom('', ' ', '-'),
    fc.boolean(),
    fc.constantFrom('', '  ', '\t'),
  );
  fc.assert(
    fc.property(written, ([code, separator, isUpper, around]) => {
      const groups = (code.match(/.{4}/g) ?? []).join(separator);
      const meaning = meaningOf(`${around}${isUpper ? groups.toUpperCase() : groups}${around}`);
      assert.equal(lineOf(meaning), `code ${code}`);
    }),
  );
});

test('letters that codes never have are read as the digits they look like', () => {
  assert.equal(likelyLastCharacters('7o2p'), '702p');
  assert.equal(likelyLastCharacters('il0o'), '1100');
  assert.equal(likelyLastCharacters('7f3k'), null);
});
