/** Sends mails of the tests. */

import { createMailer, type MailerOptions } from '../../../src/delivery/email/smtp.ts';
import type { Outcome } from '../../../src/delivery/email/outcome.ts';
import type { MailServer } from './mail-server.ts';
import { mailWith } from './samples.ts';

export const from = 'bounces@largesse.example';

/** Sends one mail to a server, with timeouts of a test. */
export async function sendTo(
  server: MailServer,
  options: Partial<MailerOptions> = {},
  mail = mailWith(),
): Promise<Outcome> {
  await using mailer = createMailer({
    url: server.url(),
    from,
    ...options,
    timeouts: { connectMs: 300, greetingMs: 300, answerMs: 300, ...options.timeouts },
  });
  return await mailer.send(mail);
}
