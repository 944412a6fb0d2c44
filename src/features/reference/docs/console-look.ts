/** The fonts, sizes and colors of the pages for staff, which the reference has as well: from their style sheet. */

import assert from 'node:assert/strict';
import { readProgramFile } from '../../../platform/program-files.ts';

export const consoleFolder = 'pages/assets';

/** The files of the fonts, next to the style sheets. */
export const consoleFonts = [
  'instrument-sans.woff2',
  'instrument-sans-more.woff2',
  'fraunces.woff2',
  'fraunces-more.woff2',
] as const;

/** The rules of the style sheet of the pages that declare its fonts and tokens. */
export function consoleLook(): string {
  const sheet = readProgramFile(`${consoleFolder}/largesse.css`).toString();
  const fonts = sheet.match(/^@font-face \{.*?^\}$/gms) ?? [];
  const [tokens] = /^@layer tokens \{.*?^\}$/ms.exec(sheet) ?? [];
  assert.ok(fonts.length > 0 && tokens !== undefined, 'the style sheet of the pages has fonts and tokens');
  return [...fonts, tokens, ''].join('\n');
}
