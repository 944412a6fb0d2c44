/** The forms of a sale at the till: the amount, and the printed card or the address. */

import { exceeds, type Money } from '../../../core/money/domain/money.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { readOffer } from '../service/usual-amounts.ts';
import { readEmailSettings } from '../../emails/service/settings.ts';
import { keepsEmails } from '../../emails/pages/texts.ts';
import { amountValue } from '../../../pages/kit/format.ts';
import { hidden, inputField } from '../../../pages/kit/form.ts';
import { keyInput } from '../../../pages/kit/once.ts';
import type { PageResponse } from '../../../pages/kit/route.ts';
import { fillPlain, textsOf } from '../../../pages/kit/texts.ts';
import { cameraFrame, cameraScripts } from './camera.ts';
import { amountEntry, entryData, payButton } from './entry.ts';
import { taskHeading, tillPage } from './page.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

export const saleTexts = textsOf('tillSales');

/** The highest amount that the person can sell; null: there is no limit. */
function highestOf(page: Page): Money | null {
  const limits = [page.store.issueLimit, page.member.saleLimit].filter((limit) => limit !== null);
  return limits.toSorted((left, right) => (exceeds(left, right) ? 1 : -1))[0] ?? null;
}

/** The customer gets the card on a printed one, as a code on the slip, or by email. */
const ways = ['card', 'new', 'email'] as const;

export type Way = (typeof ways)[number];

export function wayIn(typed: string | undefined): Way {
  return ways.find((way) => way === typed) ?? 'card';
}

/** Whether the service and the store send emails. */
export async function sendsEmails(page: Page): Promise<boolean> {
  if (!page.services.canSend) return false;
  const { enabled } = await page.read(() => readEmailSettings(page.store.id));
  return enabled;
}

type AmountForm = {
  readonly typed?: string;
  readonly way?: Way;
  readonly error?: string;
  readonly notice?: Markup;
};

/** The first step: the amount, and how the customer gets the card. */
export async function amountPage(
  page: Page,
  { typed = '', way, error, notice }: AmountForm = {},
): Promise<PageResponse> {
  const text = page.text.tillSales;
  const highest = highestOf(page);
  const {
    usual,
    canSend: canEmail,
    isStocked,
  } = await page.read(() => readOffer(page.store, page.member.saleLimit, page.services.canSend));
  const isOnlyPrinted = page.store.stockRequired === 'yes';
  const chosen = way ?? (isStocked || isOnlyPrinted ? 'card' : 'new');
  const hint = highest === null ? '' : fillPlain(text.amountMost, { amount: page.amount(highest) });
  const choices = ways
    .filter((one) => one === 'card' || !isOnlyPrinted)
    .filter((one) => one !== 'email' || canEmail)
    .map((one) => {
      const checked = one === chosen ? markup` checked` : undefined;
      return markup`<label class="choice"><input type="radio" name="how" value="${one}" data-button="${text.ways[one].button}" data-button-amount="${text.ways[one].buttonAmount}"${checked}>${wayIcons[one]}${text.ways[one].name}</label>
`;
    });
  const data = entryData(page, { hint, button: text.sellTitle, buttonAmount: text.sellTitle });
  const body = markup`${notice}${taskHeading(page, { title: text.sellTitle })}
<form class="entry-form" method="post" action="${page.basePath}/till/sell"${data}>${keyInput(page.ctx)}
<fieldset><legend class="sr">${text.waysTitle}</legend><div class="ways">${choices}</div></fieldset>
${amountEntry(page, { label: text.amount, hint, typed, error, quick: usual.map((amount) => ({ amount })) })}
${payButton(text.sellTitle)}</form>`;
  const status = error === undefined ? 200 : 422;
  return { status, body: tillPage(page.services, page.request, { title: text.sellTitle, body }) };
}

function wayIcon(path: Markup): Markup {
  return markup`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">${path}</svg>`;
}

const wayIcons: Readonly<Record<Way, Markup>> = {
  card: wayIcon(markup`<path d="M4 8V4h4M16 4h4v4M20 16v4h-4M8 20H4v-4M7 12h10"/>`),
  new: wayIcon(markup`<path d="M7 9V4h10v5M7 17H4V9h16v8h-3M7 14h10v6H7z"/>`),
  email: wayIcon(markup`<rect x="3" y="5" width="18" height="14" rx="2.5"/><path d="m4 7 8 6 8-6"/>`),
};

export type SaleErrors = { readonly code?: string; readonly email?: string };

/** The second step: the printed card, or the address. A code that was typed is not shown again. */
export async function soldCardPage(
  page: Page,
  {
    amount,
    way,
    email = '',
    key,
    errors = {},
  }: {
    readonly amount: Money;
    readonly way: Way;
    readonly email?: string;
    readonly key?: string;
    readonly errors?: SaleErrors;
  },
): Promise<PageResponse> {
  const text = page.text.tillSales;
  const shown = page.amount(amount);
  const title = fillPlain(text.chooseTitle, { amount: shown });
  const isByEmail = way === 'email';
  const address = inputField({
    name: 'email',
    label: text.email,
    type: 'email',
    value: email,
    hint: keepsEmails(page.services) ? page.text.emails.keptNotice : text.emailHint,
    isOptional: !isByEmail,
    hasFocus: isByEmail,
    error: errors.email,
  });
  const isOpen = email !== '' || errors.email !== undefined ? markup` open` : undefined;
  const fields = isByEmail
    ? address
    : markup`${inputField({ name: 'code', label: text.code, kind: 'code', hint: text.codeHint, hasFocus: true, error: errors.code })}
${(await sendsEmails(page)) ? markup`<details class="folded"${isOpen}><summary>${text.emailFold}</summary>${address}</details>` : undefined}`;
  const form = markup`<form class="entry-form"${isByEmail ? undefined : markup` data-code`} method="post" action="${page.basePath}/till/sell" autocomplete="off">
${keyInput(page.ctx, key)}${hidden('amount', amountValue(amount, page.language))}${hidden('how', isByEmail ? 'email' : 'card')}
${fields}
${payButton(isByEmail ? fillPlain(text.sellEmail, { amount: shown }) : text.sellCard)}</form>`;
  const heading = taskHeading(page, { title, path: '/till/sell' });
  const body = isByEmail
    ? markup`${heading}
${form}`
    : markup`${heading}
<div class="columns"><div>${cameraFrame(page)}</div>
<div>${form}</div></div>`;
  const status = Object.keys(errors).length === 0 ? 200 : 422;
  const made = { title, body, isWide: !isByEmail, ...(!isByEmail && { scripts: cameraScripts }) };
  return { status, body: tillPage(page.services, page.request, made) };
}
