/**
 * The outcome of an attempt to send an email.
 *
 * *Sent*: the server accepted responsibility for the email (RFC 5321, 4.2.5). *Kept*: there is no server, and the email is
 * on this machine. *Deferred*: it did not, and may accept
 * it later. *Rejected*: it will never accept this recipient or this email. *Unknown*: the email was sent completely and
 * no response arrived. The server may have accepted it; it is sent again with the same Message-ID, because a duplicate
 * is better than a lost email.
 */

import type { NodemailerError } from 'nodemailer';

export type EmailOutcome =
  | { readonly kind: 'sent'; readonly response: string }
  | { readonly kind: 'kept'; readonly response: string }
  | {
      readonly kind: 'deferred';
      readonly response: string;
      /** The reply code; null: no reply. */
      readonly code: number | null;
      /** `operator`: the server rejects the service's own settings, so only the operator can fix it. */
      readonly cause: 'temporary' | 'operator';
    }
  | { readonly kind: 'rejected'; readonly response: string; readonly code: number | null }
  | { readonly kind: 'unknown'; readonly response: string };

/** Characters of a response that are stored. */
const responseLengthMax = 500;

/** Errors of the connection to the server, before a reply about a recipient. */
const ofTheConnection = new Set([
  'ECONNECTION',
  'ETIMEDOUT',
  'ESOCKET',
  'EDNS',
  'EPROTOCOL',
  'EABORT',
  'EPROXY',
]);

/** Errors of authentication and encryption, and of a host whose addresses are not public. */
const ofTheOperator = new Set(['EFORBIDDEN', 'EAUTH', 'ENOAUTH', 'EOAUTH2', 'ETLS', 'EREQUIRETLS']);

/** Codes of OpenSSL and Node for an invalid certificate or TLS. */
const ofCertificates = /CERT|SELF_SIGNED|UNABLE_TO_|^ERR_(?:TLS|SSL)_/;

/** Replies that require authentication or encryption first (RFC 4954, 6; RFC 3207, 4). */
const loginReplies = new Set([530, 534, 535, 538]);

/** Bad sequence of commands: an error of the session, not of the email, which the next session may accept. */
const badSequence = 503;

/** A server's response for storage: one line, without control characters, truncated. */
export function storedResponseOf(text: string): string {
  const line = text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  return line.length <= responseLengthMax ? line : `${line.slice(0, responseLengthMax - 1)}…`;
}

/**
 * The outcome of an error of the library.
 * @param isCompletelySent whether the whole email had been sent before the error.
 * @throws the error itself if it is a defect of this program.
 */
export function outcomeOf(
  error: NodemailerError,
  { isCompletelySent }: { readonly isCompletelySent: boolean },
): EmailOutcome {
  const { code: errorCode = '', responseCode, command } = error;
  const response = storedResponseOf(error.response ?? error.message);
  const code = responseCode ?? null;
  const deferred = (cause: 'temporary' | 'operator'): EmailOutcome => ({
    kind: 'deferred',
    response,
    code,
    cause,
  });
  if (!isCompletelySent && ofCertificates.test(error.originalCode ?? '')) return deferred('operator');
  if (ofTheOperator.has(errorCode)) return deferred(code !== null && code < 500 ? 'temporary' : 'operator');
  const isOfTheEmail = errorCode === 'EENVELOPE' || errorCode === 'EMESSAGE';
  if (!isOfTheEmail && !ofTheConnection.has(errorCode)) throw error;
  if (code === null) {
    // The library does not send an email that exceeds the server's announced limit.
    if (isOfTheEmail && error.response === undefined) return { kind: 'rejected', response, code };
    return isCompletelySent ? { kind: 'unknown', response } : deferred('temporary');
  }
  if (!isOfTheEmail) return deferred(code >= 500 ? 'operator' : 'temporary');
  if (code < 500 || code === badSequence) return deferred('temporary');
  // A rejected sender is an error of the settings, not of the recipient.
  if (command === 'MAIL FROM' || loginReplies.has(code)) return deferred('operator');
  return { kind: 'rejected', response, code };
}
