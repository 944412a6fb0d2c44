/** Numbers and tables as text, for a terminal and for a page. */

import type { EngineName } from './results.ts';

export type Table = {
  readonly title: string;
  readonly headings: readonly string[];
  readonly rows: readonly (readonly string[])[];
};

export const engineTitles: Readonly<Record<EngineName, string>> = {
  embedded: 'SQLite',
  postgres: 'PostgreSQL',
};

/** `1,000,000` */
export function countOf(number: number): string {
  return Math.round(number).toLocaleString('en');
}

/** Three significant digits without an exponent: `0.412`, `27.3`, `8,400`. */
export function figureOf(number: number): string {
  if (Math.abs(number) >= 1_000) return countOf(number);
  return String(Number(number.toPrecision(3)));
}

export function plainText({ title, headings, rows }: Table): string {
  const lines = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  const aligned = lines.map((cells) =>
    cells.map((cell, column) =>
      isNumeric(rows, column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
    ),
  );
  return [title, ...aligned.map((cells) => `  ${cells.join('  ').trimEnd()}`)].join('\n');
}

export function markdown({ headings, rows }: Table): string {
  const rule = headings.map((_, column) => (isNumeric(rows, column) ? '--:' : '---'));
  return [headings, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Numbers are aligned to the right. */
function isNumeric(rows: Table['rows'], column: number): boolean {
  return rows.every((row) => /^[\d.,–%\s-]*$/.test(row[column] ?? ''));
}
