/** Free text: the note for the store, the message for the recipient, references, and names. */

import { accepted, rejected, type Parsed } from '../../platform/parsed.ts';

/** Maximum length of a note or message, in Unicode code points. */
export const textLengthMax = 5_000;

/** Maximum length of a reference, in Unicode code points. */
export const referenceLengthMax = 255;

/** Maximum length of a sender's or recipient's name, in Unicode code points. */
export const nameLengthMax = 100;

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

/** Control, format and bidirectional characters, fillers and line separators. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Invisible characters that scripts and emoji need within a word: the joiners, and the emoji presentation. */
const joining = /\u200C|\u200D|\uFE0F/g;

/**
 * Maximum length of a line as it is sent, for its published schema, in UTF-16 units: normalization composes at most four
 * units into one, and surrounding spaces do not count.
 */
export function sentLineLengthMax(lengthMax: number): number {
  return 4 * lengthMax + 2;
}

/**
 * Parses a text on one line, such as a name, in normalization form C and without surrounding spaces. Returns null for an
 * empty text. @param lengthMax in Unicode code points.
 */
export function parseLine(value: unknown, lengthMax: number): Parsed<string | null> {
  if (value === null || value === '') return accepted(null);
  if (typeof value !== 'string') return rejected('must be a string');
  const tooLong = `must have at most ${lengthMax.toLocaleString('en')} characters`;
  if (value.length > sentLineLengthMax(lengthMax)) return rejected(tooLong);
  if (!value.isWellFormed()) return rejected('must be valid Unicode');
  const line = value.normalize('NFC').trim();
  if (longerThan(line, lengthMax)) return rejected(tooLong);
  const visible = line.replaceAll(joining, '');
  if (visible.search(unseen) >= 0)
    return rejected('must be one line without control, invisible or bidirectional characters');
  if (visible.trim() === '') return line === '' ? accepted(null) : rejected('must have a visible character');
  return accepted(line);
}

export function longerThan(text: string, codePointsMax: number): boolean {
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
