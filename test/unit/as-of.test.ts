/** Instants of `as_of`. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { parseAsOf } from '../../src/core/cards/domain/as-of.ts';

const now = Date.UTC(2026, 7, 15, 12, 37, 38, 500);

const value = (text: unknown): number | string => {
  const parsed = parseAsOf(text, now);
  return parsed.ok ? parsed.value : parsed.error;
};

test('whole seconds include everything in the second, and fractions are exact to the millisecond', () => {
  const second = Date.UTC(2026, 7, 15, 12, 37, 37);
  for (const text of ['2026-08-15T12:37:37Z', '2026-08-15T14:37:37+02:00', '2026-08-14T22:37:37-14:00'])
    assert.equal(value(text), second + 999, text);
  assert.equal(value('2026-08-15T12:37:37.0Z'), second);
  assert.equal(value('2026-08-15T12:37:37.25+00:00'), second + 250);
  assert.equal(value('2026-08-15T12:37:37.123999999Z'), second + 123);
});

test('the present second ends now, and later instants are rejected', () => {
  assert.equal(value('2026-08-15T12:37:38Z'), now);
  assert.equal(value('2026-08-15T12:37:38.500Z'), now);
  for (const text of ['2026-08-15T12:37:38.501Z', '2026-08-15T12:37:39Z', '9999-12-31T23:59:59Z'])
    assert.equal(value(text), 'must not be in the future', text);
});

test('other forms, and times that do not exist, are rejected', () => {
  for (const text of ['', '2026-08-15', '2026-08-15T12:37:37', '2026-08-15t12:37:37z', '2026-08-15T12:37Z', ' 2026-08-15T12:37:37Z', 5, null, '+002026-08-15T12:37:37Z'])
    assert.equal(value(text), 'must be a date and time with seconds, and Z or an offset', String(text));
  for (const text of ['2026-02-29T00:00:00Z', '2026-13-01T00:00:00Z', '2026-01-01T24:00:00Z', '2026-01-01T00:00:00+99:00'])
    assert.equal(value(text), 'must be a time that exists', text);
}); // prettier-ignore
