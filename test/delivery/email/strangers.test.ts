/** Untrusted texts in emails. */

import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { hasLink, hasNumber } from '../../../src/features/online-sales/domain/buyer-text.ts';
import { emailKinds } from '../../../src/core/emails/domain/email.ts';
import { languages } from '../../../src/features/emails/delivery/language.ts';
import { renderEmail } from '../../../src/features/emails/delivery/render.ts';
import { contentWith, senderWith } from './samples.ts';

const trickery = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.constantFrom(
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='x",
    '<!-- --> --> <![endif]-->',
    '</td></table></body></html>',
    '{store} {amount} {code} ${code} {{code}} %code% <%= code %>',
    '&lt;b&gt; &#60;',
    'https://evil.example/login',
    '\u202Egnp.exe\u202C \u2066\u2067 open',
    'a\u0000b\u0008\u001b[31m\u007f\u0085',
    'one\r\nBcc: x@y.example\r\n\r\nbody',
    '\ud800 lone \udfff',
    'cid:gift-card-code@largesse.invalid',
    '-- \n> quoted\n$& $1 $`',
  ),
);

test('an untrusted text remains text in any form', () => {
  fc.assert(
    fc.property(
      trickery,
      trickery,
      fc.constantFrom(...languages),
      fc.constantFrom(...emailKinds),
      (message, name, locale, kind) => {
        const sender = senderWith({ name, locale });
        const names = { senderName: message, recipientName: message };
        const content = contentWith(kind, { message, recipient: message, ...names });
        const { subject, html, text } = renderEmail(content, sender);
        const calm = renderEmail(
          contentWith(kind, { message: 'x', recipient: 'x', senderName: 'x', recipientName: 'x' }),
          senderWith({ name: 'x', locale }),
        );
        // The tags are those of harmless texts, except line breaks and an empty block.
        const tags = (markup: string): readonly string[] =>
          (markup.match(/<[^>]*>?/g) ?? []).filter((tag) => tag !== '<br />' && !tag.startsWith('<!'));
        const isLeftOut = hasLink(message) || hasNumber(message);
        if (!isLeftOut && /[^\p{Cc}\s\u202A-\u202E\u2066-\u2069\uFFFE\uFFFF]/u.test(message))
          assert.deepEqual(tags(html).length, tags(calm.html).length);
        assert.ok(
          tags(html).every((tag) => tags(calm.html).includes(tag)),
          'a tag or attribute came from a text',
        );
        for (const part of [html, text, subject]) {
          assert.ok(part.isWellFormed());
          assert.doesNotMatch(part, /[\u202A-\u202E]|[^\P{Cc}\n]|undefined/u);
        }
        assert.doesNotMatch(subject, /[\n\u2066-\u2069]/);
        const opened = (text.match(/[\u2066-\u2068]/g) ?? []).length;
        assert.equal(opened, (text.match(/\u2069/g) ?? []).length, 'an isolate stays open');
        assert.ok(!html.includes('href="https://evil'));
      },
    ),
    { numRuns: 600 },
  );
});

test('an email greets its reader by name, and a gift card names its sender, in every language', () => {
  for (const locale of languages) {
    for (const kind of emailKinds) {
      const names = { senderName: 'Ada <b>', recipientName: 'Grace\u202E & {amount}' };
      const { html, text } = renderEmail(contentWith(kind, names), senderWith({ locale }));
      const isToBuyer = kind === 'receipt' || kind === 'delivery_failed';
      const plain = text.replaceAll(/[\u2066-\u2069]/g, '');
      const first = plain.split('\n').find((line) => line.includes(isToBuyer ? 'Ada' : 'Grace')) ?? '';
      assert.ok(first.includes(isToBuyer ? 'Ada <b>' : 'Grace & {amount}'), `${locale} ${kind}: ${first}`);
      assert.equal(html.includes('Ada &lt;b&gt;'), isToBuyer || kind === 'gift_card', `${locale} ${kind}`);
      if (kind === 'receipt') assert.ok(plain.includes('Grace & {amount} (grace@example.com)'), plain);
    }
  }
});

test('the name of the sender in the subject is short, and no link, address, phone number or amount', () => {
  const subjectOf = (senderName: string): string =>
    renderEmail(contentWith('gift_card', { senderName }), senderWith()).subject;
  const unnamed = renderEmail(contentWith('gift_card', { senderName: null }), senderWith()).subject;
  assert.equal(subjectOf('Alan'), 'Alan sends you €50.00 to spend at Flowers');
  assert.equal(subjectOf('J.R. Ö’Neil-Smith'), 'J.R. Ö’Neil-Smith sends you €50.00 to spend at Flowers');
  const long = subjectOf('x'.repeat(100));
  assert.equal(long, `${'x'.repeat(39)}… sends you €50.00 to spend at Flowers`);
  for (const name of [
    'https://evil.example',
    'evil.example',
    'www.evil',
    'Support <help@bank.example>',
    'bank.example/login now',
    'Ada\r\nBcc: eve@evil.example',
    'evil。com',
    'Invoice 499 USD, call +1 800 555 0199',
    'Call 0800 555 0199',
    'Refund of €20',
    '\u202e',
  ]) {
    assert.equal(subjectOf(name), unnamed, name);
    const { html } = renderEmail(contentWith('gift_card', { senderName: name }), senderWith());
    assert.match(html, />A gift card for you<\/h1>/, name);
  }
  assert.equal(subjectOf('Ada\r\nSubject: x'), 'Ada Subject: x sends you €50.00 to spend at Flowers');
});

test('names that are empty after cleaning are omitted', () => {
  for (const kind of emailKinds) {
    const without = renderEmail(contentWith(kind, { senderName: null, recipientName: null }), senderWith());
    const names = { senderName: '\u202E', recipientName: ' \n ' };
    assert.deepEqual(renderEmail(contentWith(kind, names), senderWith()), without);
    assert.doesNotMatch(without.text, /Hello|From/);
  }
});

test('a message keeps its line breaks, and each of its lines is quoted', () => {
  const message = 'Dear Grace,\r\n\r\n\tyours <3\n-- \nYour code: 1234';
  const { html, text } = renderEmail(contentWith('gift_card', { message }), senderWith());
  assert.ok(text.includes('> Dear Grace,\n> \n>     yours <3\n> -- \n> Your code: 1234\n'), text);
  assert.ok(html.includes('Dear Grace,<br /><br />    yours &lt;3<br />-- <br />Your code: 1234'), html);
});

test('a message that is empty after cleaning is omitted', () => {
  const without = renderEmail(contentWith('gift_card', { message: null }), senderWith());
  for (const message of ['', ' \n ', '\u202E\u0000']) {
    assert.deepEqual(renderEmail(contentWith('gift_card', { message }), senderWith()), without);
  }
});

test('a placeholder in a message or name is not replaced', () => {
  const { html, text } = renderEmail(
    contentWith('gift_card', { message: '{amount} {store}' }),
    senderWith({ name: 'Shop {amount}' }),
  );
  assert.ok(text.includes('> {amount} {store}'));
  assert.ok(text.includes('to spend at Shop {amount}.'));
  assert.ok(html.includes('{amount} {store}'));
});
