/** Corrected email addresses in the tables of people. */

import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { resultOf } from '../../src/core/domain/paused.ts';
import { correctionLinesMax, readCorrections } from '../../src/features/emails/domain/corrections.ts';
import { MalformedTable } from '../../src/core/tables/domain/table-text.ts';

const wrong = new Set(['ada@exmaple.com', 'grace@example.con']);

test('a line with a wrong address and one other has the right one, in any columns and with any separator', () => {
  for (const text of [
    'Name;Old;New\r\nAda;Ada@Exmaple.com;ada@example.com\r\nGrace;grace@example.con; grace@example.com \r\n',
    'ada@example.com\tada@exmaple.com\ngrace@example.com\tgrace@example.con',
    'x,y\n"ada@exmaple.com","ada@example.com"\ngrace@example.con,call 12 @ noon,grace@example.com\nida@example.com,i@example.com',
  ])
    assert.deepEqual(
      resultOf(readCorrections(text, wrong)),
      {
        right: new Map([
          ['ada@exmaple.com', 'ada@example.com'],
          ['grace@example.con', 'grace@example.com'],
        ]),
        unclear: 0,
      },
      text,
    );
});

test('an address that is invalid, missing, or not the only one is left to the person', () => {
  for (const [text, unclear] of [
    ['ada@exmaple.com,ada@@example.com', 1],
    ['ada@exmaple.com,ada@example.com,a@example.com', 1],
    ['ada@exmaple.com,ada@example.com\nada@exmaple.com,a@example.com', 1],
    ['ada@exmaple.com,grace@example.con,ada@example.com', 1],
    ['ada@exmaple.com,', 0],
    ['ada@exmaple.com,ADA@exmaple.com', 0],
    ['other@example.com,another@example.com', 0],
    ['', 0],
  ] as const)
    assert.deepEqual(resultOf(readCorrections(text, wrong)), { right: new Map(), unclear }, text);
});

test('the same correction twice is one, and a table has a limit of lines', () => {
  const line = 'ada@exmaple.com,ada@example.com\n';
  assert.equal(resultOf(readCorrections(line.repeat(correctionLinesMax), wrong)).right.size, 1);
  assert.throws(() => resultOf(readCorrections(line.repeat(correctionLinesMax + 1), wrong)), MalformedTable);
});

/** A lone quotation mark makes a table unreadable. */
function unquoted(text: string): string {
  return text.replaceAll('"', '');
}

test('any table has only corrections of wrong addresses, and never their own address', () => {
  const cell = fc.oneof(
    fc.constantFrom(...wrong, 'ada@example.com', 'b@example.com', '@', ''),
    fc.string().map(unquoted),
  );
  fc.assert(
    fc.property(fc.array(fc.array(cell, { maxLength: 4 }), { maxLength: 20 }), (rows) => {
      const { right, unclear } = resultOf(
        readCorrections(rows.map((row) => row.join(';')).join('\n'), wrong),
      );
      assert.ok(right.size + unclear <= wrong.size);
      for (const [old, address] of right) assert.ok(wrong.has(old) && address.toLowerCase() !== old);
    }),
  );
});
