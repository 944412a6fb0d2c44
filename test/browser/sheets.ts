/** Checks the sheet of a card on paper. */

import assert from 'node:assert/strict';
import type { Page } from '../support/chromium.ts';
import type { Paper, PaperPage } from './paper.ts';

const a4 = { widthMm: 210, heightMm: 297 } as const;
/** Printers do not reach the edge of the paper. */
const edgeMm = 5;
/** The bars of a barcode of 16 symbols: 211 modules, each as wide as two dots of a thermal printer. */
export const barsMm = (11 * 16 + 35) * 0.25;

/** The code that a sheet has as text. */
export function printedCode({ words }: PaperPage): string | undefined {
  const groups = words.map(({ text }) => text).join(' ');
  return /\b[0-9A-Z]{4}(?: [0-9A-Z]{4}){3}\b/.exec(groups)?.[0].replaceAll(' ', '');
}

/** @param options.fold the words at the line of the fold; null: words of another direction, which are not compared. */
export async function checkSheet(
  till: Page,
  {
    paper,
    number,
    code,
    texts,
    fold,
  }: {
    readonly paper: Paper;
    readonly number: number;
    readonly code: string;
    readonly texts: readonly string[];
    readonly fold: string | null;
  },
): Promise<void> {
  const page = paper.pages[number - 1] ?? assert.fail(`page ${number}`);
  for (const side of ['widthMm', 'heightMm'] as const) assert.ok(Math.abs(page[side] - a4[side]) < 1, side);
  assert.equal(printedCode(page), code);
  const shown = page.words.map(({ text }) => text).join(' ');
  for (const text of texts) assert.ok(shown.includes(text), `${text} in ${shown}`);
  const symbols = await paper.scan(till, number);
  assert.deepEqual(
    symbols.map(({ format, text }) => [format, text]),
    [
      ['code_128', code],
      ['qr_code', code],
    ],
  );
  for (const { left, top, right, bottom, text } of [...page.words, ...symbols])
    assert.ok(
      left >= edgeMm && top >= edgeMm && right <= a4.widthMm - edgeMm && bottom <= a4.heightMm - edgeMm,
      `${text} is at the edge of the paper`,
    );
  // Folded in the middle, the front has no code.
  const middle = a4.heightMm / 2;
  const groups = page.words.filter(({ text }) => code.includes(text) && text.length === 4);
  assert.equal(groups.length, 4);
  for (const { top, text } of [...groups, ...symbols]) assert.ok(top > middle, `${text} is behind the fold`);
  if (fold !== null) {
    const [first = ''] = fold.split(' ');
    const line = page.words.find(({ text }) => text === first) ?? assert.fail(shown);
    assert.ok(Math.abs((line.top + line.bottom) / 2 - middle) < 2, 'the line is in the middle');
  }
  const [barcode] = symbols;
  assert.ok(barcode && Math.abs(barcode.right - barcode.left - barsMm) < 1, 'the bars are whole dots wide');
}
