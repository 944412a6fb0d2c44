/** A user name or password in a URL that has no use for one: it would be stored, shown and ignored. */

import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { ConfigError } from '../../src/start/settings-reader.ts';
import { readConfig } from '../../src/start/config.ts';
import { parsePageUrl } from '../../src/features/emails/delivery/sender.ts';
import { parseWebhookUrl } from '../../src/features/webhooks/delivery/url.ts';
import type { Parsed } from '../../src/platform/parsed.ts';
import { Secret } from '../../src/platform/secret.ts';
import { parseSmtpUrl } from '../../src/platform/smtp-url.ts';

function parsePublicUrl(text: string): Parsed<unknown> {
  try {
    return { ok: true, value: readConfig({ PUBLIC_URL: text }).publicUrl };
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return { ok: false, error: error.message };
  }
}

const parsers: Readonly<Record<string, (text: string) => Parsed<unknown>>> = {
  PUBLIC_URL: parsePublicUrl,
  'the URL of a webhook': (text) => parseWebhookUrl(text, { allowLoopback: false }),
  'the URL of a webhook in development': (text) => parseWebhookUrl(text, { allowLoopback: true }),
  'the URL of the page that emails link to': parsePageUrl,
};

const word = fc.stringMatching(/^[A-Za-z0-9._~%21-]{1,20}$/).map(encodeURIComponent);
const secret = fc.stringMatching(/^[a-z]{12}$/).map((letters) => `hush${letters}`);
const user = fc.oneof(
  secret.map((password) => ({ text: `:${password}`, password })),
  fc.tuple(word, secret).map(([name, password]) => ({ text: `${name}:${password}`, password })),
  secret.map((password) => ({ text: password, password })),
  secret.map((password) => ({ text: `${password}:`, password })),
);
const host = fc.tuple(
  fc.constantFrom('cards.flowers.example', 'receiver.example.com', 'a.example'),
  fc.constantFrom('', ':8443'),
);

for (const [name, parse] of Object.entries(parsers)) {
  test(`${name} cannot have a user name or password, and the error does not quote it`, () => {
    fc.assert(
      fc.property(user, host, ({ text, password }, [domain, port]) => {
        assert.equal(parse(`https://${domain}${port}/`).ok, true, `${domain}${port}`);
        for (const start of ['https://', 'HTTPS://', 'https:\\\\', 'https:/']) {
          const parsed = parse(`${start}${text}@${domain}${port}/`);
          assert.ok(!parsed.ok, `${start}${text}@${domain}${port}/`);
          assert.ok(!parsed.error.includes(password), parsed.error);
        }
        const parsed = parse(`https://${text}@${domain}${port}/`);
        assert.match(parsed.ok ? '' : parsed.error, /must not contain a user name or password/);
      }),
      { numRuns: 200 },
    );
  });
}

test('SMTP_URL has both a user and a password, or neither', () => {
  fc.assert(
    fc.property(word, secret, (name, password) => {
      const isAccepted = (text: string): boolean => parseSmtpUrl(new Secret(`smtp://${text}mail.example`)).ok;
      assert.deepEqual(
        [`${name}:${password}@`, '', `:${password}@`, `${name}@`, `${name}:@`].map(isAccepted),
        [true, true, false, false, false],
      );
    }),
    { numRuns: 200 },
  );
});
