/** The columns of a file of new gift cards: what each of them means, by its heading or as people have decided. */

import { batchCardsMax, shownNameLengthMax, tooManyCards } from './batch.ts';
import { columnOfHeading, headingKeyOf, type FileColumn } from './column-names.ts';
import { newCardFieldNames } from '../../../core/cards/domain/new-card.ts';
import { textOfCell } from '../../../core/tables/domain/csv.ts';
import { Steps, type Paused } from '../../../core/domain/paused.ts';
import {
  fileTooLarge,
  lineSeparator,
  MalformedTable,
  tableOf,
  textOfFile,
  type Separator,
  type TableRecord,
} from '../../../core/tables/domain/table-text.ts';

/** Maximum length of a file in bytes. */
export const batchFileBytesMax = 4 * 2 ** 20;

/** The columns of a file that people have decided about. */
export type ReadColumns = {
  /** Absent: the headings decide, and an unknown one is an error. */
  readonly columns?: readonly FileColumn[];
  /** Whether the first line is a gift card. Default: it has the headings. */
  readonly isHeadless?: boolean;
};

export type FileTable = {
  /** Empty: the first line has none. */
  readonly headings: readonly string[];
  readonly columns: readonly FileColumn[];
  readonly separator: Separator;
  readonly rows: readonly TableRecord[];
};

/** @throws MalformedTable. */
export function* readTable(
  file: Uint8Array | string,
  { columns: decided, isHeadless = false }: ReadColumns = {},
): Paused<FileTable> {
  if (file.length > batchFileBytesMax) throw new MalformedTable(1, fileTooLarge);
  const { separator, records } = tableOf(typeof file === 'string' ? file : textOfFile(file));
  let header: TableRecord | undefined;
  const rows: TableRecord[] = [];
  const steps = new Steps();
  for (const row of records) {
    if (steps.isDue(row.end - row.start)) yield;
    // Spreadsheets write lines without content.
    if (row.cells.every((cell) => cell === '')) continue;
    if (!header && !isHeadless) {
      header = row;
      continue;
    }
    const cells = row.cells.map((cell) => textOfCell(cell.replaceAll(lineSeparator, '\n')));
    rows.push({ ...row, cells });
    if (rows.length > batchCardsMax) throw new MalformedTable(row.line, tooManyCards);
  }
  const [first] = rows;
  if (!header && !isHeadless) throw new MalformedTable(1, 'must have the names of the columns');
  if (!first) throw new MalformedTable(1, 'must be followed by at least one gift card');
  const { line, cells: headings } = header ?? { line: 1, cells: [] };
  const count = header ? headings.length : first.cells.length;
  const columns = decided ?? columnsOfHeadings(headings, { line, rows });
  if (columns.length !== count) throw new MalformedTable(line, `must have ${columns.length} columns`);
  return { headings, columns, separator, rows };
}

export const unknownColumn = 'has an unknown column';

/** @throws MalformedTable if a heading is unknown or repeated, or there is none for `initial_value`. */
function columnsOfHeadings(
  headings: readonly string[],
  { line, rows }: { readonly line: number; readonly rows: readonly TableRecord[] },
): readonly FileColumn[] {
  const named = headings.map((heading) => ownColumnOf(heading, new Map()));
  const unknown = named.indexOf(undefined);
  if (unknown !== -1) {
    const heading = headings[unknown]?.slice(0, shownNameLengthMax).trim() ?? '';
    throw new MalformedTable(
      line,
      `${unknownColumn} ${JSON.stringify(heading)}: the columns are ${newCardFieldNames.join(', ')}`,
      { cell: heading },
    );
  }
  const columns = withNames(named).map((column) => column ?? null);
  const repeated = columns.find((name, place) => name !== null && columns.indexOf(name) !== place);
  if (typeof repeated === 'string') throw new MalformedTable(line, `has the column ${repeated} twice`);
  if (!columns.includes('initial_value')) throw new MalformedTable(line, 'must have a column initial_value');
  const unnamed = headings.findIndex(
    (name, place) => name.trim() === '' && rows.some(({ cells }) => (cells[place] ?? '') !== ''),
  );
  if (unnamed !== -1) throw new MalformedTable(line, `must have a name for column ${unnamed + 1}`);
  return columns;
}

function ownColumnOf(heading: string, remembered: ReadonlyMap<string, FileColumn>): FileColumn | undefined {
  const text = heading.slice(0, shownNameLengthMax).trim();
  if (text === '') return null;
  const before = remembered.get(headingKeyOf(text));
  return before === undefined ? columnOfHeading(text) : before;
}

/** A column of names is that of the other part, if there is a column of first or last names. */
function withNames(columns: readonly (FileColumn | undefined)[]): readonly (FileColumn | undefined)[] {
  const hasFirst = columns.includes('first_name');
  const hasLast = columns.includes('last_name');
  if (hasFirst === hasLast) return columns;
  const other = hasFirst ? 'last_name' : 'first_name';
  return columns.map((column) => (column === 'recipient_name' ? other : column));
}

/**
 * The columns as their headings say, or as they were decided before; undefined: unknown, or the meaning of an earlier one.
 * @param remembered by `headingKeyOf`.
 */
export function guessColumns(
  headings: readonly string[],
  remembered: ReadonlyMap<string, FileColumn>,
): readonly (FileColumn | undefined)[] {
  const columns = withNames(headings.map((heading) => ownColumnOf(heading, remembered)));
  return columns.map((column, place) =>
    column === null || columns.indexOf(column) === place ? column : undefined,
  );
}

function isPartOfName(column: FileColumn): boolean {
  return column === 'first_name' || column === 'last_name';
}

/** The reason why columns cannot be read: two with one meaning, names with their parts, or no column for the amount. */
export function columnsError(
  columns: readonly FileColumn[],
): { readonly kind: 'no amount' } | { readonly kind: 'repeated'; readonly place: number } | null {
  const place = columns.findIndex(
    (column, index) =>
      column !== null &&
      (columns.indexOf(column) !== index || (isPartOfName(column) && columns.includes('recipient_name'))),
  );
  if (place !== -1) return { kind: 'repeated', place };
  return columns.includes('initial_value') ? null : { kind: 'no amount' };
}

/** The headings of a file, and what is in its columns. */
export type TableHead = {
  /** Empty: the first line has none. */
  readonly headings: readonly string[];
  /** The number of columns, and of rows. */
  readonly width: number;
  readonly count: number;
  /** The first cell with content of each column; empty: the first rows have none. */
  readonly samples: readonly string[];
};

const sampledRows = 20;

/** @throws MalformedTable. */
export function* readHead(
  file: string,
  { isHeadless = false }: Pick<ReadColumns, 'isHeadless'>,
): Paused<TableHead> {
  const width = yield* widthOf(file);
  const columns = Array.from({ length: width }, () => null);
  const { headings, rows } = yield* readTable(file, { columns, isHeadless });
  const some = rows.slice(0, sampledRows);
  const samples = columns.map((_, place) => {
    const filled = some.find(({ cells }) => (cells[place] ?? '').trim() !== '');
    return filled?.cells[place]?.trim() ?? '';
  });
  return { headings, width, count: rows.length, samples };
}

/** The number of cells of the first line with content. */
function* widthOf(file: string): Paused<number> {
  const steps = new Steps();
  for (const { cells, start, end } of tableOf(file).records) {
    if (cells.some((cell) => cell !== '')) return cells.length;
    if (steps.isDue(end - start)) yield;
  }
  return 0;
}

/** The headings and columns of a file that was read before, and the cells of some of its lines as they are in the file. */
export function* cellsOfLines(
  file: Uint8Array | string,
  lines: ReadonlySet<number>,
  read?: ReadColumns,
): Paused<Pick<FileTable, 'headings' | 'columns' | 'rows'>> {
  const { headings, columns, rows } = yield* readTable(file, read);
  return { headings, columns, rows: rows.filter(({ line }) => lines.has(line)) };
}

/** New texts of cells, by the line in which the row begins and the place of the column. */
export type Repairs = ReadonlyMap<number, ReadonlyMap<number, string>>;

/** The file with other texts in some cells. All rows stay in their lines. @throws MalformedTable. */
export function* repairedTable(file: string, repairs: Repairs): Paused<string> {
  const { separator, records } = tableOf(file);
  const parts: string[] = [];
  const steps = new Steps();
  let at = 0;
  for (const { line, cells, start, end } of records) {
    if (steps.isDue(end - start)) yield;
    const own = repairs.get(line);
    if (!own) continue;
    const written = cells
      .map((cell, place) => quotedCell(own.get(place)?.replaceAll(/\r\n|\r|\n/g, lineSeparator) ?? cell))
      .join(separator);
    const lost = file.slice(start, end).split('\n').length - written.split('\n').length;
    parts.push(file.slice(at, start), written, '\n'.repeat(Math.max(0, lost)));
    at = end;
  }
  return parts.length === 0 ? file : parts.join('') + file.slice(at);
}

function quotedCell(cell: string): string {
  return /[",;|\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
