/** A QR code for a terminal, for a phone that continues there. */

import { qrModulesOfText } from '../core/cards/domain/symbol.ts';

/** Black on white (SGR 30 and 107), whatever the colors of the terminal are, and the end of it. */
const [start, end] = ['\u001b[30;107m', '\u001b[0m'];

/** Two rows of modules are one line. @returns lines that end with a line break. */
export function terminalQr(text: string): string {
  const rows = qrModulesOfText(text, { isForScreen: true });
  const lines: string[] = [];
  for (let place = 0; place < rows.length; place += 2) {
    const [upper = [], lower = []] = [rows[place], rows[place + 1]];
    const blocks = upper.map((isDark, column) => blockOf(isDark, lower[column] ?? false));
    lines.push(`${start}${blocks.join('')}${end}\n`);
  }
  return lines.join('');
}

function blockOf(isUpperDark: boolean, isLowerDark: boolean): string {
  if (isUpperDark) return isLowerDark ? '█' : '▀';
  return isLowerDark ? '▄' : ' ';
}
