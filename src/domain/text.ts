/** Free text: the note for the store, the message for the recipient, and references. */

import { accepted, rejected, type Parsed } from './parsed.ts';

/** Maximum length of a note or message, in Unicode code points. */
export const textLengthMax = 5_000;

/** Maximum length of a reference, in Unicode code points. */
export const referenceLengthMax = 255;

const controlCharacter = /[^\P{Cc}\n\t]/u;

/** Parses a note, message or reference. Returns null for an empty text. @param lengthMax in Unicode code points. */
export function parseText(value: unknown, lengthMax: number = textLengthMax): Parsed<string | null> {
  if (value === null || value === '') return accepted(null);
  if (typeof value !== 'string') return rejected('must be a string');
  if (longerThan(value, lengthMax))
    return rejected(`must have at most ${lengthMax.toLocaleString('en')} characters`);
  if (!value.isWellFormed()) return rejected('must be valid Unicode');
  if (controlCharacter.test(value))
    return rejected('must not contain control characters other than newline and tab');
  return accepted(value);
}

function longerThan(text: string, codePointsMax: number): boolean {
  if (text.length <= codePointsMax) return false;
  // A code point has at most two units.
  if (text.length > 2 * codePointsMax) return true;
  let codePoints = 0;
  for (const _ of text) {
    codePoints += 1;
    if (codePoints > codePointsMax) return true;
  }
  return false;
}
