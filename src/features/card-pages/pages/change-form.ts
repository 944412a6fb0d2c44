/** The common parts of changes of a card: the card in the path, forms that are submitted once, and what stops a change. */

import { reasonOf, pathOfCard, endingOf, changeTexts } from '../../../pages/kit/card-texts.ts';
import type { Card } from '../../../core/cards/domain/card.ts';
import { spendStateOf } from '../../../core/cards/domain/state.ts';
import type { Currency } from '../../../core/money/domain/currency.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { parseAmount, type Money } from '../../../core/money/domain/money.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { loadCard } from '../../../core/cards/service/present-card.ts';
import { today } from '../../../core/stores/service/day.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { withoutAccess } from '../../../pages/kit/without-access.ts';
import { amountText, amountValue } from '../../../pages/kit/format.ts';
import { findResult, type Json } from '../../../pages/kit/once.ts';
import { shellPage } from '../../../pages/kit/page.ts';
import {
  seeOther,
  throttled,
  type ConsoleResponse,
  type PageResponse,
  type StaffRoute,
} from '../../../pages/kit/route.ts';
import { fillPlain, type PageLanguage } from '../../../pages/kit/texts.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';

/** The card of a page, and the path of its page. */
export type OpenedCard = { readonly card: Card; readonly path: string };

/** The card in the path at present. @throws Fault `not-found` or `too-many-misses`. */
export async function openCard(page: Page): Promise<OpenedCard> {
  const storeId = page.store.id;
  const { card } = await page.readById((cardId) => loadCard(page.ctx, { storeId, cardId }));
  return { card, path: pathOfCard(page.services, card) };
}

/** The way back to the card. */
export function backLink(
  page: Page,
  { path, text, kind = '' }: { readonly path: string; readonly text?: string; readonly kind?: string },
): Markup {
  const shown = text ?? page.text.cardActions.back;
  return markup`<a class="button ${kind}" href="${page.basePath}${path}">${shown}</a>`;
}

/** A page about a change of a card. */
export function changePage(
  page: Page,
  { card, path }: OpenedCard,
  {
    title,
    body,
    status = 200,
  }: { readonly title: string; readonly body: Markup; readonly status?: PageStatus },
): PageResponse {
  const ending = markup`<span class="code">${endingOf(card)}</span>`;
  const heading = markup`<span class="soft"><a href="${page.basePath}${path}">${ending}</a> /</span> ${title}`;
  const shown = { title: `${title} · ${endingOf(card)}`, heading, path: '/cards', body };
  return { status, body: shellPage(page.services, page.request, shown) };
}

type PageStatus = 200 | 404 | 409 | 422;

/** A page that says why a card cannot be changed. */
export function unavailablePage(
  page: Page,
  opened: OpenedCard,
  {
    title,
    reason,
    status = 200,
    action,
  }: {
    readonly title: string;
    readonly reason: MarkupPart;
    readonly status?: PageStatus;
    readonly action?: Markup | undefined;
  },
): PageResponse {
  const body = markup`<section class="panel stack change" aria-label="${title}"><p role="status">${reason}</p>
<div class="row">${action}${backLink(page, { path: opened.path, kind: action ? '' : 'first' })}</div></section>`;
  return changePage(page, opened, { title, body, status });
}

/** The reason why a card cannot be spent now; undefined: it can. */
export function unusableReason(page: Page, card: Card): string | undefined {
  const state = spendStateOf(card, today(page.ctx, page.store));
  if (state === 'active') return undefined;
  return reasonOf({ code: `card-${state}`, retryAfterSeconds: 0 }, card, page.language);
}

/** An amount that a fault reports, in the language of the page. */
function reported(fault: Fault, name: string, { currency, language }: AmountPlace): string | undefined {
  const amount = parseAmount(fault.extensions?.[name], { currency, zeroAllowed: true });
  return amount.ok ? amountText(amount.value, language) : undefined;
}

type AmountPlace = { readonly currency: Currency; readonly language: PageLanguage };

/** The message at an amount that a fault rejects; undefined: the fault is not about the amount. */
export function amountError(fault: Fault, place: AmountPlace): string | undefined {
  const { errors } = changeTexts[place.language];
  const messages = [
    ['available', errors.available],
    ['reversible', errors.refundable],
    ['sale_limit', errors.saleLimit],
    ['refund_limit', errors.refundLimit],
  ] as const;
  for (const [name, text] of messages) {
    const amount = reported(fault, name, place);
    if (amount !== undefined)
      return fillPlain(text, { amount, left: reported(fault, 'refund_left', place) ?? '' });
  }
  return undefined;
}

/** The message at an amount that cannot be read. */
export function unreadableAmount(
  typed: string,
  { currency }: Pick<Store, 'currency'>,
  { language, zeroAllowed = false }: { readonly language: PageLanguage; readonly zeroAllowed?: boolean },
): string {
  const { errors } = changeTexts[language];
  const sample = amountValue({ minor: 1_250n, currency }, language);
  if (typed === '') return errors.noAmount;
  return fillPlain(zeroAllowed ? errors.badBalance : errors.badAmount, { sample });
}

/** The result of a form, for the page after it. Amounts have the form of `formatMoney`. */
export type Done = {
  readonly done:
    | 'redeemed'
    | 'refunded'
    | 'released'
    | 'added'
    | 'adjusted'
    | 'edited'
    | 'sent'
    | 'rotated'
    | 'disabled'
    | 'enabled'
    | 'suspended'
    | 'resumed';
  readonly card: number;
  readonly amount?: string;
  readonly left?: string;
  /** The entry of the ledger, by its internal id. */
  readonly entry?: number;
  readonly address?: string;
};

/** Changes whose result has a page of its own; the others are seen on the page of the card. */
const shownOnTheirOwn: ReadonlySet<Done['done']> = new Set(['redeemed', 'refunded', 'added', 'sent']);

/** The page after a change. @param isRepeated whether the form was submitted before. */
function afterChange(
  { path }: OpenedCard,
  { key, result, isRepeated }: { readonly key: string; readonly result: Done; readonly isRepeated: boolean },
): ConsoleResponse {
  if (result.done === 'rotated') return seeOther(`/cards/issued/${key}`);
  if (isRepeated) return seeOther(`${path}/done/${key}?again=1`);
  return seeOther(shownOnTheirOwn.has(result.done) ? `${path}/done/${key}` : path);
}

/** Whether a result is that of a change of a card. Other forms have results of other kinds. */
export function isDone(result: Json): result is Done {
  if (typeof result !== 'object' || result === null || !('done' in result) || !('card' in result))
    return false;
  return typeof result['done'] === 'string' && Object.hasOwn(changeTexts.en.done.what, result['done']);
}

/** Returns the page after an earlier submission of the form; undefined: there was none. Its fields can have been others. */
async function earlierResult(page: Page, opened: OpenedCard): Promise<ConsoleResponse | undefined> {
  const key = page.key;
  const result = key === undefined ? undefined : await findResult(page.services, page.request, key, isDone);
  return key !== undefined && result && result.card === opened.card.id
    ? afterChange(opened, { key, result, isRepeated: true })
    : undefined;
}

/** The form of a change, and its submission, which repeats the result of an earlier one. */
export function changeRoutes<Opened extends OpenedCard>(
  path: string,
  {
    open,
    show,
    submit,
  }: {
    readonly open: (page: Page) => Promise<Opened>;
    readonly show: (page: Page, opened: Opened) => ConsoleResponse;
    readonly submit: (page: Page, opened: Opened) => ConsoleResponse | Promise<ConsoleResponse>;
  },
): readonly StaffRoute[] {
  return [
    get(path, 'changeCards', async (page) => show(page, await open(page))),
    post(path, 'changeCards', async (page) => {
      const opened = await open(page);
      return (await earlierResult(page, opened)) ?? (await submit(page, opened));
    }),
  ];
}

/**
 * Runs a change once, and leads to its result.
 * @param rejected the form with the message of a fault; undefined: the fault is not about a field.
 */
export async function change(
  page: Page,
  opened: OpenedCard,
  {
    title,
    script,
    rejected,
  }: {
    readonly title: string;
    readonly script: () => Script<Done>;
    readonly rejected: (
      fault: Fault | null,
    ) => ConsoleResponse | undefined | Promise<ConsoleResponse | undefined>;
  },
): Promise<ConsoleResponse> {
  const key = page.key;
  if (key === undefined) return (await rejected(null)) ?? seeOther(opened.path);
  try {
    const { result, isRepeated } = await page.once(key, script);
    return afterChange(opened, { key, result, isRepeated });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const response = withoutAccess(page, error) ?? (await rejected(error));
    if (response) return response;
    const { card } = await openCard(page);
    const reason = reasonOf(error, card, page.language);
    if (reason === undefined) throw error;
    const shown = unavailablePage(page, { ...opened, card }, { title, reason, status: 422 });
    return error.code === 'too-many-requests'
      ? throttled(shown, (error.retryAfterSeconds ?? 1) * 1_000)
      : shown;
  }
}

/** The message at a text that cannot be read. */
export function badText(page: Page): string {
  return page.text.cardActions.errors.badText;
}

/** A text of several lines. Browsers end the lines of a form with CR and LF. */
export function multilineOf(page: Page, name: string): string {
  return page.typed(name).replaceAll('\r\n', '\n');
}

/** An amount of a result. */
export function amountOrNone(text: string | undefined, currency: Currency): Money | undefined {
  const amount = parseAmount(text, { currency, zeroAllowed: true });
  return amount.ok ? amount.value : undefined;
}
