/** The lines of a file that need a decision: those with errors, and those of people who are listed again. */

import { batchErrorsMax, repeatedRecipients } from '../../domain/batches/batch.ts';
import { cellsOfLines, headingsOf } from '../../domain/batches/table.ts';
import { csvOfLines } from '../../domain/csv.ts';
import type { Money } from '../../domain/money/money.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import {
  batchTexts,
  leftOutOf,
  readBatch,
  type BatchValues,
  type FormCards,
  type ReadBatch,
  type ShownError,
} from './form.ts';
import { alert, hidden } from '../kit/form.ts';
import { amountText, csvDialectOf } from '../kit/format.ts';
import { shellPage } from '../kit/page.ts';
import { formText } from '../kit/request.ts';
import type { ConsoleResponse, ConsoleServices, StaffRequest } from '../kit/route.ts';
import { fillPlain, plural } from '../kit/texts.ts';

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

/** The values of a form whose person has decided about lines: what is left out, and that repeated people were seen. */
export async function decidedValues(
  services: ConsoleServices,
  request: StaffRequest,
  values: BatchValues,
): Promise<BatchValues> {
  const decision = formText(request, 'leave');
  const chosen = [...request.form.keys()].flatMap((name) =>
    name.startsWith('leave_') ? [Number(name.slice('leave_'.length))] : [],
  );
  const read = decision === 'all' ? await readBatch(services, request, values) : undefined;
  const all = read ? linesToDecide(read) : [];
  const lines = new Set([...leftOutOf(values), ...chosen, ...all]);
  return { ...values, left_out: [...lines].join(',') };
}

/** The lines that a button leaves out together. */
function linesToDecide(read: ReadBatch): readonly number[] {
  if (read.kind === 'lines') return read.badLines;
  return read.kind === 'cards' ? repeatedIn(read.found).map(({ line }) => line) : [];
}

type Page = {
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

function linesPage(services: ConsoleServices, request: StaffRequest, page: Page): ConsoleResponse {
  const { language } = request;
  const { basePath } = services.frame;
  const { repair: text, preview } = batchTexts[language];
  const format = new Intl.NumberFormat(language);
  const figures = page.figures.map(
    ([name, count]) => markup`<div><dt>${name}</dt><dd>${format.format(count)}</dd></div>`,
  );
  const sent = Object.entries(page.values).map(([name, value]) => hidden(name, value));
  const hint = page.hint === undefined ? undefined : markup`<p class="soft">${page.hint}</p>`;
  const body = markup`<form class="stack" method="post" action="${basePath}/cards/batches/new" enctype="multipart/form-data">${sent}${page.above}
<section class="panel" aria-label="${text.title}"><dl class="figures">${figures}</dl>${hint}</section>
<section class="panel flush" aria-labelledby="lines"><div class="head row apart"><h2 id="lines">${page.heading}</h2><div class="row">${page.actions}</div></div>
<ul class="repair">${page.items}</ul></section>
<div class="row apart"><a class="button" href="${basePath}/cards/batches/new">${preview.back}</a>${page.next}</div></form>`;
  return {
    status: page.status,
    body: shellPage(services, request, { title: text.title, path: '/cards', body }),
  };
}

function leaveOut({ language }: StaffRequest, line: number): Markup {
  const { leave } = batchTexts[language].repair;
  return markup`<label class="check"><input type="checkbox" name="leave_${line}">${leave}</label>`;
}

function lineName({ language }: StaffRequest, line: number): Markup {
  return markup`<span class="no">${fillPlain(batchTexts[language].repair.line, { line })}</span>`;
}

/** The lines with errors, which can be left out or downloaded. */
export function rejectedLinesPage(
  services: ConsoleServices,
  request: StaffRequest,
  { values, read }: { readonly values: BatchValues; readonly read: RejectedLines },
): ConsoleResponse {
  const { language } = request;
  const { repair: text, errors } = batchTexts[language];
  const { badLines, lineCount, errorCount } = read;
  const byLine = Map.groupBy(read.errors, ({ line }) => line);
  const headings = badLines.length > 0 ? headingsOf(values.rows) : null;
  const nameOf = ({ field, text: problem }: ShownError): NamedError => ({
    name: field === null ? null : (headings?.get(field) ?? field),
    text: problem,
  });
  const download = markup`<button class="button" formaction="${services.frame.basePath}/cards/batches/lines.csv">${text.download}</button>`;
  const format = new Intl.NumberFormat(language);
  const shown =
    errorCount > read.errors.length
      ? ` ${fillPlain(errors.shown, { count: format.format(read.errors.length) })}`
      : '';
  return linesPage(services, request, {
    values: { ...values, seen: '' },
    figures: [
      [text.lines, lineCount],
      [text.good, lineCount - badLines.length],
      [text.bad, badLines.length],
      ...leftOutFigure(request, values),
    ],
    heading: plural(language, text.badTitle, badLines.length),
    hint: text.hint,
    actions: markup`${download}<button class="button" name="leave" value="all">${plural(language, text.leaveAll, badLines.length)}</button>`,
    items: [...byLine].map(([line, own]) => rejectedLine(request, line, own.map(nameOf))),
    next: markup`<button class="button first">${text.again}</button>`,
    above: alert(`${plural(language, errors.summary, errorCount)}${shown}`),
    status: 422,
  });
}

/** An error with the heading of its column; null: it is of the whole line. */
type NamedError = { readonly name: string | null; readonly text: string };

function rejectedLine(request: StaffRequest, line: number, errors: readonly NamedError[]): Markup {
  const shown = errors.map(
    ({ name, text }) =>
      markup`<p class="error">${name === null ? undefined : markup`<strong>${name}</strong> `}${text}</p>`,
  );
  return markup`<li>${lineName(request, line)}<div>${shown}</div>${leaveOut(request, line)}</li>
`;
}

function leftOutFigure(
  { language }: StaffRequest,
  values: BatchValues,
): readonly (readonly [name: string, count: number])[] {
  const { size } = leftOutOf(values);
  return size === 0 ? [] : [[batchTexts[language].repair.leftOut, size]];
}

/** The lines of people who get more than one card: a warning. */
export function repeatedLinesPage(
  services: ConsoleServices,
  request: StaffRequest,
  {
    values,
    found: { cards, total },
    repeated,
  }: { readonly values: BatchValues; readonly found: FormCards; readonly repeated: readonly Repeated[] },
): ConsoleResponse {
  const { language } = request;
  const { repair: text } = batchTexts[language];
  const items = repeated.slice(0, batchErrorsMax).map(
    ({ line, first, person, value }) =>
      markup`<li>${lineName(request, line)}<div><p>${person} · ${amountText(value, language)}</p><p class="error dup">${fillPlain(text.also, { line: first })}</p></div>${leaveOut(request, line)}</li>
`,
  );
  const shown = amountText(total, language);
  return linesPage(services, request, {
    values: { ...values, seen: 'yes' },
    figures: [
      [text.lines, cards.length],
      [text.good, cards.length - repeated.length],
      [text.twice, repeated.length],
      ...leftOutFigure(request, values),
    ],
    heading: plural(language, text.twiceTitle, repeated.length),
    hint:
      repeated.length > batchErrorsMax
        ? fillPlain(text.shown, { count: new Intl.NumberFormat(language).format(batchErrorsMax) })
        : undefined,
    actions: markup`<button class="button" name="leave" value="all">${text.keepFirst}</button>`,
    items,
    next: markup`<button class="button first">${plural(language, text.next, cards.length, { total: shown })}</button>`,
    status: 200,
  });
}

/** The file of the lines with errors: their cells, their places in the file, and what is wrong. */
export async function badLinesFile(
  services: ConsoleServices,
  request: StaffRequest,
  values: BatchValues,
): Promise<ConsoleResponse | undefined> {
  const read = await readBatch(services, request, values);
  if (read.kind !== 'lines' || read.badLines.length === 0) return undefined;
  const { errors: text } = batchTexts[request.language];
  const byLine = Map.groupBy(read.errors, ({ line }) => line);
  const { headings, columns, rows } = cellsOfLines(values.rows, new Set(read.badLines));
  const lines = rows.map(({ line, cells }) => [
    String(line),
    ...cells,
    (byLine.get(line) ?? []).map((error) => error.text).join(' '),
  ]);
  const isNumber = (place: number): boolean => {
    const column = columns[place - 1];
    return place === 0 || column === 'initial_value' || column === 'expires_on' || column === 'send_on';
  };
  const csv = csvOfLines(
    [[text.line, ...headings, text.error], ...lines],
    csvDialectOf(request.language),
    isNumber,
  );
  const file = { name: 'lines.csv', type: 'text/csv; charset=utf-8; header=present' };
  return { status: 200, file: { ...file, parts: partsOf(csv) } };
}

async function* partsOf(text: string): AsyncGenerator<string, void> {
  yield text;
}
