/** A code as people read it and as scanners read it. The caller makes sure that only one person sees it. */

import { barcodeOf, qrModules, qrModulesOfText, type Barcode } from '../../core/cards/domain/symbol.ts';
import type { Secret } from '../../platform/secret.ts';
import { markup, type Markup } from '../../platform/markup.ts';

/** A code in groups of four. A scanner and a form ignore the spaces. */
export function groupedCode(code: Secret): string {
  return (
    code
      .reveal()
      .toUpperCase()
      .match(/.{1,4}/g) ?? []
  ).join(' ');
}

const qrMargin = 4;

/**
 * The QR code of a code, without its margin: the page around it is white.
 * @param page the URL of the store's page of recipients; null: it is not known.
 */
export function qrSvg(
  code: Secret,
  { page, label }: { readonly page: string | null; readonly label: string },
): Markup {
  const rows = qrModules(code, page).slice(qrMargin, -qrMargin);
  return drawingOf(
    rows.map((row) => row.slice(qrMargin, -qrMargin)),
    label,
  );
}

/** The QR code of a text, with its margin. */
export function qrPicture(text: string, label: string): Markup {
  return drawingOf(qrModulesOfText(text), label);
}

function drawingOf(rows: ReturnType<typeof qrModules>, label: string): Markup {
  const size = String(rows.length);
  const path = rows.map((row, y) => lineOf(runsOf(row), y + 0.5)).join('');
  return markup`<svg viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path stroke="#000" d="${path}"/></svg>`;
}

type Run = { readonly at: number; readonly width: number };

/** The dark modules of a row, joined where they touch. */
function runsOf(row: readonly boolean[]): readonly Run[] {
  const runs: Run[] = [];
  let at = 0;
  for (let x = 0; x <= row.length; x += 1) {
    if (row[x] === true) continue;
    if (x > at) runs.push({ at, width: x - at });
    at = x + 1;
  }
  return runs;
}

/** Runs as a broken line, which takes half the bytes of rectangles. */
function lineOf(runs: readonly Run[], y: number): string {
  let end = 0;
  return runs
    .map(({ at, width }, index) => {
      const move = index === 0 ? `M${at} ${y}` : `m${at - end} 0`;
      end = at + width;
      return `${move}h${width}`;
    })
    .join('');
}

const barHeight = 40;

/** The Code 128 barcode of a code on a screen, with its margins. The code is next to it as text. */
export function barcodeSvg(code: Secret): Markup {
  const { width, bars } = barcodeOf(code);
  const path = lineOf(bars, barHeight / 2);
  return markup`<svg class="barcode" viewBox="0 0 ${width} ${barHeight}" preserveAspectRatio="none" aria-hidden="true" shape-rendering="crispEdges"><path d="${path}" stroke="#000" stroke-width="${barHeight}"/></svg>`;
}

/** Two dots of a printer with 203 dots per inch, which has 8 dots per mm. */
const moduleMm = 0.25;

/**
 * A barcode on paper, with its margins, in its own size: scaled to a width, its bars would not be whole dots.
 * @param widthMm of the paper that a printer reaches. A barcode that is wider is upright.
 */
export function printedBarcode({ width, bars }: Barcode, widthMm: number): Markup {
  const lengthMm = width * moduleMm;
  const isUpright = lengthMm > widthMm;
  const box = isUpright ? `${barHeight} ${width}` : `${width} ${barHeight}`;
  const size = isUpright ? markup` height="${lengthMm}mm"` : markup` width="${lengthMm}mm"`;
  const turn = isUpright ? markup` transform="matrix(0 1 1 0 0 0)"` : undefined;
  return markup`<svg class="bars${isUpright ? ' upright' : ''}" viewBox="0 0 ${box}"${size} preserveAspectRatio="none" aria-hidden="true" shape-rendering="crispEdges"><path${turn} d="${lineOf(bars, barHeight / 2)}" stroke="#000" stroke-width="${barHeight}"/></svg>`;
}
