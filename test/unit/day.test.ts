import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { dayOf, dayPattern, formatInstant, isTimeZone, parseDay } from '../../src/core/domain/day.ts';
import { errorOf, show, valueOf } from './samples.ts';

test('an existing day is accepted', async (t) => {
  for (const day of [
    '2026-01-01',
    '2026-12-31',
    '2024-02-29',
    '2000-02-29',
    '2026-04-30',
    '9999-12-31',
    '1582-10-10',
  ]) {
    await t.test(day, () => assert.equal(valueOf(parseDay(day)), day));
  }
});

test('a day that does not exist is rejected', async (t) => {
  const days = [
    '2026-02-29', '2026-02-30', '2026-02-31', '1900-02-29', '2100-02-29', '2026-04-31', '2026-06-31', '2026-09-31', '2026-11-31',
    '2026-01-32', '2026-12-32', '2026-01-00', '2026-00-10', '2026-13-01', '2026-99-99', '2026-00-00',
  ]; // prettier-ignore
  for (const day of days) {
    await t.test(day, () => assert.equal(errorOf(parseDay(day)), 'must be a day that exists'));
  }
});

test('a date in another format than YYYY-MM-DD is rejected', async (t) => {
  const values: readonly unknown[] = [
    '', '2026-1-1', '2026-01-1', '26-01-01', '20260101', '2026/01/01', '2026.01.01', '01-02-2026', '31.12.2026', '2026-01', '2026',
    '2026-01-01T00:00:00Z', '2026-01-01 00:00', '2026-01-01Z', ' 2026-01-01', '2026-01-01 ', '2026-01-01\n', '+002026-01-01', '-2026-01-01',
    '2026-W01-1', '2026-001', '２０２６-01-01', '٢٠٢٦-٠١-٠١', '2026-01-01[u-ca=hebrew]', '2026−01−01', 'today', 'never', '0', 'null',
    20_260_101, 0, true, null, undefined, ['2026-01-01'], {}, new Date(0),
  ]; // prettier-ignore
  for (const value of values) {
    await t.test(show(value), () => {
      assert.equal(errorOf(parseDay(value)), 'must be a date in the form YYYY-MM-DD');
      if (typeof value === 'string') assert.doesNotMatch(value, new RegExp(dayPattern));
    });
  }
});

test('exactly the days of the Gregorian calendar exist', () => {
  const pad = (value: number, length: number): string => String(value).padStart(length, '0');
  fc.assert(
    fc.property(fc.nat({ max: 9_999 }), fc.nat({ max: 14 }), fc.nat({ max: 33 }), (year, month, day) => {
      const text = `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
      const date = new Date(0);
      date.setUTCFullYear(year, month - 1, day);
      const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
      assert.equal(parseDay(text).ok, exists, text);
    }),
    { numRuns: 10_000 },
  );
});

test('the day of an instant depends on its time zone, to the millisecond', async (t) => {
  const cases: readonly (readonly [zone: string, instant: string, day: string])[] = [
    ['UTC', '2026-03-08T00:00:00.000Z', '2026-03-08'],
    ['UTC', '2026-03-08T23:59:59.999Z', '2026-03-08'],
    ['UTC', '2026-03-09T00:00:00.000Z', '2026-03-09'],
    // Fourteen hours ahead of UTC, where each day starts first.
    ['Pacific/Kiritimati', '2025-12-31T09:59:59.999Z', '2025-12-31'],
    ['Pacific/Kiritimati', '2025-12-31T10:00:00.000Z', '2026-01-01'],
    ['Pacific/Pago_Pago', '2026-01-01T10:59:59.999Z', '2025-12-31'],
    ['Pacific/Pago_Pago', '2026-01-01T11:00:00.000Z', '2026-01-01'],
    // Daylight saving starts on 8 March 2026. The midnight before is at 5:00 UTC, the one after at 4:00.
    ['America/New_York', '2026-03-08T04:59:59.999Z', '2026-03-07'],
    ['America/New_York', '2026-03-08T05:00:00.000Z', '2026-03-08'],
    ['America/New_York', '2026-03-09T03:59:59.999Z', '2026-03-08'],
    ['America/New_York', '2026-03-09T04:00:00.000Z', '2026-03-09'],
    // Daylight saving ends on 1 November.
    ['America/New_York', '2026-11-01T03:59:59.999Z', '2026-10-31'],
    ['America/New_York', '2026-11-01T04:00:00.000Z', '2026-11-01'],
    ['America/New_York', '2026-11-02T04:59:59.999Z', '2026-11-01'],
    ['America/New_York', '2026-11-02T05:00:00.000Z', '2026-11-02'],
    // A midnight that does not exist: the clocks changed from 23:59:59 to 1:00.
    ['America/Sao_Paulo', '2018-11-04T02:59:59.999Z', '2018-11-03'],
    ['America/Sao_Paulo', '2018-11-04T03:00:00.000Z', '2018-11-04'],
    // A day that was skipped, on the other side of the date line.
    ['Pacific/Apia', '2011-12-30T09:59:59.999Z', '2011-12-29'],
    ['Pacific/Apia', '2011-12-30T10:00:00.000Z', '2011-12-31'],
    ['Asia/Kathmandu', '2026-01-01T18:14:59.999Z', '2026-01-01'],
    ['Asia/Kathmandu', '2026-01-01T18:15:00.000Z', '2026-01-02'],
  ];
  for (const [zone, instant, day] of cases) {
    await t.test(`${zone} ${instant}`, () => assert.equal(dayOf(Date.parse(instant), zone), day));
  }
});

test('the day of an instant agrees with Intl', () => {
  const zones = [
    'UTC',
    'Pacific/Kiritimati',
    'America/New_York',
    'Europe/Berlin',
    'Australia/Lord_Howe',
    'Asia/Tehran',
  ];
  const shown = new Map(
    zones.map((timeZone) => [
      timeZone,
      new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' }),
    ]),
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...shown),
      fc.integer({ min: Date.UTC(1975, 0), max: Date.UTC(2090, 0) }),
      ([zone, format], instant) => assert.equal(dayOf(instant, zone), format.format(instant)),
    ),
    { numRuns: 2_000 },
  );
});

test('for repeated calls around a midnight, the day changes at its first millisecond', () => {
  const midnight = Date.parse('2026-11-21T05:00:00Z');
  for (const [offset, day] of [
    [-60_000, '2026-11-20'],
    [-1, '2026-11-20'],
    [0, '2026-11-21'],
    [59_999, '2026-11-21'],
    [-1, '2026-11-20'],
  ] as const) {
    assert.equal(dayOf(midnight + offset, 'America/New_York'), day);
    assert.equal(dayOf(midnight + offset, 'UTC'), '2026-11-21');
  }
});

test('an instant is formatted in UTC, in whole seconds, rounded down', () => {
  assert.equal(formatInstant(Date.UTC(2025, 7, 15, 12, 37, 38)), '2025-08-15T12:37:38Z');
  assert.equal(formatInstant(Date.UTC(2025, 7, 15, 12, 37, 38, 999)), '2025-08-15T12:37:38Z');
  assert.equal(formatInstant(Date.UTC(2025, 11, 31, 23, 59, 59, 999)), '2025-12-31T23:59:59Z');
  assert.equal(formatInstant(0), '1970-01-01T00:00:00Z');
  fc.assert(
    fc.property(fc.integer({ min: 0, max: Date.UTC(2999, 0) }), (instant) => {
      assert.equal(formatInstant(instant), new Date(instant).toISOString().replace(/\.\d{3}Z$/, 'Z'));
    }),
  );
});

test('an instant is formatted as by Temporal, however far away it is', () => {
  const farthest = 8_640_000_000_000_000;
  const [first, last] = [Date.parse('1000-01-01'), Date.parse('+010000-01-01')];
  const examples = [-1, -farthest, farthest, first - 1, first, last - 1, last].map((at): [number] => [at]);
  const instants = fc.oneof(
    fc.integer({ min: -farthest, max: farthest }),
    fc.integer({ min: first, max: last }),
  );
  fc.assert(
    fc.property(instants, (instant) => {
      const written = Temporal.Instant.fromEpochMilliseconds(instant).toString({ smallestUnit: 'second' });
      assert.equal(formatInstant(instant), written);
    }),
    { examples, numRuns: 5_000 },
  );
  for (const instant of [farthest + 1, Number.NaN]) assert.throws(() => formatInstant(instant), RangeError);
});

test('a time zone has an IANA name', async (t) => {
  for (const name of [
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Pacific/Kiritimati',
    'America/Argentina/Buenos_Aires',
    'America/Port-au-Prince',
    'Etc/GMT+5',
  ]) {
    assert.equal(isTimeZone(name), true, name);
  }
  for (const name of [
    '',
    ' ',
    'Mars/Olympus',
    'Europe/Berlin ',
    'Europe',
    'local',
    'PST8',
    'CEST',
    '__proto__',
  ]) {
    await t.test(`${show(name)} is not a time zone`, () => assert.equal(isTimeZone(name), false));
  }
});

test('an offset or a timestamp is not the name of a time zone', async (t) => {
  for (const name of [
    '+02:00',
    '-05',
    '2026-01-01T00:00Z',
    '2026-01-01T00:00+01:00[Europe/Berlin]',
    '2026-01-01[UTC]',
  ]) {
    await t.test(show(name), () => assert.equal(isTimeZone(name), false));
  }
});
