import assert from 'node:assert/strict';
import test from 'node:test';
import type { EmailOutcome } from '../../../src/features/emails/delivery/outcome.ts';
import type { MailerOptions } from '../../../src/features/emails/delivery/smtp.ts';
import { smtpServer, reply, scriptedServer } from './smtp-server.ts';
import { sendTo } from './sending.ts';

const responses: readonly {
  readonly name: string;
  readonly script: Readonly<Record<string, string>>;
  readonly outcome: Partial<EmailOutcome>;
}[] = [
  {
    name: 'a busy mailbox',
    script: { 'RCPT TO': '451 4.3.0 try later' },
    outcome: { kind: 'deferred', code: 451, cause: 'temporary', response: '451 4.3.0 try later' },
  },
  {
    name: 'an unknown mailbox',
    script: { 'RCPT TO': '550 5.1.1 no such user' },
    outcome: { kind: 'rejected', code: 550, response: '550 5.1.1 no such user' },
  },
  {
    name: 'an email rejected after its data',
    script: { '.': '554 5.7.1 looks like spam' },
    outcome: { kind: 'rejected', code: 554 },
  },
  {
    name: 'an email deferred after its data',
    script: { '.': '452 4.3.1 no space' },
    outcome: { kind: 'deferred', code: 452, cause: 'temporary' },
  },
  {
    name: 'rejected DATA',
    script: { DATA: '554 5.5.1 no valid recipients' },
    outcome: { kind: 'rejected', code: 554 },
  },
  {
    name: 'a rejected sender',
    script: { 'MAIL FROM': '553 5.7.1 not your address' },
    outcome: { kind: 'deferred', code: 553, cause: 'operator' },
  },
  {
    name: 'a deferred sender',
    script: { 'MAIL FROM': '450 4.7.1 slow down' },
    outcome: { kind: 'deferred', code: 450, cause: 'temporary' },
  },
  {
    name: 'authentication required at RCPT',
    script: { 'RCPT TO': '530 5.7.0 authentication required' },
    outcome: { kind: 'deferred', code: 530, cause: 'operator' },
  },
  {
    name: 'a confused session',
    script: { 'RCPT TO': '503 5.5.1 bad sequence' },
    outcome: { kind: 'deferred', code: 503, cause: 'temporary' },
  },
  {
    name: 'a server that accepts no clients',
    script: { greeting: '554 no service for you' },
    outcome: { kind: 'deferred', code: 554, cause: 'operator' },
  },
  {
    name: 'a busy server',
    script: { greeting: '421 4.3.2 too busy' },
    outcome: { kind: 'deferred', code: 421, cause: 'temporary' },
  },
  {
    name: 'a server that announces its shutdown after the data',
    script: { '.': '421 4.3.2 shutting down' },
    outcome: { kind: 'deferred', code: 421, cause: 'temporary' },
  },
  {
    name: 'no greeting',
    script: { greeting: 'stall' },
    outcome: { kind: 'deferred', code: null, cause: 'temporary' },
  },
  {
    name: 'a stall at EHLO',
    script: { EHLO: 'stall' },
    outcome: { kind: 'deferred', code: null, cause: 'temporary' },
  },
  {
    name: 'a stall at MAIL FROM',
    script: { 'MAIL FROM': 'stall' },
    outcome: { kind: 'deferred', code: null, cause: 'temporary' },
  },
  {
    name: 'a stall at DATA',
    script: { DATA: 'stall' },
    outcome: { kind: 'deferred', code: null, cause: 'temporary' },
  },
  {
    name: 'a hang-up at the greeting',
    script: { greeting: 'hang up' },
    outcome: { kind: 'deferred', code: null, cause: 'temporary' },
  },
  {
    name: 'a hang-up at RCPT',
    script: { 'RCPT TO': 'hang up' },
    outcome: { kind: 'deferred', code: null, cause: 'temporary' },
  },
  {
    name: 'a hang-up at DATA',
    script: { DATA: 'hang up' },
    outcome: { kind: 'deferred', code: null, cause: 'temporary' },
  },
  {
    name: 'a hang-up after the data, before the response',
    script: { '.': 'hang up' },
    outcome: { kind: 'unknown' },
  },
  { name: 'a stall after the data', script: { '.': 'stall' }, outcome: { kind: 'unknown' } },
  {
    name: 'a response of several lines with a control character',
    script: { 'RCPT TO': '550-5.1.1 no\u0007 such\r\n550 5.1.1 user' },
    outcome: { kind: 'rejected', response: '550-5.1.1 no such 550 5.1.1 user' },
  },
  {
    name: 'a very long response',
    script: { 'RCPT TO': `550 ${'x'.repeat(2_000)}` },
    outcome: { kind: 'rejected', response: `550 ${'x'.repeat(495)}…` },
  },
  {
    name: 'a response over the limit',
    script: { 'RCPT TO': '550-'.padEnd(100_000, 'x') },
    outcome: { kind: 'deferred', code: null },
  },
  {
    name: 'an invalid response at RCPT',
    script: { 'RCPT TO': 'what?' },
    outcome: { kind: 'deferred', code: null, cause: 'temporary' },
  },
  { name: 'an invalid response after the data', script: { '.': 'what?' }, outcome: { kind: 'unknown' } },
  {
    name: 'a response without SMTP',
    script: { greeting: 'HTTP/1.1 400 Bad Request' },
    outcome: { kind: 'deferred', cause: 'temporary' },
  },
];

/** Short only where the server stalls, because the machine may be slow. */
function timeoutsFor(script: readonly string[]): NonNullable<MailerOptions['timeouts']> {
  const ms = script.includes('stall') ? 1_500 : 30_000;
  return { connectMs: ms, greetingMs: ms, responseMs: ms };
}

test('the response of a server decides the outcome', { concurrency: true }, async (t) => {
  const cases = responses.flatMap((each) => [
    { ...each, EHLO: '250 scripted' },
    { ...each, name: `${each.name}, with pipelining`, EHLO: '250-scripted\r\n250 PIPELINING' },
  ]);
  await Promise.all(
    cases.map(({ name, script, EHLO, outcome }) =>
      t.test(name, async () => {
        await using server = await scriptedServer({ EHLO, ...script });
        const actual = await sendTo(server, { timeouts: timeoutsFor(Object.values(script)) });
        assert.deepEqual({ ...actual, ...outcome }, actual);
      }),
    ),
  );
});

test('the rejections of a real server have different outcomes', async () => {
  await using deferring = await smtpServer({ onRcptTo: (_, __, done) => done(reply(451, 'greylisted')) });
  assert.partialDeepStrictEqual(await sendTo(deferring), { kind: 'deferred', code: 451, cause: 'temporary' });
  await using rejecting = await smtpServer({ onRcptTo: (_, __, done) => done(reply(550, 'unknown')) });
  assert.partialDeepStrictEqual(await sendTo(rejecting), { kind: 'rejected', code: 550 });
  await using atData = await smtpServer({ afterData: () => reply(552, 'too large') });
  assert.partialDeepStrictEqual(await sendTo(atData), { kind: 'rejected', code: 552 });
});
