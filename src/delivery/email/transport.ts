/** Where mails go: to a mail server, or in development into a folder. */

import type { MailConfig } from '../../config.ts';
import type { MailFolder } from './folder.ts';
import { createMailer } from './smtp.ts';
import type { Mail } from './message.ts';
import type { Outcome } from './outcome.ts';

export type MailTransport = AsyncDisposable & {
  /** The sender of stores that have no address of their own. */
  readonly from: string;
  /** Mails on their way at once. */
  readonly connectionsMax: number;
  /** How long one may take at most. */
  readonly mailMaxMs: number;
  /**
   * Sends a mail under the name of its delivery. What it answers is never an error of delivery; it rejects only for
   * a defect of this program.
   */
  send(
    mail: Mail,
    delivery: { readonly name: string; readonly sendAt: number },
    signal: AbortSignal,
  ): Promise<Outcome>;
};

const connectionsMax = 5;
const mailMaxMs = 120_000;

export function smtpTransport({ url, from }: MailConfig): MailTransport {
  const mailer = createMailer({ url, from, connectionsMax, timeouts: { mailMs: mailMaxMs } });
  return {
    from,
    connectionsMax,
    mailMaxMs,
    send: (mail, _delivery, signal) => mailer.send(mail, signal),
    [Symbol.asyncDispose]: () => mailer[Symbol.asyncDispose](),
  };
}

/** An address of nobody (RFC 2606). */
const developmentSender = 'gift-cards@largesse.example';

export function folderTransport(folder: MailFolder): MailTransport {
  return {
    from: developmentSender,
    connectionsMax: 1,
    mailMaxMs,
    async send(mail, { name, sendAt }) {
      // Under the time that it has on every attempt, so that there is one of it.
      const kept = await folder.keep(mail, { id: name, now: sendAt });
      return { kind: 'sent', answer: `kept as ${kept.name}.eml` };
    },
    async [Symbol.asyncDispose]() {
      // A folder needs no closing.
    },
  };
}
