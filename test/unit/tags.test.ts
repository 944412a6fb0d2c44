/** Tags and names as they are parsed and stored. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { lowerLetters, parseTags, searchedTag, tagsIn } from '../../src/core/cards/domain/tags.ts';
import { parseLine } from '../../src/core/domain/text.ts';

test('tags are stored between newlines, once each, in their order', () => {
  const cases: readonly (readonly [unknown, string | null])[] = [
    [null, null],
    [[], null],
    [['VIP'], '\nVIP\n'],
    [[' b ', 'a', 'B', 'A'], '\nb\na\n'],
    [['a\u0301', 'á'], '\ná\n'],
    [['Ä', 'ä'], '\nÄ\nä\n'],
    [['x'.repeat(40)], `\n${'x'.repeat(40)}\n`],
  ];
  for (const [sent, stored] of cases) {
    assert.deepEqual(parseTags(sent), { ok: true, value: stored });
    if (stored !== null) assert.equal(`\n${tagsIn(stored).join('\n')}\n`, stored);
  }
  assert.deepEqual(tagsIn(null), []);
});

test('a searched tag is found as a whole, whatever the case of its letters', () => {
  const parsed = parseTags(['Spring 2026', 'VIP']);
  assert.ok(parsed.ok);
  const stored = lowerLetters(parsed.value ?? '');
  for (const tag of ['vip', 'Vip', 'SPRING 2026']) assert.ok(stored.includes(searchedTag(tag)), tag);
  for (const tag of ['vi', 'spring', '2026', 'spring 2026\nvip\n'])
    assert.ok(!stored.includes(searchedTag(tag)), tag);
});

test('a name keeps the joiners and emoji of its script, and is measured in code points', () => {
  for (const name of ['می‌خواهم', 'Anna ❤️', '👩‍👧', '張偉', 'x'.repeat(100), '🎁'.repeat(100)])
    assert.deepEqual(parseLine(name, 100), { ok: true, value: name.normalize('NFC') });
  for (const name of ['🎁'.repeat(101), 'x'.repeat(1_000_000)])
    assert.deepEqual(parseLine(name, 100), { ok: false, error: 'must have at most 100 characters' });
  assert.deepEqual(parseLine('\ud800', 100), { ok: false, error: 'must be valid Unicode' });
  for (const name of ['', ' ', null]) assert.deepEqual(parseLine(name, 100), { ok: true, value: null });
});
