/**
 * Files of batches: tables with one gift card per line, and headings in the first line. Cells are written as a spreadsheet
 * writes them: what one cell leaves open, such as `1.000` or `05/06/2026`, is decided by the others or by a person, or is an
 * error. Time and memory are linear in the size of the file.
 */

import { batchErrorsMax, parseBatch, shownNameLengthMax, unreadable } from './batch.ts';
import type { BatchError, ParsedBatch } from './batch.ts';
import type { FileColumn } from './column-names.ts';
import { readTable, type FileTable, type ReadColumns } from './columns.ts';
import { formatMoney } from '../../../core/money/domain/money.ts';
import { Steps, type Paused } from '../../../core/domain/paused.ts';
import { newCardFromText, type NewCardField } from '../../../core/cards/domain/new-card.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { MalformedTable, type TableRecord } from '../../../core/tables/domain/table-text.ts';
import {
  ambiguousAmount,
  decimalSignOf,
  parseWrittenAmount,
  type DecimalSign,
} from '../../../core/tables/domain/written-amount.ts';
import { ambiguousDay, dayOrderOf, writtenDay, type DayOrder } from '../../../core/domain/written-day.ts';

/** Maximum length of one cell, in UTF-16 units: a note has at most 5,000 code points. */
const cellLengthMax = 10_000;

/** An error of a line of the file, from 1. The line is that in which the gift card begins. */
export type LineError = {
  readonly line: number;
  readonly field: string | null;
  readonly message: string;
  /** The text of the cell, if it is not a code. */
  readonly cell?: string;
  /** The line that has the same value. */
  readonly first?: number;
};

/** The decisions about the columns, and the notations where its cells do not agree. */
export type FileReader = ReadColumns & {
  /** Null: unknown, so that what can be read in two ways is an error. */
  readonly decimalSign: DecimalSign | null;
  readonly dayOrder: DayOrder | null;
  /** The lines in which gift cards begin that are not issued. */
  readonly leftOut?: ReadonlySet<number>;
};

/** Nothing but the file decides. */
export const fileAlone: FileReader = { decimalSign: null, dayOrder: null };

type RejectedFile = {
  readonly ok: false;
  /** The first `batchErrorsMax` of them. */
  readonly errors: readonly LineError[];
  readonly errorCount: number;
  /** All lines with errors, in order. Empty: the file cannot be read, and none of them can be left out. */
  readonly badLines: readonly number[];
  /** The number of gift cards, without those that are left out. */
  readonly lineCount: number;
};

/** The gift cards of a file, and the lines in which they begin. */
export type BatchFile =
  (Extract<ParsedBatch, { readonly ok: true }> & { readonly lines: readonly number[] }) | RejectedFile;

/** Parses a file, and its gift cards. @param file its bytes, or its text. */
export function* parseBatchFile(
  file: Uint8Array | string,
  place: Parameters<typeof parseBatch>[1],
  reader: FileReader,
): Paused<BatchFile> {
  let table;
  try {
    table = yield* readTable(file, reader);
  } catch (error) {
    if (!(error instanceof MalformedTable)) throw error;
    const { line, message, cell } = error;
    return rejectedFile({ line, field: null, message, ...(cell !== undefined && { cell }) });
  }
  const { columns } = table;
  const rows = table.rows.filter(({ line }) => reader.leftOut?.has(line) !== true);
  if (rows.length === 0)
    return rejectedFile({ line: 1, field: null, message: 'must be followed by at least one gift card' });
  const lines = rows.map(({ line }) => line);
  const notation = yield* notationOf({ rows, columns }, place.store, reader);
  const errors: LineError[] = [];
  let errorCount = 0;
  const badLines = new Set<number>();
  // The errors are in the order of the lines.
  const add = (error: LineError): void => {
    errorCount += 1;
    badLines.add(error.line);
    if (errors.length < batchErrorsMax) errors.push(error);
  };
  const cards: unknown[] = [];
  const steps = new Steps();
  for (const row of rows) {
    if (steps.isDue(row.end - row.start)) yield;
    cards.push(fieldsOf(row, columns, { notation, store: place.store, add }));
  }
  const parsed = yield* parseBatch(cards, place);
  if (parsed.ok && errorCount === 0) return { ...parsed, lines };
  const others = parsed.ok ? { errors: [], errorCount: 0, rejected: [] } : parsed;
  const ofCards = errorsByLine(others.errors, lines).map((error, index) => ({
    ...error,
    ...shownCell(rows[others.errors[index]?.index ?? 0], columns, error.field),
  }));
  for (const index of others.rejected) badLines.add(lines[index] ?? 0);
  return {
    ok: false,
    errors: [...errors, ...ofCards]
      .toSorted((left, right) => left.line - right.line)
      .slice(0, batchErrorsMax),
    errorCount: errorCount + others.errorCount,
    badLines: [...badLines].toSorted((left, right) => left - right),
    lineCount: rows.length,
  };
}

function rejectedFile(error: LineError): RejectedFile {
  return { ok: false, errors: [error], errorCount: 1, badLines: [], lineCount: 0 };
}

/** The lines in which the gift cards of a file begin that was accepted before. */
export function* linesOfCards(file: string): Paused<readonly number[]> {
  const { rows } = yield* readTable(file);
  return rows.map(({ line }) => line);
}

/** The errors of the cards of a file, by line. */
export function errorsByLine(errors: readonly BatchError[], lines: readonly number[]): readonly LineError[] {
  return errors.map(({ index, field, message, first }) => ({
    line: lines[index] ?? 0,
    field,
    message: first === undefined ? message : `is the code of line ${lines[first] ?? 0}`,
    ...(first !== undefined && { first: lines[first] ?? 0 }),
  }));
}

type Notation = Pick<FileReader, 'decimalSign' | 'dayOrder'>;

/** The notation of the file: that of its cells if they agree, otherwise the one that was decided. */
function* notationOf(
  { rows, columns }: Pick<FileTable, 'rows' | 'columns'>,
  { currency }: Store,
  { decimalSign, dayOrder }: FileReader,
): Paused<Notation> {
  const signs = new Set<DecimalSign>();
  const orders = new Set<DayOrder>();
  const steps = new Steps();
  for (const { cells, start, end } of rows) {
    if (steps.isDue(end - start)) yield;
    for (const [place, column] of columns.entries()) {
      const sign = column === 'initial_value' ? decimalSignOf(cells[place] ?? '', currency) : null;
      const order = isDay(column) ? dayOrderOf(cells[place] ?? '') : null;
      if (sign !== null) signs.add(sign);
      if (order !== null) orders.add(order);
    }
  }
  return { decimalSign: agreed(signs, decimalSign), dayOrder: agreed(orders, dayOrder) };
}

function agreed<T>(values: ReadonlySet<T>, otherwise: T | null): T | null {
  const [value] = values;
  return values.size === 1 && value !== undefined ? value : otherwise;
}

/** Cells that can be read in two ways, because no other cell shows the notation of the file; null: there is none. */
export type Doubts = { readonly amount: string | null; readonly day: string | null };

/** @throws MalformedTable. */
export function* doubtsOf(file: string, store: Store, decided: ReadColumns): Paused<Doubts> {
  const table = yield* readTable(file, decided);
  const notation = yield* notationOf(table, store, fileAlone);
  const { currency } = store;
  const isAmbiguous = (cell: string): boolean => {
    const read = parseWrittenAmount(cell, { currency, decimalSign: notation.decimalSign });
    return !read.ok && read.error === ambiguousAmount;
  };
  const steps = new Steps();
  let amount: string | null = null;
  let day: string | null = null;
  for (const { cells, start, end } of table.rows) {
    if (steps.isDue(end - start)) yield;
    for (const [place, column] of table.columns.entries()) {
      const cell = cells[place] ?? '';
      const shown = cell.slice(0, shownNameLengthMax);
      if (amount === null && column === 'initial_value' && isAmbiguous(cell)) amount = shown;
      if (day === null && isDay(column) && writtenDay(cell, notation.dayOrder) === null) day = shown;
    }
  }
  return { amount, day };
}

function isDay(column: FileColumn | undefined): boolean {
  return column === 'expires_on' || column === 'send_on';
}

type CellPlace = {
  readonly notation: Notation;
  readonly store: Store;
  readonly add: (error: LineError) => void;
};

/** The fields of a card, by name, with `unreadable` in place of what has an error. */
function fieldsOf({ line, cells }: TableRecord, columns: readonly FileColumn[], place: CellPlace): unknown {
  if (cells.length !== columns.length) {
    place.add({ line, field: null, message: `must have ${columns.length} cells, and has ${cells.length}` });
    return unreadable;
  }
  const fields: Record<string, unknown> = {};
  const names = { first_name: '', last_name: '' };
  for (const [index, name] of columns.entries()) {
    const cell = cells[index] ?? '';
    const isBlank = name === 'message' || name === 'note' ? cell === '' : cell.trim() === '';
    if (name === null || isBlank) continue;
    if (name === 'first_name' || name === 'last_name') {
      names[name] = cell.trim();
      continue;
    }
    const read = readCell(name, cell, place);
    if (!('error' in read)) {
      fields[name] = read.value;
      continue;
    }
    fields[name] = unreadable;
    const { error } = read;
    place.add({ line, field: name, message: error, ...shownCell({ line, cells }, columns, name) });
  }
  const name = `${names.first_name} ${names.last_name}`.trim();
  if (name !== '') fields['recipient_name'] = name;
  return fields;
}

/** The part of a cell that an error shows: nothing of a code. */
function shownCell(
  row: Pick<TableRecord, 'line' | 'cells'> | undefined,
  columns: readonly FileColumn[],
  field: string | null,
): { readonly cell?: string } {
  const place = columns.findIndex((name) => name !== null && name === field);
  const cell = row?.cells[place];
  return cell === undefined || cell === '' || field === 'code'
    ? {}
    : { cell: cell.slice(0, shownNameLengthMax) };
}

/** Truth values as spreadsheets write them in the languages of the pages, and as people do. */
const flags: ReadonlyMap<string, string> = new Map([
  ...['true', 'wahr', 'vrai', 'verdadero', 'yes', 'ja', 'oui', 'sí', 'si'].map(
    (yes) => [yes, 'true'] as const,
  ),
  ...['false', 'falsch', 'faux', 'falso', 'no', 'nein', 'non'].map((no) => [no, 'false'] as const),
]);

const percent = /^(\d{1,3})(?:[.,](\d{1,4}))? ?%?$/;
const exponent = /^\d(?:[.,]\d+)?E\+?\d+$/i;

export const shortenedNumber =
  'was shortened by a spreadsheet: format its column as text, and enter it again';

/** The value of a cell for the parser of its field, or what is wrong with its notation. */
function readCell(
  name: NewCardField,
  cell: string,
  { notation, store }: CellPlace,
): { readonly value: unknown } | { readonly error: string } {
  if (cell.length > cellLengthMax)
    return { error: `must have at most ${cellLengthMax.toLocaleString('en')} characters` };
  if (name === 'initial_value') {
    const { currency } = store;
    const amount = parseWrittenAmount(cell, { currency, decimalSign: notation.decimalSign });
    return amount.ok ? { value: formatMoney(amount.value) } : amount;
  }
  if (isDay(name)) {
    const day = writtenDay(cell, notation.dayOrder);
    return day === null ? { error: ambiguousDay } : { value: day ?? cell.trim() };
  }
  const text = cell.replaceAll('\r\n', '\n');
  const trimmed = text.trim();
  if (name === 'code' || name === 'storefront_customer_id') {
    if (exponent.test(trimmed)) return { error: shortenedNumber };
    return { value: newCardFromText[name]?.(trimmed) ?? trimmed };
  }
  if (name === 'email' || name === 'recipient_email') return { value: trimmed };
  if (name === 'currency') return { value: trimmed.toUpperCase() };
  if (name === 'notify')
    return { value: newCardFromText[name]?.(flags.get(trimmed.toLowerCase()) ?? trimmed) };
  if (name === 'vat_rate') {
    const [rate, whole = '', fraction] = percent.exec(trimmed) ?? [];
    if (rate !== undefined) return { value: fraction === undefined ? whole : `${whole}.${fraction}` };
  }
  return { value: newCardFromText[name]?.(text) ?? text };
}
