/** Days of the books where clocks change, VAT, and CSV. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { dayAfter, firstDay, type BooksDay } from '../../src/domain/books.ts';
import { csvOf } from '../../src/domain/csv.ts';
import { formatVat, parseVatRate, readVat, taxIn } from '../../src/domain/vat.ts';
import { prefersCsv } from '../../src/api/report.ts';

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

test('a CSV parser reads every table back, and no cell is a formula', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.integer()), { minLength: 1 }), (rows) => {
      const text = csvOf(
        ['name', 'count'],
        rows.map(([name, count]) => ({ name, count })),
      );
      const parsed = parse(text, {
        columns: true,
        record_delimiter: '\r\n',
        skip_empty_lines: false,
      }) as Record<string, string>[];
      assert.equal(parsed.length, rows.length);
      for (const [place, [name, count]] of rows.entries()) {
        const read = parsed[place]?.['name'] ?? '';
        assert.ok(read === name || read === `'${name}`, JSON.stringify([name, read]));
        if (/^[=+\-@\t\r]/.test(read)) assert.match(read, /^-\d+(\.\d+)?$/);
        assert.equal(parsed[place]?.['count'], String(count));
      }
    }),
  );
});

test('Accept prefers CSV only if its quality is higher', () => {
  assert.equal(prefersCsv('text/csv;q=0'), false);
  assert.equal(prefersCsv('TEXT/CSV'), true);
  assert.equal(prefersCsv('application/*;q=0.2, text/*'), true);
  assert.equal(prefersCsv('application/json, text/csv'), false);
  assert.equal(prefersCsv('text/csv,'.repeat(200)), false);
});
