import assert from 'node:assert/strict';
import test from 'node:test';
import { createMailer } from '../../../src/features/emails/delivery/smtp.ts';
import { parseSmtpUrl } from '../../../src/platform/smtp-url.ts';
import { Secret } from '../../../src/platform/secret.ts';

test('an SMTP URL has a host, a port and a TLS mode', async (t) => {
  const cases = {
    'smtp://mail.example': ['mail.example', 587, 'starttls_required'],
    'smtp://mail.example:2525': ['mail.example', 2525, 'starttls_required'],
    'smtp://mail.example:465/': ['mail.example', 465, 'starttls_required'],
    'smtps://mail.example': ['mail.example', 465, 'from_start'],
    'smtp://mail.example?starttls=optional': ['mail.example', 587, 'starttls_optional'],
    'smtp://mail.example?starttls=never': ['mail.example', 587, 'never'],
    'smtp://127.0.0.1:1025': ['127.0.0.1', 1025, 'never'],
    'smtp://localhost:1025': ['localhost', 1025, 'never'],
    'smtp://[::1]:1025': ['::1', 1025, 'never'],
    'smtp://127.0.0.1:1025?starttls=required': ['127.0.0.1', 1025, 'starttls_required'],
    'smtp://127.0.0.1.mail.example': ['127.0.0.1.mail.example', 587, 'starttls_required'],
  };
  for (const [url, [host, port, tls]] of Object.entries(cases)) {
    await t.test(url, () => {
      const parsed = parseSmtpUrl(new Secret(url));
      assert.deepEqual(parsed, { ok: true, value: { host, port, tls, user: null, password: null } });
    });
  }
});

test('the user and password are decoded, and the password is secret', () => {
  const parsed = parseSmtpUrl(new Secret('smtp://ada%40x.example:p%2Fw%3A%40@mail.example'));
  assert.ok(parsed.ok);
  assert.equal(parsed.value.user, 'ada@x.example');
  assert.equal(parsed.value.password?.reveal(), 'p/w:@');
  assert.doesNotMatch(JSON.stringify(parsed), /p\/w/);
});

test('an invalid SMTP URL is rejected without its password', async (t) => {
  const cases = [
    'mail.example:25',
    'http://mail.example',
    'smtp:',
    'smtp://',
    'smtp://:hunter2@mail.example',
    'smtp://ada@mail.example',
    'smtp://ada:%zz@mail.example',
    'smtp://ada:hunter2@mail.example/path',
    'smtp://ada:hunter2@mail.example?proxy=http://proxy.example',
    'smtp://ada:hunter2@mail.example?tls.rejectUnauthorized=false',
    'smtp://ada:hunter2@mail.example?starttls=maybe',
    'smtp://ada:hunter2@mail.example?starttls=never&starttls=required',
    'smtps://ada:hunter2@mail.example?starttls=optional',
    'smtp://ada:hunter2@mail.example#x',
  ];
  for (const url of cases) {
    await t.test(url, () => {
      const parsed = parseSmtpUrl(new Secret(url));
      assert.ok(!parsed.ok);
      assert.doesNotMatch(parsed.error, /hunter2/);
      const create = (): unknown => createMailer({ url: new Secret(url), from: 'a@b.example' });
      assert.throws(create, (error) => error instanceof RangeError && !error.message.includes('hunter2'));
    });
  }
  const url = new Secret('smtp://mail.example');
  for (const from of ['', 'no-domain', 'a@b.example\r\nx', 'ä@b.example'])
    assert.throws(() => createMailer({ url, from }), /MAIL_FROM/);
});
