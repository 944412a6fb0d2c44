/** Issues many cards: the form, the check of what it means, and the confirmation with the figures of one's own list. */

import { batchCardsMax, batchNameLengthMax, expectationErrors } from '../../domain/batches/batch.ts';
import { batchFileBytesMax } from '../../domain/batches/table.ts';
import { dayOf } from '../../domain/day.ts';
import { Fault } from '../../domain/fault.ts';
import { MalformedTable, textOfFile } from '../../domain/table-text.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import { issueBatch } from '../../service/staff-actions/batch.ts';
import {
  batchTexts,
  batchValues,
  countOf,
  lineErrorText,
  readBatch,
  type BatchFieldErrors,
  type BatchValues,
  type FormCards,
  type ReadBatch,
} from './form.ts';
import { badLinesFile, decidedValues, rejectedLinesPage, repeatedIn, repeatedLinesPage } from './lines.ts';
import { amountError, withoutAccess } from '../cards/change-form.ts';
import { keptNotice } from '../emails/texts.ts';
import { alert, hidden, inputField, textArea } from '../kit/form.ts';
import { amountText, dayText, figure, parseTypedAmount } from '../kit/format.ts';
import { findResult, keyInput, keyOf, runOnce, type Json } from '../kit/once.ts';
import { byOf } from '../kit/page-context.ts';
import { shellPage } from '../kit/page.ts';
import { formText } from '../kit/request.ts';
import {
  seeOther,
  throttled,
  type ConsoleResponse,
  type ConsoleServices,
  type PageResponse,
  type StaffRequest,
  type StaffRoute,
} from '../kit/route.ts';
import { fillPlain, plural } from '../kit/texts.ts';

const shownCards = 5;

const tableIcon: Markup = markup`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.5"><path d="M6 3h8l5 5v13H6zM14 3v5h5M9 13h7M9 17h7"/></svg>`;

type Form = {
  readonly values: BatchValues;
  readonly errors?: BatchFieldErrors;
  /** Above the forms. */
  readonly above?: Markup;
};

function formPage(
  services: ConsoleServices,
  request: StaffRequest,
  { values, errors = {}, above }: Form,
): PageResponse {
  const { language } = request;
  const { form: text, new: title } = batchTexts[language];
  const action = `${services.frame.basePath}/cards/batches/new`;
  const max = new Intl.NumberFormat(language).format(batchCardsMax);
  const isFile = values.kind === 'file';
  // The two forms have the same names, and the typed texts belong to one of them.
  const own = (name: 'name' | 'count' | 'value' | 'expires_on' | 'note', label: string) => ({
    name,
    label,
    value: isFile ? '' : values[name],
    error: isFile ? undefined : errors[name],
  });
  const nameError = isFile ? errors.name : undefined;
  const described = nameError === undefined ? 'file-name-hint' : 'file-name-error';
  const invalid = nameError === undefined ? undefined : markup` aria-invalid="true"`;
  const shownNameError =
    nameError === undefined
      ? markup`<p class="hint" id="file-name-hint">${text.fileNameHint}</p>`
      : markup`<p class="error" id="file-name-error">${nameError}</p>`;
  const fileName = markup`<div><label for="file-name">${text.name}</label>
<input class="field" id="file-name" name="name" value="${isFile ? values.name : ''}" autocomplete="off" aria-describedby="${described}"${invalid}>
${shownNameError}</div>`;
  const body = markup`<div class="stack">${above}<p>${text.checkHint}</p>
<div class="grid two"><section class="panel stack" aria-labelledby="file-cards"><h2 id="file-cards">${text.file}</h2><form class="stack" method="post" action="${action}" enctype="multipart/form-data">${hidden('kind', 'file')}
<div class="dropzone">${tableIcon}<label for="file">${text.choose}</label><input id="file" name="file" type="file" accept=".csv,.tsv,.txt,text/csv,text/tab-separated-values,text/plain" aria-describedby="file-hint"><p class="small soft" id="file-hint">${fillPlain(text.fileHint, { count: max })}</p></div>
<p class="or">${text.or}</p>
${textArea({ name: 'rows', label: text.rows, value: values.rows, hint: text.rowsHint, error: errors.rows })}
${fileName}
<button class="button first">${text.check}</button></form></section>
<section class="panel stack" aria-labelledby="equal-cards"><h2 id="equal-cards">${text.equal}</h2><form class="stack" method="post" action="${action}">${hidden('kind', 'equal')}
${inputField({ ...own('count', text.count), inputMode: 'numeric' })}
${inputField({ ...own('value', text.value), inputMode: 'decimal', kind: 'amount' })}
${inputField({ ...own('expires_on', text.expires), type: 'date', isOptional: true })}
${inputField({ ...own('note', text.note), isOptional: true })}
${inputField({ ...own('name', text.name), hint: text.nameHint, isOptional: true })}
<button class="button first">${text.check}</button></form></section></div></div>`;
  const isRejected = above !== undefined || Object.keys(errors).length > 0;
  return {
    status: isRejected ? 422 : 200,
    body: shellPage(services, request, { title, path: '/cards', body }),
  };
}

/** The form again, with its errors. */
function rejectedPage(
  services: ConsoleServices,
  request: StaffRequest,
  values: BatchValues,
  read: Exclude<ReadBatch, { readonly kind: 'cards' }>,
): ConsoleResponse {
  if (read.kind === 'throttled') {
    const above = alert(batchTexts[request.language].errors.tooMany);
    return throttled(
      formPage(services, request, { values, above }),
      (read.fault.retryAfterSeconds ?? 1) * 1_000,
    );
  }
  if (read.kind === 'fields') return formPage(services, request, { values, errors: read.errors });
  if (read.badLines.length > 0) return rejectedLinesPage(services, request, { values, read });
  const { language } = request;
  const { errors: text } = batchTexts[language];
  // The file cannot be read from a line on.
  const sentences = read.errors.map(({ line, text: error }) => `${text.line} ${line}: ${error}`);
  const above = alert([plural(language, text.summary, read.errorCount), ...sentences].join(' '));
  return formPage(services, request, { values, above });
}

type Confirmation = {
  readonly values: BatchValues;
  readonly found: FormCards;
  /** Undefined: nothing is typed yet. */
  readonly errors?: { readonly count?: string; readonly total?: string; readonly notice?: string };
};

function firstCards({ language }: StaffRequest, { cards, lines }: FormCards): Markup {
  const { preview: text } = batchTexts[language];
  const rows = cards.slice(0, shownCards).map(({ value, details, recipient, customer }, index) => {
    const day = details.expiresOn === null ? text.never : dayText(details.expiresOn, language);
    const to = details.recipientName ?? (recipient ?? customer)?.address ?? '';
    return markup`<tr role="row"><td role="cell" class="soft wide">${lines?.[index] ?? index + 1}</td><td role="cell">${to}</td><td role="cell" class="soft nowrap">${day}</td><td role="cell" class="sum aside"><strong>${amountText(value, language)}</strong></td></tr>
`;
  });
  return markup`<section class="panel flush"><h2>${text.first}</h2><table class="table lines" role="table"><caption class="sr">${text.first}</caption><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader" class="wide">${text.line}</th><th scope="col" role="columnheader">${text.for}</th><th scope="col" role="columnheader">${text.expires}</th><th scope="col" role="columnheader" class="sum">${text.amount}</th></tr></thead><tbody role="rowgroup">
${rows}</tbody></table></section>`;
}

function previewPage(
  services: ConsoleServices,
  request: StaffRequest,
  { values, found, errors }: Confirmation,
): ConsoleResponse {
  const { ctx, frame } = services;
  const { language, signedIn } = request;
  const { preview: text } = batchTexts[language];
  const { cards, total } = found;
  const shownName = found.name === null ? undefined : markup`<h2>${found.name}</h2>`;
  const emailed = cards.filter(
    ({ emails, recipient, customer }) => emails !== undefined && (recipient ?? customer) !== null,
  ).length;
  const emails = emailed === 0 ? undefined : markup` · ${plural(language, text.emailed, emailed)}`;
  const sent = Object.entries(values).map(([name, value]) => hidden(name, value));
  const currency = signedIn.store.currency.code;
  const expected = (name: 'expected_count' | 'expected_total', label: string, error: string | undefined) => ({
    name,
    label,
    error,
    value: errors ? formText(request, name) : '',
  });
  const kept = emailed === 0 ? undefined : keptNotice(services, language);
  const body = markup`<div class="stack">${errors?.notice === undefined ? undefined : alert(errors.notice)}${kept}<div class="grid two"><div class="stack"><section class="panel" aria-label="${text.ready}">${shownName}<p class="soft">${text.ready}</p><p>${figure(total, language)}</p><p class="soft">${plural(language, text.cards, cards.length)}${emails}</p></section>
${firstCards(request, found)}</div>
<form class="stack sticky" method="post" action="${frame.basePath}/cards/batches/issue" enctype="multipart/form-data">${keyInput(ctx, errors ? keyOf(request) : undefined)}${sent}
<section class="panel stack" aria-labelledby="confirm"><h2 id="confirm">${text.confirm}</h2><p class="soft">${text.confirmHint}</p>
${inputField({ ...expected('expected_count', text.expectedCount, errors?.count), inputMode: 'numeric' })}
${inputField({ ...expected('expected_total', fillPlain(text.expectedTotal, { currency }), errors?.total), inputMode: 'decimal', kind: 'amount' })}
<button class="button first big">${text.issue}</button><a class="button quiet" href="${frame.basePath}/cards/batches/new">${text.back}</a><p class="hint">${text.consequence}</p></section></form></div></div>`;
  return {
    status: errors ? 422 : 200,
    body: shellPage(services, request, { title: text.title, path: '/cards', body }),
  };
}

/** The values of a form, with the text of its file, and a name for the batch. */
function valuesWithFile(
  { ctx }: ConsoleServices,
  request: StaffRequest,
): { readonly values: BatchValues; readonly errors: BatchFieldErrors } {
  const { language, file, fileName, signedIn } = request;
  const values = batchValues(request);
  if (values.kind !== 'file') return { values, errors: {} };
  const day = dayText(dayOf(ctx.clock.now(), signedIn.store.timeZone), language);
  const given = fileName
    .replace(/\.[a-z]{1,4}$/i, '')
    .slice(0, batchNameLengthMax)
    .trim();
  const name = values.name || given || fillPlain(batchTexts[language].form.pasted, { day });
  if (!file) return { values: { ...values, name }, errors: {} };
  try {
    return { values: { ...values, name, rows: textOfFile(file) }, errors: {} };
  } catch (error) {
    if (!(error instanceof MalformedTable)) throw error;
    return {
      values,
      errors: { rows: lineErrorText({ line: error.line, field: null, message: error.message }, language) },
    };
  }
}

async function check(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { values: sent, errors } = valuesWithFile(services, request);
  if (Object.keys(errors).length > 0) return formPage(services, request, { values: sent, errors });
  const values = await decidedValues(services, request, sent);
  const read = await readBatch(services, request, values);
  if (read.kind !== 'cards') return rejectedPage(services, request, values, read);
  const { found } = read;
  const repeated = values.seen === 'yes' ? [] : repeatedIn(found);
  if (repeated.length > 0) return repeatedLinesPage(services, request, { values, found, repeated });
  return previewPage(services, request, { values, found });
}

async function downloadLines(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const values = batchValues(request);
  const file = await badLinesFile(services, request, values);
  return file ?? formPage(services, request, { values });
}

/** The differences between the cards and the figures that were typed. */
function differences(
  request: StaffRequest,
  { cards, total }: FormCards,
): { readonly count?: string; readonly total?: string } {
  const { language, signedIn } = request;
  const { errors: text } = batchTexts[language];
  const expectedCount = countOf(formText(request, 'expected_count')) ?? 0;
  const typed = parseTypedAmount(formText(request, 'expected_total'), signedIn.store, {
    language,
    zeroAllowed: true,
  });
  const expectedTotal = typed.ok ? typed.value : { ...total, minor: 0n };
  const differing = new Map(expectationErrors({ cards, total }, { expectedCount, expectedTotal }));
  const count = new Intl.NumberFormat(language).format(cards.length);
  return {
    ...(differing.has('expected_count') && { count: fillPlain(text.expectedCount, { count }) }),
    ...(differing.has('expected_total') && {
      total: fillPlain(text.expectedTotal, { total: amountText(total, language) }),
    }),
  };
}

function isBatchId(result: Json): result is number {
  return typeof result === 'number';
}

async function confirm(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { language, signedIn } = request;
  const { errors: text } = batchTexts[language];
  const key = keyOf(request);
  // A form that was sent before leads to its batch, whatever its fields are now.
  const before = key === undefined ? undefined : await findResult(services, request, key, isBatchId);
  if (before !== undefined) return seeOther(`/cards/batches/${before}`);
  const values = batchValues(request);
  const read = await readBatch(services, request, values);
  if (read.kind !== 'cards') return rejectedPage(services, request, values, read);
  const { found } = read;
  const again = (errors: NonNullable<Confirmation['errors']>): ConsoleResponse =>
    previewPage(services, request, { values, found, errors });
  const differing = differences(request, found);
  if (Object.keys(differing).length > 0) return again(differing);
  if (key === undefined) return again({ notice: text.incomplete });
  try {
    const { result } = await runOnce(services, request, key, () =>
      issueBatch(services.ctx, byOf(request), found),
    );
    services.startBatches();
    return seeOther(`/cards/batches/${result}`);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const withheld = withoutAccess(services, request, error);
    if (withheld) return withheld;
    const notice =
      error.code === 'too-many-requests'
        ? text.busy
        : amountError(error, { currency: signedIn.store.currency, language });
    if (notice === undefined) throw error;
    return again({ notice });
  }
}

/** A larger file than can be read gets a sentence. */
const formBytesMax = 2 * batchFileBytesMax;

export const newBatchRoutes: readonly StaffRoute[] = [
  {
    method: 'GET',
    path: '/cards/batches/new',
    access: 'issueBatches',
    handle: (services, request) =>
      Promise.resolve(formPage(services, request, { values: batchValues(request) })),
  },
  {
    method: 'POST',
    path: '/cards/batches/new',
    access: 'issueBatches',
    formBytesMax,
    acceptsFile: true,
    handle: check,
  },
  {
    method: 'POST',
    path: '/cards/batches/lines.csv',
    access: 'issueBatches',
    formBytesMax,
    acceptsFile: true,
    handle: downloadLines,
  },
  {
    method: 'POST',
    path: '/cards/batches/issue',
    access: 'issueBatches',
    formBytesMax,
    acceptsFile: true,
    handle: confirm,
  },
];
