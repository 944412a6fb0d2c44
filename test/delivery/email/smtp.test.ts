import assert from 'node:assert/strict';
import test from 'node:test';
import PostalMime from 'postal-mime';
import { createMailer } from '../../../src/features/emails/delivery/smtp.ts';
import { toEml } from '../../../src/features/emails/delivery/message.ts';
import { renderEmail } from '../../../src/features/emails/delivery/render.ts';
import { certificateForThisMachine } from './certificate.ts';
import { smtpServer, reply, scriptedServer } from './smtp-server.ts';
import { emailWith, contentWith, senderWith } from './samples.ts';
import { from, sendTo } from './sending.ts';

test('an email arrives unchanged: envelope, headers, both parts and the image', async () => {
  await using server = await smtpServer();
  const sender = senderWith({ locale: 'ar', name: 'زهور "القاهرة"' });
  const message = '.\r\n..\r\nFrom the start\n<b>&amp; ünïcödé 🎁';
  const content = renderEmail(contentWith('gift_card', { message }), sender);
  const email = emailWith({ content }, sender);
  const outcome = await sendTo(server, {}, email);
  assert.equal(outcome.kind, 'sent');
  assert.match(outcome.response, /^250 /);
  const [received] = server.received;
  assert.ok(received);
  assert.equal(received.from, from);
  assert.deepEqual(received.to, ['grace@example.com']);
  assert.deepEqual(
    received.message.toString(),
    `${Buffer.from(await toEml(email))
      .toString()
      .trimEnd()}\r\n`,
  );
  const parsed = await PostalMime.parse(received.message);
  assert.equal(parsed.subject, content.subject);
  assert.deepEqual(parsed.from, { name: sender.name, address: 'hello@flowers.example' });
  assert.equal(parsed.text?.trimEnd(), content.text.trimEnd());
  assert.equal(parsed.html?.trimEnd(), content.html.trimEnd());
  assert.equal(parsed.messageId, email.messageId);
  const [image] = parsed.attachments;
  assert.ok(image?.content instanceof ArrayBuffer && content.images[0]);
  assert.deepEqual(Buffer.from(image.content), Buffer.from(content.images[0].content));
});

test('many emails share a few connections, and each arrives once', async () => {
  await using server = await smtpServer();
  await using mailer = createMailer({ url: server.url(), from, connectionsMax: 3 });
  const recipients = Array.from({ length: 40 }, (_, index) => `ada${index}@example.com`);
  const outcomes = await Promise.all(recipients.map((to) => mailer.send(emailWith({ to }))));
  assert.ok(outcomes.every(({ kind }) => kind === 'sent'));
  assert.deepEqual(server.received.flatMap(({ to }) => to).toSorted(), recipients.toSorted());
  assert.equal(new Set(server.received.map(({ session }) => session)).size, 3);
});

test('the connection of a rejected email is used for the next one', async () => {
  await using server = await scriptedServer({ 'RCPT TO': '550 5.1.1 no such user' });
  await using mailer = createMailer({ url: server.url(), from, connectionsMax: 1 });
  for (let count = 0; count < 3; count += 1) assert.equal((await mailer.send(emailWith())).kind, 'rejected');
  assert.equal(server.connections(), 1);
});

test('an unreachable server defers the email', async () => {
  const gone = await smtpServer();
  await gone[Symbol.asyncDispose]();
  assert.partialDeepStrictEqual(await sendTo(gone), { kind: 'deferred', code: null, cause: 'temporary' });
});

test('the time limit of an email ends an attempt with a slow server', async () => {
  await using server = await scriptedServer({ 'RCPT TO': 'stall' });
  const outcome = await sendTo(server, { timeouts: { responseMs: 5_000, emailMs: 200 } });
  assert.partialDeepStrictEqual(outcome, { kind: 'deferred', code: null, cause: 'temporary' });
  await using late = await scriptedServer({ '.': 'stall' });
  const unknown = await sendTo(late, { timeouts: { responseMs: 5_000, emailMs: 200 } });
  assert.equal(unknown.kind, 'unknown');
});

test('an aborted attempt ends at once', async () => {
  await using server = await scriptedServer({ 'MAIL FROM': 'stall' });
  await using mailer = createMailer({ url: server.url(), from });
  const sending = mailer.send(emailWith(), AbortSignal.timeout(50));
  assert.partialDeepStrictEqual(await sending, { kind: 'deferred', code: null });
});

test('a closed mailer finishes the current email and defers the others', async () => {
  await using server = await smtpServer({ onMailFrom: (_, __, done) => void setTimeout(done, 100) });
  const mailer = createMailer({ url: server.url(), from, connectionsMax: 1 });
  const outcomes = [mailer.send(emailWith()), mailer.send(emailWith())];
  await new Promise((resolve) => {
    setTimeout(resolve, 50);
  });
  await mailer[Symbol.asyncDispose]();
  assert.deepEqual(
    (await Promise.all(outcomes)).map(({ kind }) => kind),
    ['sent', 'deferred'],
  );
  assert.equal((await mailer.send(emailWith())).kind, 'deferred');
  assert.equal(server.received.length, 1);
});

test('an invalid address is rejected without a connection', async () => {
  await using server = await scriptedServer({});
  await using mailer = createMailer({ url: server.url(), from });
  for (const to of ['a@b.example\r\nBcc: x@y.example', 'a@b.example, x@y.example', '<a@b.example>', '']) {
    assert.partialDeepStrictEqual(await mailer.send(emailWith({ to })), { kind: 'rejected', code: null });
    const sender = await mailer.send(emailWith({ from: { name: 'x', address: to } }));
    assert.partialDeepStrictEqual(sender, { kind: 'rejected', code: null });
  }
  assert.equal(server.connections(), 0);
});

test('every command contains at most one address', async () => {
  await using server = await scriptedServer({});
  const name = 'x"\r\nRCPT TO:<evil@y.example>\r\nBcc: evil@y.example';
  assert.equal(
    (await sendTo(server, {}, emailWith({ from: { name, address: 'hello@flowers.example' } }))).kind,
    'sent',
  );
  const commands = server.lines.filter((line) => /^(?:MAIL FROM|RCPT)/.test(line));
  assert.deepEqual(commands, [`MAIL FROM:<${from}>`, 'RCPT TO:<grace@example.com>']);
  assert.ok(!server.lines.some((line) => /^bcc/i.test(line)));
});

test('international domains are encoded; a non-ASCII mailbox needs a server with SMTPUTF8', async () => {
  await using plain = await scriptedServer({});
  assert.equal((await sendTo(plain, {}, emailWith({ to: 'ada@bücher.example' }))).kind, 'sent');
  assert.ok(plain.lines.includes('RCPT TO:<ada@xn--bcher-kva.example>'));
  assert.ok(plain.lines.includes('To: ada@xn--bcher-kva.example'));
  await using server = await smtpServer();
  assert.equal((await sendTo(server, {}, emailWith({ to: 'jürgen@example.com' }))).kind, 'sent');
  assert.deepEqual(server.received[0]?.to, ['jürgen@example.com']);
  // A server without the extension rejects it, and the outcome has its response.
  await using old = await scriptedServer({ 'RCPT TO': '553 5.6.7 address is not ASCII' });
  assert.partialDeepStrictEqual(await sendTo(old, {}, emailWith({ to: 'jürgen@example.com' })), {
    kind: 'rejected',
    code: 553,
  });
});

test('TLS is verified, and required by default', async (t) => {
  const { certificate, key } = certificateForThisMachine();
  await using server = await smtpServer({ key, cert: certificate });
  await t.test('a certificate of a trusted authority is accepted', async () => {
    const outcome = await sendTo(server, { url: server.url('?starttls=required'), authority: certificate });
    assert.equal(outcome.kind, 'sent');
    assert.equal(server.received.at(-1)?.secure, true);
  });
  await t.test('an untrusted certificate needs the operator', async () => {
    const outcome = await sendTo(server, { url: server.url('?starttls=required') });
    assert.partialDeepStrictEqual(outcome, { kind: 'deferred', code: null, cause: 'operator' });
  });
  await t.test('without STARTTLS, no email is sent', async () => {
    await using plain = await smtpServer();
    const outcome = await sendTo(plain, { url: plain.url('?starttls=required') });
    assert.partialDeepStrictEqual(outcome, { kind: 'deferred', cause: 'operator' });
    assert.equal(plain.received.length, 0);
    assert.equal((await sendTo(plain, { url: plain.url('?starttls=optional') })).kind, 'sent');
  });
  await t.test('a server on this machine needs no TLS', async () => {
    assert.equal((await sendTo(server)).kind, 'sent');
    assert.equal(server.received.at(-1)?.secure, false);
  });
  await t.test('an environment variable cannot disable the verification', async () => {
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      const outcome = await sendTo(server, { url: server.url('?starttls=required') });
      assert.equal(outcome.kind, 'deferred');
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    }
  });
});

test('failed authentication needs the operator; successful authentication is used', async () => {
  await using server = await smtpServer({
    authOptional: false,
    authMethods: ['PLAIN'],
    allowInsecureAuth: true,
    onAuth({ username, password }, _session, done) {
      if (username === 'ada' && password === 'p@ss:w/rd') done(null, { user: username });
      else done(reply(535, '5.7.8 authentication failed'));
    },
  });
  const outcome = await sendTo(server, { url: server.url('', 'ada:wrong@') });
  assert.partialDeepStrictEqual(outcome, { kind: 'deferred', code: 535, cause: 'operator' });
  assert.doesNotMatch(JSON.stringify(outcome), /wrong/);
  assert.equal((await sendTo(server, { url: server.url('', 'ada:p%40ss%3Aw%2Frd@') })).kind, 'sent');
  assert.equal(server.received[0]?.user, 'ada');
  // Without credentials there is no authentication.
  assert.partialDeepStrictEqual(await sendTo(server), { kind: 'deferred', code: 530, cause: 'operator' });
});

test('proxies of the environment are ignored', async () => {
  await using server = await smtpServer();
  await using proxy = await scriptedServer({});
  const address = proxy.url().reveal().replace('smtp:', 'http:');
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'])
    process.env[name] = address;
  assert.equal((await sendTo(server)).kind, 'sent');
  assert.equal(proxy.connections(), 0);
});
