/** Codes of printed cards as a text, with one code on each line. */

import type { ChosenCode } from '../../../core/cards/domain/given-code.ts';
import type { Parsed } from '../../../platform/parsed.ts';

/** The codes of a text, and its wrong lines. Lines are counted from 1; empty ones are left out. */
export type CodeLines = {
  readonly codes: readonly ChosenCode[];
  /** The line of each code. */
  readonly lines: readonly number[];
  /** Messages read after the number of the line. */
  readonly errors: readonly { readonly line: number; readonly message: string }[];
};

/**
 * Parses codes, each with `read`: new codes, or codes of printed cards. A code that occurs twice is an error of the second
 * line.
 */
export function parseCodeLines(text: string, read: (typed: string) => Parsed<ChosenCode>): CodeLines {
  const codes: ChosenCode[] = [];
  const errors: { readonly line: number; readonly message: string }[] = [];
  const lineOf = new Map<string, number>();
  for (const [index, typed] of text.split('\n').entries()) {
    const line = index + 1;
    if (typed.trim() === '') continue;
    const code = read(typed.trim());
    const first = code.ok ? lineOf.get(code.value.code.reveal()) : undefined;
    if (!code.ok) errors.push({ line, message: code.error });
    else if (first !== undefined) errors.push({ line, message: `is the code of line ${first}` });
    else {
      lineOf.set(code.value.code.reveal(), line);
      codes.push(code.value);
    }
  }
  return { codes, lines: [...lineOf.values()], errors };
}
