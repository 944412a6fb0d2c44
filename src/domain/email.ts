/**
 * E-mail addresses of customers.
 *
 * Terms: an address is kept *as given* (its case may matter to its owner) without surrounding
 * space; its *key* is what two spellings of one customer share. The syntax is the `validator`
 * package's; nothing here knows more about addresses.
 */

import isEmail from 'validator/lib/isEmail.js';
import { accepted, refused, type Parsed } from './parsed.ts';

/** Characters of an address, as SMTP limits a path (RFC 5321, 4.5.3.1.3, erratum 1690). */
export const emailLengthMax = 254;

const unusual = /["\\\s\p{Cc}]/u;

export type EmailAddress = {
  /** As given, without surrounding space. */
  readonly address: string;
  /** Equal for two spellings of one address. */
  readonly key: string;
};

export function parseEmail(value: unknown): Parsed<EmailAddress> {
  if (typeof value !== 'string') return refused('must be an e-mail address');
  const address = value.replaceAll(/^[ \t]+|[ \t]+$/g, '');
  if (address.length > emailLengthMax) return refused(`must have at most ${emailLengthMax} characters`);
  // The syntax allows nearly anything in a quoted local part, line breaks too: nobody has such an address.
  if (!address.isWellFormed() || unusual.test(address) || !isEmail.default(address))
    return refused('must be one valid e-mail address');
  return accepted({ address, key: emailKey(address) });
}

/** The key of an address: its case and Unicode normalisation form do not count. */
function emailKey(address: string): string {
  return address.normalize('NFC').toLowerCase();
}

/**
 * Reads an address that a store sends from or takes replies at. Its local part has to be ASCII: only the
 * recipient's own address may ask for SMTPUTF8, or mails to everybody else would need it too.
 */
export function parseSenderAddress(value: unknown): Parsed<string> {
  const parsed = parseEmail(value);
  if (!parsed.ok) return parsed;
  const { address } = parsed.value;
  if (/[^\x20-\x7e].*@/.test(address)) return refused('must have only ASCII characters before the @');
  return accepted(address);
}
