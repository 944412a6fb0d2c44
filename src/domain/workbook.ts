/**
 * The table of a workbook (XLSX, ECMA-376): the first visible sheet with content, as text with one row per line. Numbers
 * are written in the notation of the reader, days as `YYYY-MM-DD`. Time and memory are linear in the length of the parts.
 */

import { batchCardsMax, tooManyCards } from './batches/batch.ts';
import { cellsMax, fileTooLarge, lineSeparator, MalformedTable } from './table-text.ts';
import { numberStyleOf, textOfNumberCell, type NumberPlace, type NumberStyle } from './workbook-cells.ts';
import { attributeIn, MalformedXml, xmlEvents, type XmlEvent } from './xml.ts';

/** A reader of a part that can pause: it yields after some thousand events. */
export type Paused<Result> = Generator<undefined, Result>;

const sheetsMax = 100;
const textsMax = 200_000;
const stylesMax = 10_000;
const eventsUntilPause = 5_000;

/** A sheet, and the relation to its part. */
type Sheet = { readonly name: string; readonly relation: string };

export type Workbook = { readonly sheets: readonly Sheet[]; readonly daySystem: NumberPlace['daySystem'] };

export const workbookParts = {
  workbook: 'xl/workbook.xml',
  relations: 'xl/_rels/workbook.xml.rels',
  texts: 'xl/sharedStrings.xml',
  styles: 'xl/styles.xml',
} as const;

/** The events of a part, with a pause after some thousand. */
function* pausing(xml: string, handle: (event: XmlEvent) => void): Paused<void> {
  let events = 0;
  for (const event of xmlEvents(xml)) {
    events += 1;
    if (events % eventsUntilPause === 0) yield;
    handle(event);
  }
}

/** The visible sheets, in their order. @throws MalformedXml. */
export function* readWorkbook(xml: string): Paused<Workbook> {
  const sheets: Sheet[] = [];
  let daySystem: Workbook['daySystem'] = 1900;
  yield* pausing(xml, (event) => {
    if (event.kind !== 'open') return;
    const { name, attributes } = event;
    if (name === 'workbookPr' && isSet(attributeIn(attributes, 'date1904'))) daySystem = 1904;
    if (name !== 'sheet' || (attributeIn(attributes, 'state') ?? 'visible') !== 'visible') return;
    if (sheets.length >= sheetsMax) throw new MalformedXml('has too many sheets');
    sheets.push({
      name: attributeIn(attributes, 'name') ?? '',
      // The name of the identifier without a prefix is that of another attribute.
      relation: attributeIn(attributes.replace(/\bsheetId\b/, 'number'), 'id') ?? '',
    });
  });
  return { sheets, daySystem };
}

function isSet(value: string | undefined): boolean {
  return value === '1' || value === 'true';
}

/** The names of parts by the identifiers of their relations. @throws MalformedXml. */
export function* readRelations(xml: string): Paused<ReadonlyMap<string, string>> {
  const parts = new Map<string, string>();
  yield* pausing(xml, (event) => {
    if (event.kind !== 'open' || event.name !== 'Relationship') return;
    const target = attributeIn(event.attributes, 'Target') ?? '';
    const id = attributeIn(event.attributes, 'Id') ?? '';
    if (parts.size < stylesMax) parts.set(id, target.startsWith('/') ? target.slice(1) : `xl/${target}`);
  });
  return parts;
}

/** The styles of numbers, by the place that cells name. @throws MalformedXml. */
export function* readStyles(xml: string): Paused<readonly NumberStyle[]> {
  const codes = new Map<number, string>();
  const styles: NumberStyle[] = [];
  let isInCells = false;
  yield* pausing(xml, (event) => {
    if (event.kind === 'text') return;
    if (event.name === 'cellXfs') isInCells = event.kind === 'open';
    if (event.kind !== 'open') return;
    const id = Number(attributeIn(event.attributes, 'numFmtId') ?? '0');
    if (event.name === 'numFmt' && codes.size < stylesMax)
      codes.set(id, attributeIn(event.attributes, 'formatCode') ?? '');
    if (event.name === 'xf' && isInCells && styles.length < stylesMax)
      styles.push(numberStyleOf(id, codes.get(id)));
  });
  return styles;
}

/** The texts that cells share, by their place. @throws MalformedXml. */
export function* readSharedTexts(xml: string): Paused<readonly string[]> {
  const texts: string[] = [];
  const text = new TextOfRuns();
  yield* pausing(xml, (event) => {
    text.add(event);
    if (event.kind !== 'close' || event.name !== 'si') return;
    if (texts.length >= textsMax) throw new MalformedXml('has too many texts');
    texts.push(text.take());
  });
  return texts;
}

/** The text of runs with formats, without the reading of East Asian characters. */
class TextOfRuns {
  #parts: string[] = [];
  #isText = false;
  #isPhonetic = false;

  add(event: XmlEvent): void {
    if (event.kind === 'text') {
      if (this.#isText && !this.#isPhonetic) this.#parts.push(event.text);
      return;
    }
    if (event.name === 't') this.#isText = event.kind === 'open';
    if (event.name === 'rPh') this.#isPhonetic = event.kind === 'open';
  }

  take(): string {
    const text = this.#parts.join('');
    this.#parts = [];
    // Characters that XML cannot have.
    return text.replaceAll(/_x([\da-f]{4})_/gi, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
  }
}

type SheetPlace = NumberPlace & {
  readonly texts: readonly string[];
  readonly styles: readonly NumberStyle[];
  /** The most UTF-16 units of the table. */
  readonly lengthMax: number;
};

type Row = { readonly number: number; readonly cells: readonly string[] };

/** A cell while it is read. */
type Cell = {
  readonly column: number;
  readonly type: string;
  readonly style: number;
  readonly value: string[];
};

/**
 * The rows of a sheet as lines, each in the line of its number. Empty: the sheet has no content.
 * @throws MalformedXml, or MalformedTable if the table is above a limit.
 */
export function* readSheet(xml: string, place: SheetPlace): Paused<string> {
  const rows: Row[] = [];
  const inline = new TextOfRuns();
  let length = 0;
  let row = 0;
  let cells: string[] = [];
  let cell: Cell | undefined;
  let isValue = false;
  yield* pausing(xml, (event) => {
    if (cell) inline.add(event);
    if (event.kind === 'text') {
      if (isValue) cell?.value.push(event.text);
    } else if (event.name === 'v') isValue = event.kind === 'open';
    else if (event.name === 'row') {
      if (event.kind === 'open') {
        row = rowOf(event.attributes, row);
        cells = [];
      } else if (cells.some((text) => text !== '')) {
        length += cells.reduce((sum, text) => sum + text.length, 0);
        if (length > place.lengthMax) throw new MalformedTable(row, fileTooLarge);
        if (rows.length > batchCardsMax) throw new MalformedTable(row, tooManyCards);
        rows.push({ number: row, cells });
      }
    } else if (event.name === 'c') {
      if (event.kind === 'open') cell = cellOf(event.attributes, cells.length);
      else if (cell) {
        const text = textOf(cell, inline.take(), place);
        if (text !== '') {
          if (cell.column >= cellsMax) throw new MalformedTable(row, `must have at most ${cellsMax} cells`);
          while (cells.length < cell.column) cells.push('');
          cells[cell.column] = text;
        }
        cell = undefined;
      }
    }
  });
  return tableOfRows(rows);
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
    value: [],
  };
}

function textOf({ type, value, style }: Cell, inline: string, place: SheetPlace): string {
  const text = value.join('');
  switch (type) {
    case 's':
      return place.texts[Number(text)] ?? '';
    case 'inlineStr':
      return inline;
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
  const width = rows.reduce((most, { cells }) => Math.max(most, cells.length), 2);
  const lines: string[] = [];
  for (const { number, cells } of rows) {
    while (lines.length < number - 1) lines.push('');
    lines.push(Array.from({ length: width }, (_, place) => quoted(cells[place] ?? '')).join('\t'));
  }
  return lines.map((line) => `${line}\n`).join('');
}
