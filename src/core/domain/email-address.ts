/** Email addresses. The `validator` package checks the syntax. */

import isEmail from 'validator/lib/isEmail.js';
import { accepted, rejected, type Parsed } from '../../platform/parsed.ts';

/** Maximum length of an address: SMTP's limit of a path (RFC 5321, 4.5.3.1.3, erratum 1690). */
export const emailLengthMax = 254;

/** Normalization composes at most four UTF-16 units into one, so a longer text cannot become an address. */
const trimmedLengthMax = 4 * emailLengthMax;

/** Characters that are only valid in a quoted local part, which `validator` accepts and no real address has. */
const unusual = /["\\ \p{Cc}]/u;

/** Invisible characters: other spaces, format and bidirectional characters, fillers, the Braille blank. */
const unseen = /[\p{Z}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * Most addresses, which need no further check: with at most `plainLengthMax` characters, each part is short enough.
 * `isEmail` accepts all of them, and takes ten times as long.
 */
const plain = /^[a-z\d]+(?:[._+-][a-z\d]+)*@(?:[a-z\d]+(?:-[a-z\d]+)*\.)+[a-z]{2,}$/i;
const plainLengthMax = 63;

export type EmailAddress = {
  /** The received text, in Unicode normalization form C, without surrounding blanks. */
  readonly address: string;
  /** Equal for all spellings of one address. */
  readonly key: string;
};

export function parseEmail(value: unknown): Parsed<EmailAddress> {
  if (typeof value !== 'string') return rejected('must be an email address');
  const trimmed = withoutBlanksAround(value);
  if (trimmed.length <= plainLengthMax && plain.test(trimmed))
    return accepted({ address: trimmed, key: trimmed.toLowerCase() });
  const isTooLong = trimmed.length > trimmedLengthMax;
  const address = isTooLong ? trimmed : trimmed.normalize('NFC');
  if (isTooLong || address.length > emailLengthMax)
    return rejected(`must have at most ${emailLengthMax} characters`);
  if (unusual.test(address)) return rejected('must be one valid email address');
  if (unseen.test(address)) return rejected('must not contain spaces, invisible or bidirectional characters');
  if (!address.isWellFormed() || !isEmail.default(address))
    return rejected('must be one valid email address');
  return accepted({ address, key: emailKey(address) });
}

const tab = 0x09;
const space = 0x20;

/** Removes surrounding spaces and tabs in linear time; a regular expression can take quadratic time. */
function withoutBlanksAround(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isBlank(symbol: number): boolean {
  return symbol === space || symbol === tab;
}

/** The only letter of form C that is not ASCII and has an ASCII letter in its lower case. */
const dottedI = '\u0130';

/**
 * The lower case of an address in form C. U+0130 is kept, because no other letter can have the key of an ASCII letter.
 * Lower case can leave form C: j and U+030C have a composed form, J and U+030C do not.
 */
export function emailKey(address: string): string {
  const words = address.split(dottedI).map((word) => word.toLowerCase());
  return words.join(dottedI).normalize('NFC');
}

/** Mailboxes at Google have the same owner with and without full stops (“Dots don't matter in Gmail addresses”, Gmail Help). */
const google = /^(?:gmail|googlemail)\.com$/;

/**
 * The mailbox of an address: equal for addresses with a detail after `+` (RFC 5233), which most servers deliver to one person.
 * @param key the compared form of the address.
 */
export function mailboxOf(key: string): string {
  const at = key.lastIndexOf('@');
  const [name, domain] = [key.slice(0, at), key.slice(at + 1)];
  const plus = name.indexOf('+');
  const base = plus > 0 ? name.slice(0, plus) : name;
  return google.test(domain) ? `${base.replaceAll('.', '')}@gmail.com` : `${base}@${domain}`;
}

/**
 * Parses an address that a store uses as sender or for replies. Its local part must be ASCII, because otherwise every
 * email of the store requires a mail server with SMTPUTF8 (RFC 6531).
 */
export function parseSenderAddress(value: unknown): Parsed<string> {
  const parsed = parseEmail(value);
  if (!parsed.ok) return parsed;
  const { address } = parsed.value;
  if (/[^\x20-\x7e]/.test(address.slice(0, address.lastIndexOf('@'))))
    return rejected('must have only ASCII characters before the @');
  return accepted(address);
}
