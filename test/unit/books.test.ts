/** Days of the books where clocks change, VAT, and CSV. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { dayAfter, firstDay, type BooksDay } from '../../src/features/books/domain/books.ts';
import { csvOf, textOfCell, type CsvDialect } from '../../src/core/tables/domain/csv.ts';
import { formatVat, parseVatRate, readVat, taxesOf, taxIn } from '../../src/core/money/domain/vat.ts';
import { prefersCsv } from '../../src/api/csv.ts';

function daysFrom(instant: string, timeZone: string, count: number): readonly BooksDay[] {
  const days = [firstDay(Temporal.Instant.from(instant).epochMilliseconds, timeZone)];
  while (days.length < count) {
    const last = days.at(-1);
    if (last) days.push(dayAfter(last, timeZone));
  }
  return days;
}

function hoursOf({ fromAt, untilAt }: BooksDay): number {
  return (untilAt - fromAt) / 3_600_000;
}

test('days have the hours that their clocks show, and no gap', () => {
  const cases = [
    ['Europe/Berlin', '2026-03-28T12:00:00Z', [24, 23, 24]],
    ['Europe/Berlin', '2026-10-24T12:00:00Z', [24, 25, 24]],
    ['Australia/Lord_Howe', '2026-04-04T12:00:00Z', [24, 24.5, 24]],
    // The clocks change at midnight: the day begins at 01:00.
    ['America/Havana', '2026-03-07T12:00:00Z', [24, 23, 24]],
  ] as const;
  for (const [timeZone, instant, hours] of cases) {
    const days = daysFrom(instant, timeZone, 3);
    assert.deepEqual(days.map(hoursOf), hours, timeZone);
    for (const [place, day] of days.entries())
      if (place > 0) assert.equal(day.fromAt, days[place - 1]?.untilAt);
  }
  const [, sunday] = daysFrom('2026-03-07T12:00:00Z', 'America/Havana', 2);
  assert.equal(
    Temporal.Instant.fromEpochMilliseconds(sunday?.fromAt ?? 0).toZonedDateTimeISO('America/Havana').hour,
    1,
  );
});

test('a day that a time zone left out does not exist', () => {
  const days = daysFrom('2011-12-29T12:00:00-10:00', 'Pacific/Apia', 3);
  assert.deepEqual(
    days.map(({ day }) => day),
    ['2011-12-29', '2011-12-31', '2012-01-01'],
  );
  assert.deepEqual(days.map(hoursOf), [24, 24, 24]);
});

test('a change of the time zone makes one day longer or shorter', () => {
  const last = firstDay(Date.UTC(2026, 5, 1, 12), 'UTC');
  const after = (timeZone: string): readonly [string, number] => {
    const next = dayAfter(last, timeZone);
    assert.equal(next.fromAt, last.untilAt);
    return [next.day, hoursOf(next)];
  };
  assert.deepEqual(after('UTC'), ['2026-06-02', 24]);
  assert.deepEqual(after('Asia/Tokyo'), ['2026-06-02', 15]);
  assert.deepEqual(after('America/New_York'), ['2026-06-02', 28]);
  const kiritimati = firstDay(Date.UTC(2026, 5, 1, 12), 'Pacific/Kiritimati');
  const pago = dayAfter(kiritimati, 'Pacific/Pago_Pago');
  assert.deepEqual([kiritimati.day, pago.day, hoursOf(pago)], ['2026-06-02', '2026-06-03', 49]);
});

test('a VAT rate is a percentage, and is stored without trailing zeros', () => {
  for (const [sent, kept] of [
    ['19', '19'],
    ['19.0', '19'],
    ['8.10', '8.1'],
    ['0', '0'],
    ['100.000', '100'],
    ['7.725', '7.725'],
  ] as const) {
    const parsed = parseVatRate(sent);
    assert.deepEqual(parsed, { ok: true, value: kept });
    const vat = { kind: 'single_purpose', rate: kept } as const;
    assert.deepEqual(readVat(formatVat(vat)), vat);
  }
  for (const sent of ['', '019', '-1', '100.1', '101', '1.2345', '1e1', ' 1', '1,5', 19, null])
    assert.equal(parseVatRate(sent).ok, false, String(sent));
  for (const text of ['', 'single_purpose', 'single_purpose x', 'other'])
    assert.throws(() => readVat(text), RangeError);
});

test('the tax in an amount is rounded half away from zero', () => {
  assert.equal(taxIn(11_900n, '19'), 1_900n);
  assert.equal(taxIn(-11_900n, '19'), -1_900n);
  assert.equal(taxIn(1_081n, '8.1'), 81n);
  assert.equal(taxIn(0n, '19'), 0n);
  assert.equal(taxIn(500n, '0'), 0n);
  // 3 × 20 / 120 is exactly one half.
  assert.equal(taxIn(3n, '20'), 1n);
  assert.equal(taxIn(-3n, '20'), -1n);
});

test('the taxes of entries add up to the tax of what was sold, and to the tax in the balance', () => {
  const sale = (effect: bigint) => ({ account: 'sales', effect }) as const;
  const topUp = (effect: bigint) => ({ account: 'top_ups', effect }) as const;
  const redemption = (effect: bigint) => ({ account: 'redemptions', effect }) as const;
  // 0.02 contains 0.0032 of tax, which is rounded to 0.00; 0.04 contains 0.0064.
  assert.deepEqual(taxesOf([sale(2n), sale(2n), sale(2n), sale(2n)], '19'), [0n, 1n, 0n, 0n]);
  assert.deepEqual(taxesOf([sale(2n), topUp(2n), sale(2n), topUp(-2n)], '19'), [0n, 1n, 0n, 0n]);
  assert.deepEqual(taxesOf([sale(11_900n), sale(1_190n), redemption(-1_900n)], '19'), [1_900n, 190n, -303n]);
  const isSale = (account?: string): boolean => account === 'sales' || account === 'top_ups';
  const entry = fc.record({
    account: fc.constantFrom('sales', 'top_ups', 'redemptions', 'adjustments'),
    effect: fc.bigInt(-10_000n, 10_000n),
  });
  const rate = fc.constantFrom('19', '7.7', '0', '100', '5.5');
  fc.assert(
    fc.property(fc.array(entry), rate, (entries, percent) => {
      const sum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n);
      const sold = sum(entries.map(({ account, effect }) => (isSale(account) ? effect : 0n)));
      const all = sum(entries.map(({ effect }) => effect));
      const taxes = taxesOf(entries, percent);
      const due = sum(taxes.filter((_, place) => isSale(entries[place]?.account)));
      assert.equal(due, taxIn(sold, percent));
      assert.equal(sum(taxes), taxIn(sold, percent) + taxIn(all - sold, percent));
      // A card that was emptied contains no tax.
      assert.equal(sum(taxesOf([...entries, redemption(-all)], percent)), 0n);
    }),
  );
});

type CsvTexts = readonly (readonly [first: string, second: string, count: number])[];

const csvTexts = (text: fc.Arbitrary<string>) =>
  fc.array(fc.tuple(text, text, fc.integer()), { minLength: 1, maxLength: 4 });

/** Characters with a meaning in CSV or in a spreadsheet, in any order. */
const dangerous = fc
  .array(fc.constantFrom(...Array.from(';\t\n\r,"\'=+-@＝ \u00a0a1.')), { maxLength: 12 })
  .map((characters) => characters.join(''));

function csvOfTexts(texts: CsvTexts, dialect?: CsvDialect): string {
  const columns = ['first', 'second', 'count'];
  return csvOf(columns, texts.map(([first, second, count]) => ({ first, second, count })), dialect); // prettier-ignore
}

/** Texts with an apostrophe of their own before what a spreadsheet changes, at the longest that it changes. */
const ownApostrophes: CsvTexts = [
  ["'1.1", "''true", 1],
  ['1'.repeat(40), `'${'1'.repeat(40)}`, 2],
  [`'${'1'.repeat(39)}`, `'${'1'.repeat(41)}`, 3],
];

for (const dialect of [undefined, { separator: ';', decimalSign: ',' }] as const)
  test(`a text is read back from CSV as it was, ${dialect ? 'in a dialect' : 'without a dialect'}`, () => {
    fc.assert(
      fc.property(csvTexts(fc.oneof(dangerous, fc.string({ unit: 'binary' }))), (texts) => {
        const options = { record_delimiter: '\r\n', delimiter: dialect?.separator ?? ',', bom: true };
        const read = parse(csvOfTexts(texts, dialect), options)
          .slice(1)
          .map(([first = '', second = '', count = '']) => {
            return [textOfCell(first), textOfCell(second), Number(textOfCell(count))] as const;
          });
        assert.deepEqual(read, texts);
      }),
      { examples: [[ownApostrophes]] },
    );
  });

type ReadCell = (
  text: string,
  at: number,
  separator: string,
) => { readonly cell: string; readonly end: number };

/** Reads a cell as spreadsheets do: quotation marks count only at its start, and text can follow them. */
const readQuoted: ReadCell = (text, at, separator) => {
  let [cell, end] = ['', at];
  if (text[end] === '"') {
    end += 1;
    for (; end < text.length; end += 1) {
      if (text[end] === '"' && text[(end += 1)] !== '"') break;
      cell += text[end] ?? '';
    }
  }
  const plain = readPlain(text, end, separator);
  return { cell: cell + plain.cell, end: plain.end };
};

const readPlain: ReadCell = (text, at, separator) => {
  let end = at;
  while (end < text.length && !`${separator}\r\n`.includes(text[end] ?? '')) end += 1;
  return { cell: text.slice(at, end), end };
};

function cellsIn(text: string, separator: string, read: ReadCell): readonly string[] {
  const cells: string[] = [];
  for (let at = 0; at <= text.length;) {
    const { cell, end } = read(text, at, separator);
    cells.push(cell);
    at = end + 1;
  }
  return cells;
}

test('no spreadsheet finds a formula in CSV, whichever separator it expects', () => {
  const readers = [
    [',', readQuoted],
    [';', readQuoted],
    ['\t', readQuoted],
    [';', readPlain],
    ['\t', readPlain],
  ] as const;
  const examples = ["x;=cmd|'/C calc'!A0", 'x;""=cmd', 'a\n=1', 'a\t+1', '; @SUM(A1)', '=1', ' =1', '-2+3'];
  fc.assert(
    fc.property(csvTexts(dangerous), (texts) => {
      const csv = csvOfTexts(texts);
      for (const [separator, read] of readers)
        for (const cell of cellsIn(csv, separator, read))
          if (/^[\s"]*[=+\-@＝]/.test(cell))
            assert.match(cell, /^-\d+(\.\d+)?$/, JSON.stringify([separator, csv]));
    }),
    { examples: examples.map((text) => [[[text, text, -1]]]), numRuns: 2_000 },
  );
});

test('Accept prefers CSV only if its quality is higher', () => {
  assert.equal(prefersCsv('text/csv;q=0'), false);
  assert.equal(prefersCsv('TEXT/CSV'), true);
  assert.equal(prefersCsv('application/*;q=0.2, text/*'), true);
  assert.equal(prefersCsv('application/json, text/csv'), false);
  assert.equal(prefersCsv('text/csv,'.repeat(200)), false);
});
