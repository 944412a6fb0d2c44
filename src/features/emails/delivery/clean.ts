/**
 * Cleans untrusted texts (messages, names) before they become part of an email.
 *
 * It removes control characters and the bidirectional embeddings, overrides and isolates, which can make one text read
 * as another and, left open, reorder the rest of an email. The marks U+200E, U+200F and U+061C stay: right-to-left
 * texts need them, and they force no order.
 */

/** U+202A to U+202E and U+2066 to U+2069 (Unicode Standard Annex 9, 2.1 to 2.5). */
const bidiControls = /[\u202A-\u202E\u2066-\u2069]/g;

/** Control characters except newline, and the noncharacters U+FFFE and U+FFFF. */
const controls = /[^\P{Cc}\n]|[\uFFFE\uFFFF]/gu;

/** Cleans a text of several lines: line breaks become single newlines, tabs become spaces. */
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

/** Cleans a text for one line, such as a name, a subject or a header: line breaks become spaces. */
export function cleanLine(text: string): string {
  return cleanText(text).replaceAll(/\s+/g, ' ');
}
