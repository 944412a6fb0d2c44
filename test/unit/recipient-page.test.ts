import assert from 'node:assert/strict';
import test from 'node:test';
import { previewLink, recipientLink } from '../../src/domain/recipient-page.ts';
import { Secret } from '../../src/domain/secret.ts';

const base = 'https://cards.example';

test('the link of an email has the code after the number sign, in capital letters', () => {
  const code = new Secret('abcd');
  const domain = 'flowers.example';
  assert.equal(recipientLink(base, { domain, code }), `${base}/b/${domain}/card#ABCD`);
  assert.equal(recipientLink(base, { domain, code: null }), `${base}/b/${domain}`);
});

test('a preview links to the store’s own page, else to that of the service, and has no code', () => {
  const domain = 'flowers.example';
  const own = 'https://flowers.example/cards';
  assert.equal(previewLink(own, { pagesUrl: base, domain }), own);
  assert.equal(previewLink(null, { pagesUrl: base, domain }), `${base}/b/${domain}`);
  assert.equal(previewLink(null, { pagesUrl: null, domain }), null);
});
