/** The prints on 80 mm paper: receipts, and the slip with a new code. */

import { markup, type Markup, type MarkupPart } from '../../platform/markup.ts';

/** A code or a number in groups of four, for reading and typing. */
export function groupsOfFour(text: string): string {
  return text.toUpperCase().replace(/(.{4})(?=.)/g, '$1 ');
}

/** Names and values in two columns. */
export function slipLines(lines: readonly (readonly [MarkupPart, MarkupPart] | undefined)[]): Markup {
  const shown = lines.map((line) => line && markup`<dt>${line[0]}</dt><dd>${line[1]}</dd>`);
  return markup`<dl class="lines">${shown}</dl>`;
}
