/** The transports of emails: a mail server, or in development a folder. */

import type { Secret } from '../../../platform/secret.ts';
import type { EmailFolder } from './folder.ts';
import { createMailer, type Mailer } from './smtp.ts';
import type { Email } from './message.ts';
import type { EmailOutcome } from './outcome.ts';

/** The mail server that sends the emails. */
export type EmailConfig = {
  readonly url: Secret;
  /** The envelope sender, and the default sender of stores. */
  readonly from: string;
};

export type EmailTransport = AsyncDisposable & {
  /** The sender's address of stores that have none. */
  readonly from: string;
  /** The mail server; null: there is none. */
  readonly server: Mailer['server'] | null;
  /** The maximum number of emails that are sent at the same time. */
  readonly connectionsMax: number;
  /** The maximum duration of an attempt, in ms. */
  readonly emailMaxMs: number;
  /** Sends an email. Every failed delivery is an outcome; the promise rejects only for a defect of this program. */
  send(
    email: Email,
    delivery: { readonly name: string; readonly sendAt: number },
    signal: AbortSignal,
  ): Promise<EmailOutcome>;
};

const connectionsMax = 5;
/** The longest attempt to send an email. */
export const emailMaxMs = 120_000;

export function smtpTransport({ url, from }: EmailConfig): EmailTransport {
  const mailer = createMailer({ url, from, connectionsMax, timeouts: { emailMs: emailMaxMs } });
  return {
    from,
    server: mailer.server,
    connectionsMax,
    emailMaxMs,
    send: (email, _delivery, signal) => mailer.send(email, signal),
    [Symbol.asyncDispose]: () => mailer[Symbol.asyncDispose](),
  };
}

/** An address that cannot exist (RFC 2606). */
export const developmentSender = 'gift-cards@largesse.example';

export function folderTransport(folder: EmailFolder): EmailTransport {
  return {
    from: developmentSender,
    server: null,
    connectionsMax: 1,
    emailMaxMs,
    async send(email, { name, sendAt }) {
      // The same time in every attempt, so that a repeated attempt replaces the file.
      const kept = await folder.keep(email, { id: name, now: sendAt });
      return { kind: 'kept', response: `kept as ${kept.name}.eml` };
    },
    async [Symbol.asyncDispose]() {
      // A folder does not have to be closed.
    },
  };
}
