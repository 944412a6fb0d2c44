/**
 * The mailer: hands mails over to a mail server, and says what came of each.
 *
 * It neither retries nor keeps anything. Connections are pooled, and every wait has an end.
 */

import assert from 'node:assert/strict';
import type { Readable } from 'node:stream';
import { rootCertificates } from 'node:tls';
import { createTransport, type SMTPPoolOptions } from 'nodemailer';
import { parseSenderAddress } from '../../domain/email.ts';
import type { Secret } from '../../domain/secret.ts';
import { addressesOf, compositionOf, type Mail, type MailAddresses } from './message.ts';
import { answerOf, outcomeOf, type Outcome } from './outcome.ts';
import { parseSmtpUrl, type SmtpServer } from '../../smtp-url.ts';

type MailerTimeouts = {
  /** For the lookup of the name, the connection, the greeting and TLS together. */
  readonly connectMs: number;
  readonly greetingMs: number;
  /** For every answer. */
  readonly answerMs: number;
  /** For a mail as a whole, its wait for a free connection included. */
  readonly mailMs: number;
};

const mailerTimeouts: MailerTimeouts = Object.freeze({
  connectMs: 10_000,
  greetingMs: 10_000,
  answerMs: 30_000,
  mailMs: 120_000,
});

export type MailerOptions = {
  /** The SMTP_URL: see smtp-url.ts. */
  readonly url: Secret;
  /** The sender of the envelope, to which the mail system returns what it cannot deliver. */
  readonly from: string;
  readonly timeouts?: Partial<MailerTimeouts>;
  /** Mails on their way at once; the others wait. */
  readonly connectionsMax?: number;
  /** A certificate authority of the operator's own (PEM), trusted beside the public ones. */
  readonly authority?: string;
};

export type Mailer = AsyncDisposable & {
  /**
   * Sends one mail. Aborting the signal ends the attempt at once. What it answers is never an error of
   * delivery; it rejects only for a defect of this program.
   */
  send(mail: Mail, signal?: AbortSignal): Promise<Outcome>;
};

/** Mails that one connection carries before it is replaced. */
const mailsPerConnectionMax = 100;
/** Servers close idle connections after minutes: ours are closed first. */
const idleTimeoutMs = 15_000;
/** A mail moves to another connection only while nothing of it has been sent; see the pool of the library. */
const requeuesMax = 2;

const tls = { rejectUnauthorized: true, minVersion: 'TLSv1.2' } as const;

/** @throws RangeError if the address of the server or the sender is none; it does not tell the password. */
export function createMailer(options: MailerOptions): Mailer {
  const server = parseSmtpUrl(options.url);
  if (!server.ok) throw new RangeError(`SMTP_URL ${server.refusal}`);
  const parsed = parseSenderAddress(options.from);
  if (!parsed.ok) throw new RangeError(`MAIL_FROM ${parsed.refusal}`);
  const from = parsed.value;
  const timeouts = { ...mailerTimeouts, ...options.timeouts };
  const transport = createTransport(poolOptions(server.value, { ...options, from, timeouts }));
  const isWholeMailSent = watchProgress(transport);
  const underWay = new Set<Promise<unknown>>();
  let isClosed = false;

  async function attempt(mail: Mail, { from: author, to, replyTo }: MailAddresses, signal: AbortSignal) {
    try {
      const { response } = await transport.sendMail({
        ...compositionOf(mail, { from: author, to, replyTo }),
        envelope: { from, to: [to] },
        signal,
      });
      return { kind: 'sent', answer: answerOf(response) } as const;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      // What still waits for a connection when the pool closes is given an error without a code.
      if (isClosed && !('code' in error)) return closed;
      return outcomeOf(error, { wholeMailSent: isWholeMailSent(signal) });
    }
  }

  return {
    async send(mail, signal) {
      const addresses = addressesOf(mail);
      if (!addresses.ok) return { kind: 'refused', answer: addresses.refusal, code: null };
      const deadline = AbortSignal.timeout(timeouts.mailMs);
      const until = AbortSignal.any(signal ? [deadline, signal] : [deadline]);
      const sending = attempt(mail, addresses.value, until);
      underWay.add(sending);
      try {
        return await sending;
      } finally {
        underWay.delete(sending);
      }
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      transport.close();
      await Promise.allSettled(underWay);
    },
  };
}

const closed: Outcome = {
  kind: 'deferred',
  answer: 'the service stopped before it was sent',
  code: null,
  cause: 'temporary',
};

type Transport = ReturnType<typeof createTransport>;

function poolOptions(
  server: SmtpServer,
  { from, timeouts, connectionsMax = 5, authority }: MailerOptions & { readonly timeouts: MailerTimeouts },
): SMTPPoolOptions & { readonly pool: true } {
  const { host, port, user, password } = server;
  return {
    pool: true,
    host,
    port,
    // The name in EHLO: servers expect a host name with a dot, which containers seldom have.
    name: URL.parse(`smtp://${from.slice(from.lastIndexOf('@') + 1)}`)?.hostname ?? 'localhost',
    secure: server.tls === 'from_start',
    requireTLS: server.tls === 'starttls_required',
    opportunisticTLS: server.tls === 'starttls_optional',
    ignoreTLS: server.tls === 'never',
    tls: authority === undefined ? tls : { ...tls, ca: [...rootCertificates, authority] },
    ...(user === null || password === null ? {} : { auth: { user, pass: password.reveal() } }),
    connectionTimeout: timeouts.connectMs,
    greetingTimeout: timeouts.greetingMs,
    dnsTimeout: timeouts.connectMs,
    socketTimeout: timeouts.answerMs,
    socketCloseTimeout: 1_000,
    maxResponseSize: 65_536,
    maxConnections: connectionsMax,
    maxMessages: mailsPerConnectionMax,
    maxRequeues: requeuesMax,
    idleTimeout: idleTimeoutMs,
    // A machine that has no network but its own has a mail server, too.
    allowInternalNetworkInterfaces: true,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/**
 * Watches how far each mail gets: the library reads its stream only once the server has asked for the
 * data, and the stream ends just before the line that ends the mail. Until then, no server can have taken it.
 */
function watchProgress(transport: Transport): (signal: AbortSignal) => boolean {
  const streams = new WeakMap<AbortSignal, Readable>();
  transport.use('stream', ({ data, message }, done) => {
    const { signal } = data;
    assert.ok(signal, 'every mail is sent under a signal');
    const create = message.createReadStream.bind(message);
    message.createReadStream = (options) => {
      const stream = create(options);
      streams.set(signal, stream);
      return stream;
    };
    done();
  });
  return (signal) => streams.get(signal)?.readableEnded === true;
}
