/**
 * What came of an attempt to send.
 *
 * Terms: *sent* means that the server took responsibility for the mail (RFC 5321, 4.2.5). *Deferred* means
 * that it certainly did not, and may later. *Refused* means that this recipient or this mail will never be
 * taken. *Unknown* means that the mail went out whole and the answer did not come back: it may have been
 * taken, and has to be sent again under the same Message-ID, because twice is better than never.
 */

import type { NodemailerError } from 'nodemailer';

export type Outcome =
  | { readonly kind: 'sent'; readonly answer: string }
  | {
      readonly kind: 'deferred';
      readonly answer: string;
      /** The reply code; null: there was no reply. */
      readonly code: number | null;
      /** Who can do something: nobody but time, or the operator, whose settings the server refuses. */
      readonly cause: 'temporary' | 'operator';
    }
  | { readonly kind: 'refused'; readonly answer: string; readonly code: number | null }
  | { readonly kind: 'unknown'; readonly answer: string };

/** Characters of an answer that are kept. */
const answerLengthMax = 500;

/** Errors of the way to the server, before anything could be said about a recipient. */
const ofTheWay = new Set(['ECONNECTION', 'ETIMEDOUT', 'ESOCKET', 'EDNS', 'EPROTOCOL', 'EABORT', 'EPROXY']);

/** Errors about who may send, or how. */
const ofTheOperator = new Set(['EAUTH', 'ENOAUTH', 'EOAUTH2', 'ETLS', 'EREQUIRETLS']);

/** Codes of OpenSSL and Node for a certificate or a TLS that is not as it should be. */
const ofCertificates = /CERT|SELF_SIGNED|UNABLE_TO_|^ERR_(?:TLS|SSL)_/;

/** Replies that ask the client to log in, or to encrypt, first (RFC 4954, 6; RFC 3207, 4). */
const loginReplies = new Set([530, 534, 535, 538]);

/** Bad sequence of commands: a confused session and nothing about the mail, which the next session may take. */
const badSequence = 503;

/** An answer of a server as it is kept: one line, without control characters, cut. */
export function answerOf(text: string): string {
  const line = text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  return line.length <= answerLengthMax ? line : `${line.slice(0, answerLengthMax - 1)}…`;
}

/**
 * The outcome that an error of the library stands for. `wholeMailSent` tells whether the end of the mail
 * had gone out when it came.
 * @throws the error itself if it is none of delivery, but of this program.
 */
export function outcomeOf(
  error: NodemailerError,
  { wholeMailSent }: { readonly wholeMailSent: boolean },
): Outcome {
  const { code: errorCode = '', responseCode, command } = error;
  const answer = answerOf(error.response ?? error.message);
  const code = responseCode ?? null;
  const deferred = (cause: 'temporary' | 'operator'): Outcome => ({ kind: 'deferred', answer, code, cause });
  if (!wholeMailSent && ofCertificates.test(error.originalCode ?? '')) return deferred('operator');
  if (ofTheOperator.has(errorCode)) return deferred(code !== null && code < 500 ? 'temporary' : 'operator');
  const isOfTheMail = errorCode === 'EENVELOPE' || errorCode === 'EMESSAGE';
  if (!isOfTheMail && !ofTheWay.has(errorCode)) throw error;
  if (code === null) {
    // The library itself would not send: the mail is larger than the server says that it takes.
    if (isOfTheMail && error.response === undefined) return { kind: 'refused', answer, code };
    return wholeMailSent ? { kind: 'unknown', answer } : deferred('temporary');
  }
  if (!isOfTheMail) return deferred(code >= 500 ? 'operator' : 'temporary');
  if (code < 500 || code === badSequence) return deferred('temporary');
  // Who the sender is, is no fault of the recipient.
  if (command === 'MAIL FROM' || loginReplies.has(code)) return deferred('operator');
  return { kind: 'refused', answer, code };
}
