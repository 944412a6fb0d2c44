/** The emails of a batch that could not be delivered: other addresses, typed or from a table, and new codes. */

import type { Batch } from '../domain/batch.ts';
import { emailKey, parseEmail } from '../../../core/domain/email-address.ts';
import { correctionLinesMax, readCorrections, tooManyCorrections } from '../../emails/domain/corrections.ts';
import { MalformedTable } from '../../../core/tables/domain/table-text.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { batchKeyOf } from '../service/batch.ts';
import {
  listUndeliveredCards,
  resentTogetherMax,
  type CorrectedAddress,
  type UndeliveredEmail,
} from '../service/campaign.ts';
import { batchFileBytesMax } from '../domain/columns.ts';
import { readTableFile } from '../service/table-file.ts';
import { tableTurnsTool, withPauses } from '../service/table-turns.ts';
import { recordAddressesRead, resendBatch } from '../service/staff-batch.ts';
import { keptNotice, reasonOfEmail } from '../../emails/pages/texts.ts';
import { alert, inputField } from '../../../pages/kit/form.ts';
import { decimalSignIn } from '../../../pages/kit/format.ts';
import { keyInput } from '../../../pages/kit/once.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';
import type { ConsoleResponse, StaffRoute } from '../../../pages/kit/route.ts';
import {
  partsOfRows,
  tableFile,
  tableForm,
  tableFormats,
  type TableFormat,
} from '../../../pages/kit/table-file.ts';
import { fillPlain, plural } from '../../../pages/kit/texts.ts';
import { earlierPage, frameOf, openBatch, submit, type Submitted } from './emails.ts';
import { lineErrorText } from './form.ts';

type Undelivered = { readonly batch: Batch; readonly emails: readonly UndeliveredEmail[] };

type CorrectForm = {
  /** The addresses in the fields, by the ids of the emails. Default: those that did not work. */
  readonly typed?: ReadonlyMap<number, string>;
  /** The errors, by the ids of the emails. */
  readonly errors?: ReadonlyMap<number, string>;
  readonly notice?: string;
  /** The result of a file. */
  readonly filled?: string;
  readonly fileError?: string;
};

async function openUndelivered(page: Page, batch: Batch): Promise<Undelivered> {
  const emails = await page.read(() => listUndeliveredCards(page.ctx, page.store, batchKeyOf(batch)));
  return { batch, emails };
}

function addressName(page: Page, { email }: UndeliveredEmail): string {
  return `address-${page.publicId(email.id)}`;
}

function typedAddresses(page: Page, emails: readonly UndeliveredEmail[]): ReadonlyMap<number, string> {
  const sent = emails.filter((each) => page.request.form.has(addressName(page, each)));
  return new Map(sent.map((each) => [each.email.id, page.typed(addressName(page, each))]));
}

function addressFields(
  page: Page,
  emails: readonly UndeliveredEmail[],
  { typed = new Map(), errors = new Map() }: CorrectForm,
): readonly Markup[] {
  return emails.map((each) => {
    const { email, recipientName } = each;
    return inputField({
      name: addressName(page, each),
      label: recipientName ?? email.address,
      type: 'email',
      value: typed.get(email.id) ?? email.address,
      hint: reasonOfEmail(email, page.language) ?? '',
      error: errors.get(email.id),
    });
  });
}

function filePanel(page: Page, path: string, error: string | undefined): Markup {
  const { file: text } = page.text.batches.campaign.undelivered;
  const described =
    error === undefined ? undefined : markup` aria-invalid="true" aria-describedby="table-error"`;
  const message = error === undefined ? undefined : markup`<p class="error" id="table-error">${error}</p>`;
  return markup`<section class="panel stack" aria-labelledby="list"><h2 id="list">${text.list}</h2><p class="hint">${text.listHint}</p>
${tableForm(`${path}/undelivered`, page.text.tables)}
<form class="stack" method="post" action="${path}/addresses" enctype="multipart/form-data"><div><label for="table">${text.file}</label>
<input class="field" id="table" name="table" type="file" accept=".xlsx,.csv,.tsv,.txt"${described}>${message}</div>
<div class="row"><button class="button">${text.fileAction}</button></div></form></section>`;
}

function undeliveredPage(
  page: Page,
  { batch, emails }: Undelivered,
  { errors = new Map(), notice, filled, fileError, ...form }: CorrectForm = {},
): ConsoleResponse {
  const { undelivered: text } = page.text.batches.campaign;
  const isRejected = errors.size > 0 || notice !== undefined || fileError !== undefined;
  // Without an address to correct, there is no field for a file.
  const above = notice ?? (emails.length === 0 ? fileError : undefined);
  const path = `${page.basePath}/cards/batches/${batch.id}`;
  const limit =
    emails.length < resentTogetherMax
      ? undefined
      : markup`<p class="notice">${fillPlain(text.limit, { count: String(resentTogetherMax) })}</p>`;
  const result =
    filled === undefined ? undefined : markup`<p class="notice good" role="status">${filled}</p>`;
  const forms =
    emails.length === 0
      ? markup`<p class="soft">${text.none}</p>`
      : markup`${limit}<form class="panel stack" method="post" action="${path}/correct" aria-labelledby="correct" novalidate><h2 id="correct">${text.correct}</h2>${keyInput(page.ctx, isRejected ? page.key : undefined)}
<p class="hint">${text.correctHint}</p>
<div class="campaign-addresses">${addressFields(page, emails, { ...form, errors })}</div>
<div class="row"><button class="button first">${text.correctAction}</button></div></form>
${filePanel(page, path, fileError)}
<form class="panel stack" method="post" action="${path}/resend" aria-labelledby="resend"><h2 id="resend">${text.resend}</h2>${keyInput(page.ctx)}
<p class="hint">${text.resendHint}</p><div class="row"><button class="button">${plural(page.language, text.resendAction, emails.length)}</button></div></form>`;
  const body = markup`<div class="stack change">${above === undefined ? undefined : alert(above)}${result}${keptNotice(page.services, page.language)}${forms}</div>`;
  return page.show('/cards', { status: isRejected ? 422 : 200, ...frameOf(page, batch, text.title), body });
}

function sendOf(page: Page, batch: Batch, corrected: readonly CorrectedAddress[] | null): Submitted {
  return {
    batch,
    again: async (notice) => undeliveredPage(page, await openUndelivered(page, batch), { notice }),
    *script() {
      const { canSend } = page.services;
      const { resent, omitted } = yield* resendBatch(page.ctx, page.by, batchKeyOf(batch), {
        canSend,
        corrected,
      });
      return { batch: batch.id, did: 'resent', count: resent, others: omitted, inProgress: 0 };
    },
  };
}

/** New codes to the addresses that were corrected. An address that was not changed gets nothing. */
async function correct(page: Page): Promise<ConsoleResponse> {
  const { undelivered: text } = page.text.batches.campaign;
  const batch = await openBatch(page);
  const earlier = await earlierPage(page, batch);
  if (earlier) return earlier;
  const opened = await openUndelivered(page, batch);
  const typed = typedAddresses(page, opened.emails);
  const corrected: CorrectedAddress[] = [];
  const errors = new Map<number, string>();
  for (const { email } of opened.emails) {
    const given = typed.get(email.id) ?? '';
    if (given === '' || given === email.address) continue;
    const address = parseEmail(given);
    if (address.ok) corrected.push({ emailId: email.id, address: address.value });
    else errors.set(email.id, page.text.emails.page.badAddress);
  }
  if (errors.size > 0) return undeliveredPage(page, opened, { typed, errors });
  if (corrected.length === 0) return undeliveredPage(page, opened, { typed, notice: text.unchanged });
  return await submit(page, sendOf(page, batch, corrected));
}

async function resend(page: Page): Promise<ConsoleResponse> {
  return await submit(page, sendOf(page, await openBatch(page), null));
}

/** The addresses as a table, with an empty column for the right ones. */
async function download(page: Page, format: TableFormat): Promise<ConsoleResponse> {
  const { file: text } = page.text.batches.campaign.undelivered;
  const { batch, emails } = await openUndelivered(page, await openBatch(page));
  await page.write(() => recordAddressesRead(page.ctx, page.by, { name: batch.name, rows: emails.length }));
  const columns = (['name', 'wrong', 'reason', 'right'] as const).map(
    (name) => ({ name, heading: text[name], kind: 'text' }) as const,
  );
  const parts = partsOfRows(emails, ({ email, recipientName }) => ({
    name: recipientName,
    wrong: email.address,
    reason: reasonOfEmail(email, page.language) ?? null,
    right: null,
  }));
  const table = { columns, parts, timeZone: page.store.timeZone };
  const { title } = page.text.batches.campaign.undelivered;
  const name = `addresses-${batch.id}`;
  return { status: 200, file: tableFile(table, { format, language: page.language, name, title }) };
}

/** Fills the addresses of a table into the fields of the form, which the person checks and sends. */
async function fillAddresses(page: Page): Promise<ConsoleResponse> {
  const { file: text } = page.text.batches.campaign.undelivered;
  const opened = await openUndelivered(page, await openBatch(page));
  const { file } = page.request;
  if (!file) return undeliveredPage(page, opened, { fileError: text.noFile });
  try {
    const table = await readTableFile(file, { decimalSign: decimalSignIn(page.language) });
    const keys = new Set(opened.emails.map(({ email }) => emailKey(email.address)));
    const { right, unclear } = await withPauses(readCorrections(table.text, keys));
    const typed = new Map(
      opened.emails.flatMap(({ email }) => {
        const address = right.get(emailKey(email.address));
        return address === undefined ? [] : [[email.id, address] as const];
      }),
    );
    const left = unclear > 0 ? [plural(page.language, text.unclear, unclear)] : [];
    if (typed.size === 0)
      return undeliveredPage(page, opened, { fileError: [text.nothing, ...left].join(' ') });
    const filled = [plural(page.language, text.filled, typed.size), ...left].join(' ');
    return undeliveredPage(page, opened, { typed, filled });
  } catch (error) {
    if (!(error instanceof MalformedTable)) throw error;
    return undeliveredPage(page, opened, { fileError: tableErrorText(page, error) });
  }
}

function tableErrorText(page: Page, { line, message }: MalformedTable): string {
  const { file: text } = page.text.batches.campaign.undelivered;
  if (message !== tooManyCorrections) return lineErrorText({ line, field: null, message }, page.language);
  return fillPlain(text.lines, { count: new Intl.NumberFormat(page.language).format(correctionLinesMax) });
}

/** A larger file than can be read gets a sentence. */
const formBytesMax = 2 * batchFileBytesMax;

/** The page as well, so that addresses are typed after the confirmation. */
const sensitive = { sensitive: 'changeEmails' } as const;

export const undeliveredRoutes: readonly StaffRoute[] = [
  get('/cards/batches/:id/undelivered', sensitive, async (page) =>
    undeliveredPage(page, await openUndelivered(page, await openBatch(page))),
  ),
  ...tableFormats.map((format) =>
    post(`/cards/batches/:id/undelivered.${format}`, sensitive, (page) => download(page, format), {
      sendsFile: 'export',
    }),
  ),
  post(
    '/cards/batches/:id/addresses',
    sensitive,
    (page) => page.services.tools.of(tableTurnsTool)(page.store.id, () => fillAddresses(page)),
    { formBytesMax, acceptsFile: true },
  ),
  post('/cards/batches/:id/correct', sensitive, correct),
  post('/cards/batches/:id/resend', 'changeEmails', resend),
];
