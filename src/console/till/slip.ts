/** The prints on 80 mm paper: receipts, and the slip with a new code. */

import { encode } from 'uqr';
import { markup, type Markup, type MarkupPart } from '../../platform/markup.ts';

/** White modules around a QR code (ISO/IEC 18004). */
const quietModules = 4;

/** A QR code as an image. QR codes store texts in upper case compactly. */
export function qrPicture(text: string, label: string): Markup {
  const modules = encode(text, { ecc: 'M', boostEcc: true, border: quietModules }).data;
  const rows = modules.map((row, y) => {
    const runs: string[] = [];
    for (let x = 0; x < row.length; x += 1) {
      if (row[x] !== true || row[x - 1] === true) continue;
      let end = x;
      while (row[end] === true) end += 1;
      runs.push(`M${x} ${y}h${end - x}v1H${x}z`);
    }
    return runs.join('');
  });
  const size = String(modules.length);
  return markup`<svg viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path fill="#000" d="${rows.join('')}"/></svg>`;
}

/** A code or a number in groups of four, for reading and typing. */
export function groupsOfFour(text: string): string {
  return text.toUpperCase().replace(/(.{4})(?=.)/g, '$1 ');
}

/** Names and values in two columns. */
export function slipLines(lines: readonly (readonly [MarkupPart, MarkupPart] | undefined)[]): Markup {
  const shown = lines.map((line) => line && markup`<dt>${line[0]}</dt><dd>${line[1]}</dd>`);
  return markup`<dl class="lines">${shown}</dl>`;
}
