/**
 * Cleaning of texts that strangers wrote, before they stand in a mail.
 *
 * Terms: a *line* is text for a header or a name, a *text* may have several lines. Both are cleaned of
 * what is invisible and does something: control characters, and the bidirectional embeddings, overrides
 * and isolates, which can make one text read as another (and, left open, the whole rest of a mail). The
 * marks U+200E, U+200F and U+061C stay: right-to-left texts need them, and they reorder nothing by force.
 */

/** U+202A to U+202E and U+2066 to U+2069 (Unicode Standard Annex 9, 2.1 to 2.5). */
const bidiControls = /[\u202A-\u202E\u2066-\u2069]/g;

/** Control characters but newline, and the noncharacters U+FFFE and U+FFFF. */
const controls = /[^\P{Cc}\n]|[\uFFFE\uFFFF]/gu;

/** What a text may show: its line breaks are single newlines, its tabs are spaces. */
export function cleanText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/\r\n?|[\v\f\u0085\u2028\u2029]/g, '\n')
    .replaceAll('\t', '    ')
    .replaceAll(bidiControls, '')
    .replaceAll(controls, '')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

/** A text on one line, for names, subjects and headers: line breaks become spaces. */
export function cleanLine(text: string): string {
  return cleanText(text).replaceAll(/\s+/g, ' ');
}
