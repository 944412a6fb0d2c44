/** Free text that people write on a card: the note for the store, the message for the recipient. */

import { accepted, refused, type Parsed } from './parsed.ts';

/** Unicode code points of a note or message. */
export const textLengthMax = 5_000;

/** Unicode code points of a reference. */
export const referenceLengthMax = 255;

const controlCharacter = /[^\P{Cc}\n\t]/u;

/** Reads a note, message or reference of up to so many code points; empty text and null both mean none. */
export function parseText(value: unknown, lengthMax: number = textLengthMax): Parsed<string | null> {
  if (value === null || value === '') return accepted(null);
  if (typeof value !== 'string') return refused('must be a string');
  if (longerThan(value, lengthMax))
    return refused(`must have at most ${lengthMax.toLocaleString('en')} characters`);
  if (!value.isWellFormed()) return refused('must be valid Unicode');
  if (controlCharacter.test(value))
    return refused('must not contain control characters other than newline and tab');
  return accepted(value);
}

function longerThan(text: string, codePointsMax: number): boolean {
  if (text.length <= codePointsMax) return false;
  // No code point has more than two units.
  if (text.length > 2 * codePointsMax) return true;
  let codePoints = 0;
  for (const _ of text) {
    codePoints += 1;
    if (codePoints > codePointsMax) return true;
  }
  return false;
}
