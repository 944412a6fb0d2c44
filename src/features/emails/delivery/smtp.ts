/**
 * Sends emails to a mail server by SMTP.
 *
 * It neither retries nor stores anything. Connections are pooled; their number, the length of a response and every
 * wait are limited. Emails that wait for a connection are limited by the worker, which sends as many as there are
 * connections.
 */

import assert from 'node:assert/strict';
import type { Readable } from 'node:stream';
import { rootCertificates } from 'node:tls';
import type { createTransport, NodemailerError, SMTPPoolOptions } from 'nodemailer';
import { parseSenderAddress } from '../../../core/domain/email-address.ts';
import type { Secret } from '../../../platform/secret.ts';
import { connectPublic, type PublicNetwork } from '../../../delivery/public-socket.ts';
import { addressesOf, compositionOf, type Email, type EmailAddresses } from './message.ts';
import { storedResponseOf, outcomeOf, type EmailOutcome } from './outcome.ts';
import { parseSmtpUrl, type SmtpServer } from '../../../platform/smtp-url.ts';

type MailerTimeouts = {
  /** For the name lookup, the connection, the greeting and TLS together. */
  readonly connectMs: number;
  readonly greetingMs: number;
  /** For every response. */
  readonly responseMs: number;
  /** For a whole email, including the wait for a free connection. */
  readonly emailMs: number;
};

const mailerTimeouts: MailerTimeouts = Object.freeze({
  connectMs: 10_000,
  greetingMs: 10_000,
  responseMs: 30_000,
  emailMs: 120_000,
});

type ConnectionOptions = {
  /** The sender of the envelope: bounces are returned to it. */
  readonly from: string;
  readonly timeouts?: Partial<MailerTimeouts>;
  /** Emails that are sent at the same time; others wait. */
  readonly connectionsMax?: number;
  /** A certificate authority of the operator (PEM), trusted in addition to the public ones. */
  readonly authority?: string;
};

export type MailerOptions = ConnectionOptions & {
  /** The SMTP_URL: see smtp-url.ts. */
  readonly url: Secret;
};

/** A server that an owner has named: it has a public address. */
export type PublicMailerOptions = ConnectionOptions & {
  readonly server: SmtpServer;
  readonly network: PublicNetwork;
};

type PoolSettings = ConnectionOptions & { readonly network?: PublicNetwork };

export type Mailer = AsyncDisposable & {
  readonly server: Pick<SmtpServer, 'host' | 'port'>;
  /**
   * Sends an email. Aborting the signal ends the attempt at once. Every failed delivery is an outcome; the promise
   * rejects only for a defect of this program.
   */
  send(email: Email, signal?: AbortSignal): Promise<EmailOutcome>;
};

/** Emails on one connection before it is replaced. */
const emailsPerConnectionMax = 100;
/** Servers close idle connections after minutes; the client closes them first. */
const idleTimeoutMs = 15_000;
/** The library moves an email to another connection only while nothing of it has been sent. */
const requeuesMax = 2;

const tls = { rejectUnauthorized: true, minVersion: 'TLSv1.2' } as const;

/** @throws RangeError if the server's URL or the sender's address is invalid; its message has no password. */
export function createMailer(options: MailerOptions): Mailer {
  const server = parseSmtpUrl(options.url);
  if (!server.ok) throw new RangeError(`SMTP_URL ${server.error}`);
  const parsed = parseSenderAddress(options.from);
  if (!parsed.ok) throw new RangeError(`MAIL_FROM ${parsed.error}`);
  return mailerOf(server.value, { ...options, from: parsed.value });
}

/** A mailer for a server that an owner has named. */
export function createPublicMailer({ server, ...options }: PublicMailerOptions): Mailer {
  return mailerOf(server, options);
}

/** @param options.from a sender's address that was parsed. */
function mailerOf(server: SmtpServer, options: PoolSettings): Mailer {
  const { from } = options;
  const timeouts = { ...mailerTimeouts, ...options.timeouts };
  /** Opened for the first email. */
  let opened: Promise<Opened> | undefined;
  const inProgress = new Set<Promise<unknown>>();
  let isClosed = false;

  async function attempt(email: Email, { from: author, to, replyTo }: EmailAddresses, signal: AbortSignal) {
    opened ??= openTransport(poolOptions(server, { ...options, timeouts }));
    const { transport, isCompletelySent } = await opened;
    try {
      const { response } = await transport.sendMail({
        ...compositionOf(email, { from: author, to, replyTo }),
        envelope: { from, to: [to] },
        signal,
      });
      return { kind: 'sent', response: storedResponseOf(response) } as const;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      // The library rejects emails that wait for a connection of a closed pool with an error without a code.
      if (isClosed && !('code' in error)) return stoppedOutcome;
      return outcomeOf(error, { isCompletelySent: isCompletelySent(signal) });
    }
  }

  return {
    server,
    async send(email, signal) {
      const addresses = addressesOf(email);
      if (!addresses.ok) return { kind: 'rejected', response: addresses.error, code: null };
      const deadline = AbortSignal.timeout(timeouts.emailMs);
      const until = AbortSignal.any(signal ? [deadline, signal] : [deadline]);
      const sending = attempt(email, addresses.value, until);
      inProgress.add(sending);
      try {
        return await sending;
      } finally {
        inProgress.delete(sending);
      }
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      (await opened)?.transport.close();
      await Promise.allSettled(inProgress);
    },
  };
}

export type SignInFailure = {
  readonly response: string;
  /** Whether the settings are wrong, and not only the connection. */
  readonly isOfTheSettings: boolean;
};

/**
 * Connects to the mail server, encrypts the connection and signs in as for an email, and sends none.
 * @returns null if the server accepts it.
 * @throws RangeError as `createMailer` does.
 */
export async function trySignIn(options: MailerOptions): Promise<SignInFailure | null> {
  const server = parseSmtpUrl(options.url);
  if (!server.ok) throw new RangeError(`SMTP_URL ${server.error}`);
  const timeouts = { ...mailerTimeouts, ...options.timeouts };
  const { transport } = await openTransport(poolOptions(server.value, { ...options, timeouts }));
  try {
    await transport.verify();
    return null;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    // The library has no code for a connection that the server closes before it responds.
    if (!('code' in error)) return { response: storedResponseOf(error.message), isOfTheSettings: false };
    const outcome = outcomeOf(error as NodemailerError, { isCompletelySent: false });
    const isOfTheSettings = outcome.kind === 'deferred' && outcome.cause === 'operator';
    return { response: outcome.response, isOfTheSettings };
  } finally {
    transport.close();
  }
}

const stoppedOutcome: EmailOutcome = {
  kind: 'deferred',
  response: 'the service stopped before it was sent',
  code: null,
  cause: 'temporary',
};

type Transport = ReturnType<typeof createTransport>;

type Opened = Awaited<ReturnType<typeof openTransport>>;

async function openTransport(options: ReturnType<typeof poolOptions>) {
  const { createTransport: create } = await import('nodemailer');
  const transport = create(options);
  return { transport, isCompletelySent: watchProgress(transport) };
}

function poolOptions(
  server: SmtpServer,
  {
    from,
    timeouts,
    connectionsMax = 5,
    network,
    authority = network?.authority,
  }: PoolSettings & { readonly timeouts: MailerTimeouts },
): SMTPPoolOptions & { readonly pool: true } {
  const { host, port, user, password } = server;
  return {
    pool: true,
    host,
    port,
    // The name in EHLO: servers expect a host name with a dot, which few containers have.
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
    socketTimeout: timeouts.responseMs,
    socketCloseTimeout: 1_000,
    maxResponseSize: 65_536,
    maxConnections: connectionsMax,
    maxMessages: emailsPerConnectionMax,
    maxRequeues: requeuesMax,
    idleTimeout: idleTimeoutMs,
    // Allows a mail server on a machine without another network.
    allowInternalNetworkInterfaces: true,
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(network && {
      getSocket(_options, callback) {
        connectPublic(network, { host, port, timeoutMs: timeouts.connectMs }).then(
          (connection) => callback(null, { connection }),
          (error: unknown) => callback(error instanceof Error ? error : new Error(String(error))),
        );
      },
    }),
  };
}

/**
 * Returns whether an email was sent completely. The library reads the stream of an email when the server has asked for
 * the data, and the stream ends before the line that ends the email: until then, no server has accepted it.
 */
function watchProgress(transport: Transport): (signal: AbortSignal) => boolean {
  const streams = new WeakMap<AbortSignal, Readable>();
  transport.use('stream', ({ data, message }, done) => {
    const { signal } = data;
    assert.ok(signal, 'every email is sent with a signal');
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
