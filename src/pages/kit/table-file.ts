/** Tables as files for people: as CSV of spreadsheets in their language, or as a workbook, with headings in the language. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { isCardField, type CardFieldName } from '../../core/cards/domain/fields.ts';
import { csvHeadForPeople, csvRowsForPeople, type CsvDialect } from '../../core/tables/domain/csv.ts';
import {
  columnKindOf,
  type ShownColumn,
  type ShownTable,
  type ExportTable,
  type ExportCell,
  type ExportRow,
} from '../../core/tables/domain/export-table.ts';
import {
  firstWorkbookParts,
  lastWorkbookParts,
  sheetEnd,
  sheetPartName,
  sheetRow,
  sheetRowsMax,
  sheetStart,
} from '../../core/tables/domain/workbook-file.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import { zipOf, type ZipPart } from '../../platform/zip-file.ts';
import { csvDialectOf } from './format.ts';
import type { FileResponse } from './route.ts';
import { catalogue, type PageLanguage, type Texts } from './texts.ts';

export const tableFormats = ['csv', 'xlsx'] as const;

export type TableFormat = (typeof tableFormats)[number];

/** The names of columns that have a heading in each language. */
export type HeadedColumn = keyof Texts['tables']['headings'] | CardFieldName;

function headingOf(name: HeadedColumn, language: PageLanguage): string {
  const { tables, fields } = catalogue[language];
  return isCardField(name) ? fields.labels[name] : tables.headings[name];
}

/** A table with headings. @param special what differs from the usual heading and kind of a column. */
export function shownTable<Name extends HeadedColumn>(
  { columns, parts }: ExportTable<Name>,
  {
    language,
    timeZone,
    special,
    toRow = (row) => row,
  }: {
    readonly language: PageLanguage;
    readonly timeZone: string;
    readonly special?: Readonly<Partial<Record<Name, Partial<Omit<ShownColumn, 'name'>>>>>;
    /** The row as people see it: values such as states are words of the language. */
    readonly toRow?: (row: ExportRow) => ExportRow;
  },
): ShownTable {
  return {
    columns: columns.map((name) => ({
      name,
      heading: headingOf(name, language),
      kind: columnKindOf(name),
      ...special?.[name],
    })),
    parts: mapped(parts, toRow),
    timeZone,
  };
}

async function* mapped(
  parts: AsyncIterable<readonly ExportRow[]>,
  toRow: (row: ExportRow) => ExportRow,
): AsyncGenerator<readonly ExportRow[], void> {
  for await (const rows of parts) yield rows.map(toRow);
}

/** The word for a value that the API has, such as a state; other values stay. */
export function wordOf(
  value: ExportCell | undefined,
  words: Readonly<Record<string, string | null>>,
): ExportCell {
  if (typeof value !== 'string' || !Object.hasOwn(words, value)) return value ?? null;
  return words[value] ?? null;
}

const rowsInPart = 500;

/** Rows that are in memory, in parts: other requests run before the next one. */
export async function* partsOfRows<Row>(
  rows: readonly Row[],
  toRow: (row: Row) => ExportRow,
): AsyncGenerator<readonly ExportRow[], void> {
  for (let from = 0; from < rows.length; from += rowsInPart) {
    if (from > 0) await nextTurn();
    yield rows.slice(from, from + rowsInPart).map(toRow);
  }
}

export const fileTypes = {
  csv: 'text/csv; charset=utf-8; header=present',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
} as const satisfies Readonly<Record<TableFormat, string>>;

/** @param name of the file, without its ending. @param title of the sheet. */
export function tableFile(
  table: ShownTable,
  {
    format,
    language,
    name,
    title,
  }: {
    readonly format: TableFormat;
    readonly language: PageLanguage;
    readonly name: string;
    readonly title: string;
  },
): FileResponse['file'] {
  const parts = format === 'csv' ? csvParts(table, csvDialectOf(language)) : workbookOf(table, title);
  return { name: `${name}.${format}`, type: fileTypes[format], parts };
}

async function* csvParts(table: ShownTable, dialect: CsvDialect): AsyncGenerator<string, void> {
  yield csvHeadForPeople(table, dialect);
  for await (const rows of table.parts) yield csvRowsForPeople(table, rows, dialect);
}

/** The bytes of a workbook. More rows than a sheet can have are in further sheets. */
export function workbookOf(
  table: ShownTable,
  title: string,
  rowsMax: number = sheetRowsMax,
): AsyncGenerator<Buffer, void> {
  return zipOf(workbookParts(table, title, rowsMax));
}

async function* workbookParts(
  table: ShownTable,
  title: string,
  rowsMax: number,
): AsyncGenerator<ZipPart, void> {
  yield* partsOfTexts(firstWorkbookParts);
  const rows = new Rows(table.parts);
  try {
    let sheets = 0;
    do {
      sheets += 1;
      yield { name: sheetPartName(sheets), content: sheetOf(table, rows, { number: sheets, rowsMax }) };
    } while (await rows.hasMore());
    yield* partsOfTexts(lastWorkbookParts(title, sheets));
  } finally {
    await rows.end();
  }
}

async function* partsOfTexts(texts: Readonly<Record<string, string>>): AsyncGenerator<ZipPart, void> {
  for (const [name, text] of Object.entries(texts)) yield { name, content: once(text) };
}

async function* once(text: string): AsyncGenerator<string, void> {
  yield text;
}

async function* sheetOf(
  table: ShownTable,
  rows: Rows,
  { number: sheet, rowsMax }: { readonly number: number; readonly rowsMax: number },
): AsyncGenerator<string, void> {
  let part = await rows.take(rowsMax - 1);
  yield sheetStart(table, part, { isFirst: sheet === 1 });
  // The header is row 1.
  let written = 1;
  while (part.length > 0) {
    const from = written + 1;
    yield part.map((row, index) => sheetRow(table, row, from + index)).join('');
    written += part.length;
    part = await rows.take(rowsMax - written);
  }
  yield sheetEnd;
}

/** The rows of a table, of which sheets take some after each other. */
class Rows {
  readonly #parts: AsyncIterator<readonly ExportRow[]>;
  #left: readonly ExportRow[] = [];

  constructor(parts: AsyncIterable<readonly ExportRow[]>) {
    this.#parts = parts[Symbol.asyncIterator]();
  }

  /** Returns some rows, at most `limit`; none: there are no more, or the limit is 0. */
  async take(limit: number): Promise<readonly ExportRow[]> {
    if (limit <= 0 || !(await this.hasMore())) return [];
    const taken = this.#left.slice(0, limit);
    this.#left = this.#left.slice(limit);
    return taken;
  }

  async hasMore(): Promise<boolean> {
    while (this.#left.length === 0) {
      const next = await this.#parts.next();
      if (next.done === true) return false;
      this.#left = next.value;
    }
    return true;
  }

  /** Ends the reads of a table that is not read until its end. */
  async end(): Promise<void> {
    await this.#parts.return?.();
  }
}

/** Links to the files of a table. @param path without the ending. */
export function tableLinks(path: string, query: URLSearchParams, language: PageLanguage): Markup {
  const { csv, excel } = catalogue[language].tables;
  return markup`<a class="button" href="${path}.csv?${query.toString()}" download>${csv}</a><a class="button first" href="${path}.xlsx?${query.toString()}" download>${excel}</a>`;
}

/** Buttons that download a table, which is recorded. @param path of the table, without its ending. */
export function tableForm(path: string, { csv, excel }: Pick<Texts['tables'], 'csv' | 'excel'>): Markup {
  return markup`<form method="post" action="${path}.xlsx" data-repeatable><div class="row"><button class="button">${excel}</button><button class="button" formaction="${path}.csv">${csv}</button></div></form>`;
}

/** Buttons that download codes, which are recorded as read. @param path of what has the codes. */
export function codesForm(path: string, language: PageLanguage): Markup {
  return tableForm(`${path}/codes`, catalogue[language].batches.batch);
}
