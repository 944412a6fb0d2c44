/** Tables as CSV (RFC 4180) that spreadsheets do not execute. */

/** A text that a spreadsheet would read as a formula, unless it is a number. */
const formulaStart = /^[=+\-@\t\r]/;
const decimalNumber = /^-?\d+(?:\.\d+)?$/;

/** A cell: formulas get an apostrophe in front, as OWASP advises, and negative numbers stay numbers. */
function cellOf(value: string | number | null): string {
  if (value === null) return '';
  const text = String(value);
  const safe = formulaStart.test(text) && !decimalNumber.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export type CsvRow = Readonly<Record<string, string | number | null>>;

type Cells = readonly (string | number | null)[];

function linesOf(lines: readonly Cells[]): string {
  return lines.map((line) => `${line.map(cellOf).join(',')}\r\n`).join('');
}

/** The rows of a table, in the order of the columns. */
export function csvRowsOf(columns: readonly string[], rows: readonly CsvRow[]): string {
  return linesOf(rows.map((row) => columns.map((column) => row[column] ?? null)));
}

/** A table with a header, in the order of the columns. */
export function csvOf(columns: readonly string[], rows: readonly CsvRow[]): string {
  return linesOf([columns]) + csvRowsOf(columns, rows);
}
