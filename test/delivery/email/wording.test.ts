/** Emails with the store's own texts, in every language. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { languageOf, languages } from '../../../src/features/emails/delivery/language.ts';
import { renderEmail } from '../../../src/features/emails/delivery/render.ts';
import { senderOf } from '../../../src/features/emails/delivery/sender.ts';
import { standardTexts } from '../../../src/features/emails/delivery/wording.ts';
import { defaultEmailSettings, emailKinds } from '../../../src/core/emails/domain/email.ts';
import { emailTextParts, emailValues, type EmailTexts } from '../../../src/features/emails/domain/wording.ts';
import { newStore } from '../../support/fixtures.ts';
import { contentWith, everyContent, senderWith } from './samples.ts';

/** A text with all placeholders of a kind for each of its parts. */
const everyText = Object.fromEntries(
  emailKinds.map((kind) => {
    const values = emailValues[kind].map((name) => `${name}={${name}}`).join('; ');
    return [kind, Object.fromEntries(emailTextParts.map((part) => [part, `<${part}> & ${values}`]))];
  }),
) as EmailTexts;

const withoutIsolates = (text: string): string => text.replaceAll(/[\u2066-\u2069]|<\/?bdi[^>]*>/g, '');

test('in every language and kind, own texts have their values, escaped, in the HTML, the text and the subject', () => {
  for (const locale of languages) {
    for (const content of everyContent()) {
      const { kind } = content;
      const email = renderEmail(content, senderWith({ locale, texts: everyText }));
      const [html, text] = [withoutIsolates(email.html), withoutIsolates(email.text)];
      assert.ok(email.subject.startsWith('<subject> & store=Flowers; amount='), email.subject);
      assert.doesNotMatch(email.subject, /[\u2066-\u2069]|QYW7|qyw7/);
      const name = kind === 'delivery_failed' ? 'grace@example.com' : 'Grace';
      for (const part of emailTextParts) {
        const start = `&lt;${part}&gt; &amp; store=Flowers; amount=`;
        assert.ok(html.includes(start), `${locale} ${kind} ${part}`);
        if (part !== 'subject') assert.ok(text.includes(`<${part}> & store=Flowers; amount=`));
        assert.ok(!html.includes(`<${part}>`));
      }
      assert.ok(text.includes(`recipient=${name}`), `${locale} ${kind}`);
      assert.doesNotMatch(`${html}${text}`, /\{\w+\}/);
      const { texts } = languageOf(locale);
      assert.match(email.html, new RegExp(`^<!doctype html>\n<html lang="${locale}"`));
      // Texts that a store cannot change stay in the language.
      assert.ok(text.includes(kind === 'delivery_failed' ? texts.failedSafe : texts.cardTitle));
      if (['ar', 'he'].includes(locale)) assert.match(email.html, / dir="rtl"/);
    }
  }
});

test('a text of several lines has its lines and paragraphs, and the list of emails shows it as one line', () => {
  const texts = { gift_card: { intro: 'One\ntwo\n\nthree', closing: 'Yours,\n{store}\n\nOpen daily' } };
  const { html, text } = renderEmail(contentWith('gift_card'), senderWith({ texts }));
  assert.match(html, />One<br \/>two<\/p>/);
  assert.match(html, />three<\/p>/);
  assert.match(html, />Yours,<br \/><bdi>Flowers<\/bdi><\/p>/);
  assert.match(html, /mso-hide:all">One two three\u034f/);
  assert.match(text, /\n\nOne\ntwo\n\nthree\n\n/);
  assert.match(text, /\n\nYours,\nFlowers\n\nOpen daily\n\n-- \n/);
});

test('a part has the standard text if the card lacks a value that the own text contains', () => {
  const texts = {
    gift_card: {
      subject: '{recipient}, a present from {sender}',
      greeting: 'Dear {recipient}!',
      closing: 'Valid until {expiry}.',
      heading: 'Surprise',
    },
  };
  const named = renderEmail(contentWith('gift_card'), senderWith({ texts }));
  assert.equal(named.subject, 'Grace, a present from Ada');
  assert.match(named.text, /\n\nSurprise\n\nDear Grace!\n\n/);
  assert.match(named.text, /\n\nValid until December 31, 2031\.\n\n-- \n/);
  for (const senderName of [null, ' ', '\u202e']) {
    const unnamed = renderEmail(
      contentWith('gift_card', { senderName, recipientName: null }),
      senderWith({ texts }),
    );
    assert.equal(unnamed.subject, 'A gift card for you from Flowers');
    assert.doesNotMatch(unnamed.text, /Dear|Hello/);
    assert.match(unnamed.text, /\n\nSurprise\n\n/);
  }
  const always = { gift_card: { greeting: 'Dear customer,' } };
  const { text } = renderEmail(
    contentWith('gift_card', { recipientName: null }),
    senderWith({ texts: always }),
  );
  assert.match(text, /\n\nDear customer,\n\n/);
});

test('own texts that are equal to the standard texts give equal emails', () => {
  for (const locale of languages) {
    for (const content of everyContent()) {
      const { closing: _, ...standards } = standardTexts(content.kind, locale);
      const own = renderEmail(content, senderWith({ locale, texts: { [content.kind]: standards } }));
      const standard = renderEmail(content, senderWith({ locale }));
      assert.equal(own.text, standard.text);
      assert.equal(own.subject, standard.subject);
    }
  }
});

test('a value with a placeholder or markup is not interpreted, and stored control characters are removed', () => {
  const texts = {
    gift_card: { subject: 'From {store}\r\nBcc: eve@example.com\u202e', intro: '\u2067{store}\u0000' },
  };
  const name = '{amount}<script>';
  const { subject, html } = renderEmail(contentWith('gift_card'), senderWith({ name, texts }));
  assert.equal(subject, 'From {amount}<script> Bcc: eve@example.com');
  assert.ok(html.includes('<bdi>{amount}&lt;script&gt;</bdi></p>'));
  assert.ok(!html.includes('<script>') && !/[\u2066-\u2069\u202e]/.test(html) && !html.includes('\u0000'));
  const bdi = (tag: RegExp): number => html.match(tag)?.length ?? 0;
  assert.equal(bdi(/<bdi[ >]/g), bdi(/<\/bdi>/g));
});

test('a sender has the texts of the language of its locale', () => {
  const others = {
    lookupFailuresPerHour: null,
    vat: null,
    accountNames: {},
    datev: null,
    expiringSoonDays: 0,
    holdLimitDays: 7,
  };
  const store = { ...newStore(), ...others, id: 1, demonstration: false };
  const texts = [
    { language: 'de', kind: 'receipt', part: 'subject', text: 'Beleg' },
    { language: 'en', kind: 'receipt', part: 'subject', text: 'Receipt' },
    { language: 'zh-Hans', kind: 'receipt', part: 'subject', text: '收据' },
  ] as const;
  const subjectIn = (locale: string): string | undefined =>
    senderOf({ store, settings: { ...defaultEmailSettings, locale }, texts, logo: null }, 'a@b.example').texts
      .receipt?.subject;
  assert.deepEqual(['de-AT', 'en-GB', 'zh-CN', 'fr', 'zh-TW'].map(subjectIn), [
    'Beleg',
    'Receipt',
    '收据',
    undefined,
    // Without texts for the script, emails are in English.
    'Receipt',
  ]);
});
