/** The parts of a shop's identity as owners type them. */

import assert from 'node:assert/strict';
import test from 'node:test';
import {
  parseOpeningHours,
  parseLink,
  parsePhone,
  phoneLink,
  shownLink,
} from '../../src/core/stores/domain/identity.ts';

test('a phone number keeps its spelling, and its link has only its digits', () => {
  for (const [typed, link] of [
    ['+33 1 42 00 00 00', 'tel:+33142000000'],
    [' (030) 123-456/78 ', 'tel:03012345678'],
    ['112', 'tel:112'],
  ] as const) {
    const phone = parsePhone(typed);
    assert.ok(phone.ok, typed);
    assert.equal(phone.value, typed.trim());
    assert.equal(phoneLink(phone.value), link);
  }
  const wrong = ['', '12', 'call me', '+1+2 345', '1234567890123456', '1'.repeat(100_000), '٣٣٣', '1\n23', 7];
  for (const typed of wrong) assert.equal(parsePhone(typed).ok, false, String(typed).slice(0, 20));
});

test('a website is an https URL without a password, of bounded length', () => {
  assert.deepEqual(parseLink('https://flowers.example'), { ok: true, value: 'https://flowers.example/' });
  assert.equal(shownLink('https://flowers.example/'), 'flowers.example');
  assert.equal(shownLink('https://flowers.example/agb'), 'flowers.example/agb');
  for (const typed of [
    'http://flowers.example',
    'javascript:alert(1)',
    'https://ada@flowers.example',
    'flowers',
    `https://flowers.example/${'x'.repeat(2_000)}`,
    `https://flowers.example/${'ä'.repeat(1_000)}`,
    null,
  ])
    assert.equal(parseLink(typed).ok, false, String(typed).slice(0, 40));
});

test('opening hours are few short lines, without empty ones', () => {
  assert.deepEqual(parseOpeningHours('Mo–Fr 9–19 \r\n\r\n So 10–13\r\n'), {
    ok: true,
    value: 'Mo–Fr 9–19\nSo 10–13',
  });
  assert.equal(parseOpeningHours(Array(7).fill('x'.repeat(100)).join('\n')).ok, true);
  for (const typed of [
    '',
    ' \n ',
    'a\n'.repeat(8),
    'x'.repeat(101),
    'a\u202eb',
    'a\u0007',
    '\n'.repeat(100_000),
    7,
  ])
    assert.equal(parseOpeningHours(typed).ok, false, String(typed).slice(0, 20));
});
