/**
 * Files of batches: CSV (RFC 4180) in UTF-8, one gift card per line, with the names of the fields of a new card in the
 * first line. A file whose header is separated by semicolons, as spreadsheets write it in many languages, can have decimal
 * commas. Time and memory are linear in the size of the file.
 */

import { batchCardsMax, batchErrorsMax, parseBatch, type BatchError, type ParsedBatch } from './batch.ts';
import { newCardFieldNames, newCardFromText, type NewCardField } from './new-card.ts';

/** Maximum length of a file in bytes. */
export const batchFileBytesMax = 4 * 2 ** 20;

/** Maximum length of one cell, in UTF-16 units: a note has at most 5,000 code points. */
const cellLengthMax = 10_000;

/** An error of a line of the file, from 1. The line is that in which the gift card begins. */
export type LineError = { readonly line: number; readonly field: string | null; readonly message: string };

type RejectedFile = {
  readonly ok: false;
  /** The first `batchErrorsMax` of them. */
  readonly errors: readonly LineError[];
  readonly errorCount: number;
};

/** The gift cards of a file, and the lines in which they begin. */
export type BatchFile =
  (Extract<ParsedBatch, { readonly ok: true }> & { readonly lines: readonly number[] }) | RejectedFile;

/** Why the rest of a file cannot be read. */
class Malformed extends Error {
  override readonly name = 'Malformed';
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/** Parses a file, and its gift cards. */
export function parseBatchFile(bytes: Uint8Array, place: Parameters<typeof parseBatch>[1]): BatchFile {
  let rows;
  try {
    rows = readRows(bytes);
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    const { line, message } = error;
    return { ok: false, errors: [{ line, field: null, message }], errorCount: 1 };
  }
  const { cards, lines, errors } = rows;
  const parsed = parseBatch(cards, place);
  if (parsed.ok && errors.length === 0) return { ...parsed, lines };
  const others = parsed.ok ? { errors: [], errorCount: 0 } : parsed;
  const all = [...errors, ...errorsByLine(others.errors, lines)].toSorted(
    (left, right) => left.line - right.line,
  );
  return {
    ok: false,
    errors: all.slice(0, batchErrorsMax),
    errorCount: rows.errorCount + others.errorCount,
  };
}

/** The lines in which the gift cards of a file begin that was accepted before. */
export function linesOfCards(bytes: Uint8Array): readonly number[] {
  return readRows(bytes).lines;
}

/** The errors of the cards of a file, by line. */
export function errorsByLine(errors: readonly BatchError[], lines: readonly number[]): readonly LineError[] {
  return errors.map(({ index, field, message }) => ({ line: lines[index] ?? 0, field, message }));
}

type Rows = {
  /** The fields of each card, by name. */
  readonly cards: readonly Readonly<Record<string, unknown>>[];
  readonly lines: readonly number[];
  /** Of lines with another number of cells, or a cell that is too long. */
  readonly errors: readonly LineError[];
  readonly errorCount: number;
};

/** @throws Malformed. */
function readRows(bytes: Uint8Array): Rows {
  if (bytes.length > batchFileBytesMax) throw new Malformed(1, 'belongs to a file of more than 4 MiB');
  let text;
  try {
    // The decoder removes a byte order mark.
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Malformed(1, 'belongs to a file that is not UTF-8: save it as "CSV UTF-8"');
  }
  const separator = separatorOf(text);
  const records = recordsOf(text, separator);
  const header = records.next();
  if (header.done === true) throw new Malformed(1, 'must have the names of the columns');
  const columns = columnsOf(header.value);
  const cards: Record<string, unknown>[] = [];
  const lines: number[] = [];
  const errors: LineError[] = [];
  let errorCount = 0;
  let rowCount = 0;
  const add = (error: LineError): void => {
    errorCount += 1;
    if (errors.length < batchErrorsMax) errors.push(error);
  };
  for (const { line, cells } of records) {
    // Spreadsheets write lines without content at the end.
    if (cells.every((cell) => cell === '')) continue;
    rowCount += 1;
    if (rowCount > batchCardsMax)
      throw new Malformed(line, `is above the limit of ${batchCardsMax.toLocaleString('en')} gift cards`);
    if (cells.length !== columns.length) {
      add({ line, field: null, message: `must have ${columns.length} cells, and has ${cells.length}` });
      continue;
    }
    const fields: Record<string, unknown> = {};
    for (const [place, name] of columns.entries()) {
      const cell = cells[place] ?? '';
      if (cell.length > cellLengthMax)
        add({
          line,
          field: name,
          message: `must have at most ${cellLengthMax.toLocaleString('en')} characters`,
        });
      else if (cell !== '') fields[name] = valueOf(name, cell, separator);
    }
    cards.push(fields);
    lines.push(line);
  }
  if (rowCount === 0) throw new Malformed(1, 'must be followed by at least one gift card');
  return { cards, lines, errors, errorCount };
}

const decimalComma = /^(?:0|[1-9]\d{0,11}),\d{1,4}$/;

function valueOf(name: NewCardField, cell: string, separator: string): unknown {
  if (name === 'initial_value' && separator === ';' && cell.length <= 17 && decimalComma.test(cell))
    return cell.replace(',', '.');
  const text = cell.replaceAll('\r\n', '\n');
  return newCardFromText[name]?.(text) ?? text;
}

/** The separator: a semicolon if the first line has one, because no name of a column contains it. */
function separatorOf(text: string): ',' | ';' {
  const end = text.indexOf('\n');
  const first = end === -1 ? text.slice(0, cellLengthMax) : text.slice(0, Math.min(end, cellLengthMax));
  return first.includes(';') ? ';' : ',';
}

const shownNameLengthMax = 64;

/** @throws Malformed if a name is unknown or repeated, or `initial_value` is missing. */
function columnsOf({ line, cells }: CsvRecord): readonly NewCardField[] {
  const names = cells.map((cell) => cell.slice(0, shownNameLengthMax).trim().toLowerCase());
  const columns = names.map((name, place) => {
    const found = newCardFieldNames.find((known) => known === name);
    if (!found)
      throw new Malformed(
        line,
        name === ''
          ? `must have a name for column ${place + 1}`
          : `has an unknown column ${JSON.stringify(name)}: the columns are ${newCardFieldNames.join(', ')}`,
      );
    return found;
  });
  const repeated = columns.find((name, place) => columns.indexOf(name) !== place);
  if (repeated !== undefined) throw new Malformed(line, `has the column ${repeated} twice`);
  if (!columns.includes('initial_value')) throw new Malformed(line, 'must have a column initial_value');
  return columns;
}

type CsvRecord = {
  /** The line in which it begins, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
};

/** More cells than any header has are not collected. */
const cellsMax = 64;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;

/** The records of a CSV text. @throws Malformed at the first character that RFC 4180 does not allow. */
function* recordsOf(text: string, separator: ',' | ';'): Generator<CsvRecord, undefined> {
  const separatorCode = separator.charCodeAt(0);
  let at = 0;
  let line = 1;
  while (at < text.length) {
    const firstLine = line;
    const cells: string[] = [];
    let hasEnded = false;
    while (!hasEnded) {
      let cell;
      if (text.charCodeAt(at) === quote) {
        const quoted = quotedCell(text, at, line);
        ({ cell, at, line } = quoted);
      } else {
        const end = endOfCell(text, at, separatorCode);
        cell = text.slice(at, end);
        if (cell.includes('"'))
          throw new Malformed(line, 'has a quotation mark in a cell without quotation marks');
        at = end;
      }
      cells.push(cell);
      if (cells.length > cellsMax) throw new Malformed(line, `must have at most ${cellsMax} cells`);
      const symbol = text.charCodeAt(at);
      if (at >= text.length) hasEnded = true;
      else if (symbol === separatorCode) at += 1;
      else if (symbol === lineFeed || (symbol === carriageReturn && text.charCodeAt(at + 1) === lineFeed)) {
        at += symbol === lineFeed ? 1 : 2;
        line += 1;
        hasEnded = true;
      } else if (symbol === carriageReturn)
        throw new Malformed(line, 'has a carriage return without a line feed');
      else throw new Malformed(line, 'has text after a closing quotation mark');
    }
    yield { line: firstLine, cells };
  }
}

/** The index of the separator or line end after a cell. */
function endOfCell(text: string, start: number, separatorCode: number): number {
  let at = start;
  for (; at < text.length; at += 1) {
    const symbol = text.charCodeAt(at);
    if (symbol === separatorCode || symbol === lineFeed || symbol === carriageReturn) break;
  }
  return at;
}

/** A cell between quotation marks, in which two of them are one. */
function quotedCell(
  text: string,
  start: number,
  firstLine: number,
): { readonly cell: string; readonly at: number; readonly line: number } {
  const parts: string[] = [];
  let at = start + 1;
  for (;;) {
    const end = text.indexOf('"', at);
    if (end === -1) throw new Malformed(firstLine, 'has a quotation mark that is not closed');
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
