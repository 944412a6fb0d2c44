/** The columns of a file: what each of them means, and the notations of amounts and days that no cell shows. */

import { columnNames, type FileColumn } from '../domain/column-names.ts';
import { columnsError, guessColumns, readHead, type TableHead } from '../domain/columns.ts';
import { doubtsOf, type Doubts } from '../domain/table.ts';
import { isCardField } from '../../../core/cards/domain/fields.ts';
import { MalformedTable } from '../../../core/tables/domain/table-text.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { listRememberedColumns } from '../service/columns.ts';
import { withPauses } from '../service/table-turns.ts';
import { fieldLabel } from '../../card-pages/pages/fields.ts';
import { alert, hidden, inputField, optionsOf, select, type Option } from '../../../pages/kit/form.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import { tag } from '../../../pages/kit/parts.ts';
import type { ConsoleResponse } from '../../../pages/kit/route.ts';
import { fillPlain, plural } from '../../../pages/kit/texts.ts';
import { columnOfValue, columnsText, hiddenValues, readColumnsOf, type BatchValues } from './form.ts';
import { stepsOf } from './steps.ts';

type Decision =
  | { readonly kind: 'decided'; readonly values: BatchValues }
  | { readonly kind: 'open'; readonly response: ConsoleResponse };

const noDoubts: Doubts = { amount: null, day: null };

/** The columns as they are known so far; undefined: that is not decided. */
type Known = readonly (FileColumn | undefined)[];

/** The values with the columns of the file, or the page that asks for them. */
export async function decideColumns(page: Page, sent: BatchValues): Promise<Decision> {
  const isSent = page.typed('step') === 'columns';
  const isWanted = page.typed('show') === 'columns';
  if (sent.kind !== 'file' || (!isSent && !isWanted && sent.columns !== ''))
    return { kind: 'decided', values: sent };
  const isHeadless = isSent ? page.typed('first_line') === '' : sent.headless === 'yes';
  const values: BatchValues = { ...sent, headless: isHeadless ? 'yes' : '' };
  const head = await headOf(values);
  // The file cannot be read, and the next step says why.
  if (!head) return { kind: 'decided', values: { ...values, columns: '' } };
  const isChanged = values.headless !== sent.headless;
  const decided = isSent ? sentColumns(page, head) : readColumnsOf(values).columns;
  const known = isChanged || !decided ? await guessed(page, head) : decided;
  const columns = known.filter((column) => column !== undefined);
  const isComplete = columns.length === known.length && columnsError(columns) === null;
  const doubts = isComplete
    ? await withPauses(doubtsOf(values.rows, page.store, { columns, isHeadless }))
    : noDoubts;
  const isDecided =
    (doubts.amount === null || values.numbers !== '') && (doubts.day === null || values.days !== '');
  if (isComplete && isDecided && !isChanged && !isWanted)
    return { kind: 'decided', values: { ...values, columns: columnsText(columns) } };
  const shown = { values, head, known, doubts, isRejected: isSent && !isChanged };
  return { kind: 'open', response: await columnsPage(page, shown) };
}

async function headOf({ rows, headless }: BatchValues): Promise<TableHead | undefined> {
  try {
    return await withPauses(readHead(rows, { isHeadless: headless === 'yes' }));
  } catch (error) {
    if (error instanceof MalformedTable) return undefined;
    throw error;
  }
}

async function guessed(page: Page, { headings, samples, width }: TableHead): Promise<Known> {
  const remembered = await page.read(() => listRememberedColumns(page.store.id));
  const columns = guessColumns(headings, remembered);
  return Array.from({ length: width }, (_, place) => {
    const isUnnamed = (headings[place] ?? '').trim() === '';
    return isUnnamed && samples[place] !== '' ? undefined : columns[place];
  });
}

function fieldOf(place: number): string {
  return `column_${place}`;
}

function sentColumns(page: Page, { width }: TableHead): Known {
  return Array.from({ length: width }, (_, place) => columnOfValue(page.typed(fieldOf(place))));
}

type Shown = {
  readonly values: BatchValues;
  readonly head: TableHead;
  readonly known: Known;
  readonly doubts: Doubts;
  readonly isRejected: boolean;
};

async function columnsPage(
  page: Page,
  { values, head, known, doubts, isRejected }: Shown,
): Promise<ConsoleResponse> {
  const { columnsPage: text } = page.text.batches;
  const errors = columnErrors(page, known, isRejected);
  const isWithoutAmount = !known.includes(undefined) && !known.includes('initial_value');
  const rejected = isRejected ? text.rejected : undefined;
  const problem = isWithoutAmount ? text.noAmount : rejected;
  const doubtError = (cell: string | null, chosen: string) =>
    isRejected && cell !== null && chosen === '' ? text.choose : undefined;
  const { columns: _columns, name: _name, numbers, days, ...rest } = values;
  const kept = {
    ...rest,
    seen: '',
    ...(doubts.amount === null && { numbers }),
    ...(doubts.day === null && { days }),
  };
  const open = known.filter((column) => column === undefined).length;
  const sheet = values.sheet === '' ? '' : ` ${fillPlain(text.sheet, { sheet: values.sheet })}`;
  const found = `${plural(page.language, text.found, head.count)}${sheet}`;
  const checked = values.headless === 'yes' ? undefined : markup` checked`;
  const rows = known.map((column, place) =>
    columnRow(page, { head, column, place, error: errors.get(place) }),
  );
  const body = markup`<form class="stack" method="post" action="${page.basePath}/cards/batches/new" enctype="multipart/form-data">${hidden('step', 'columns')}${await hiddenValues(kept)}${stepsOf(page, values, 'columns')}
${problem === undefined ? undefined : alert(problem)}
<section class="panel flush" aria-labelledby="columns"><div class="head row apart"><div><h2 id="columns">${open > 0 ? plural(page.language, text.open, open) : text.known}</h2><p class="small soft">${found}</p></div><label class="check"><input type="checkbox" name="first_line" value="yes"${checked}>${text.firstLine}</label></div>
<ul class="mapping">${rows}</ul></section>
<section class="panel fields">${inputField({ name: 'name', label: page.text.batches.form.name, value: values.name, isOptional: true })}
${doubtField(page, 'numbers', { cell: doubts.amount, chosen: values.numbers, error: doubtError(doubts.amount, values.numbers) })}
${doubtField(page, 'days', { cell: doubts.day, chosen: values.days, error: doubtError(doubts.day, values.days) })}</section>
<div class="row apart"><a class="button" href="${page.basePath}/cards/batches/new">${text.another}</a><button class="button first">${text.next}</button></div><p class="hint">${text.remembered}</p></form>`;
  return page.show('/cards', { status: isRejected ? 422 : 200, title: text.title, body });
}

/** The errors of columns, by their place. */
function columnErrors(page: Page, known: Known, isRejected: boolean): ReadonlyMap<number, string> {
  const { columnsPage: text } = page.text.batches;
  const open = known.flatMap((column, place) =>
    column === undefined && isRejected ? [[place, text.choose] as const] : [],
  );
  const error = columnsError(known.map((column) => column ?? null));
  return new Map(error?.kind === 'repeated' ? [...open, [error.place, text.repeated]] : open);
}

/** `A`, as spreadsheets name a column; there are at most 64. */
function letterOf(place: number): string {
  const letter = String.fromCharCode(65 + (place % 26));
  return place < 26 ? letter : `${letterOf(Math.floor(place / 26) - 1)}${letter}`;
}

function columnRow(
  page: Page,
  {
    head: { headings, samples },
    column,
    place,
    error,
  }: {
    readonly head: TableHead;
    readonly column: FileColumn | undefined;
    readonly place: number;
    readonly error: string | undefined;
  },
): Markup {
  const { columnsPage: text } = page.text.batches;
  const heading = headings[place]?.trim() || fillPlain(text.unnamed, { letter: letterOf(place) });
  const sample = samples[place] ?? '';
  const shown = sample === '' ? text.empty : fillPlain(text.sample, { cell: sample.slice(0, 60) });
  const state = stateOf(page, column);
  const field = fieldOf(place);
  const described =
    error === undefined ? undefined : markup` aria-invalid="true" aria-describedby="${field}-error"`;
  const below = error === undefined ? undefined : markup`<p class="error" id="${field}-error">${error}</p>`;
  return markup`<li><div><strong>${heading}</strong><p class="small soft">${shown}</p></div><div class="small">${state}</div><div><label class="sr" for="${field}">${fillPlain(text.is, { heading })}</label><select class="field" id="${field}" name="${field}"${described}>${optionsOf(columnOptions(page, column), column === undefined ? '' : (column ?? '-'))}</select>${below}</div></li>
`;
}

function stateOf(page: Page, column: FileColumn | undefined): Markup {
  const { columnsPage: text } = page.text.batches;
  if (column === undefined) return tag('wait', text.undecided);
  return column === null ? tag('ended', text.unused) : tag('good', text.used);
}

function columnOptions(page: Page, column: FileColumn | undefined): readonly Option[] {
  const { columnsPage: text } = page.text.batches;
  return [
    ...(column === undefined ? [{ value: '', text: text.choose }] : []),
    { value: '-', text: text.leaveOut },
    ...columnNames.map((name) => ({
      value: name,
      text: isCardField(name) ? fieldLabel(name, page.language) : text.labels[name],
    })),
  ];
}

/** The question how the cells are written, one of which can be read in two ways; nothing if none can be. */
function doubtField(
  page: Page,
  name: 'numbers' | 'days',
  {
    cell,
    chosen,
    error,
  }: { readonly cell: string | null; readonly chosen: string; readonly error: string | undefined },
): Markup | undefined {
  if (cell === null) return undefined;
  const { columnsPage: text } = page.text.batches;
  const hint = fillPlain(name === 'numbers' ? text.numbersHint : text.daysHint, { cell });
  const options =
    name === 'numbers'
      ? [
          { value: ',', text: '1.000,00' },
          { value: '.', text: '1,000.00' },
        ]
      : [
          { value: 'day-month', text: text.dayFirst },
          { value: 'month-day', text: text.monthFirst },
        ];
  return select({
    name,
    label: text[name],
    hint,
    error: error === undefined ? undefined : `${error} ${hint}`,
    options: [{ value: '', text: text.choose }, ...options],
    value: chosen,
  });
}
