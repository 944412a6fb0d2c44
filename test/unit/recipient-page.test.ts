import assert from 'node:assert/strict';
import test from 'node:test';
import { cardLink, previewLink, recipientPageUrl } from '../../src/core/emails/domain/recipient-page.ts';
import { Secret } from '../../src/platform/secret.ts';

const base = 'https://cards.example';

test('the link of an email has the code after the number sign, in capital letters', () => {
  const code = new Secret('abcd');
  const domain = 'flowers.example';
  const page = recipientPageUrl(base, domain);
  assert.equal(page, `${base}/b/${domain}`);
  assert.equal(cardLink(page, code), `${page}/card#ABCD`);
});

test('a preview links to the store’s own page, else to that of the service, and has no code', () => {
  const domain = 'flowers.example';
  const own = 'https://flowers.example/cards';
  assert.equal(previewLink(own, { pagesUrl: base, domain }), own);
  assert.equal(previewLink(null, { pagesUrl: base, domain }), `${base}/b/${domain}`);
  assert.equal(previewLink(null, { pagesUrl: null, domain }), null);
});
