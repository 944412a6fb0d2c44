/** Issues many cards: the form, the check of what it means, and the confirmation with the figures of one's own list. */

import { batchCardsMax, batchNameLengthMax, expectationErrors, type Batch } from '../domain/batch.ts';
import { startBatchesTool, findCreatedBatch } from '../service/batch.ts';
import { digestOfFile, readTableFile } from '../service/table-file.ts';
import { batchFileBytesMax, readHead } from '../domain/columns.ts';
import { dayOf } from '../../../core/domain/day.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { CardToIssue } from '../../../core/cards/domain/new-card.ts';
import { MalformedTable } from '../../../core/tables/domain/table-text.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { tableTurnsTool, withPauses } from '../service/table-turns.ts';
import { readEmailSettings } from '../../emails/service/settings.ts';
import { issueBatch } from '../service/staff-batch.ts';
import {
  batchValues,
  countOf,
  hiddenValues,
  lineErrorText,
  longText,
  readBatch,
  readColumnsOf,
  type BatchFieldErrors,
  type BatchValues,
  type FormCards,
  type ReadBatch,
} from './form.ts';
import { parseTypedTime, timeFields } from './emails.ts';
import { decideColumns } from './columns.ts';
import {
  badLinesFile,
  decidedValues,
  rejectedLinesPage,
  repairedValues,
  repeatedIn,
  repeatedLinesPage,
} from './lines.ts';
import { columnsButton, stepsOf } from './steps.ts';
import { amountError } from '../../card-pages/pages/change-form.ts';
import { withoutAccess } from '../../../pages/kit/without-access.ts';
import { designName, fieldLabel } from '../../card-pages/pages/fields.ts';
import { keptNotice } from '../../emails/pages/texts.ts';
import { alert, hidden, inputField, textArea } from '../../../pages/kit/form.ts';
import { dayText, decimalSignIn, figure, parseTypedAmount } from '../../../pages/kit/format.ts';
import { designChoice } from '../../../pages/kit/gift.ts';
import { findResult, keyInput, type Json } from '../../../pages/kit/once.ts';
import {
  seeOther,
  throttled,
  type ConsoleResponse,
  type PageResponse,
  type StaffRoute,
} from '../../../pages/kit/route.ts';
import { fill, fillPlain, plural } from '../../../pages/kit/texts.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';
import { tableFormats, type TableFormat } from '../../../pages/kit/table-file.ts';

const shownCards = 5;

const tableIcon: Markup = markup`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.5"><path d="M6 3h8l5 5v13H6zM14 3v5h5M9 13h7M9 17h7"/></svg>`;

type Form = {
  readonly values: BatchValues;
  readonly errors?: BatchFieldErrors;
  /** Above the forms. */
  readonly above?: Markup;
};

async function formPage(page: Page, { values, errors = {}, above }: Form): Promise<PageResponse> {
  const { design: designOfStore } = await page.read(() => readEmailSettings(page.store.id));
  const { form: text, new: title } = page.text.batches;
  const action = `${page.basePath}/cards/batches/new`;
  const max = new Intl.NumberFormat(page.language).format(batchCardsMax);
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
  const designOfCards = (kind: 'file' | 'equal'): Markup =>
    designChoice(page.services.frame, {
      legend: fieldLabel('design', page.language),
      chosen: values.kind === kind && values.design !== '' ? values.design : designOfStore,
      nameOf: (design) => designName(design, page.language),
      ...(kind === 'file' && { hint: text.designHint }),
      error: (kind === 'file') === isFile ? errors.design : undefined,
    });
  const body = markup`<div class="stack">${above}<p>${text.checkHint}</p>
<div class="grid two"><section class="panel stack" aria-labelledby="file-cards"><h2 id="file-cards">${text.file}</h2><form class="stack" method="post" action="${action}" enctype="multipart/form-data">${hidden('kind', 'file')}
<div class="dropzone">${tableIcon}<label for="file">${text.choose}</label><input id="file" name="file" type="file" accept=".xlsx,.csv,.tsv,.txt,application/vnd.openxmlformats-officedocument.spreadsheetml.sheet,text/csv,text/tab-separated-values,text/plain" aria-describedby="file-hint"><p class="small soft" id="file-hint">${fillPlain(text.fileHint, { count: max })}</p></div>
<p class="or">${text.or}</p>
${textArea({ name: 'rows', label: text.rows, value: await longText(values.rows), hint: text.rowsHint, error: errors.rows })}
${fileName}
${designOfCards('file')}
<button class="button first">${text.check}</button></form></section>
<section class="panel stack" aria-labelledby="equal-cards"><h2 id="equal-cards">${text.equal}</h2><form class="stack" method="post" action="${action}">${hidden('kind', 'equal')}
${inputField({ ...own('count', text.count), inputMode: 'numeric' })}
${inputField({ ...own('value', text.value), inputMode: 'decimal', kind: 'amount' })}
${inputField({ ...own('expires_on', text.expires), type: 'date', isOptional: true })}
${inputField({ ...own('note', text.note), isOptional: true })}
${designOfCards('equal')}
${inputField({ ...own('name', text.name), hint: text.nameHint, isOptional: true })}
<button class="button first">${text.check}</button></form></section></div></div>`;
  const isRejected = above !== undefined || Object.keys(errors).length > 0;
  return page.show('/cards', { status: isRejected ? 422 : 200, title, body });
}

/** The form again, with its errors. */
async function rejectedPage(
  page: Page,
  values: BatchValues,
  read: Exclude<ReadBatch, { readonly kind: 'cards' }>,
): Promise<ConsoleResponse> {
  if (read.kind === 'throttled') {
    const above = alert(page.text.batches.errors.tooMany);
    return throttled(await formPage(page, { values, above }), (read.fault.retryAfterSeconds ?? 1) * 1_000);
  }
  if (read.kind === 'fields') return await formPage(page, { values, errors: read.errors });
  if (read.badLines.length > 0) return await rejectedLinesPage(page, { values, read });
  const { errors: text } = page.text.batches;
  // The file cannot be read from a line on.
  const sentences = read.errors.map(({ line, text: error }) => `${text.line} ${line}: ${error}`);
  const above = alert([plural(page.language, text.summary, read.errorCount), ...sentences].join(' '));
  // A chosen file that cannot be read is repaired where it was made.
  const shown = page.request.file ? { ...values, rows: '' } : values;
  return await formPage(page, { values: shown, above });
}

type Confirmation = {
  readonly values: BatchValues;
  readonly found: FormCards;
  /** The batch of the same file; undefined: there is none. */
  readonly earlier: Batch | undefined;
  /** Undefined: nothing is typed yet. */
  readonly errors?: {
    readonly count?: string;
    readonly total?: string;
    readonly sendAt?: string;
    readonly notice?: string;
  };
  /** Whether the store sends emails, so that they can have another time. */
  readonly sends: boolean;
};

function firstCards(page: Page, { cards, lines }: FormCards): Markup {
  const { preview: text } = page.text.batches;
  const rows = cards.slice(0, shownCards).map(({ value, details, recipient, customer }, index) => {
    const day = details.expiresOn === null ? text.never : dayText(details.expiresOn, page.language);
    const to = details.recipientName ?? (recipient ?? customer)?.address ?? '';
    return markup`<tr role="row"><td role="cell" class="soft wide">${lines?.[index] ?? index + 1}</td><td role="cell">${to}</td><td role="cell" class="soft nowrap">${day}</td><td role="cell" class="sum aside"><strong>${page.amount(value)}</strong></td></tr>
`;
  });
  return markup`<section class="panel flush"><h2>${text.first}</h2><table class="table lines" role="table"><caption class="sr">${text.first}</caption><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader" class="wide">${text.line}</th><th scope="col" role="columnheader">${text.for}</th><th scope="col" role="columnheader">${text.expires}</th><th scope="col" role="columnheader" class="sum">${text.amount}</th></tr></thead><tbody role="rowgroup">
${rows}</tbody></table></section>`;
}

/** The batch of the same file. */
async function findEarlier(page: Page, { digest }: BatchValues): Promise<Batch | undefined> {
  const key = fileKeyOf(digest);
  return key === undefined
    ? undefined
    : await page.read(() => findCreatedBatch(page.ctx, page.store.id, key));
}

/** The key of a file, as the command has it; undefined: the form has none. */
function fileKeyOf(digest: string): string | undefined {
  return /^[\da-f]{64}$/.test(digest) ? `${digest} ` : undefined;
}

/** A warning about the batch of the same file, and the decision to issue it again. */
function earlierNotice(page: Page, { id, name, cards, createdAt }: Batch): Markup {
  const { preview: text, unnamed } = page.text.batches;
  const link = markup`<a href="${page.basePath}/cards/batches/${id}">${name ?? unnamed}</a>`;
  const count = plural(page.language, text.cards, cards);
  return markup`<p class="notice" role="status"><span>${fill(text.earlier, { name: link, count, time: page.time(createdAt) })}</span></p>
<label class="check"><input type="checkbox" name="again" value="yes" required>${text.issueAgain}</label>`;
}

async function previewPage(
  page: Page,
  { values, found, earlier, errors, sends }: Confirmation,
): Promise<ConsoleResponse> {
  const { preview: text } = page.text.batches;
  const { cards, total } = found;
  const shownName = found.name === null ? undefined : markup`<h2>${found.name}</h2>`;
  const emailed = cards.filter(isEmailed).length;
  const emails = emailed === 0 ? undefined : markup` · ${plural(page.language, text.emailed, emailed)}`;
  const sent = await hiddenValues(values);
  const currency = page.store.currency.code;
  const expected = (name: 'expected_count' | 'expected_total', label: string, error: string | undefined) => ({
    name,
    label,
    error,
    value: errors ? page.typed(name) : '',
  });
  const kept = emailed === 0 ? undefined : keptNotice(page.services, page.language);
  const again = earlier && earlierNotice(page, earlier);
  const typed = (name: 'send_date' | 'send_time'): string => (errors ? page.typed(name) : '');
  const time =
    emailed === 0 || !sends
      ? undefined
      : timeFields(page, {
          error: errors?.sendAt,
          isOptional: true,
          day: typed('send_date'),
          time: typed('send_time'),
        });
  const body = markup`<div class="stack">${stepsOf(page, values, 'issue')}${errors?.notice === undefined ? undefined : alert(errors.notice)}${kept}<div class="grid two"><div class="stack"><section class="panel" aria-label="${text.ready}">${shownName}<p class="soft">${text.ready}</p><p>${figure(total, page.language)}</p><p class="soft">${plural(page.language, text.cards, cards.length)}${emails}</p></section>
${firstCards(page, found)}</div>
<form class="stack sticky" method="post" action="${page.basePath}/cards/batches/issue" enctype="multipart/form-data">${keyInput(page.ctx, errors ? page.key : undefined)}${sent}
<section class="panel stack" aria-labelledby="confirm"><h2 id="confirm">${text.confirm}</h2>${again}<p class="soft">${text.confirmHint}</p>
${inputField({ ...expected('expected_count', text.expectedCount, errors?.count), inputMode: 'numeric' })}
${inputField({ ...expected('expected_total', fillPlain(text.expectedTotal, { currency }), errors?.total), inputMode: 'decimal', kind: 'amount' })}
${time}<button class="button first big">${text.issue}</button>${columnsButton(page, values)}<a class="button quiet" href="${page.basePath}/cards/batches/new">${text.back}</a><p class="hint">${text.consequence}</p></section></form></div></div>`;
  return page.show('/cards', { status: errors ? 422 : 200, title: text.title, body });
}

/** The values of a form, with the text of its file, and a name for the batch. */
async function valuesWithFile(
  page: Page,
): Promise<{ readonly values: BatchValues; readonly errors: BatchFieldErrors }> {
  const values = await batchValues(page);
  if (values.kind !== 'file') return { values, errors: {} };
  const day = dayText(dayOf(page.ctx.clock.now(), page.store.timeZone), page.language);
  const given = page.request.fileName
    .replace(/\.[a-z]{1,4}$/i, '')
    .slice(0, batchNameLengthMax)
    .trim();
  const name = values.name || given || fillPlain(page.text.batches.form.pasted, { day });
  const { file } = page.request;
  if (!file && values.digest !== '') return { values: { ...values, name }, errors: {} };
  const digest = digestOfFile(file ?? values.rows);
  if (!file) return { values: { ...values, name, digest }, errors: {} };
  try {
    const { text: rows, sheet } = await readTableFile(file, { decimalSign: decimalSignIn(page.language) });
    return { values: { ...values, name, digest, rows, sheet: sheet ?? '' }, errors: {} };
  } catch (error) {
    if (!(error instanceof MalformedTable)) throw error;
    return {
      values,
      errors: {
        rows: lineErrorText({ line: error.line, field: null, message: error.message }, page.language),
      },
    };
  }
}

async function check(page: Page): Promise<ConsoleResponse> {
  const { values: sent, errors } = await valuesWithFile(page);
  if (Object.keys(errors).length > 0) return await formPage(page, { values: sent, errors });
  const decision = await decideColumns(page, await repairedValues(page, sent));
  if (decision.kind === 'open') return decision.response;
  const values = await decidedValues(page, decision.values);
  const read = await readBatch(page, values);
  if (read.kind !== 'cards') return await rejectedPage(page, values, read);
  const { found } = read;
  const repeated = values.seen === 'yes' ? [] : repeatedIn(found);
  if (repeated.length > 0) return await repeatedLinesPage(page, { values, found, repeated });
  const [earlier, sends] = [await findEarlier(page, values), await sendsEmails(page)];
  return await previewPage(page, { values, found, earlier, sends });
}

async function downloadLines(page: Page, format: TableFormat): Promise<ConsoleResponse> {
  const values = await repairedValues(page, await batchValues(page));
  const file = await badLinesFile(page, values, format);
  return file ?? (await formPage(page, { values }));
}

function isEmailed({ emails, recipient, customer }: CardToIssue): boolean {
  return emails !== undefined && (recipient ?? customer) !== null;
}

async function sendsEmails(page: Page): Promise<boolean> {
  return (await page.read(() => readEmailSettings(page.store.id))).enabled;
}

/** The cards with the time that was typed for their emails. Those with a time of their own keep it. */
function scheduled(
  page: Page,
  found: FormCards,
  sends: boolean,
): { readonly found: FormCards } | { readonly error: string } {
  const emailed = found.cards.filter(isEmailed);
  if (!sends || emailed.length === 0 || page.typed('send_date') === '') return { found };
  const { errors: text } = page.text.issue;
  const sendOn = parseTypedTime(page, page.store);
  if (!sendOn.ok) return { error: text.date };
  const { at, day } = sendOn.value;
  const isFree = (card: CardToIssue): boolean => isEmailed(card) && card.emails?.sendAt === null;
  const isTooLate = ({ details: { expiresOn } }: CardToIssue): boolean =>
    expiresOn !== null && day > expiresOn;
  if (found.cards.some((card) => isFree(card) && isTooLate(card)))
    return { error: page.text.batches.campaign.errors.afterExpiry };
  const cards = found.cards.map((card) => (isFree(card) ? { ...card, emails: { sendAt: at } } : card));
  return { found: { ...found, cards } };
}

/** The differences between the cards and the figures that were typed. */
function differences(
  page: Page,
  { cards, total }: FormCards,
): { readonly count?: string; readonly total?: string } {
  const { errors: text } = page.text.batches;
  const expectedCount = countOf(page.typed('expected_count')) ?? 0;
  const typed = parseTypedAmount(page.typed('expected_total'), page.store, {
    language: page.language,
    zeroAllowed: true,
  });
  const expectedTotal = typed.ok ? typed.value : { ...total, minor: 0n };
  const differing = new Map(expectationErrors({ cards, total }, { expectedCount, expectedTotal }));
  const count = new Intl.NumberFormat(page.language).format(cards.length);
  return {
    ...(differing.has('expected_count') && { count: fillPlain(text.expectedCount, { count }) }),
    ...(differing.has('expected_total') && {
      total: fillPlain(text.expectedTotal, { total: page.amount(total) }),
    }),
  };
}

function isBatchId(result: Json): result is number {
  return typeof result === 'number';
}

/** The sentence for an error of all cards together; undefined: there is none. */
function noticeOf(page: Page, { code }: Fault): string | undefined {
  const { errors: text } = page.text.batches;
  if (code === 'too-many-requests') return text.busy;
  return code === 'idempotency-key-reused' ? text.again : undefined;
}

/** The columns of a file, for the next one; nothing for equal cards and for a file without headings. */
async function decidedColumnsOf(values: BatchValues) {
  const { columns, isHeadless = false } = readColumnsOf(values);
  if (values.kind !== 'file' || isHeadless || !columns) return {};
  const { headings } = await withPauses(readHead(values.rows, {}));
  return { decided: { headings, columns } };
}

async function confirm(page: Page): Promise<ConsoleResponse> {
  const { errors: text } = page.text.batches;
  const key = page.key;
  // A form that was sent before leads to its batch, whatever its fields are now.
  const before =
    key === undefined ? undefined : await findResult(page.services, page.request, key, isBatchId);
  if (before !== undefined) return seeOther(`/cards/batches/${before}`);
  const values = await batchValues(page);
  const read = await readBatch(page, values);
  if (read.kind !== 'cards') return await rejectedPage(page, values, read);
  const { found } = read;
  const [earlier, sends] = [await findEarlier(page, values), await sendsEmails(page)];
  const again = async (errors: NonNullable<Confirmation['errors']>): Promise<ConsoleResponse> =>
    await previewPage(page, { values, found, earlier, errors, sends });
  const timed = scheduled(page, found, sends);
  const differing = {
    ...differences(page, found),
    ...('error' in timed && { sendAt: timed.error }),
  };
  if ('error' in timed || Object.keys(differing).length > 0) return await again(differing);
  if (key === undefined) return await again({ notice: text.incomplete });
  const isAgain = page.typed('again') === 'yes';
  if (earlier && !isAgain) return await again({ notice: text.again });
  const fileKey = earlier ? undefined : fileKeyOf(values.digest);
  const batch = { ...timed.found, file: { key: fileKey, ...(await decidedColumnsOf(values)) } };
  try {
    const { result } = await page.once(key, () => issueBatch(page.ctx, page.by, batch));
    page.services.tools.of(startBatchesTool)();
    return seeOther(`/cards/batches/${result}`);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const withheld = withoutAccess(page, error);
    if (withheld) return withheld;
    const notice =
      noticeOf(page, error) ?? amountError(error, { currency: page.store.currency, language: page.language });
    if (notice === undefined) throw error;
    return await again({ notice });
  }
}

/** Handles a form with a file in its turn. */
function inTurn(handle: (page: Page) => Promise<ConsoleResponse>) {
  return async (page: Page): Promise<ConsoleResponse> =>
    page.typed('kind') === 'equal'
      ? await handle(page)
      : await page.services.tools.of(tableTurnsTool)(page.store.id, () => handle(page));
}

/** A larger file than can be read gets a sentence. */
const formBytesMax = 2 * batchFileBytesMax;

export const newBatchRoutes: readonly StaffRoute[] = [
  get('/cards/batches/new', 'issueBatches', async (page) =>
    formPage(page, { values: await batchValues(page) }),
  ),
  post('/cards/batches/new', 'issueBatches', inTurn(check), { formBytesMax, acceptsFile: true }),
  ...tableFormats.map((format) =>
    post(
      `/cards/batches/lines.${format}`,
      'issueBatches',
      inTurn((page) => downloadLines(page, format)),
      { formBytesMax, acceptsFile: true, sendsFile: 'other' },
    ),
  ),
  post('/cards/batches/issue', 'issueBatches', inTurn(confirm), { formBytesMax, acceptsFile: true }),
];
