/** Sends emails of tests. */

import { createMailer, type MailerOptions } from '../../../src/features/emails/delivery/smtp.ts';
import type { EmailOutcome } from '../../../src/features/emails/delivery/outcome.ts';
import type { SmtpServer } from './smtp-server.ts';
import { emailWith } from './samples.ts';

export const from = 'bounces@largesse.example';

/** Sends one email to a server, with the timeouts of a test. */
export async function sendTo(
  server: SmtpServer,
  options: Partial<MailerOptions> = {},
  email = emailWith(),
): Promise<EmailOutcome> {
  await using mailer = createMailer({
    url: server.url(),
    from,
    ...options,
    timeouts: { connectMs: 10_000, greetingMs: 10_000, responseMs: 10_000, ...options.timeouts },
  });
  return await mailer.send(email);
}
