/** The recovery sheet: the only copy of the key that opens the backups. */

import type { BackupTools } from './tools.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { sheetPeriodMs } from '../domain/backup.ts';
import type { BackupSettings } from '../service/backups.ts';
import { confirmSheet, draftSheet, seeSheet, sheetTypedLength } from '../service/staff-backups.ts';
import type { Secret } from '../../../platform/secret.ts';
import { qrSvg } from '../../../pages/kit/code-view.ts';
import { inputField } from '../../../pages/kit/form.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import { seeOther, type ConsoleResponse, type PageResponse } from '../../../pages/kit/route.ts';
import { fill, fillPlain } from '../../../pages/kit/texts.ts';
import { waitShortly } from '../../../pages/kit/wait.ts';
import { changeAndNotify, notifyOwners } from '../../owner-notices/pages/owner-notice.ts';

export const backupsPath = '/settings/machine/backups';
export const sheetPath = `${backupsPath}/sheet`;

/** The characters in groups of four, which are easier to type. */
function groupsOf(identity: Secret): string {
  const [, head = '', rest = ''] = /^(AGE-SECRET-KEY-1)(.*)$/.exec(identity.reveal()) ?? [];
  return [head, ...(rest.match(/.{1,4}/g) ?? [])].join(' ');
}

/** The form with the last characters, to confirm a sheet. */
function typedForm(
  page: Page,
  path: string,
  { error, hint }: { readonly error?: string | undefined; readonly hint: string },
): Markup {
  const text = page.text.backups;
  const input = inputField({
    name: 'typed',
    label: text.typed,
    kind: 'code',
    hint,
    error,
  });
  return page.form(
    path,
    markup`<div class="fields">${input}</div><div><button class="button first">${text.confirm}</button></div>`,
  );
}

/** The panel about the sheet. @param error of the typed characters. */
export function sheetPanel(page: Page, tools: BackupTools, settings: BackupSettings, error?: string): Markup {
  const text = page.text.backups;
  const { recipient, draftRecipient, sheetMadeAt, sheetSeenAt } = settings;
  const make = (label: string, kind: string): Markup =>
    page.form(sheetPath, markup`<div><button class="button ${kind}">${label}</button></div>`);
  const draft =
    draftRecipient === null
      ? undefined
      : markup`<h3>${fillPlain(text.draft, { id: tools.sheetIdOf(draftRecipient) })}</h3>${typedForm(page, `${sheetPath}/confirm`, { error, hint: text.draftHint })}`;
  if (recipient === null || sheetMadeAt === null || sheetSeenAt === null)
    return markup`<section class="panel stack" aria-labelledby="sheet"><h2 id="sheet">${text.sheet}</h2><p>${text.sheetNone}</p>${draft}${make(draft ? text.makeAgain : text.makeSheet, draft ? '' : 'first')}</section>`;
  const isAsked = page.realNow - sheetSeenAt > sheetPeriodMs;
  const about = fill(text.sheetIs, {
    id: markup`<strong>${tools.sheetIdOf(recipient)}</strong>`,
    made: page.day(sheetMadeAt),
    seen: page.day(sheetSeenAt),
  });
  const seen = draft
    ? undefined
    : markup`<details${isAsked || error !== undefined ? markup` open` : undefined}><summary>${text.sheetAsk}</summary>${typedForm(page, `${sheetPath}/seen`, { error, hint: text.sheetAskHint })}</details>`;
  const due = isAsked ? markup`<p class="notice">${text.sheetDue}</p>` : undefined;
  return markup`<section class="panel stack" aria-labelledby="sheet"><h2 id="sheet">${text.sheet}</h2>${due}<p>${about} ${text.sheetKeep}</p>${draft}${seen}
<details><summary>${text.newSheet}</summary><div class="stack"><p class="hint">${text.newSheetHint}</p>${make(text.makeSheet, '')}</div></details></section>`;
}

function row(name: string, value: MarkupPart): Markup {
  return markup`<dt>${name}</dt><dd>${value}</dd>
`;
}

/** Makes a key and shows it once. Only its public half is stored. */
export async function makeSheet(page: Page, tools: BackupTools): Promise<PageResponse> {
  const text = page.text.backups;
  const { identity, recipient, macKey } = await tools.makeSheet();
  await page.write(() => draftSheet(page.ctx, page.by, { rule: tools.rule, recipient, identity, macKey }));
  const address = page.services.pagesUrl;
  const facts = markup`<dl class="facts">${row(text.shop, page.store.name)}${address === null ? undefined : row(text.address, markup`<span dir="ltr">${address}</span>`)}${row(text.made, page.day(page.realNow))}${row(text.id, tools.sheetIdOf(recipient))}</dl>`;
  const steps = text.lostSteps.map(
    (step) => markup`<li>${step}</li>
`,
  );
  const sheet = markup`<section class="panel stack recovery" aria-labelledby="recovery"><h2 id="recovery">${fillPlain(text.sheetOf, { store: page.store.name })}</h2><p>${text.sheetCash}</p>${facts}
<div class="key"><p class="code" dir="ltr" translate="no">${groupsOf(identity)}</p>${qrSvg(identity, { page: null, label: text.qr })}</div>
<h3>${text.lost}</h3><ol>${steps}</ol><p class="blank">${text.blankPlace}</p><p class="blank">${text.blankPerson}</p></section>`;
  return page.show('/settings', {
    title: text.sheet,
    scripts: [],
    body: markup`<div class="stack settings"><p class="notice noprint">${text.shownOnce}</p><div class="row noprint"><button class="button" type="button" data-print hidden>${text.print}</button></div>${sheet}
<section class="panel stack noprint" aria-labelledby="typing"><h2 id="typing">${text.printed}</h2>${typedForm(page, `${sheetPath}/confirm`, { hint: fillPlain(text.typedHint, { count: sheetTypedLength }) })}</section>
<div class="row noprint">${page.link(backupsPath, text.later, 'quiet')}</div></div>`,
  });
}

const typedLengthMax = 20;

/** The typed characters; empty if there are too many. */
function typedOf(page: Page): string {
  const typed = page.typed('typed');
  return typed.length > typedLengthMax ? '' : typed;
}

function sheetNotice(page: Page, id: string) {
  const { notices } = page.text.backups;
  const { member, store } = page;
  return {
    subject: fillPlain(notices.sheet.subject, { store: store.name }),
    paragraphs: [
      fillPlain(notices.sheet.text, { name: member.name, email: member.email, id }),
      notices.advice,
    ],
  };
}

/** @param shown the page of the backups with the error at the field. */
export async function confirmTyped(
  page: Page,
  tools: BackupTools,
  shown: (error: string) => Promise<ConsoleResponse>,
): Promise<ConsoleResponse> {
  const text = page.text.backups;
  const { rule, sheetIdOf: sheetId } = tools;
  const typed = typedOf(page);
  const recipient = await changeAndNotify(
    page,
    () => confirmSheet(page.ctx, page.by, { rule, typed, sheetId }),
    (confirmed) => (confirmed === null ? null : sheetNotice(page, sheetId(confirmed))),
  );
  if (recipient === null) return await shown(text.wrongTyped);
  const areNotified = await notifyOwners(page);
  // A first backup shows at once whether the place works.
  await waitShortly(tools.run());
  return seeOther(`${backupsPath}?done=${areNotified ? 'sheet' : 'sheetUnnoticed'}`);
}

/** @param shown as `confirmTyped`. */
export async function seeTyped(
  page: Page,
  tools: BackupTools,
  shown: (error: string) => Promise<ConsoleResponse>,
): Promise<ConsoleResponse> {
  const typed = typedOf(page);
  const isRight = await page.write(() => seeSheet(page.ctx, page.by, { rule: tools.rule, typed }));
  return isRight ? seeOther(`${backupsPath}?done=seen`) : await shown(page.text.backups.wrongTyped);
}
