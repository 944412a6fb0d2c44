/** The lines of a file that need a decision: those with errors, and those of people who are listed again. */

import { batchErrorsMax, repeatedRecipients } from '../domain/batch.ts';
import { cellsOfLines, repairedTable, type FileTable } from '../domain/columns.ts';
import { csvOfLines } from '../../../core/tables/domain/csv.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import { MalformedTable } from '../../../core/tables/domain/table-text.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { withPauses } from '../service/table-turns.ts';
import {
  hiddenValues,
  leftOutOf,
  readBatch,
  readColumnsOf,
  type BatchValues,
  type FormCards,
  type ReadBatch,
  type ShownError,
} from './form.ts';
import { columnsButton, stepsOf } from './steps.ts';
import { alert, inputField } from '../../../pages/kit/form.ts';
import { csvDialectOf } from '../../../pages/kit/format.ts';
import type { ConsoleResponse, FileResponse } from '../../../pages/kit/route.ts';
import { fileTypes, partsOfRows, tableFile, type TableFormat } from '../../../pages/kit/table-file.ts';
import { fillPlain, plural } from '../../../pages/kit/texts.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

type RejectedLines = Extract<ReadBatch, { readonly kind: 'lines' }>;

/** A card for a person who is in an earlier line. */
type Repeated = {
  readonly line: number;
  readonly first: number;
  readonly person: string;
  readonly value: Money;
};

/** The cards of a file for people who are in earlier lines. */
export function repeatedIn({ cards, lines }: FormCards): readonly Repeated[] {
  if (lines === null) return [];
  return repeatedRecipients(cards).flatMap(({ index, first }) => {
    const card = cards[index];
    if (!card) return [];
    const { value, details, recipient, customer } = card;
    const person = [details.recipientName, (recipient ?? customer)?.address].filter(Boolean).join(' · ');
    return [{ line: lines[index] ?? 0, first: lines[first] ?? 0, person, value }];
  });
}

/** The values with the cells that were repaired on the page of the lines. */
export async function repairedValues(page: Page, values: BatchValues): Promise<BatchValues> {
  const repairs = new Map<number, Map<number, string>>();
  for (const name of page.request.form.keys()) {
    const [, line, place] = /^repair_(\d{1,7})_(\d{1,2})$/.exec(name) ?? [];
    if (line === undefined) continue;
    const own = repairs.get(Number(line)) ?? new Map<number, string>();
    repairs.set(Number(line), own.set(Number(place), page.typed(name)));
  }
  if (repairs.size === 0) return values;
  try {
    return { ...values, rows: await withPauses(repairedTable(values.rows, repairs)) };
  } catch (error) {
    // The next step says why the file cannot be read.
    if (error instanceof MalformedTable) return values;
    throw error;
  }
}

/** The values of a form whose person has decided about lines: what is left out, and that repeated people were seen. */
export async function decidedValues(page: Page, values: BatchValues): Promise<BatchValues> {
  const decision = page.typed('leave');
  const chosen = [...page.request.form.keys()].flatMap((name) =>
    name.startsWith('leave_') ? [Number(name.slice('leave_'.length))] : [],
  );
  const read = decision === 'all' ? await readBatch(page, values) : undefined;
  const all = read ? linesToDecide(read) : [];
  const lines = new Set([...leftOutOf(values), ...chosen, ...all]);
  return { ...values, left_out: [...lines].join(',') };
}

/** The lines that a button leaves out together. */
function linesToDecide(read: ReadBatch): readonly number[] {
  if (read.kind === 'lines') return read.badLines;
  return read.kind === 'cards' ? repeatedIn(read.found).map(({ line }) => line) : [];
}

type LinesPage = {
  readonly values: BatchValues;
  readonly figures: readonly (readonly [name: string, count: number])[];
  readonly heading: string;
  readonly hint?: string | undefined;
  readonly actions: Markup;
  readonly items: readonly Markup[];
  readonly next: Markup;
  readonly above?: Markup;
  readonly status: 200 | 422;
};

async function linesPage(page: Page, shown: LinesPage): Promise<ConsoleResponse> {
  const { repair: text, preview } = page.text.batches;
  const format = new Intl.NumberFormat(page.language);
  const figures = shown.figures.map(
    ([name, count]) => markup`<div><dt>${name}</dt><dd>${format.format(count)}</dd></div>`,
  );
  const sent = await hiddenValues(shown.values);
  const hint = shown.hint === undefined ? undefined : markup`<p class="soft">${shown.hint}</p>`;
  const body = markup`<form class="stack" method="post" action="${page.basePath}/cards/batches/new" enctype="multipart/form-data">${sent}${stepsOf(page, shown.values, 'lines')}${shown.above}
<section class="panel" aria-label="${text.title}"><dl class="figures">${figures}</dl>${hint}</section>
<section class="panel flush" aria-labelledby="lines"><div class="head row apart"><h2 id="lines">${shown.heading}</h2><div class="row">${shown.actions}</div></div>
<ul class="repair">${shown.items}</ul></section>
<div class="row apart"><div class="row"><a class="button" href="${page.basePath}/cards/batches/new">${preview.back}</a>${columnsButton(page, shown.values)}</div>${shown.next}</div></form>`;
  return page.show('/cards', { status: shown.status, title: text.title, body });
}

function leaveOut(page: Page, line: number): Markup {
  const { leave } = page.text.batches.repair;
  return markup`<label class="check"><input type="checkbox" name="leave_${line}">${leave}</label>`;
}

function lineName(page: Page, line: number): Markup {
  return markup`<span class="no">${fillPlain(page.text.batches.repair.line, { line })}</span>`;
}

/** The lines with errors, which can be left out or downloaded. */
export async function rejectedLinesPage(
  page: Page,
  { values, read }: { readonly values: BatchValues; readonly read: RejectedLines },
): Promise<ConsoleResponse> {
  const { repair: text, errors } = page.text.batches;
  const { badLines, lineCount, errorCount } = read;
  const byLine = Map.groupBy(read.errors, ({ line }) => line);
  const lines = new Set(byLine.keys());
  const table = await withPauses(cellsOfLines(values.rows, lines, readColumnsOf(values)));
  const rows = new Map(table.rows.map(({ line, cells }) => [line, cells]));
  const path = `${page.basePath}/cards/batches/lines`;
  const download = markup`<button class="button" formaction="${path}.xlsx">${text.downloadExcel}</button><button class="button" formaction="${path}.csv">${text.download}</button>`;
  const format = new Intl.NumberFormat(page.language);
  const shown =
    errorCount > read.errors.length
      ? ` ${fillPlain(errors.shown, { count: format.format(read.errors.length) })}`
      : '';
  return await linesPage(page, {
    values: { ...values, seen: '' },
    figures: [
      [text.lines, lineCount],
      [text.good, lineCount - badLines.length],
      [text.bad, badLines.length],
      ...leftOutFigure(page, values),
    ],
    heading: plural(page.language, text.badTitle, badLines.length),
    hint: text.hint,
    actions: markup`${download}<button class="button" name="leave" value="all">${plural(page.language, text.leaveAll, badLines.length)}</button>`,
    items: [...byLine].map(([line, own]) =>
      rejectedLine(page, { line, cells: rows.get(line) ?? [], table, errors: own }),
    ),
    next: markup`<button class="button first">${text.again}</button>`,
    above: alert(`${plural(page.language, errors.summary, errorCount)}${shown}`),
    status: 422,
  });
}

type RejectedLine = {
  readonly line: number;
  readonly cells: readonly string[];
  readonly table: Pick<FileTable, 'headings' | 'columns'>;
  readonly errors: readonly ShownError[];
};

/** A line with a field for each wrong cell. */
function rejectedLine(page: Page, { line, cells, table, errors }: RejectedLine): Markup {
  const { columns, headings } = table;
  const byField = Map.groupBy(errors, ({ field }) => field);
  const shown = [...byField].map(([field, own]) => {
    const place = columns.findIndex((column) => column !== null && column === field);
    const label = headings[place] ?? field;
    const error = own.map(({ text }) => text).join(' ');
    // A code is not shown. A row with too few cells has none to repair.
    const isRepairable = field !== null && field !== 'code' && place !== -1 && place < cells.length;
    if (isRepairable && label !== null)
      return inputField({
        name: `repair_${line}_${place}`,
        label,
        value: cells[place] ?? '',
        error,
        isOptional: true,
      });
    const name = label === null ? undefined : markup`<strong>${label}</strong> `;
    return markup`<p class="error">${name}${error}</p>`;
  });
  const who = columns.flatMap((column, place) =>
    (column === 'recipient_name' || column === 'first_name' || column === 'last_name') && !byField.has(column)
      ? [cells[place] ?? '']
      : [],
  );
  const person = who.join(' ').trim().slice(0, 100);
  const about = person === '' ? undefined : markup`<p class="small soft">${person}</p>`;
  return markup`<li>${lineName(page, line)}<div class="stack">${about}${shown}</div>${leaveOut(page, line)}</li>
`;
}

function leftOutFigure(page: Page, values: BatchValues): readonly (readonly [name: string, count: number])[] {
  const { size } = leftOutOf(values);
  return size === 0 ? [] : [[page.text.batches.repair.leftOut, size]];
}

/** The lines of people who get more than one card: a warning. */
export async function repeatedLinesPage(
  page: Page,
  {
    values,
    found: { cards, total },
    repeated,
  }: { readonly values: BatchValues; readonly found: FormCards; readonly repeated: readonly Repeated[] },
): Promise<ConsoleResponse> {
  const { repair: text } = page.text.batches;
  const items = repeated.slice(0, batchErrorsMax).map(
    ({ line, first, person, value }) =>
      markup`<li>${lineName(page, line)}<div><p>${person} · ${page.amount(value)}</p><p class="error dup">${fillPlain(text.also, { line: first })}</p></div>${leaveOut(page, line)}</li>
`,
  );
  const shown = page.amount(total);
  return await linesPage(page, {
    values: { ...values, seen: 'yes' },
    figures: [
      [text.lines, cards.length],
      [text.good, cards.length - repeated.length],
      [text.twice, repeated.length],
      ...leftOutFigure(page, values),
    ],
    heading: plural(page.language, text.twiceTitle, repeated.length),
    hint:
      repeated.length > batchErrorsMax
        ? fillPlain(text.shown, { count: new Intl.NumberFormat(page.language).format(batchErrorsMax) })
        : undefined,
    actions: markup`<button class="button" name="leave" value="all">${text.keepFirst}</button>`,
    items,
    next: markup`<button class="button first">${plural(page.language, text.next, cards.length, { total: shown })}</button>`,
    status: 200,
  });
}

/** The file of the lines with errors: their cells, their places in the file, and what is wrong. */
export async function badLinesFile(
  page: Page,
  values: BatchValues,
  format: TableFormat,
): Promise<ConsoleResponse | undefined> {
  const read = await readBatch(page, values);
  if (read.kind !== 'lines' || read.badLines.length === 0) return undefined;
  const { errors: text } = page.text.batches;
  const byLine = Map.groupBy(read.errors, ({ line }) => line);
  const { headings, columns, rows } = await withPauses(
    cellsOfLines(values.rows, new Set(read.badLines), readColumnsOf(values)),
  );
  const lines = rows.map(({ line, cells }) => [
    String(line),
    ...cells,
    (byLine.get(line) ?? []).map((error) => error.text).join(' '),
  ]);
  const isNumber = (place: number): boolean => {
    const column = columns[place - 1];
    return place === 0 || column === 'initial_value' || column === 'expires_on' || column === 'send_on';
  };
  const heads = [text.line, ...headings, text.error];
  // A spreadsheet reads the texts of the file as numbers and days.
  if (format === 'csv') return csvFile(csvOfLines([heads, ...lines], csvDialectOf(page.language), isNumber));
  return { status: 200, file: linesWorkbook(page, heads, lines) };
}

function csvFile(csv: string): ConsoleResponse {
  return { status: 200, file: { name: 'lines.csv', type: fileTypes.csv, parts: partsOf(csv) } };
}

/** A workbook whose cells are texts, as they were written. */
function linesWorkbook(
  page: Page,
  headings: readonly string[],
  lines: readonly (readonly string[])[],
): FileResponse['file'] {
  const columns = headings.map((heading, place) => ({ name: String(place), heading, kind: 'text' as const }));
  const parts = partsOfRows(lines, (cells) => Object.fromEntries(cells.entries()));
  const { language, store } = page;
  const title = page.text.batches.repair.title;
  const shown = { format: 'xlsx', language, name: 'lines', title } as const;
  return tableFile({ columns, parts, timeZone: store.timeZone }, shown);
}

async function* partsOf(text: string): AsyncGenerator<string, void> {
  yield text;
}
