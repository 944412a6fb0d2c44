/**
 * Tables as text: CSV (RFC 4180) as spreadsheets write it in any language. The text is UTF-8, UTF-16 or Windows-1252; the
 * separator is a comma, a semicolon, a tab or a vertical bar. Time and memory are linear in the size of the file. The lengths
 * of a row are limited before its cells are joined, so that readers can pause between rows.
 */

import { stepLength, type Paused } from '../../domain/paused.ts';

/** The reason why the rest of a table cannot be read, and the line, from 1. */
export class MalformedTable extends Error {
  override readonly name = 'MalformedTable';
  readonly line: number;
  /** The text that is wrong, if it is short. */
  readonly cell: string | undefined;

  constructor(
    line: number,
    message: string,
    { cell, cause }: { readonly cell?: string; readonly cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.line = line;
    this.cell = cell;
  }
}

export type Separator = ',' | ';' | '\t' | '|';

export const notText = 'belongs to a file that is not a table: save it as XLSX or CSV';
export const fileTooLarge = 'belongs to a file of more than 4 MiB';
/** An error about a file whose reader has ended without a result. */
export const tooMuchWork =
  'belongs to a file that needs too much memory or time: save its table alone as CSV';

/** The most lines of a table, with those in cells and without content. */
export const linesMax = 100_000;
export const tooManyLines = `is above the limit of ${linesMax.toLocaleString('en')} lines, with the empty ones`;

/** The most UTF-16 units of a row. The texts of a gift card have less than 20,000. */
export const rowLengthMax = 100_000;
export const lineTooLong = `must have at most ${rowLengthMax.toLocaleString('en')} characters`;

/** In place of the line breaks in cells of a workbook, each row of which is one line. */
export const lineSeparator = '\u2028';

/** @throws MalformedTable if the bytes are not text. */
export function textOfFile(bytes: Uint8Array): string {
  const [first, second, third] = bytes;
  // The first bytes of a ZIP archive, which ODS files are, and of an XLS file.
  const isSpreadsheet =
    (first === 0x50 && second === 0x4b && third === 0x03) || (first === 0xd0 && second === 0xcf);
  const text = isSpreadsheet ? undefined : decoded(bytes);
  if (text === undefined || hasControlCharacters.test(text)) throw new MalformedTable(1, notText);
  return text;
}

/** Characters that no table has, and that bytes of another encoding become. */
// oxlint-disable-next-line no-control-regex -- They are what is searched for.
const hasControlCharacters = /[\u0000-\u0008\u000e-\u001f\u007f-\u0084\u0086-\u009f]/;

/** Undefined: the bytes are not a text in the encoding of their byte order mark. */
function decoded(bytes: Uint8Array): string | undefined {
  const [first, second] = bytes;
  // No text begins with U+0000, so a first byte of 0 is half of an ASCII character, and so is a second one.
  const isLittle = (first === 0xff && second === 0xfe) || (second === 0 && first !== 0);
  const isBig = (first === 0xfe && second === 0xff) || (first === 0 && second !== 0);
  const little = isLittle ? 'utf-16le' : undefined;
  const encoding = isBig ? 'utf-16be' : little;
  // The decoder removes a byte order mark.
  if (encoding !== undefined) return decodedAs(encoding, bytes);
  return decodedAs('utf-8', bytes) ?? decodedAs('windows-1252', bytes);
}

function decodedAs(encoding: string, bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

export type TableRecord = {
  /** The line in which it begins, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
  /** The index of its first character in the text, and the one after its last, without the line end. */
  readonly start: number;
  readonly end: number;
};

/** A text with the line ends of Unix. */
export function* withLineFeeds(text: string): Paused<string> {
  if (!text.includes('\r\n')) return text;
  const parts: string[] = [];
  let at = 0;
  while (at < text.length) {
    // No line end is divided.
    const end = at + stepLength + (text.charCodeAt(at + stepLength) === lineFeed ? 1 : 0);
    parts.push(text.slice(at, end).replaceAll('\r\n', '\n'));
    at = end;
    yield;
  }
  return parts.join('');
}

type TextTable = {
  readonly separator: Separator;
  /** Read while they are iterated. @throws MalformedTable at the first character that RFC 4180 does not allow. */
  readonly records: Generator<TableRecord, undefined>;
};

/** Spreadsheets read the separator from a first line such as `sep=;`. */
const separatorLine = /^sep=([,;\t|])\r?\n/i;

export function tableOf(text: string): TextTable {
  const start = text.startsWith('\uFEFF') ? 1 : 0;
  const [line = '', named] = separatorLine.exec(text.slice(start, start + 8)) ?? [];
  const separator = named === undefined ? separatorOf(text.slice(start)) : (named as Separator);
  const first = line === '' ? 1 : 2;
  return { separator, records: recordsOf(text, separator, { at: start + line.length, line: first }) };
}

/** More cells than any header has are not collected. */
export const cellsMax = 64;
const headerLengthMax = 10_000;

/** The separator that the first line has most often. A table of one column is one of tabs, which cells do not have. */
function separatorOf(text: string): Separator {
  const counts = { '\t': 0, ';': 0, ',': 0, '|': 0 };
  let isQuoted = false;
  for (const symbol of text.slice(0, headerLengthMax)) {
    if (symbol === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (symbol === '\n') break;
    else if (symbol === ',' || symbol === ';' || symbol === '\t' || symbol === '|') counts[symbol] += 1;
  }
  const most = Math.max(...Object.values(counts));
  return (['\t', ';', ',', '|'] as const).find((symbol) => counts[symbol] === most) ?? ',';
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;

function* recordsOf(
  text: string,
  separator: Separator,
  first: { readonly at: number; readonly line: number },
): Generator<TableRecord, undefined> {
  const separatorCode = separator.charCodeAt(0);
  let { at, line } = first;
  while (at < text.length) {
    const firstLine = line;
    const start = at;
    let end = at;
    const cells: string[] = [];
    let hasEnded = false;
    const endMax = start + rowLengthMax;
    if (line > linesMax) throw new MalformedTable(line, tooManyLines);
    while (!hasEnded) {
      let cell;
      if (text.charCodeAt(at) === quote) {
        const quoted = quotedCell(text, at, { line, endMax });
        ({ cell, at, line } = quoted);
      } else {
        const cellEnd = endOfCell(text, at, { separatorCode, endMax });
        if (cellEnd > endMax) throw new MalformedTable(line, lineTooLong);
        cell = text.slice(at, cellEnd);
        if (cell.includes('"'))
          throw new MalformedTable(line, 'has a quotation mark in a cell without quotation marks');
        at = cellEnd;
      }
      cells.push(cell);
      if (cells.length > cellsMax) throw new MalformedTable(line, `must have at most ${cellsMax} cells`);
      const symbol = text.charCodeAt(at);
      end = at;
      if (at >= text.length) hasEnded = true;
      else if (symbol === separatorCode) at += 1;
      else if (symbol === lineFeed || (symbol === carriageReturn && text.charCodeAt(at + 1) === lineFeed)) {
        at += symbol === lineFeed ? 1 : 2;
        line += 1;
        hasEnded = true;
      } else if (symbol === carriageReturn)
        throw new MalformedTable(line, 'has a carriage return without a line feed');
      else throw new MalformedTable(line, 'has text after a closing quotation mark');
    }
    yield { line: firstLine, cells, start, end };
  }
}

/** The index of the separator or line end after a cell; above `endMax` if it is not before. */
function endOfCell(
  text: string,
  start: number,
  { separatorCode, endMax }: { readonly separatorCode: number; readonly endMax: number },
): number {
  const last = Math.min(text.length, endMax + 1);
  let at = start;
  for (; at < last; at += 1) {
    const symbol = text.charCodeAt(at);
    if (symbol === separatorCode || symbol === lineFeed || symbol === carriageReturn) break;
  }
  return at;
}

/** A cell between quotation marks, in which two of them are one. */
function quotedCell(
  text: string,
  start: number,
  { line: firstLine, endMax }: { readonly line: number; readonly endMax: number },
): { readonly cell: string; readonly at: number; readonly line: number } {
  const parts: string[] = [];
  let at = start + 1;
  for (;;) {
    const end = text.indexOf('"', at);
    if (end === -1) throw new MalformedTable(firstLine, 'has a quotation mark that is not closed');
    if (end > endMax) throw new MalformedTable(firstLine, lineTooLong);
    parts.push(text.slice(at, end));
    at = end + 1;
    if (text.charCodeAt(at) !== quote) break;
    parts.push('"');
    at += 1;
  }
  const cell = parts.join('');
  return { cell, at, line: firstLine + countLineFeeds(cell) };
}

function countLineFeeds(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}
