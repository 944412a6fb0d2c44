import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { emailKinds } from '../../../src/core/emails/domain/email.ts';
import { languages } from '../../../src/features/emails/delivery/language.ts';
import { addressesOf, messageIdOf, toEml } from '../../../src/features/emails/delivery/message.ts';
import { previewEmail } from '../../../src/features/emails/delivery/preview.ts';
import { renderEmail } from '../../../src/features/emails/delivery/render.ts';
import { parseSenderAddress } from '../../../src/core/domain/email-address.ts';
import { currencyOf } from '../../../src/core/money/domain/currency.ts';
import { emailWith, contentWith, senderWith } from './samples.ts';

/** The headers of a message, unfolded: one line each. */
function headersOf(eml: Uint8Array): readonly string[] {
  const text = Buffer.from(eml).toString('latin1');
  return text
    .slice(0, text.indexOf('\r\n\r\n'))
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
}

const namesOf = (eml: Uint8Array): readonly string[] =>
  headersOf(eml).map((line) => line.slice(0, line.indexOf(':')).toLowerCase());

test('a message has its headers, its two parts and its image, and a parser reads the original texts', async (t) => {
  for (const locale of languages) {
    await t.test(locale, async () => {
      for (const kind of emailKinds) {
        const sender = senderWith({ locale, name: 'Blumen "Köln" <& Söhne>, 花屋' });
        const content = renderEmail(
          contentWith(kind, { message: 'Schöne Grüße 🎁\n. Punkt\nFrom here' }),
          sender,
        );
        const email = emailWith({ content }, sender);
        const eml = await toEml(email);
        const parsed = await PostalMime.parse(eml);
        assert.equal(parsed.subject, content.subject);
        assert.deepEqual(parsed.from, { name: sender.name, address: 'hello@flowers.example' });
        assert.deepEqual(parsed.to, [{ name: '', address: 'grace@example.com' }]);
        assert.deepEqual(parsed.replyTo, [{ name: '', address: 'help@flowers.example' }]);
        assert.equal(parsed.messageId, '<244212357349@flowers.example>');
        assert.equal(parsed.date, '2026-01-15T09:30:00.000Z');
        assert.equal(parsed.text?.trimEnd(), content.text.trimEnd());
        assert.equal(parsed.html?.trimEnd(), content.html.trimEnd());
        assert.equal(parsed.attachments.length, content.images.length);
        for (const [index, image] of content.images.entries()) {
          const attached = parsed.attachments[index];
          assert.equal(attached?.contentId, `<${image.cid}>`);
          assert.equal(attached.disposition, 'inline');
          assert.equal(attached.mimeType, 'image/png');
          assert.ok(attached.content instanceof ArrayBuffer);
          assert.deepEqual(Buffer.from(attached.content), Buffer.from(image.content));
        }
        const header = (key: string): string | undefined =>
          parsed.headers.find((each) => each.key === key)?.value;
        assert.equal(header('auto-submitted'), 'auto-generated');
        assert.equal(header('x-auto-response-suppress'), 'All');
        assert.equal(header('content-language'), locale);
        const isReminder = kind === 'expiry_reminder' || kind === 'balance_reminder';
        assert.equal(
          header('list-unsubscribe'),
          isReminder ? '<https://flowers.example/unsubscribe?token=abc>' : undefined,
        );
        // 7-bit lines within the length limit of SMTP.
        assert.ok(eml.every((byte) => byte < 0x80));
        assert.ok(
          Buffer.from(eml)
            .toString('latin1')
            .split('\r\n')
            .every((line) => line.length <= 998),
        );
      }
    });
  }
});

test('the same email has the same bytes in every attempt', async () => {
  assert.deepEqual(await toEml(emailWith()), await toEml(emailWith()));
});

test('a Message-ID is stable and has one form', () => {
  assert.equal(messageIdOf(17, 'Flowers.Example'), '<17@flowers.example>');
  assert.equal(messageIdOf('a-b_c.1', 'localhost'), '<a-b_c.1@localhost>');
  for (const [id, domain] of [
    ['', 'x.example'],
    ['a>b', 'x.example'],
    ['a\r\nBcc: x', 'x.example'],
    ['a', 'x example'],
    ['a', ''],
    ['a', 'x.example>\r\nBcc: y'],
  ] as const)
    assert.throws(() => messageIdOf(id, domain), /Message-ID/);
  return assert.rejects(toEml(emailWith({ messageId: '<1@x.example>\r\nBcc: y@x.example' })), /Message-ID/);
});

const injections = [
  'a@b.example\r\nBcc: x@y.example',
  'a@b.example\nBcc: x@y.example',
  'a@b.example\rBcc: x@y.example',
  'a@b.example\u2028Bcc: x@y.example',
  'a@b.example\u0000',
  'a@b.example%0d%0aBcc: x@y.example',
  'a@b.example, x@y.example',
  'a@b.example; x@y.example',
  'a@b.example x@y.example',
  '<a@b.example>',
  'A <a@b.example>',
  'a@b.example> NOTIFY=SUCCESS',
  '"a\r\nBcc: x@y.example"@b.example',
  '"a@x.example> "@b.example',
  'group: a@b.example, x@y.example;',
  '=?utf-8?q?a=40b=2Eexample=0D=0ABcc:x?=@y.example',
  'a@b.example\r\n\r\nbody',
  'a@[127.0.0.1]',
  'root',
  '',
];

test('an address cannot contain anything but one address', async (t) => {
  for (const address of injections) {
    await t.test(JSON.stringify(address), async () => {
      assert.equal(addressesOf(emailWith({ to: address })).ok, false);
      assert.equal(addressesOf(emailWith({ replyTo: address })).ok, false);
      assert.equal(addressesOf(emailWith({ from: { name: 'x', address } })).ok, false);
      await assert.rejects(toEml(emailWith({ to: address })), RangeError);
    });
  }
});

test('a text cannot add a header', async () => {
  const expected = namesOf(await toEml(emailWith()));
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.constantFrom(
      ...injections,
      'x\r\nBcc: y@z.example',
      '=?utf-8?q?=0D=0ABcc:_y=40z.example?=',
      'x'.repeat(5_000),
      '",<>@:;\\',
    ),
  );
  await fc.assert(
    fc.asyncProperty(text, text, async (name, subject) => {
      const email = emailWith({ from: { name, address: 'hello@flowers.example' } });
      const eml = await toEml({ ...email, content: { ...email.content, subject: `Gift ${subject}` } });
      assert.deepEqual(namesOf(eml), expected);
      const parsed = await PostalMime.parse(eml);
      assert.equal(parsed.from?.address, 'hello@flowers.example');
      assert.deepEqual(
        parsed.to?.map(({ address }) => address),
        ['grace@example.com'],
      );
      assert.equal(parsed.bcc, undefined);
    }),
    { numRuns: 300 },
  );
});

test('non-ASCII domains are encoded; recipients can use SMTPUTF8, and senders cannot', async () => {
  const idn = await PostalMime.parse(await toEml(emailWith({ to: 'ada@bücher.example' })));
  assert.deepEqual(idn.to, [{ name: '', address: 'ada@xn--bcher-kva.example' }]);
  const utf8 = await PostalMime.parse(await toEml(emailWith({ to: 'jürgen@bücher.example' })));
  assert.deepEqual(utf8.to, [{ name: '', address: 'jürgen@bücher.example' }]);
  assert.equal(parseSenderAddress('hello@bücher.example').ok, true);
  assert.equal(parseSenderAddress('jürgen@example.com').ok, false);
});

test('a preview of every kind has HTML, text and a message in the store’s currency and language', async () => {
  for (const kind of emailKinds) {
    const files = await previewEmail(kind, senderWith({ locale: 'ja' }), {
      currency: currencyOf('JPY'),
      domain: 'flowers.example',
    });
    assert.deepEqual(
      files.map(({ name }) => name),
      [`${kind}.html`, `${kind}.txt`, `${kind}.eml`],
    );
    const [html, text, eml] = files.map(({ content }) => Buffer.from(content).toString());
    assert.match(`${text}`, /￥(?:5,000|1,500)\n/);
    assert.match(`${html}`, /<html lang="ja"/);
    assert.doesNotMatch(`${html}`, /cid:/);
    assert.match(`${eml}`, /^From: Flowers <hello@flowers\.example>\r\n/m);
  }
});
