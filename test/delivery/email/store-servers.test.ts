/** Mail servers that owners name: addresses, TLS, slow servers, and changes. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { connectPublic, type PublicNetwork } from '../../../src/delivery/public-socket.ts';
import { createPublicMailer } from '../../../src/features/emails/delivery/smtp.ts';
import { storeServers } from '../../../src/features/emails/delivery/store-servers.ts';
import { troubleOf } from '../../../src/features/email-server/delivery/trouble.ts';
import { noticeEmail } from '../../../src/features/emails/delivery/notice.ts';
import type { OpenedServer } from '../../../src/features/emails/domain/server.ts';
import { Secret } from '../../../src/platform/secret.ts';
import { certificateFor } from './certificate.ts';
import { reply, scriptedServer, smtpServer, type SmtpServer } from './smtp-server.ts';

const host = 'smtp.server.example';
const { certificate, key } = certificateFor(host);

function networkTo(server: SmtpServer, addresses: readonly string[] = ['93.184.215.14']): PublicNetwork {
  return {
    authority: certificate,
    resolve: async () => addresses,
    rerouteForTests: { address: () => '127.0.0.1', port: () => Number(new URL(server.url().reveal()).port) },
  };
}

const opened: OpenedServer = {
  host,
  port: 587,
  tls: 'starttls_required',
  user: 'gifts',
  sender: 'gifts@flowers.example',
  password: new Secret('hush'),
  revision: '1',
};

const email = noticeEmail(
  { subject: 'Six digits', paragraphs: ['Type <these> digits:', 'Nothing else.'], code: '012345', locale: 'en' },
  { id: 'service.1', date: 0, store: { name: 'Flowers & Co.', domain: 'flowers.example' }, from: opened.sender, to: 'ada@example.com' },
); // prettier-ignore
const delivery = { name: 'test', sendAt: 0 };

test('a host with any address that is not public, and an address instead of a host, are not connected to', async () => {
  await using server = await scriptedServer({});
  const target = { host, port: 587, timeoutMs: 1_000 };
  const forbidden = ['127.0.0.1', '10.1.2.3', '100.64.0.1', '169.254.169.254', '::1', 'fe80::1', 'fd00::1', '::ffff:127.0.0.1', '::ffff:93.184.215.14', '64:ff9b::7f00:1', '0.0.0.0']; // prettier-ignore
  for (const address of forbidden) {
    for (const addresses of [[address], ['93.184.215.14', address]])
      await assert.rejects(connectPublic(networkTo(server, addresses), target), { code: 'EFORBIDDEN' });
    await assert.rejects(connectPublic(networkTo(server), { ...target, host: address }), {
      code: 'EFORBIDDEN',
    });
  }
  await assert.rejects(connectPublic(networkTo(server, []), target), { code: 'EDNS' });
  assert.equal(server.connections(), 0);
  const socket = await connectPublic(networkTo(server), target);
  socket.destroy();
});

test('every failure has a meaning for the owner, and no address', async (t) => {
  const patient = { connectMs: 5_000, greetingMs: 5_000, responseMs: 5_000, emailMs: 10_000 };
  const impatient = { connectMs: 300, greetingMs: 300, responseMs: 300, emailMs: 2_000 };
  const outcomeAt = async (server: SmtpServer, changes: Partial<OpenedServer> = {}, timeouts = patient) => {
    const network = networkTo(server);
    await using mailer = createPublicMailer({ server: { ...opened, ...changes }, from: opened.sender, network, timeouts });
    return await mailer.send(email);
  }; // prettier-ignore
  const credentials = { key, cert: certificate, authOptional: false } as const;
  const accepting = (error: Error | null) => ({
    ...credentials,
    onAuth: (_auth: unknown, _session: unknown, done: (failed: Error | null, response?: { user: string }) => void) =>
      error ? done(error) : done(null, { user: 'gifts' }),
  }); // prettier-ignore
  const cases: readonly (readonly [string, () => Promise<SmtpServer>, string, Partial<OpenedServer>?])[] = [
    ['wrong credentials', () => smtpServer(accepting(reply(535, '5.7.8 no'))), 'signIn'],
    ['another name in the certificate', () => smtpServer(accepting(null)), 'encryption', { host: 'smtp.other.example' }],
    ['TLS from the start on a port without it', () => smtpServer(accepting(null)), 'encryption', { tls: 'from_start' }],
    ['no STARTTLS', () => scriptedServer({}), 'encryption'],
    ['no greeting', () => scriptedServer({ greeting: 'stall' }), 'noResponse'],
    ['a server that hangs up', () => scriptedServer({ greeting: 'hang up' }), 'noResponse'],
    ['a sender that it does not send for', () => smtpServer({ ...accepting(null), onMailFrom: (_address, _session, done) => done(reply(550, '5.7.1 Sender not allowed')) }), 'relay'],
    ['relaying denied', () => smtpServer({ ...accepting(null), onRcptTo: (_address, _session, done) => done(reply(554, '5.7.1 Relay access denied')) }), 'relay'],
    ['later', () => smtpServer({ ...accepting(null), onRcptTo: (_address, _session, done) => done(reply(451, '4.7.1 Try again')) }), 'later'],
    ['spam', () => smtpServer({ ...accepting(null), afterData: () => reply(554, '5.7.0 Looks like spam') }), 'rejected'],
    ['accepted', () => smtpServer(accepting(null)), 'null'],
  ]; // prettier-ignore
  for (const [name, open, expected, changes] of cases)
    await t.test(name, async () => {
      await using server = await open();
      const outcome = await outcomeAt(server, changes, name === 'no greeting' ? impatient : patient);
      assert.equal(String(troubleOf(outcome)), expected, JSON.stringify(outcome));
      assert.doesNotMatch(outcome.response, /93\.184\.215\.14|hush/);
    });
});

test('a changed server has new connections, and the earlier ones end', async () => {
  const accepting = {
    key,
    cert: certificate,
    authOptional: false,
    onAuth: (
      { username }: { readonly username?: string | undefined },
      _session: unknown,
      done: (error: null, response: { user: string }) => void,
    ) => done(null, { user: username ?? '' }),
  };
  await using server = await smtpServer(accepting);
  const servers = storeServers(networkTo(server));
  const send = async (changes: Partial<OpenedServer>) => {
    const transport = servers.transportOf(1, { ...opened, ...changes });
    return await transport.send(email, delivery, AbortSignal.timeout(5_000));
  };
  for (const changes of [{}, {}, { user: 'other', revision: '2' }])
    assert.equal((await send(changes)).kind, 'sent');
  const [first, second, third] = server.received;
  assert.equal(first?.session, second?.session);
  assert.notEqual(second?.session, third?.session);
  assert.deepEqual([first?.user, third?.user], ['gifts', 'other']);
  await servers[Symbol.asyncDispose]();
});

test('a notice is plain text and HTML without markup of its texts', () => {
  assert.equal(email.content.text, 'Type <these> digits:\n\n012345\n\nNothing else.\n');
  assert.match(email.content.html, /Type &lt;these&gt; digits:/);
});
