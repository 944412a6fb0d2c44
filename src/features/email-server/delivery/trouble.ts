/** The meaning of a failed test of a mail server, for a person who can correct its settings. */

import type { EmailTrouble } from '../../emails/domain/server.ts';
import type { EmailOutcome } from '../../emails/delivery/outcome.ts';

/** Replies that say that the user and the password are not accepted, or that they are needed (RFC 4954, 6). */
const signInReplies: ReadonlySet<number> = new Set([454, 504, 530, 534, 535, 538]);

/** Replies to a STARTTLS that the server does not know (RFC 5321, 4.2.4). */
const encryptionReplies: ReadonlySet<number> = new Set([500, 501, 502]);

/** Errors without a reply, by the texts of nodemailer, OpenSSL and this service; the first that fits. */
const withoutReply: readonly (readonly [RegExp, EmailTrouble])[] = [
  [/not on the public internet/, 'notPublic'],
  [/cannot be resolved|has no address/, 'noSuchHost'],
  [/ECONNREFUSED|EHOSTUNREACH|ENETUNREACH/, 'noConnection'],
  [/in time|timeout|timed out|ETIMEDOUT|greeting|aborted/i, 'noResponse'],
  [/TLS|SSL|certificate/i, 'encryption'],
  [/authentication|credentials|login/i, 'signIn'],
];

/** @returns null if the server accepted the email. */
export function troubleOf(outcome: EmailOutcome): EmailTrouble | null {
  if (outcome.kind === 'sent' || outcome.kind === 'kept') return null;
  return meaningOf(outcome.response, 'code' in outcome ? outcome.code : null);
}

/** The meaning of the stored response to an email that was not accepted. */
export function troubleIn(response: string): EmailTrouble {
  const [, code] = /^([45]\d\d)[ -]/.exec(response) ?? [];
  return meaningOf(response, code === undefined ? null : Number(code));
}

/** @param code of the reply; null: there was none. */
function meaningOf(response: string, code: number | null): EmailTrouble {
  if (code === null) return withoutReply.find(([form]) => form.test(response))?.[1] ?? 'noResponse';
  if (signInReplies.has(code)) return /TLS/.test(response) ? 'encryption' : 'signIn';
  if (encryptionReplies.has(code)) return 'encryption';
  if (code < 500) return 'later';
  return /relay|sender|not owned|not allowed|not permitted|not verified/i.test(response)
    ? 'relay'
    : 'rejected';
}
