/** The mail server that an owner sets for a store, in place of one that the operator sets for all stores. */

import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import type { Secret } from '../../../platform/secret.ts';

/** Hosting companies close port 25, on which mail servers talk to each other. */
export const serverPorts = [465, 587, 2465, 2587, 2525] as const;

/** TLS cannot be switched off, and certificates are always verified. */
export type ServerTls = 'from_start' | 'starttls_required';

export type EmailServer = {
  /** In lower case. */
  readonly host: string;
  readonly port: number;
  readonly tls: ServerTls;
  readonly user: string;
  /** The sender of the envelope, and of emails if the settings of the emails name no other. */
  readonly sender: string;
};

/** A server with its password, to send with. */
export type OpenedServer = EmailServer & {
  readonly password: Secret;
  /** Different after every change of the row. */
  readonly revision: string;
};

export function parseServerPort(text: string): Parsed<number> {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  return (serverPorts as readonly number[]).includes(port)
    ? accepted(port)
    : rejected(`must be one of ${serverPorts.join(', ')}`);
}

/** Servers expect TLS from the first byte on these ports, and STARTTLS on the others. */
export function tlsOfPort(port: number): ServerTls {
  return port === 465 || port === 2465 ? 'from_start' : 'starttls_required';
}

/** Longer ones do not fit into the line of a command (RFC 4954, 4). */
const userLengthMax = 254;
export const serverPasswordLengthMax = 1_000;

export function parseServerUser(text: string): Parsed<string> {
  if (text === '') return rejected('must not be empty');
  if (text.length > userLengthMax) return rejected(`must have at most ${userLengthMax} characters`);
  return /\p{Cc}/u.test(text) || !text.isWellFormed()
    ? rejected('must not contain control characters')
    : accepted(text);
}

/** The digits of a test email can be typed for so long (ms), and so often. */
export const codePeriodMs = 30 * 60 * 1_000;
export const codeAttemptsMax = 5;

/** The reason why a test email was not accepted, as far as the owner can do something about it. */
export type EmailTrouble =
  | 'signIn'
  | 'encryption'
  | 'noConnection'
  | 'noResponse'
  | 'noSuchHost'
  | 'notPublic'
  | 'relay'
  | 'later'
  | 'rejected';

/** A finding about a sender's domain. `unknown`: no name server responded, which is not the same as missing. */
export type DomainFinding = {
  readonly about: 'spf' | 'dkim' | 'dmarc' | 'address';
  readonly level: 'good' | 'weak' | 'bad' | 'unknown';
  readonly finding:
    | 'good'
    | 'missing'
    | 'several'
    | 'withoutServer'
    | 'notNeeded'
    | 'notKnown'
    | 'watching'
    | 'failing'
    | 'noResponse'
    | 'free';
  /** The value in the texts: a record to add or to replace, names of keys, or the domain. */
  readonly value: string;
};
