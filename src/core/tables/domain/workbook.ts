/**
 * The table of a workbook (XLSX, ECMA-376): the first visible sheet with content, as text with one row per line. Numbers
 * are written in the notation of the reader, days as `YYYY-MM-DD`. Time is linear in the length of the parts; memory in that
 * of the texts, which are limited before they are joined.
 */

import {
  cellsMax,
  fileTooLarge,
  lineSeparator,
  linesMax,
  lineTooLong,
  MalformedTable,
  rowLengthMax,
  tooManyLines,
} from './table-text.ts';
import { numberStyleOf, textOfNumberCell, type NumberPlace, type NumberStyle } from './workbook-cells.ts';
import { attributeIn, MalformedXml, xmlEvents, type XmlEvent } from './xml.ts';

const sheetsMax = 100;
const textsMax = 200_000;
const stylesMax = 10_000;
/** 32,767 characters, each as `_x000D_`. */
const textLengthMax = 230_000;
/** The texts of all sheets, of which one is read. */
const textsLengthMax = 8 * 2 ** 20;

/** A sheet, and the relation to its part. */
type Sheet = { readonly name: string; readonly relation: string };

export type Workbook = { readonly sheets: readonly Sheet[]; readonly daySystem: NumberPlace['daySystem'] };

export const workbookParts = {
  workbook: 'xl/workbook.xml',
  relations: 'xl/_rels/workbook.xml.rels',
  texts: 'xl/sharedStrings.xml',
  styles: 'xl/styles.xml',
} as const;

/** The text of an XML document in parts of any length. */
type XmlParts = Iterable<string>;

/** The visible sheets, in their order. @throws MalformedXml. */
export function readWorkbook(xml: XmlParts): Workbook {
  const sheets: Sheet[] = [];
  let daySystem: Workbook['daySystem'] = 1900;
  for (const event of xmlEvents(xml)) {
    if (event.kind !== 'open') continue;
    const { name, attributes } = event;
    if (name === 'workbookPr' && isSet(attributeIn(attributes, 'date1904'))) daySystem = 1904;
    if (name !== 'sheet' || (attributeIn(attributes, 'state') ?? 'visible') !== 'visible') continue;
    if (sheets.length >= sheetsMax) throw new MalformedXml('has too many sheets');
    sheets.push({
      name: attributeIn(attributes, 'name') ?? '',
      // The name of the identifier without a prefix is that of another attribute.
      relation: attributeIn(attributes.replace(/\bsheetId\b/, 'number'), 'id') ?? '',
    });
  }
  return { sheets, daySystem };
}

function isSet(value: string | undefined): boolean {
  return value === '1' || value === 'true';
}

/** The names of parts by the identifiers of their relations. @throws MalformedXml. */
export function readRelations(xml: XmlParts): ReadonlyMap<string, string> {
  const parts = new Map<string, string>();
  for (const event of xmlEvents(xml)) {
    if (event.kind !== 'open' || event.name !== 'Relationship') continue;
    const target = attributeIn(event.attributes, 'Target') ?? '';
    const id = attributeIn(event.attributes, 'Id') ?? '';
    if (parts.size < stylesMax) parts.set(id, target.startsWith('/') ? target.slice(1) : `xl/${target}`);
  }
  return parts;
}

/** The styles of numbers, by the place that cells name. @throws MalformedXml. */
export function readStyles(xml: XmlParts): readonly NumberStyle[] {
  const codes = new Map<number, string>();
  const styles: NumberStyle[] = [];
  let isInCells = false;
  for (const event of xmlEvents(xml)) {
    if (event.kind === 'text') continue;
    if (event.name === 'cellXfs') isInCells = event.kind === 'open';
    if (event.kind !== 'open') continue;
    const id = Number(attributeIn(event.attributes, 'numFmtId') ?? '0');
    if (event.name === 'numFmt' && codes.size < stylesMax)
      codes.set(id, attributeIn(event.attributes, 'formatCode') ?? '');
    if (event.name === 'xf' && isInCells && styles.length < stylesMax)
      styles.push(numberStyleOf(id, codes.get(id)));
  }
  return styles;
}

/** The texts that cells share, by their place. @throws MalformedXml, or MalformedTable if they are too long. */
export function readSharedTexts(xml: XmlParts): readonly string[] {
  const texts: string[] = [];
  let length = 0;
  const text = new TextOfRuns();
  for (const event of xmlEvents(xml)) {
    text.add(event);
    if (event.kind !== 'close' || event.name !== 'si') continue;
    if (texts.length >= textsMax) throw new MalformedXml('has too many texts');
    length += text.length;
    if (length > textsLengthMax) throw new MalformedTable(1, fileTooLarge);
    texts.push(text.take());
  }
  return texts;
}

/** A text in pieces, whose length is limited before they are joined. */
class Pieces {
  #pieces: string[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** @throws MalformedXml if no cell has so long a text. */
  add(text: string): void {
    this.#length += text.length;
    if (this.#length > textLengthMax) throw new MalformedXml('has a text that is too long');
    this.#pieces.push(text);
  }

  take(): string {
    const text = this.#pieces.join('');
    [this.#pieces, this.#length] = [[], 0];
    return text;
  }
}

/** The text of runs with formats, without the reading of East Asian characters. */
class TextOfRuns {
  readonly #pieces = new Pieces();
  #isText = false;
  #isPhonetic = false;

  get length(): number {
    return this.#pieces.length;
  }

  /** @throws MalformedXml. */
  add(event: XmlEvent): void {
    if (event.kind === 'text') {
      if (this.#isText && !this.#isPhonetic) this.#pieces.add(event.text);
      return;
    }
    if (event.name === 't') this.#isText = event.kind === 'open';
    if (event.name === 'rPh') this.#isPhonetic = event.kind === 'open';
  }

  take(): string {
    // Characters that XML cannot have.
    return this.#pieces
      .take()
      .replaceAll(/_x([\da-f]{4})_/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  }
}

type SheetPlace = NumberPlace & {
  readonly texts: readonly string[];
  readonly styles: readonly NumberStyle[];
  /** The most UTF-16 units of the table. */
  readonly lengthMax: number;
  /** The most rows after the first one, and the error of a file with more. */
  readonly rowsMax: number;
  readonly tooManyRows: string;
};

/** A row as a line, without the empty cells after its last one. */
type Row = { readonly number: number; readonly line: string; readonly count: number };

/** A cell while it is read. */
type Cell = { readonly column: number; readonly type: string; readonly style: number };

/**
 * The rows of a sheet as lines, each in the line of its number. Empty: the sheet has no content.
 * @throws MalformedXml, or MalformedTable if the table is above a limit.
 */
export function readSheet(xml: XmlParts, place: SheetPlace): string {
  const rows: Row[] = [];
  const inline = new TextOfRuns();
  const value = new Pieces();
  let length = 0;
  let row = 0;
  let cells: string[] = [];
  let cell: Cell | undefined;
  let isValue = false;
  for (const event of xmlEvents(xml)) {
    if (cell) inline.add(event);
    if (event.kind === 'text') {
      if (isValue && cell) value.add(event.text);
    } else if (event.name === 'v') isValue = event.kind === 'open';
    else if (event.name === 'row') {
      if (event.kind === 'open') {
        row = rowOf(event.attributes, row);
        cells = [];
      } else if (cells.some((text) => text !== '')) {
        length += lengthOfRow(cells, row);
        if (length > place.lengthMax) throw new MalformedTable(row, fileTooLarge);
        if (rows.length > place.rowsMax) throw new MalformedTable(row, place.tooManyRows);
        rows.push({ number: row, line: cells.map(quoted).join('\t'), count: cells.length });
      }
    } else if (event.name === 'c') {
      if (event.kind === 'open') cell = cellOf(event.attributes, cells.length);
      else if (cell) {
        addCell(cells, { row, column: cell.column }, textOf(cell, { inline, value, place }));
        cell = undefined;
      }
    }
  }
  return tableOfRows(rows);
}

function addCell(
  cells: string[],
  { row, column }: { readonly row: number; readonly column: number },
  text: string,
): void {
  if (text === '') return;
  if (column >= cellsMax) throw new MalformedTable(row, `must have at most ${cellsMax} cells`);
  while (cells.length < column) cells.push('');
  cells[column] = text;
}

/** @throws MalformedTable if the row cannot be a line of a table. */
function lengthOfRow(cells: readonly string[], row: number): number {
  if (row > linesMax) throw new MalformedTable(row, tooManyLines);
  const length = cells.reduce((sum, text) => sum + text.length, 0);
  if (length > rowLengthMax) throw new MalformedTable(row, lineTooLong);
  return length;
}

/** The number of a row, from 1; rows without one follow each other. */
function rowOf(attributes: string, before: number): number {
  const number = Number(attributeIn(attributes, 'r') ?? before + 1);
  // Rows are in order, and none is written twice.
  if (!Number.isSafeInteger(number) || number <= before || number > 2 ** 20)
    throw new MalformedXml('has a row out of order');
  return number;
}

function cellOf(attributes: string, next: number): Cell {
  const letters = /^[A-Z]{1,3}/.exec(attributeIn(attributes, 'r') ?? '')?.[0];
  const column =
    letters === undefined
      ? next
      : Array.from(letters).reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
  return {
    column,
    type: attributeIn(attributes, 't') ?? 'n',
    style: Number(attributeIn(attributes, 's') ?? '0'),
  };
}

type CellTexts = { readonly inline: TextOfRuns; readonly value: Pieces; readonly place: SheetPlace };

function textOf({ type, style }: Cell, { inline, value, place }: CellTexts): string {
  const text = value.take();
  const ofRuns = inline.take();
  switch (type) {
    case 's':
      return place.texts[Number(text)] ?? '';
    case 'inlineStr':
      return ofRuns;
    case 'b':
      return text === '1' ? 'true' : 'false';
    case 'n':
      return textOfNumberCell(text, place.styles[style], place);
    // The text of a formula, an error such as `#N/A`, and a day of ISO 8601.
    default:
      return type === 'd' ? text.replace('T', ' ') : text;
  }
}

/** A cell whose row stays one line, and whose separators are not those of the table. */
function quoted(text: string): string {
  const line = text.replaceAll(/\r\n|\r|\n/g, lineSeparator);
  return /[",;|\t]/.test(line) ? `"${line.replaceAll('"', '""')}"` : line;
}

/** All lines have the same number of cells, and at least one separator. */
function tableOfRows(rows: readonly Row[]): string {
  const width = rows.reduce((most, { count }) => Math.max(most, count), 2);
  const lines: string[] = [];
  for (const { number, line, count } of rows) {
    while (lines.length < number - 1) lines.push('');
    lines.push(line + '\t'.repeat(width - count));
  }
  return lines.map((line) => `${line}\n`).join('');
}
