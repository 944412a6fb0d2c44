/**
 * Tags: free words that a store gives its cards. A card's tags are one text with each tag between newlines, so that SQL
 * finds a tag by its text; null: none. Letters are kept as they were sent, and A to Z are compared without regard to case.
 */

import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import { parseLine } from '../../domain/text.ts';

/** Maximum number of tags of a card. */
export const tagsMax = 20;

/** Maximum length of a tag, in Unicode code points. */
export const tagLengthMax = 40;

/** Parses one tag. */
export function parseTag(value: unknown): Parsed<string> {
  const parsed = parseLine(value, tagLengthMax);
  if (!parsed.ok) return parsed;
  if (parsed.value === null) return rejected('must not be empty');
  return parsed.value.includes(',') ? rejected('must not contain a comma') : accepted(parsed.value);
}

/** Parses a list of tags to their text. A tag that occurs again is left out. */
export function parseTags(value: unknown): Parsed<string | null> {
  if (value === null) return accepted(null);
  if (!Array.isArray(value)) return rejected('must be a list of strings');
  if (value.length > tagsMax) return rejected(`must list at most ${tagsMax} tags`);
  const tags = new Map<string, string>();
  for (const item of value) {
    const tag = parseTag(item);
    if (!tag.ok) return rejected(`${tag.error}, in each tag`);
    const key = lowerLetters(tag.value);
    if (!tags.has(key)) tags.set(key, tag.value);
  }
  return accepted(tags.size === 0 ? null : `\n${[...tags.values()].join('\n')}\n`);
}

/** The tags of a card, in the order in which they were sent. */
export function tagsIn(text: string | null): string[] {
  return text === null ? [] : text.slice(1, -1).split('\n');
}

/** Returns the text that the tags of a card with this tag contain, in lower letters. */
export function searchedTag(tag: string): string {
  return `\n${lowerLetters(tag)}\n`;
}

/** A text with A to Z in lower case, as SQL's `lower` returns it on both engines. */
export function lowerLetters(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
