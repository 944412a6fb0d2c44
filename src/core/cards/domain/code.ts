/**
 * Gift card codes. The *canonical* code is lower case, without spaces and hyphens. Responses contain it, and its HMAC is
 * stored. The *last characters* are its last four, stored in plain text for searches.
 */

import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import { Secret } from '../../../platform/secret.ts';

/** Crockford's base 32: digits and letters without i, l, o and u (https://www.crockford.com/base32.html). */
export const codeAlphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** Symbols of a random code: 16 × 5 bits = 80 bits. */
const codeLength = 16;

/**
 * The first symbols of a random code are the *tag* of its cohort: 20 random bits that codes of one burst share, so that
 * the index holds them next to each other. The other 60 bits are random for each code.
 */
const tagLength = 4;

const randomCodeForm = /^[0-9a-hjkmnp-tv-z]{16}$/;

const lastCharactersLength = 4;

/** The last characters in a search, in either case. */
export const lastCharactersPattern = '^[0-9A-Za-z]{4}$';

/** The error of a code that the store has used. It reads after the name of the parameter. */
export const codeTaken = 'is taken';

const searchedCharacters = new RegExp(lastCharactersPattern);

type RandomBytes = (length: number) => Uint8Array;

/** Generates the tag of a cohort. */
export function randomTag(randomBytes: RandomBytes): string {
  return randomSymbols(randomBytes, tagLength);
}

/** Generates a code of a cohort. */
export function randomCode(randomBytes: RandomBytes, tag: string): Secret {
  return new Secret(tag + randomSymbols(randomBytes, codeLength - tagLength));
}

/** Five bits of each uniformly random byte select one of the 32 symbols, without bias. */
function randomSymbols(randomBytes: RandomBytes, length: number): string {
  let text = '';
  for (const byte of randomBytes(length)) text += codeAlphabet.charAt(byte & 31);
  return text;
}

/** The tag of a code that `randomCode` can have generated; undefined: it cannot. */
export function tagOf(code: Secret): string | undefined {
  const text = code.reveal();
  return randomCodeForm.test(text) ? text.slice(0, tagLength) : undefined;
}

export function lastCharactersOf(code: Secret): string {
  return code.reveal().slice(-lastCharactersLength);
}

/** Parses the `last_characters` of a search, and returns them in lower case. */
export function parseLastCharacters(value: unknown): Parsed<string> {
  if (typeof value !== 'string' || !searchedCharacters.test(value)) {
    return rejected('must be exactly 4 letters or digits');
  }
  return accepted(value.toLowerCase());
}
