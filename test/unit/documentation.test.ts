/** The parts of the API reference: Markdown, links, schemas in words, encodings and the example code. */

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import test from 'node:test';
import Type from 'typebox';
import * as examples from '../../src/api/examples.ts';
import { Secret } from '../../src/platform/secret.ts';
import { signatureHeaders } from '../../src/features/webhooks/delivery/signature.ts';
import { urlOf } from '../../src/features/reference/docs/content.ts';
import { documentationOf } from '../../src/features/reference/docs/documentation.ts';
import { guides, verification } from '../../src/features/reference/docs/guides.ts';
import { textHtml, withUrls } from '../../src/features/reference/docs/markdown.ts';
import { rowsOf, textOf, typeOf } from '../../src/features/reference/docs/schema.ts';
import { giftCardSchema } from '../../src/core/cards/domain/schemas.ts';
import { preferredEncoding } from '../../src/http/documents.ts';
import { limits } from '../../src/platform/limits.ts';
import { settings } from '../../src/start/settings.ts';
import { joinMarkup, markup } from '../../src/platform/markup.ts';

const page = { folder: 'docs', extension: '' } as const;
const html = (text: string): string => textHtml(text, page).toString();

test('markup escapes every value that is not markup', () => {
  const attack = `<script>alert("1" & '2')</script>`;
  const escaped = '&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;';
  assert.equal(String(markup`<p title="${attack}">${[attack, undefined, 5, markup`<b>`]}</p>`), `<p title="${escaped}">${escaped}5<b></p>`);
  assert.equal(String(joinMarkup([attack, markup`<i>`], attack)), `${escaped}${escaped}<i>`);
  assert.equal(html(attack), `<p>${escaped}</p>`);
  assert.equal(html(`\`${attack}\` **${attack}**`), `<p><code>${escaped}</code> <strong>${escaped}</strong></p>`);
  assert.equal(html(`- ${attack}`), `<ul><li>${escaped}</li></ul>`);
  assert.equal(html(`\`\`\`js\n${attack}\n\`\`\``), `<pre tabindex="0"><code>${escaped}</code></pre>`);
}); // prettier-ignore

test('Markdown has paragraphs, headings, lists, code and links', () => {
  assert.equal(
    html('One `a*b` **bold**.\n\n## Failed lookups\n\n- one\n- [two](errors#x)\n\n```\na\n\n- b\n```\n\nEnd'),
    [
      '<p>One <code>a*b</code> <strong>bold</strong>.</p>',
      '<h2 id="failed-lookups"><a href="#failed-lookups">Failed lookups</a></h2>',
      '<ul><li>one</li><li><a href="errors#x">two</a></li></ul>',
      '<pre tabindex="0"><code>a\n\n- b</code></pre>',
      '<p>End</p>',
    ].join('\n'),
  );
});

test('every sample has the URL of the service', () => {
  const pages = documentationOf({ origin: 'https://cards.example', basePath: '/api' });
  const text = String(pages.find('/llms-full.txt')?.content);
  assert.doesNotMatch(text, /localhost:3000/);
  assert.match(text, /createClient\(\{ url: 'https:\/\/cards\.example\/api', token/);
  assert.match(text, /npx openapi-typescript https:\/\/cards\.example\/api\/openapi\.json/);
});

test('URLs are relative to the place of the document', () => {
  const root = { folder: 'root', extension: '' } as const;
  for (const [target, fromPage, fromRoot] of [
    ['errors#x', 'errors#x', 'docs/errors#x'],
    ['/docs', '../docs', 'docs'],
    ['/openapi.json', '../openapi.json', 'openapi.json'],
    ['/docs/style.css', 'style.css', 'docs/style.css'],
    ['#x', '#x', '#x'],
    ['https://example.com/a', 'https://example.com/a', 'https://example.com/a'],
  ] as const) {
    assert.equal(urlOf(target, page), fromPage);
    assert.equal(urlOf(target, root), fromRoot);
  }
  assert.equal(
    withUrls('[a](errors#x) [b](/docs) [c](/openapi.json)', { folder: 'root', extension: '.md' }),
    '[a](docs/errors.md#x) [b](docs.md) [c](openapi.json)',
  );
});

test('schemas are described in words', () => {
  for (const [schema, type, text] of [
    [Type.Union([Type.String({ format: 'date' }), Type.Null()]), 'string (date) or null', ''],
    [Type.Integer({ minimum: 1, maximum: 2_000, default: 50 }), 'integer', '1 to 2,000. Default: `50`.'],
    [Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), 'integer', 'At least 1.'],
    [Type.Union([Type.Number({ exclusiveMinimum: 0 }), Type.String({ pattern: '^a$' })], { examples: ['5'] }), 'number or string', 'Greater than 0. Matches `^a$`. Example: `"5"`.'],
    [Type.String({ minLength: 1, maxLength: 5 }), 'string', '1 to 5 characters.'],
    [Type.String({ maxLength: 1 }), 'string', 'At most 1 character.'],
    [Type.String({ maxLength: 5, description: 'A name of at most 5 characters.' }), 'string', 'A name of at most 5 characters.'],
    [Type.Array(Type.Enum(['a', 'b']), { minItems: 1, description: 'Some.' }), 'array of string', 'Some. At least 1 item. Each: one of `"a"`, `"b"`.'],
    [Type.Unsafe({ anyOf: [{ type: 'integer', minimum: 1 }, { const: 'latest' }] }), 'integer or string', 'Always `"latest"`. At least 1.'],
    [Type.Unsafe({ type: ['integer', 'null'] }), 'integer or null', ''],
    [Type.Record(Type.String(), Type.Array(Type.String())), 'object, each value array of string', ''],
    [Type.Optional(giftCardSchema), '[GiftCard](objects#giftcard)', 'A gift card.'],
    [Type.Array(giftCardSchema), 'array of [GiftCard](objects#giftcard)', ''],
  ] as const) {
    assert.equal(typeOf(schema), type);
    assert.equal(textOf(schema, 'request'), text);
  }
  assert.equal(textOf(Type.String({ pattern: '^a$', examples: ['a'] }), 'response'), '');
  assert.equal(textOf({ examples: ['"1"'] }, 'text'), 'Example: `"1"`.');
}); // prettier-ignore

test('the fields of an object say whether they are optional, and contain inner objects', () => {
  const inner = Type.Object({ id: Type.Integer() });
  const schema = Type.Object({ list: Type.Array(inner), note: Type.Optional(Type.String()), orNull: Type.Union([inner, Type.Null()]) });
  const [list, note, orNull] = rowsOf(schema, 'response');
  assert.deepEqual([list?.presence, note?.presence], [undefined, 'optional']);
  for (const row of [list, orNull]) assert.deepEqual(row?.rows?.map(({ name }) => name), ['id']);
  assert.equal(rowsOf(schema, 'request')[0]?.presence, 'required');
  assert.equal(rowsOf(Type.Object({ card: giftCardSchema }), 'response')[0]?.rows, undefined);
}); // prettier-ignore

test('the encoding with the highest weight is preferred', () => {
  for (const [header, expected] of [
    [undefined, 'identity'],
    ['', 'identity'],
    ['identity', 'identity'],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['br', 'br'],
    ['BR;Q=1', 'br'],
    ['gzip, deflate, br, zstd', 'br'],
    ['br;q=0.5, gzip;q=0.8', 'gzip'],
    ['br;q=0.5', 'br'],
    ['br;q=0, gzip', 'gzip'],
    ['br;q=0', 'identity'],
    ['gzip;q=0.5, identity', 'identity'],
    ['identity;q=0.5, gzip;q=0.4', 'identity'],
    ['identity;q=0.3, gzip;q=0.4', 'gzip'],
    ['*', 'br'],
    ['*;q=0', 'identity'],
    ['br;q=0, *', 'gzip'],
    ['*;q=0.1, identity', 'identity'],
    ['deflate, zstd', 'identity'],
    ['br;q=x, gzip;q=2', 'identity'],
    ['br ; q=0.9 , gzip;level=1;q=0.8', 'br'],
  ] as const)
    assert.equal(preferredEncoding(header), expected, String(header));
});

test('the guides name the limits of the service', () => {
  const { rateLimit, lookupFailuresPerHour, visitorLookupFailuresPerHour } = settings.service;
  const count = (number: number | undefined): string => number?.toLocaleString('en') ?? 'no number';
  const named = {
    'rate-limits': [
      `${count(rateLimit.default?.perSecond)} requests per second with bursts of ${count(rateLimit.default?.burst)}`,
      `${count(lookupFailuresPerHour.default)} per hour of a token`,
      `${count(limits.customerLookupFailuresPerHour)} per hour of a signed-in customer`,
      `for this visitor (${count(visitorLookupFailuresPerHour.default)} an hour`,
    ],
    requests: [`at most ${count(limits.bodyBytesMax / 1_024)} KiB`],
  };
  for (const [name, texts] of Object.entries(named)) {
    const guide = guides.find((one) => one.name === name) ?? assert.fail(name);
    for (const text of texts) assert.ok(guide.text.includes(text), text);
  }
});

test('the code in the guide accepts genuine webhooks and rejects others', async () => {
  const source = `${verification}\nexport { isGenuine };`;
  type Verify = (
    secret: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    unixTime: number,
  ) => boolean;
  const module = (await import(`data:text/javascript,${encodeURIComponent(source)}`)) as {
    readonly isGenuine: Verify;
  };
  const isGenuine = (
    ...[secret, headers, sent]: readonly [string, Readonly<Record<string, string>>, string]
  ): boolean => module.isGenuine(secret, headers, sent, Date.now() / 1_000);
  const body = JSON.stringify(examples.event);
  const [old, current] = [new Secret(examples.signingSecret), new Secret(`whsec_${'A'.repeat(43)}=`)];
  const message = { id: String(examples.event.id), attemptedAt: Date.now(), body };
  const headers = signatureHeaders(message, [current, old]);
  for (const secret of [old, current]) assert.equal(isGenuine(secret.reveal(), headers, body), true);
  assert.equal(isGenuine(`whsec_${'B'.repeat(43)}=`, headers, body), false);
  assert.equal(isGenuine(old.reveal(), headers, `${body} `), false);
  assert.equal(isGenuine(old.reveal(), { ...headers, 'webhook-id': '7' }, body), false);
  assert.equal(isGenuine(old.reveal(), { ...headers, 'webhook-signature': 'v1,' }, body), false);
  for (const attemptedAt of [Date.now() - 400_000, Date.now() + 400_000]) {
    assert.equal(isGenuine(old.reveal(), signatureHeaders({ ...message, attemptedAt }, [old]), body), false);
  }
  const unsigned = createHmac('sha256', 'other').update(body).digest('base64');
  assert.equal(isGenuine(old.reveal(), { ...headers, 'webhook-signature': `v1,${unsigned}` }, body), false);
});
