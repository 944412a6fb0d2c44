/** Numbers and tables as text. */

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

/** A table with its title as a heading. */
export function markdown({ title, headings, rows }: Table): string {
  const rule = headings.map((_, column) => (isNumeric(rows, column) ? '--:' : '---'));
  const lines = [headings, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return [`## ${title}`, '', ...lines].join('\n');
}

/** Numbers are aligned to the right. */
function isNumeric(rows: Table['rows'], column: number): boolean {
  return rows.every((row) => /^[\d.,–%\s-]*$/.test(row[column] ?? ''));
}
