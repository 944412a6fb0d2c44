/** The store's own texts of emails: what is accepted, and which placeholders each kind has. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { emailKinds } from '../../src/core/emails/domain/email.ts';
import {
  emailTextLengths,
  emailTextParts,
  emailValues,
  hasLines,
  readEmailText,
  textsIn,
} from '../../src/features/emails/domain/wording.ts';
import { languages } from '../../src/features/emails/delivery/language.ts';
import { standardTexts } from '../../src/features/emails/delivery/wording.ts';

const subject = { kind: 'gift_card', part: 'subject' } as const;
const intro = { kind: 'gift_card', part: 'intro' } as const;

test('a text is trimmed, normalized and kept; an empty one is the standard text', () => {
  assert.deepEqual(readEmailText(subject, '  Cafe\u0301 {store} '), { ok: true, text: 'Café {store}' });
  assert.deepEqual(readEmailText(intro, 'One\r\ntwo\r\n\r\nthree\t!'), {
    ok: true,
    text: 'One\ntwo\n\nthree !',
  });
  assert.deepEqual(readEmailText(intro, 'مرحبا \u200f{recipient}\u200f!'), {
    ok: true,
    text: 'مرحبا \u200f{recipient}\u200f!',
  });
  assert.deepEqual(readEmailText(subject, '🎁 👩‍👧 100 % <b>&amp;'), {
    ok: true,
    text: '🎁 👩‍👧 100 % <b>&amp;',
  });
  for (const empty of ['', '   ', '\r\n'])
    for (const part of emailTextParts)
      assert.deepEqual(readEmailText({ kind: 'receipt', part }, empty), { ok: true, text: null });
});

test('each kind accepts its own placeholders, and no other brace', () => {
  for (const kind of emailKinds) {
    const all = emailValues[kind].map((name) => `{${name}}`).join(' ');
    for (const part of emailTextParts)
      assert.deepEqual(readEmailText({ kind, part }, all), { ok: true, text: all }, `${kind} ${part}`);
    for (const wrong of [
      '{code}',
      '{Store}',
      '{ store }',
      '{store',
      'store}',
      '{}',
      '{{store}}',
      '${store',
      '{0}',
    ])
      assert.deepEqual(
        readEmailText({ kind, part: 'closing' }, wrong),
        { ok: false, problem: 'placeholder' },
        wrong,
      );
  }
  const sender = readEmailText({ kind: 'balance_reminder', part: 'subject' }, '{sender}');
  assert.deepEqual(sender, { ok: false, problem: 'placeholder' }, 'a reminder does not know the sender');
});

test('a text that is too long or has an invisible or control character is rejected', () => {
  for (const part of emailTextParts) {
    const place = { kind: 'receipt', part } as const;
    const max = emailTextLengths[part];
    assert.equal(readEmailText(place, '😀'.repeat(max)).ok, true, part);
    const length = { ok: false, problem: 'length' };
    assert.deepEqual(readEmailText(place, '😀'.repeat(max + 1)), length);
    assert.deepEqual(readEmailText(place, 'x'.repeat(10_000_000)), length);
    for (const odd of [
      '\u0000',
      '\u0007',
      '\u001b',
      '\u007f',
      '\u0085',
      '\u2028',
      '\u202e',
      '\u2066',
      '\ud800',
    ])
      assert.deepEqual(
        readEmailText(place, `a${odd}b`),
        { ok: false, problem: 'characters' },
        JSON.stringify(odd),
      );
    const lines = readEmailText(place, 'a\nBcc: eve@example.com');
    assert.equal(lines.ok, hasLines(part), part);
  }
});

test('every standard text can be entered as an own text', () => {
  for (const language of languages) {
    for (const kind of emailKinds) {
      const standards = standardTexts(kind, language);
      for (const part of emailTextParts) {
        const read = readEmailText({ kind, part }, standards[part]);
        assert.deepEqual(read, { ok: true, text: standards[part] || null }, `${language} ${kind} ${part}`);
      }
    }
  }
});

test('the texts of a language are found by kind and part', () => {
  const texts = [
    { language: 'de', kind: 'receipt', part: 'subject', text: 'Beleg' },
    { language: 'de', kind: 'receipt', part: 'intro', text: 'Danke' },
    { language: 'fr', kind: 'receipt', part: 'subject', text: 'Reçu' },
  ] as const;
  assert.deepEqual(textsIn(texts, 'de').receipt, { subject: 'Beleg', intro: 'Danke' });
  assert.deepEqual(textsIn(texts, 'fr').receipt, { subject: 'Reçu' });
  assert.deepEqual(textsIn(texts, 'en').receipt, {});
});
