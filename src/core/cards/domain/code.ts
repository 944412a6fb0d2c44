/**
 * Gift card codes. The *canonical* code is lower case, without spaces and hyphens. Responses contain it, and its HMAC is
 * stored. The *last characters* are its last four, stored in plain text for searches.
 */

import { isFixedCode } from './fixed-codes.ts';
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

/** A code with separators, or a link with a code: its host and the store's domain have at most 253 characters each. */
export const typedCodeLengthMax = 700;

/** The codes that a store can choose, with separators anywhere. */
export const codePattern = '^[ -]*(?:[0-9A-Za-z][ -]*){8,20}$';

/** The last characters in a search, in either case. */
export const lastCharactersPattern = '^[0-9A-Za-z]{4}$';

/** The error of a code that the store has used. It reads after the name of the parameter. */
export const codeTaken = 'is taken';

const canonicalCode = /^[0-9a-z]{8,20}$/;
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

/** Parses a code that a person or a store wrote, and returns it in canonical form. */
export function parseCode(value: unknown): Parsed<Secret> {
  if (typeof value !== 'string') return rejected('must be a string of 8 to 20 letters or digits');
  const text = value.replaceAll(/[ -]/g, '');
  // Checked before lower-casing, because other scripts have letters whose lower case is ASCII.
  if (!/^[0-9A-Za-z]*$/.test(text)) return rejected('must consist of the letters A to Z and digits');
  const canonical = text.toLowerCase();
  if (!canonicalCode.test(canonical)) return rejected('must have 8 to 20 letters or digits');
  return accepted(new Secret(canonical));
}

/** Parses the code of a new card, as `parseCode` does: everyone knows the fixed codes of sandboxes. */
export function parseNewCode(value: unknown): Parsed<Secret> {
  const code = parseCode(value);
  return code.ok && isFixedCode(code.value.reveal()) ? rejected('is a fixed code of sandboxes') : code;
}

/**
 * The code in a link to the page of recipients, which is its last part; undefined: the text is not such a link. A scanner
 * that types for a keyboard of another country replaces `:`, `/` and `#`, but not letters and digits.
 */
function codeOfLink(text: string): string | undefined {
  const parts = text.split(/[^0-9A-Za-z]+/).filter((part) => part !== '');
  if (!/^https?$/i.test(parts[0] ?? '')) return undefined;
  return text.includes('#') || parts.at(-2)?.toLowerCase() === 'card' ? parts.at(-1) : undefined;
}

/** Whether a text is a link, which can have been scanned: it begins with `http` and another character. */
export function looksLikeLink(text: string): boolean {
  return /^\s*https?[^0-9A-Za-z]/i.test(text);
}

/**
 * Parses a code that a person typed or a scanner read, with any separators or as a link, and returns it first. A random
 * code has no letters i, l and o: if there are any, the code with the digits that look like them follows.
 */
export function parseTypedCode(value: string): Parsed<readonly Secret[]> {
  if (value.length > typedCodeLengthMax) return rejected('must have 8 to 20 letters or digits');
  const code = parseCode(codeOfLink(value) ?? value.replaceAll(/[\s\p{Pd}\p{Cc}\p{Cf}._/]/gu, ''));
  if (!code.ok) return code;
  const typed = code.value.reveal();
  const similar = typed.replaceAll('o', '0').replaceAll(/[il]/g, '1');
  return accepted(similar === typed ? [code.value] : [code.value, new Secret(similar)]);
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
