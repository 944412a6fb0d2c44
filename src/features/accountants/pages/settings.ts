/** The accountants of a store: an owner adds and removes them, sees the emails to them, and sends one now. */

import { accountantEmailsTool } from './tools.ts';
import {
  accountantFormats,
  accountantsMax,
  daysOfMonth,
  monthLinkDays,
  type Accountant,
  type AccountantEmail,
  type AccountantFormat,
} from '../domain/accountant.ts';
import { parseEmail } from '../../../core/domain/email-address.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { journalFileProblem } from '../../books/service/journal-file.ts';
import { lastMonth, listAccountantEmails, listAccountants } from '../service/accountants.ts';
import {
  addAccountant,
  changeAccountant,
  endAccountantLinks,
  removeAccountant,
  requestAccountantEmail,
} from '../service/staff-accountants.ts';
import { withoutAccess } from '../../../pages/kit/without-access.ts';
import { keptNotice } from '../../emails/pages/texts.ts';
import { alert, inputField, select } from '../../../pages/kit/form.ts';
import { monthText } from '../../../pages/kit/format.ts';
import { keyInput } from '../../../pages/kit/once.ts';
import { table } from '../../../pages/kit/parts.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';
import {
  seeOther,
  throttled,
  type ConsoleResponse,
  type PageResponse,
  type StaffRoute,
} from '../../../pages/kit/route.ts';
import { fillPlain, pageLanguages, textLanguageOf, type TextLanguage } from '../../../pages/kit/texts.ts';
import { journalSourceOf, problemSentence } from '../../books/pages/journal-programs.ts';
import { emailServerPath } from '../../emails/pages/server-tool.ts';
import { sentTable } from './emails.ts';
import { accountantPath } from './paths.ts';

/** Emails that the page lists, the newest of all accountants. */
const listedMax = 60;

type Choices = { readonly language: TextLanguage; readonly format: AccountantFormat };

/** The form of a new accountant, as it was typed. */
type Typed = Choices & { readonly email: string; readonly error?: string };

type Shown = { readonly notice?: string; readonly typed?: Typed };

function formatIn(text: string): AccountantFormat {
  return accountantFormats.find((each) => each === text) ?? 'xlsx';
}

function choicesIn(page: Page): Choices {
  const language = pageLanguages.find((each) => each === page.typed('language'));
  return {
    language: language ?? textLanguageOf(page.language),
    format: formatIn(page.typed('format')),
  };
}

/** The fields of the language and the format. */
function choiceFields(page: Page, { language, format }: Pick<Accountant, 'language' | 'format'>): Markup {
  const text = page.text.accountant;
  const languages = pageLanguages.map((value) => ({ value, text: text.languages[value] }));
  const formats = accountantFormats.map((value) => ({ value, text: text.formats[value] }));
  return markup`${select({ name: 'language', label: text.language, options: languages, value: language })}
${select({ name: 'format', label: text.format, options: formats, value: format })}`;
}

function addPanel(page: Page, typed: Typed | undefined): Markup {
  const text = page.text.accountant;
  const values = typed ?? { email: '', language: textLanguageOf(page.language), format: 'xlsx' as const };
  const field = inputField({
    name: 'email',
    label: text.address,
    type: 'email',
    value: values.email,
    error: typed?.error,
  });
  return markup`<section class="panel stack" aria-labelledby="add"><h2 id="add">${text.addTitle}</h2>
${page.form(
  accountantPath,
  markup`<div class="fields">${field}
${choiceFields(page, values)}</div>
<p class="hint">${fillPlain(text.formatHint, { days: monthLinkDays })}</p>
<div class="row"><button class="button first">${text.add}</button></div>`,
)}</section>`;
}

const doneNames = ['added', 'saved', 'removed', 'sent', 'tested', 'linksEnded', 'repeated'] as const;

/** The result of a form, by a name of a fixed set in the URL, or the reason for which it did nothing. */
function noteOf(page: Page, notice: string | undefined): Markup | undefined {
  if (notice !== undefined) return alert(notice);
  const done = doneNames.find((name) => name === page.request.query.get('done'));
  return done && markup`<p class="notice good" role="status">${page.text.accountant.done[done]}</p>`;
}

/** The reason for which no email can be sent; undefined: it can. */
function obstacle(page: Page): Markup | undefined {
  const { services, language } = page;
  const text = page.text.accountant;
  if (services.pagesUrl === null) return markup`<p class="notice">${text.needsUrl}</p>`;
  if (services.canSend) return keptNotice(services, language);
  return markup`<p class="notice"><span>${text.needsServer} <a href="${page.url(emailServerPath)}">${text.server}</a></span></p>`;
}

async function listPage(page: Page, { notice, typed }: Shown = {}): Promise<PageResponse> {
  const text = page.text.accountant;
  const accountants = await page.read(() => listAccountants(page.store.id));
  const emails = await page.read(() => listAccountantEmails(page.store.id, listedMax));
  const rows = accountants.map((accountant) => {
    const path = `${accountantPath}/${String(accountant.id)}`;
    return [
      { heading: accountant.address },
      text.languages[languageOf(accountant)],
      text.formats[accountant.format],
      {
        class: 'aside end',
        html: page.link(path, text.change, '', fillPlain(text.changeName, { email: accountant.address })),
      },
    ];
  });
  const listed =
    rows.length === 0
      ? undefined
      : markup`<section class="panel flush" aria-labelledby="listed"><h2 id="listed">${text.listed}</h2>${table({ columns: [text.address, text.language, text.format, { class: 'end', name: text.action, isHidden: true }], rows })}</section>
`;
  const adding =
    accountants.length < accountantsMax
      ? addPanel(page, typed)
      : markup`<p class="soft">${fillPlain(text.full, { count: accountantsMax })}</p>`;
  const body = markup`<div class="stack settings"><p class="lead">${text.lead}</p>${obstacle(page)}${noteOf(page, notice)}
${listed}${adding}
${sentPanel(page, accountants, emails)}
<div class="row">${page.link('/settings', page.text.backups.back, 'quiet')}</div></div>`;
  const status = notice === undefined && typed === undefined ? 200 : 422;
  return page.show('/settings', { status, title: text.title, body });
}

function languageOf({ language }: Pick<Accountant, 'language'>): TextLanguage {
  return pageLanguages.find((each) => each === language) ?? 'en';
}

function sentPanel(
  page: Page,
  accountants: readonly Accountant[],
  emails: readonly AccountantEmail[],
): Markup | undefined {
  if (accountants.length === 0) return undefined;
  const text = page.text.accountant;
  const shown =
    emails.length === 0
      ? markup`<p class="empty">${text.noneSent}</p>`
      : sentTable(page, accountants, emails);
  return markup`<section class="panel flush" aria-labelledby="sent"><h2 id="sent">${text.sent}</h2>${shown}</section>`;
}

async function accountantIn(page: Page): Promise<Accountant> {
  const id = page.storedId();
  const accountants = await page.read(() => listAccountants(page.store.id));
  const found = accountants.find((each) => each.id === id);
  if (!found) throw new Fault('not-found');
  return found;
}

async function onePage(page: Page, notice?: string): Promise<PageResponse> {
  const text = page.text.accountant;
  const accountant = await accountantIn(page);
  const own = `${accountantPath}/${String(accountant.id)}`;
  const month = monthText(lastMonth(page.ctx, page.store), page.language);
  const emails = await page.read(() => listAccountantEmails(page.store.id, listedMax));
  const ofAccountant = emails.filter(({ accountantId }) => accountantId === accountant.id);
  const isReady = page.services.canSend && page.services.pagesUrl !== null;
  const sending = isReady
    ? markup`<div class="row">${button(page, `${own}/send`, fillPlain(text.sendMonth, { month }), 'first')}${button(page, `${own}/test`, text.sendTest)}</div>`
    : undefined;
  const body = markup`<div class="stack"><p>${page.link(accountantPath, text.back, 'quiet')}</p>${obstacle(page)}${noteOf(page, notice)}
<section class="panel stack change" aria-labelledby="change"><h2 id="change">${accountant.address}</h2>
${page.form(own, markup`<div class="fields">${choiceFields(page, accountant)}</div><p class="hint">${fillPlain(text.formatHint, { days: monthLinkDays })}</p><div class="row"><button class="button">${text.save}</button></div>`)}
${formatProblem(page, accountant)}${sending}</section>
${sentPanel(page, [accountant], ofAccountant)}
<section class="panel stack change" aria-labelledby="end"><h2 id="end">${text.endTitle}</h2><p class="hint">${text.endHint}</p>
<div class="row">${button(page, `${own}/links`, text.endLinks)}${button(page, `${own}/remove`, text.remove, 'danger')}</div></section></div>`;
  return page.show('/settings', { status: notice === undefined ? 200 : 422, title: text.title, body });
}

/** The reason for which no month can have the file, such as settings that a program needs; undefined: there is none. */
function formatProblem(page: Page, { format }: Accountant): Markup | undefined {
  if (format === 'csv' || format === 'xlsx') return undefined;
  const { store, language, now } = page;
  const days = daysOfMonth(lastMonth(page.ctx, store));
  const problem = journalFileProblem(
    format,
    journalSourceOf({ store, language, now }, { lines: [], summary: days }),
  );
  if (!problem) return undefined;
  const link = markup`<a href="${page.url('/settings/limits#books')}">${page.text.reports.programs.settings}</a>`;
  return markup`<p class="notice"><span>${problemSentence(problem, language)} ${link}</span></p>`;
}

function button(page: Page, path: string, text: string, kind = ''): Markup {
  return markup`<form method="post" action="${page.url(path)}">${keyInput(page.ctx)}<button class="button ${kind}">${text}</button></form>`;
}

async function add(page: Page): Promise<ConsoleResponse> {
  const { text, key } = page;
  const choices = choicesIn(page);
  const email = parseEmail(page.typed('email'));
  const rejected = (error: string): Promise<PageResponse> =>
    listPage(page, { typed: { ...choices, email: page.typed('email'), error } });
  if (!email.ok) return await rejected(text.staff.emailInvalid);
  if (key === undefined) return await listPage(page, { notice: text.settings.expiredForm });
  return await changed(page, async () => {
    const { result, isRepeated } = await page.once(key, () =>
      addAccountant(page.ctx, page.by, { ...choices, email: email.value }),
    );
    if (result === 'taken') return await rejected(text.accountant.taken);
    if (result === 'full') return await rejected(fillPlain(text.accountant.full, { count: accountantsMax }));
    return seeOther(`${accountantPath}?done=${isRepeated ? 'repeated' : 'added'}`);
  });
}

/** Makes a change, unless the person may not or the accountant was removed. */
async function changed(page: Page, change: () => Promise<ConsoleResponse>): Promise<ConsoleResponse> {
  try {
    return await change();
  } catch (error) {
    const response = error instanceof Fault ? withoutAccess(page, error) : undefined;
    if (!response) throw error;
    return response;
  }
}

/** Sends the email of a button once, and leads back to the page, which shows what became of it. */
async function request(page: Page, kind: 'again' | 'test'): Promise<ConsoleResponse> {
  const { text, key, services } = page;
  const { id } = await accountantIn(page);
  if (key === undefined) return await onePage(page, text.settings.expiredForm);
  if (!services.canSend) return await onePage(page, text.accountant.needsServer);
  if (services.pagesUrl === null) return await onePage(page, text.accountant.needsUrl);
  return await changed(page, async () => {
    const { result, isRepeated } = await page.once(key, () =>
      requestAccountantEmail(page.ctx, page.by, { id, kind }),
    );
    if (result && 'waitMs' in result)
      return throttled(await onePage(page, text.settings.testThrottled), result.waitMs);
    if (result) return await onePage(page, text.accountant.open);
    const done = kind === 'test' ? 'tested' : 'sent';
    await services.tools.of(accountantEmailsTool)(page.store);
    return seeOther(`${accountantPath}/${String(id)}?done=${isRepeated ? 'repeated' : done}`);
  });
}

const owners = { sensitive: 'changeSettings' } as const;

export const accountantRoutes: readonly StaffRoute[] = [
  get(accountantPath, owners, (page) => listPage(page)),
  post(accountantPath, owners, add),
  get(`${accountantPath}/:id`, owners, (page) => onePage(page)),
  post(`${accountantPath}/:id`, owners, (page) =>
    changed(page, async () => {
      const { id } = await accountantIn(page);
      await page.write(() => changeAccountant(page.ctx, page.by, id, choicesIn(page)));
      return seeOther(`${accountantPath}/${String(id)}?done=saved`);
    }),
  ),
  post(`${accountantPath}/:id/send`, owners, (page) => request(page, 'again')),
  post(`${accountantPath}/:id/test`, owners, (page) => request(page, 'test')),
  post(`${accountantPath}/:id/links`, owners, (page) =>
    changed(page, async () => {
      const { id } = await accountantIn(page);
      await page.write(() => endAccountantLinks(page.ctx, page.by, id));
      return seeOther(`${accountantPath}/${String(id)}?done=linksEnded`);
    }),
  ),
  post(`${accountantPath}/:id/remove`, owners, (page) =>
    changed(page, async () => {
      const id = page.storedId();
      await page.write(() => removeAccountant(page.ctx, page.by, id));
      return seeOther(`${accountantPath}?done=removed`);
    }),
  ),
];
