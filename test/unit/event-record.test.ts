/** The details of an event are read as if they were parsed. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { hasDetails, parseObject, readDetails } from '../../src/features/proofs/service/event-record.ts';

const record = '{"gift_card":{"id":1,"balance":"1.00"}';
const ids = '"id":4503599627370497,"gift_card_id":4503599627370498';
const transaction = (kind: string, rest = ',"note":null'): string =>
  `,"transaction":{${ids},"kind":"${kind}","amount":"-1.00"${rest}}`;
const hold = `,"hold":{${ids},"status":"captured"}`;

const types = [
  'gift_card.created',
  'gift_card.updated',
  'gift_card.redeemed',
  'gift_card.credited',
  'gift_card.reversed',
  'gift_card.held',
];
const details = [
  '',
  ',',
  ',"changed":["note"]',
  transaction('debit'),
  transaction('capture') + hold,
  transaction('debit') + hold + hold.replace('hold', 'other'),
  transaction('top_up'),
  transaction('top_up') + hold,
  transaction('reversal'),
  transaction('debit', ',"kind":"credit"'),
  transaction('credit', ',"kind":"debit"'),
  transaction('debit', String.raw`,"note":"a \"quoted\" text \u00e9"`),
  transaction('debit', String.raw`,"note":"a wrong \escape"`),
  transaction('debit', ',"note":"a\ttab"'),
  transaction('debit', ',"note":"é 😀 </script>"'),
  transaction('debit', ',"note":01'),
  transaction('debit').replace('"id":', '"ID":'),
  hold,
  hold + hold,
  `${hold}}`,
  transaction('debit').slice(0, -1),
  ' ',
];

test('details are accepted if they are those of the type, and their hold is returned', () => {
  for (const type of types)
    for (const text of details)
      for (const end of ['}', '', '}}', '} ']) {
        const whole = `{"gift_card":null${text}${end}`;
        const parsed = parseObject(whole);
        const expected = parsed && hasDetails(type, parsed) ? (parsed['hold'] ?? null) : undefined;
        const found = readDetails(type, record + text + end, record.length);
        // An event that the program did not write in this form is parsed.
        if (found || JSON.stringify(parsed) === whole)
          assert.deepEqual(found && (found['hold'] ?? null), expected, `${type}: ${text}${end}`);
      }
});
