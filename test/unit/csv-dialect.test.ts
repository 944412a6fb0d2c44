/** CSV in the dialect of a spreadsheet: numbers are numbers, and texts stay as they are. */

import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { csvDialectOf } from '../../src/pages/kit/format.ts';
import { csvOf, csvOfLines, textOfCell } from '../../src/core/tables/domain/csv.ts';
import { tableOf } from '../../src/core/tables/domain/table-text.ts';

test('amounts have the decimal sign of the language, and the file a mark and its separator', () => {
  const rows = [{ day: '2026-11-24', amount: { decimal: '-1234.50' }, count: 12 }];
  const columns = ['day', 'amount', 'count'];
  const inEnglish = '\uFEFFday,amount,count\r\n2026-11-24,-1234.50,12\r\n';
  const inOthers = '\uFEFFday;amount;count\r\n2026-11-24;-1234,50;12\r\n';
  assert.equal(csvOf(columns, rows, csvDialectOf('en')), inEnglish);
  for (const language of ['de', 'es', 'fr'])
    assert.equal(csvOf(columns, rows, csvDialectOf(language)), inOthers);
  assert.equal(csvOf(columns, rows), 'day,amount,count\r\n2026-11-24,-1234.50,12\r\n');
});

test('ids, codes and texts that a spreadsheet would change have an apostrophe in front', () => {
  for (const text of [
    '8856451884966566',
    '0012',
    '12e4',
    '1.5',
    '1,5',
    '3-12',
    '1/2',
    '10:30',
    'mar5',
    'DEC1',
    'true',
    '=1+1',
    '@a',
  ])
    assert.match(csvOf(['a'], [{ a: text }], csvDialectOf('de')).split('\r\n')[1] ?? '', /^"?'/, text);
  for (const text of ['4400', '289n', 'Marie', 'Maybe 5 flowers', '2031-12-31', 'a', ''])
    assert.doesNotMatch(csvOf(['a'], [{ a: text }], csvDialectOf('de')).split('\r\n')[1] ?? '', /'/, text);
  assert.match(csvOf(['a'], [{ a: 8_856_451_884_966_566 }], csvDialectOf('en')), /\n'8856/);
});

test('every text is read back from a dialect', () => {
  const part = fc.constantFrom('0', '12', "'", '=', '-', ';', ',', '.', 'e', 'mar', ' ', '"', '\n', 'ä', '@');
  fc.assert(
    fc.property(fc.string({ unit: part, maxLength: 8 }), fc.constantFrom('en', 'de'), (text, language) => {
      const dialect = csvDialectOf(language);
      const file = csvOf(['a', 'b'], [{ a: text, b: 'x' }], dialect);
      const [, row] = [...tableOf(file).records];
      assert.equal(textOfCell(row?.cells[0] ?? ''), text, JSON.stringify(file));
    }),
    { numRuns: 3_000 },
  );
});

test('columns of numbers keep the notation in which people have written them', () => {
  const csv = csvOfLines(
    [
      ['Betrag', 'Code'],
      ['1.000,00', '0012'],
    ],
    csvDialectOf('de'),
    (place) => place === 0,
  );
  assert.equal(csv, '\uFEFFBetrag;Code\r\n"1.000,00";\'0012\r\n');
});
