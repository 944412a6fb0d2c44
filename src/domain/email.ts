/**
 * E-mail addresses of customers.
 *
 * Terms: an *address* is kept in the case in which it was given, in Unicode's normalization form C and
 * without surrounding blanks; its *key* is what two spellings of one address share. The syntax is the
 * `validator` package's; nothing here knows more about addresses.
 */

import isEmail from 'validator/lib/isEmail.js';
import { accepted, refused, type Parsed } from './parsed.ts';

/** Characters of an address, as SMTP limits a path (RFC 5321, 4.5.3.1.3, erratum 1690). */
export const emailLengthMax = 254;

/** Normalization composes at most four UTF-16 units into one: a longer text cannot become an address. */
const givenLengthMax = 4 * emailLengthMax;

const unusual = /["\\ \p{Cc}]/u;

/** What a reader cannot see or takes for a space: other spaces, format and bidirectional characters, fillers, the Braille blank. */
const unseen = /[\p{Z}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u;

export type EmailAddress = {
  /** As given, in form C, without surrounding blanks. */
  readonly address: string;
  /** Equal for two spellings of one address. */
  readonly key: string;
};

export function parseEmail(value: unknown): Parsed<EmailAddress> {
  if (typeof value !== 'string') return refused('must be an e-mail address');
  const given = withoutBlanksAround(value);
  const isTooLong = given.length > givenLengthMax;
  const address = isTooLong ? given : given.normalize('NFC');
  if (isTooLong || address.length > emailLengthMax)
    return refused(`must have at most ${emailLengthMax} characters`);
  if (unusual.test(address)) return refused('must be one valid e-mail address');
  if (unseen.test(address)) return refused('must not contain spaces, invisible or bidirectional characters');
  // The syntax allows nearly anything in a quoted local part, line breaks too: nobody has such an address.
  if (!address.isWellFormed() || !isEmail.default(address))
    return refused('must be one valid e-mail address');
  return accepted({ address, key: emailKey(address) });
}

const tab = 0x09;
const space = 0x20;

/** The text without the spaces and tabs around it. Each character is read once, however many there are. */
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

/** The only letter (U+0130) that is not ASCII and has an ASCII letter in its lower case. */
const dottedI = '\u0130';

/**
 * The key of an address in form C: case does not count. U+0130 is left as it is, so that no other letter has the
 * key of an ASCII letter. Lower case may leave form C (J and U+030C have no composed form, j and U+030C have).
 */
function emailKey(address: string): string {
  const words = address.split(dottedI).map((word) => word.toLowerCase());
  return words.join(dottedI).normalize('NFC');
}

/**
 * Reads an address that a store sends from or takes replies at. Its local part has to be ASCII: only the
 * recipient's own address may ask for SMTPUTF8, or mails to everybody else would need it too.
 */
export function parseSenderAddress(value: unknown): Parsed<string> {
  const parsed = parseEmail(value);
  if (!parsed.ok) return parsed;
  const { address } = parsed.value;
  if (/[^\x20-\x7e]/.test(address.slice(0, address.lastIndexOf('@'))))
    return refused('must have only ASCII characters before the @');
  return accepted(address);
}
