/**
 * The parts of a workbook (XLSX, ECMA-376, transitional) as XML: sheets of one table with a header that stays in view.
 * Cells are typed, and no cell has a formula.
 */

import {
  localTimeOf,
  type ColumnKind,
  type ShownColumn,
  type ShownTable,
  type ExportCell,
} from './export-table.ts';

/** Rows of a sheet, with its header. Further rows are in the next sheet. */
export const sheetRowsMax = 2 ** 20;
/** UTF-16 units of a cell, of which a spreadsheet removes the others. */
const cellLengthMax = 32_767;
/** The significant digits that a spreadsheet stores. A longer number is a text, so that none is rounded. */
const digitsMax = 15;
/** Decimals of a currency. */
const decimalsMax = 4;

const xmlStart = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const relations = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const packageRelations = 'http://schemas.openxmlformats.org/package/2006/relationships';
const contentTypes = 'http://schemas.openxmlformats.org/package/2006/content-types';
const spreadsheetType = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** The formats that files do not define (18.8.30): 3 is `#,##0`, 4 has two decimals, 14 and 22 are days of the reader. */
const formats = { general: 0, whole: 3, twoDecimals: 4, day: 14, time: 22, text: 49 } as const;
const ownFormats = { 164: '#,##0.0', 165: '#,##0.000', 166: '#,##0.0000', 167: 'yyyy-mm' } as const;

/** The styles of cells, by their places in the part of the styles. */
const styles = {
  text: { format: formats.text },
  heading: { format: formats.text, isBold: true },
  general: { format: formats.general },
  decimals0: { format: formats.whole },
  decimals1: { format: 164 },
  decimals2: { format: formats.twoDecimals },
  decimals3: { format: 165 },
  decimals4: { format: 166 },
  day: { format: formats.day },
  month: { format: 167 },
  time: { format: formats.time },
} as const satisfies Readonly<Record<string, { readonly format: number; readonly isBold?: true }>>;

type Style = keyof typeof styles;

/** Cells without a style have the first one, so it is not that of texts. */
const places: ReadonlyMap<Style, number> = new Map(
  (Object.keys(styles) as Style[]).map((name, place) => [name, place + 1]),
);

/** Characters that XML 1.0 cannot have, and texts that a reader would take for one (22.9.2.19). */
// oxlint-disable-next-line no-control-regex
const unwritable = /[\0-\x08\x0B\x0C\x0E-\x1F\uFFFE\uFFFF]|_(?=x[\dA-Fa-f]{4}_)/g;

function escaped(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(unwritable, (each) => `_x${each.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

function numberCell(place: string, value: string | number, style: Style): string {
  return `<c r="${place}" s="${places.get(style) ?? 0}"><v>${value}</v></c>`;
}

/** A text, also one that begins with `=`: only an element `f` is a formula. */
function textCell(place: string, text: string, style: Style = 'text'): string {
  const kept = text.length > cellLengthMax ? text.slice(0, cellLengthMax) : text;
  return `<c r="${place}" s="${places.get(style) ?? 0}" t="inlineStr"><is><t xml:space="preserve">${escaped(kept)}</t></is></c>`;
}

const plainDecimal = /^-?\d{1,40}(?:\.(\d{1,40}))?$/;

/** @param text a number with a point. */
function decimalCell(place: string, text: string): string {
  const decimals = plainDecimal.exec(text)?.[1]?.length ?? 0;
  const digits = text.replaceAll(/\D/g, '').replace(/^0+/, '').length;
  if (!plainDecimal.test(text) || digits > digitsMax) return textCell(place, text);
  if (decimals > decimalsMax) return numberCell(place, text, 'general');
  return numberCell(place, text, `decimals${decimals as 0 | 1 | 2 | 3 | 4}`);
}

const millisecondsOfDay = 86_400_000;
/** The serial number of 1 January 1970. */
const serialOfEpoch = 25_569;

/** The serial number of a day; undefined: it is before March 1900, where spreadsheets differ. */
function serialOf(day: string): number | undefined {
  const { epochMilliseconds } = Temporal.Instant.from(`${day}T00:00Z`);
  const serial = epochMilliseconds / millisecondsOfDay + serialOfEpoch;
  return serial > 60 ? serial : undefined;
}

const dayForm = /^\d{4}-\d\d-\d\d$/;
const monthForm = /^\d{4}-\d\d$/;

function timeCell(place: string, instant: string, timeZone: string): string {
  const local = localTimeOf(instant, timeZone);
  const [day = '', time = ''] = local.split(' ');
  const [hours = 0, minutes = 0, seconds = 0] = time.split(':').map(Number);
  const serial = serialOf(day);
  if (serial === undefined) return textCell(place, local);
  const part = ((hours * 60 + minutes) * 60 + seconds) / 86_400;
  return numberCell(place, serial + part, 'time');
}

function serialCell(place: string, text: string, day: string, style: 'day' | 'month'): string {
  const serial = serialOf(day);
  return serial === undefined ? textCell(place, text) : numberCell(place, serial, style);
}

type Placed = { readonly place: string; readonly kind: ColumnKind; readonly timeZone: string };

function cellOf(value: ExportCell, { place, kind, timeZone }: Placed): string {
  if (value === null || value === '') return '';
  if (typeof value === 'object') return decimalCell(place, value.decimal);
  if (typeof value === 'number')
    return kind === 'count' ? numberCell(place, value, 'decimals0') : textCell(place, String(value));
  if (kind === 'day' && dayForm.test(value)) return serialCell(place, value, value, 'day');
  if (kind === 'month' && monthForm.test(value)) return serialCell(place, value, `${value}-01`, 'month');
  if (kind === 'time') return timeCell(place, value, timeZone);
  return textCell(place, value);
}

/** The letters of a column, from 0: `A`, `B`, … `Z`, `AA`. */
function lettersOf(column: number): string {
  const last = String.fromCharCode(65 + (column % 26));
  return column < 26 ? last : `${lettersOf(Math.floor(column / 26) - 1)}${last}`;
}

/** The widths of columns, in characters of the first rows. */
const widthMin = 8;
const widthMax = 60;

function widthOf(
  { name, heading, kind }: ShownColumn,
  rows: readonly Readonly<Record<string, ExportCell>>[],
) {
  const shown = { time: 19, day: 12, month: 10, count: widthMin, text: widthMin }[kind];
  const lengths = rows.map((row) => {
    const value = row[name] ?? null;
    if (value === null || kind === 'time') return 0;
    return (typeof value === 'object' ? value.decimal : String(value)).length + 2;
  });
  return Math.min(widthMax, Math.max(shown, heading.length + 3, ...lengths));
}

type Head = Pick<ShownTable, 'columns'>;

/** The start of a sheet, with its header. @param rows the first ones, for the widths of the columns. */
export function sheetStart(
  { columns }: Head,
  rows: readonly Readonly<Record<string, ExportCell>>[],
  { isFirst }: { readonly isFirst: boolean },
): string {
  const widths = columns.map(
    (column, place) =>
      `<col min="${place + 1}" max="${place + 1}" width="${widthOf(column, rows)}" customWidth="1"/>`,
  );
  const header = columns.map(({ heading }, place) => textCell(`${lettersOf(place)}1`, heading, 'heading'));
  const selected = isFirst ? ' tabSelected="1"' : '';
  return `${xmlStart}<worksheet xmlns="${main}"><sheetViews><sheetView${selected} workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>${widths.join('')}</cols><sheetData><row r="1">${header.join('')}</row>`;
}

/** A row of a sheet. @param number from 2. */
export function sheetRow(
  { columns, timeZone }: Pick<ShownTable, 'columns' | 'timeZone'>,
  row: Readonly<Record<string, ExportCell>>,
  number: number,
): string {
  const cells = columns.map(({ name, kind }, place) =>
    cellOf(row[name] ?? null, { place: `${lettersOf(place)}${number}`, kind, timeZone }),
  );
  return `<row r="${number}">${cells.join('')}</row>`;
}

export const sheetEnd = '</sheetData></worksheet>';

/** The name of a sheet: at most 31 characters, without those that references use (18.2.19). */
function sheetName(title: string, number: number): string {
  const ending = number === 1 ? '' : ` ${number}`;
  const plain = title.replaceAll(/[[\]:*?/\\'\s\p{Cc}]+/gu, ' ').trim() || 'Table';
  return `${plain.slice(0, 31 - ending.length).trim()}${ending}`;
}

/** The parts before the sheets, by their names. */
export const firstWorkbookParts: Readonly<Record<string, string>> = {
  '_rels/.rels': `${xmlStart}<Relationships xmlns="${packageRelations}"><Relationship Id="rId1" Type="${relations}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  'xl/styles.xml': stylesPart(),
};

function stylesPart(): string {
  const own = Object.entries(ownFormats);
  const numbers = own.map(([id, code]) => `<numFmt numFmtId="${id}" formatCode="${code}"/>`).join('');
  const cells = Object.values<{ readonly format: number; readonly isBold?: true }>(styles).map(
    ({ format, isBold = false }) =>
      `<xf numFmtId="${format}" fontId="${isBold ? 1 : 0}" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"${isBold ? ' applyFont="1"' : ''}/>`,
  );
  const plain = '<xf numFmtId="0" fontId="0" fillId="0" borderId="0"';
  const font = '<sz val="11"/><name val="Calibri"/><family val="2"/>';
  return `${xmlStart}<styleSheet xmlns="${main}"><numFmts count="${own.length}">${numbers}</numFmts><fonts count="2"><font>${font}</font><font><b/>${font}</font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1">${plain}/></cellStyleXfs><cellXfs count="${cells.length + 1}">${plain} xfId="0"/>${cells.join('')}</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`;
}

export function sheetPartName(number: number): string {
  return `xl/worksheets/sheet${number}.xml`;
}

/** The parts after the sheets, by their names. @param sheets how many there are. */
export function lastWorkbookParts(title: string, sheets: number): Readonly<Record<string, string>> {
  const numbers = Array.from({ length: sheets }, (_, index) => index + 1);
  const listed = numbers.map(
    (number) =>
      `<sheet name="${escaped(sheetName(title, number))}" sheetId="${number}" r:id="rId${number}"/>`,
  );
  const related = numbers.map(
    (number) =>
      `<Relationship Id="rId${number}" Type="${relations}/worksheet" Target="worksheets/sheet${number}.xml"/>`,
  );
  const typed = numbers.map(
    (number) =>
      `<Override PartName="/${sheetPartName(number)}" ContentType="${spreadsheetType}.worksheet+xml"/>`,
  );
  return {
    'xl/workbook.xml': `${xmlStart}<workbook xmlns="${main}" xmlns:r="${relations}"><bookViews><workbookView/></bookViews><sheets>${listed.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `${xmlStart}<Relationships xmlns="${packageRelations}">${related.join('')}<Relationship Id="rId${sheets + 1}" Type="${relations}/styles" Target="styles.xml"/></Relationships>`,
    '[Content_Types].xml': `${xmlStart}<Types xmlns="${contentTypes}"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${spreadsheetType}.sheet.main+xml"/><Override PartName="/xl/styles.xml" ContentType="${spreadsheetType}.styles+xml"/>${typed.join('')}</Types>`,
  };
}
