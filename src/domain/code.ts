/**
 * Gift card codes.
 *
 * Terms: the *canonical* code is the lower-case text without the spaces and hyphens that people
 * write for legibility; it is what is stored (as an HMAC) and answered. The *last characters*
 * are its last four, kept in clear so that a counter can find a card.
 */

import { accepted, refused, type Parsed } from './parsed.ts';
import { Secret } from './secret.ts';

/** Crockford's base 32: digits and letters without i, l, o and u, so that no two look alike in one code. */
export const codeAlphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** Symbols of a random code: 16 × 5 bits = 80 bits. */
const codeLength = 16;

const lastCharactersLength = 4;

/** What a store may choose as a code, before canonicalisation: separators anywhere. */
export const codePattern = '^[ -]*(?:[0-9A-Za-z][ -]*){8,20}$';

/** What a search may ask for. */
export const lastCharactersPattern = '^[0-9A-Za-z]{4}$';

const canonicalCode = /^[0-9a-z]{8,20}$/;
const searchedCharacters = new RegExp(lastCharactersPattern);

/**
 * A random code from uniformly random bytes, one byte a symbol. The alphabet has 32 symbols, which
 * divides 256, so that the low five bits of each byte are uniform and nothing has to be rejected.
 */
export function randomCode(randomBytes: (length: number) => Uint8Array): Secret {
  let text = '';
  for (const byte of randomBytes(codeLength)) text += codeAlphabet.charAt(byte & 31);
  return new Secret(text);
}

/** Reads a code that a person or a store wrote. */
export function parseCode(value: unknown): Parsed<Secret> {
  if (typeof value !== 'string') return refused('must be a string of 8 to 20 letters or digits');
  const text = value.replaceAll(/[ -]/g, '');
  // Lower-casing comes after the check: other scripts have letters whose lower case is ASCII.
  if (!/^[0-9A-Za-z]*$/.test(text)) return refused('must consist of the letters A to Z and digits');
  const canonical = text.toLowerCase();
  if (!canonicalCode.test(canonical)) return refused('must have 8 to 20 letters or digits');
  return accepted(new Secret(canonical));
}

export function lastCharactersOf(code: Secret): string {
  return code.reveal().slice(-lastCharactersLength);
}

/** Reads the `last_characters` of a search, in canonical form. */
export function parseLastCharacters(value: unknown): Parsed<string> {
  if (typeof value !== 'string' || !searchedCharacters.test(value)) {
    return refused('must be exactly 4 letters or digits');
  }
  return accepted(value.toLowerCase());
}
