/** Issues many cards: the form, the check of what it means, and the confirmation with the figures of one's own list. */

import { batchCardsMax, batchErrorsMax, expectationErrors } from '../domain/batch.ts';
import { batchFileBytesMax } from '../domain/batch-csv.ts';
import { Fault } from '../domain/fault.ts';
import { exceeds, formatMoney } from '../domain/money.ts';
import { newCardFieldNames } from '../domain/new-card.ts';
import { actorOf } from '../domain/staff.ts';
import { markup, type Markup } from '../markup.ts';
import { startBatch } from '../service/batch.ts';
import { assertMay, assertMaySell } from '../service/counter.ts';
import { recordAction } from '../service/staff.ts';
import type { Script } from '../storage/sql.ts';
import {
  batchTexts,
  batchValues,
  countOf,
  readBatch,
  type BatchFieldErrors,
  type BatchValues,
  type FormCards,
  type ReadBatch,
} from './batch-form.ts';
import { amountError, withoutAccess } from './card-change.ts';
import { alert, hidden, inputField, textArea } from './form.ts';
import { amountText, dayText, figure, parseTypedAmount } from './format.ts';
import { findResult, keyInput, keyOf, runOnce, type Json } from './once.ts';
import { shellPage } from './page.ts';
import { formText } from './request.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleServices,
  type StaffRequest,
  type StaffRoute,
} from './route.ts';
import { actingAs } from './staff-pages.ts';
import { fillPlain, plural } from './texts.ts';

const shownCards = 5;

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
): ConsoleResponse {
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
  const rowsHint = fillPlain(text.rowsHint, { count: max, columns: newCardFieldNames.join(', ') });
  const body = markup`<div class="stack">${above}<p>${text.checkHint}</p>
<div class="grid two"><section class="panel stack" aria-labelledby="file-cards"><h2 id="file-cards">${text.file}</h2><form class="stack" method="post" action="${action}">${hidden('kind', 'file')}
${textArea({ name: 'rows', label: text.rows, value: values.rows, hint: rowsHint, error: errors.rows })}
<div data-file-of="rows" hidden><label for="csv">${text.choose}</label><input class="field" id="csv" type="file" accept=".csv,text/csv"><p class="error" role="alert" hidden>${text.notRead}</p></div>
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
    body: shellPage(services, request, { title, path: '/cards', body, scripts: ['batch.js'] }),
  };
}

/** The form again, with its errors. */
function rejectedPage(
  services: ConsoleServices,
  request: StaffRequest,
  values: BatchValues,
  read: Exclude<ReadBatch, { readonly kind: 'cards' }>,
): ConsoleResponse {
  if (read.kind === 'fields') return formPage(services, request, { values, errors: read.errors });
  const { language } = request;
  const { errors: text } = batchTexts[language];
  const rows = read.errors.map(
    ({ line, field, text: error }) =>
      markup`<tr role="row"><td role="cell" class="soft">${line}</td><td role="cell" class="aside"><span class="mono">${field ?? ''}</span></td><td role="cell" class="whole-line">${error}</td></tr>
`,
  );
  const shown =
    read.errorCount > read.errors.length
      ? ` ${fillPlain(text.shown, { count: new Intl.NumberFormat(language).format(batchErrorsMax) })}`
      : '';
  const above = markup`${alert(`${plural(language, text.summary, read.errorCount)}${shown}`)}
<section class="panel flush" aria-label="${text.title}"><table class="table lines" role="table"><caption class="sr">${text.title}</caption><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${text.line}</th><th scope="col" role="columnheader">${text.column}</th><th scope="col" role="columnheader">${text.error}</th></tr></thead><tbody role="rowgroup">
${rows}</tbody></table></section>`;
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
  const body = markup`<div class="stack">${errors?.notice === undefined ? undefined : alert(errors.notice)}<div class="grid two"><div class="stack"><section class="panel" aria-label="${text.ready}"><p class="soft">${text.ready}</p><p>${figure(total, language)}</p><p class="soft">${plural(language, text.cards, cards.length)}${emails}</p></section>
${firstCards(request, found)}</div>
<form class="stack sticky" method="post" action="${frame.basePath}/cards/batches/issue">${keyInput(ctx, errors ? keyOf(request) : undefined)}${sent}
<section class="panel stack" aria-labelledby="confirm"><h2 id="confirm">${text.confirm}</h2><p class="soft">${text.confirmHint}</p>
${inputField({ ...expected('expected_count', text.expectedCount, errors?.count), inputMode: 'numeric' })}
${inputField({ ...expected('expected_total', fillPlain(text.expectedTotal, { currency }), errors?.total), inputMode: 'decimal', kind: 'amount' })}
<button class="button first big">${text.issue}</button><a class="button quiet" href="${frame.basePath}/cards/batches/new">${text.back}</a><p class="hint">${text.consequence}</p></section></form></div></div>`;
  return {
    status: errors ? 422 : 200,
    body: shellPage(services, request, { title: text.title, path: '/cards', body }),
  };
}

async function check(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const values = batchValues(request);
  const read = await readBatch(services, request, values);
  if (read.kind !== 'cards') return rejectedPage(services, request, values, read);
  return previewPage(services, request, { values, found: read.found });
}

/** The differences between the cards and the figures that were typed. */
function differences(
  request: StaffRequest,
  { cards, total }: FormCards,
): { readonly count?: string; readonly total?: string } {
  const { language, signedIn } = request;
  const { errors: text } = batchTexts[language];
  const expectedCount = countOf(formText(request, 'expected_count')) ?? 0;
  const typed = parseTypedAmount(formText(request, 'expected_total'), signedIn.store, { zeroAllowed: true });
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

/** Stores the cards, which are issued afterwards. @returns the id of the batch. */
function* start(
  { ctx }: ConsoleServices,
  request: StaffRequest,
  { name, cards, total }: FormCards,
): Script<number> {
  const { store, member } = request.signedIn;
  yield* assertMay(store, member, 'issueBatches');
  // The person's limit applies to each card.
  yield* assertMaySell(
    member,
    cards.reduce((highest, { value }) => (exceeds(value, highest) ? value : highest), {
      ...total,
      minor: 0n,
    }),
  );
  const { id } = yield* startBatch(ctx, {
    store,
    name,
    actor: actorOf(member),
    apiClientId: null,
    cards,
    total,
  });
  yield* recordAction(ctx, actingAs(request), {
    storeId: store.id,
    action: 'batch-issued',
    subjectId: null,
    details: { amount: formatMoney(total) },
  });
  return id;
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
    const { result } = await runOnce(services, request, key, () => start(services, request, found));
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
    formBytesMax: batchFileBytesMax,
    handle: check,
  },
  {
    method: 'POST',
    path: '/cards/batches/issue',
    access: 'issueBatches',
    formBytesMax: batchFileBytesMax,
    handle: confirm,
  },
];
