/** Tables as CSV (RFC 4180) that spreadsheets do not execute. */

import type { DecimalSign } from './written-amount.ts';
import {
  localTimeOf,
  type ShownColumn,
  type ShownTable,
  type ExportCell,
  type ExportRow,
} from './export-table.ts';

/**
 * Characters before a formula that spreadsheets skip, and the formula's first one. An apostrophe is one of the former, so
 * that the same pattern finds the places to write one and to remove it.
 */
const formula = `(?:[^\\S\\t\\r\\n]|["'])*[=+\\-@＝＋－＠]`;

/** The start of a cell, for a reader of any separator: quotation marks do not hide `;` from one that expects it. */
const cellStart = '(^|[;\\t\\r\\n])';

const unsafe = new RegExp(`${cellStart}(?=${formula})`, 'g');
const escaped = new RegExp(`${cellStart}'(?=${formula})`, 'g');
const decimalNumber = /^-?\d+(?:\.\d+)?$/;

/** The separator of cells and the form of numbers in the spreadsheets of a language. */
export type CsvDialect = { readonly separator: ',' | ';'; readonly decimalSign: DecimalSign };

/**
 * Texts without a formula that spreadsheets change: long numbers, leading zeros, exponents, truth values, and
 * what they read as a day, a time or a fraction. Days as `YYYY-MM-DD` stay days.
 */
const changed =
  /^(?:\d{12,}|0\d+|\d+[.,/:]\d[\d.,/:]*|\d+(?:\.\d+)?e\d+|\d{1,2}-\d{1,2}(?:-\d{2,4})?|true|false|\d{1,2}[ -]?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mrz|mär|mai|okt|dez|ene|abr|ago|dic|fév|avr|aoû|déc)[a-zé]*\.?(?:[ -]?\d{2,4})?|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mrz|mär|mai|okt|dez|ene|abr|ago|dic|fév|avr|aoû|déc)[a-zé]*\.?[ -]?\d{1,4})$/i;

/** Longer texts are not changed. */
const changedLengthMax = 40;

/** Apostrophes in front do not count, so a text with some of its own gets one more, and the reader knows which to remove. */
function isChanged(text: string): boolean {
  const bare = text.replace(/^'+/, '');
  return bare.length <= changedLengthMax && changed.test(bare);
}

/**
 * A cell: formulas get an apostrophe in front, as OWASP advises, and negative numbers stay numbers; not at the start of a
 * line, because the whole line is one cell for a reader of another separator. In a dialect, texts that a spreadsheet would
 * change get one as well.
 */
function cellOf(
  value: ExportCell,
  {
    place,
    dialect,
    isText = true,
  }: {
    readonly place: number;
    readonly dialect: CsvDialect | undefined;
    /** Whether a spreadsheet must not read a number or a day. */
    readonly isText?: boolean;
  },
): string {
  if (value === null) return '';
  const text = typeof value === 'object' ? value.decimal : String(value);
  if (dialect && typeof value === 'object') return text.replace('.', dialect.decimalSign);
  const safe = place > 0 && decimalNumber.test(text) ? text : text.replaceAll(unsafe, "$1'");
  const isEscaped = safe.startsWith("'") || (dialect !== undefined && isText);
  const kept = isEscaped && isChanged(safe) ? `'${safe}` : safe;
  const isQuoted = (dialect ? /[",;\t\r\n]/ : /[",\r\n]/).test(kept) || kept !== kept.trim();
  return isQuoted ? `"${kept.replaceAll('"', '""')}"` : kept;
}

/** The text of a cell, without the apostrophes that `csvOf` writes. */
export function textOfCell(cell: string): string {
  const text = cell.startsWith("'") && isChanged(cell) ? cell.slice(1) : cell;
  return text.replaceAll(escaped, '$1');
}

/** A file of a dialect begins with a byte order mark, from which spreadsheets know its encoding. */
const byteOrderMark = '\uFEFF';

function linesOf(lines: readonly (readonly ExportCell[])[], dialect: CsvDialect | undefined): string {
  const separator = dialect?.separator ?? ',';
  return lines
    .map((line) => `${line.map((cell, place) => cellOf(cell, { place, dialect })).join(separator)}\r\n`)
    .join('');
}

/** The rows of a table, in the order of the columns. @param dialect absent: commas and points. */
export function csvRowsOf(
  columns: readonly string[],
  rows: readonly ExportRow[],
  dialect?: CsvDialect,
): string {
  return linesOf(
    rows.map((row) => columns.map((column) => row[column] ?? null)),
    dialect,
  );
}

/** The first line of a file for people: the headings of the columns. */
export function csvHeadForPeople({ columns }: Pick<ShownTable, 'columns'>, dialect: CsvDialect): string {
  return `${byteOrderMark}${linesOf([columns.map(({ heading }) => heading)], dialect)}`;
}

/**
 * Rows of a file for people: instants are in the time zone of the store. Days stay `YYYY-MM-DD`, which spreadsheets read as
 * days in every language.
 */
export function csvRowsForPeople(
  { columns, timeZone }: Pick<ShownTable, 'columns' | 'timeZone'>,
  rows: readonly ExportRow[],
  dialect: CsvDialect,
): string {
  const cellIn = (row: ExportRow, { name, kind }: ShownColumn): ExportCell => {
    const value = row[name] ?? null;
    return kind === 'time' && typeof value === 'string' ? localTimeOf(value, timeZone) : value;
  };
  return linesOf(
    rows.map((row) => columns.map((column) => cellIn(row, column))),
    dialect,
  );
}

/** A table with a header, in the order of the columns. @param dialect absent: commas and points. */
export function csvOf(columns: readonly string[], rows: readonly ExportRow[], dialect?: CsvDialect): string {
  return `${dialect ? byteOrderMark : ''}${linesOf([columns], dialect)}${csvRowsOf(columns, rows, dialect)}`;
}

/**
 * A table of cells that people have written, whose first line has the headings.
 * @param isNumber whether spreadsheets may read the texts of a column, from 0, as numbers and days.
 */
export function csvOfLines(
  lines: readonly (readonly string[])[],
  dialect: CsvDialect,
  isNumber: (place: number) => boolean,
): string {
  const written = lines.map((line) =>
    line.map((cell, place) => cellOf(cell, { place, dialect, isText: !isNumber(place) })),
  );
  return `${byteOrderMark}${written.map((line) => `${line.join(dialect.separator)}\r\n`).join('')}`;
}
