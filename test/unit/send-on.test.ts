import assert from 'node:assert/strict';
import test from 'node:test';
import { parseReminderDays, stateAt } from '../../src/core/emails/domain/email.ts';
import { parseSendOn, sendingInstantOf } from '../../src/core/emails/domain/send-on.ts';
import { errorOf, valueOf } from './samples.ts';

const at = (text: string): number => Temporal.Instant.from(text).epochMilliseconds;
const shown = (instant: number): string => Temporal.Instant.fromEpochMilliseconds(instant).toString();

test('a day is sent at 9:00 in the time zone of the store, before and after its clocks change', async (t) => {
  const cases: readonly (readonly [day: string, zone: string, instant: string])[] = [
    // Forward on 29 March, back on 25 October 2026.
    ['2026-03-28', 'Europe/Paris', '2026-03-28T08:00:00Z'],
    ['2026-03-29', 'Europe/Paris', '2026-03-29T07:00:00Z'],
    ['2026-10-24', 'Europe/Paris', '2026-10-24T07:00:00Z'],
    ['2026-10-25', 'Europe/Paris', '2026-10-25T08:00:00Z'],
    // Forward on 8 March, back on 1 November 2026.
    ['2026-03-07', 'America/New_York', '2026-03-07T14:00:00Z'],
    ['2026-03-08', 'America/New_York', '2026-03-08T13:00:00Z'],
    ['2026-11-01', 'America/New_York', '2026-11-01T14:00:00Z'],
    // By half an hour: back on 5 April, forward on 4 October 2026.
    ['2026-04-04', 'Australia/Lord_Howe', '2026-04-03T22:00:00Z'],
    ['2026-04-05', 'Australia/Lord_Howe', '2026-04-04T22:30:00Z'],
    // The clocks skip midnight: forward on 6 September 2026.
    ['2026-09-06', 'America/Santiago', '2026-09-06T12:00:00Z'],
    ['2026-12-24', 'Asia/Kathmandu', '2026-12-24T03:15:00Z'],
    ['2026-12-24', 'Pacific/Kiritimati', '2026-12-23T19:00:00Z'],
    ['2026-12-24', 'Pacific/Pago_Pago', '2026-12-24T20:00:00Z'],
    // Samoa skipped this day. The next one is sent at the same hour.
    ['2011-12-30', 'Pacific/Apia', '2011-12-30T19:00:00Z'],
  ];
  for (const [day, zone, instant] of cases) {
    await t.test(`${day} ${zone}`, () => assert.equal(shown(sendingInstantOf(day, zone)), instant));
  }
});

test('a time is an instant in any zone, and its day is that of the store’s zone', () => {
  const now = at('2026-03-15T12:00:00Z');
  const read = (text: string, timeZone: string) => valueOf(parseSendOn(text, { now, timeZone }));
  const inParis = read('2026-12-24T23:30:00Z', 'Europe/Paris');
  assert.deepEqual(inParis, { at: at('2026-12-24T23:30:00Z'), day: '2026-12-25' });
  assert.equal(read('2026-12-24T18:00:00+01:00', 'UTC').at, at('2026-12-24T17:00:00Z'));
  assert.equal(read('2026-12-24T18:00-05:30', 'UTC').at, at('2026-12-24T23:30:00Z'));
  // The offset distinguishes the hour that occurs twice.
  const first = read('2026-10-25T02:30:00+02:00', 'Europe/Paris').at;
  assert.equal(read('2026-10-25T02:30:00+01:00', 'Europe/Paris').at - first, 3_600_000);
});

test('today is sent at 9:00, or at once after that; the past and the far future are rejected', () => {
  const read = (text: string, now: string, timeZone = 'Europe/Paris') =>
    parseSendOn(text, { now: at(now), timeZone });
  assert.equal(valueOf(read('2026-03-15', '2026-03-15T07:00:00Z')).at, at('2026-03-15T08:00:00Z'));
  assert.equal(valueOf(read('2026-03-15', '2026-03-15T12:00:00Z')).at, at('2026-03-15T12:00:00Z'));
  // In Paris it is already the sixteenth.
  assert.equal(errorOf(read('2026-03-15', '2026-03-15T23:30:00Z')), 'must not be in the past');
  assert.ok(read('2026-03-15', '2026-03-15T23:30:00Z', 'UTC').ok);
  assert.equal(errorOf(read('2026-03-15T11:59:59Z', '2026-03-15T12:00:00Z')), 'must not be in the past');
  assert.ok(read('2026-03-15T12:00:00Z', '2026-03-15T12:00:00Z').ok);
  assert.ok(read('2027-03-15', '2026-03-15T12:00:00Z').ok);
  assert.equal(errorOf(read('2027-03-16', '2026-03-15T12:00:00Z')), 'must be at most a year ahead');
  assert.ok(read('2029-02-28', '2028-02-29T12:00:00Z').ok);
  assert.equal(errorOf(read('2029-03-15T12:00:00Z', '2028-02-29T12:00:00Z')), 'must be at most a year ahead');
});

test('an invalid time is rejected', () => {
  const given = { now: at('2026-03-15T12:00:00Z'), timeZone: 'UTC' };
  for (const value of [
    '', 'tomorrow', 5, true, null, {}, '2026-12-24 18:00', '2026-12-24T18:00:00', '2026-12-24T18:00:00[Europe/Paris]',
    '2026-12-24T18:00:00Z[u-ca=hebrew]', '20261224', '+002026-12-24', '2026-12-24T18:00:00+0100',
    '2026-12-24T18:00:00Z\r\nBcc: x@y.example', '2026-6-1', ' 2026-12-24',
  ]) assert.equal(errorOf(parseSendOn(value, given)), 'must be a date, or a date and time with Z or an offset'); // prettier-ignore
  assert.equal(errorOf(parseSendOn('2026-02-30', given)), 'must be a day that exists');
  for (const value of ['2026-06-31T10:00:00Z', '2026-06-01T24:01:00Z', '2026-06-01T10:00:00+25:00'])
    assert.equal(errorOf(parseSendOn(value, given)), 'must be a time that exists', value);
});

test('the days of reminders are unique, the largest first', () => {
  assert.deepEqual(valueOf(parseReminderDays('7, 30,7')), [30, 7]);
  assert.deepEqual(valueOf(parseReminderDays('none')), []);
  for (const text of ['', '0', '-1', '1.5', 'x', '3651', '1,2,3,4,5,6', '7,']) {
    assert.match(errorOf(parseReminderDays(text)), /^must list at most 5/);
  }
});

test('a scheduled email is queued at its time, and no other state depends on the time', () => {
  assert.equal(stateAt({ state: 'scheduled', nextAt: 5 }, 4), 'scheduled');
  assert.equal(stateAt({ state: 'scheduled', nextAt: 5 }, 5), 'queued');
  assert.equal(stateAt({ state: 'deferred', nextAt: 5 }, 9), 'deferred');
  assert.equal(stateAt({ state: 'sent', nextAt: null }, 9), 'sent');
});
