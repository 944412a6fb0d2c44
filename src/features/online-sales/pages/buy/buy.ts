/**
 * The page on which visitors buy a gift card. Each rendered form has a random key, so that it becomes one sale and one
 * session at the payment provider, however often it is submitted.
 */

import { checkoutTool } from '../tools.ts';
import { Fault } from '../../../../core/domain/fault.ts';
import type { Money } from '../../../../core/money/domain/money.ts';
import { orderPath } from '../../domain/links.ts';
import { isSaleKey, keyOfSale, type OnlineSale, type SaleForm } from '../../domain/sale.ts';
import { dayOf } from '../../../../core/domain/day.ts';
import { phoneLink } from '../../../../core/stores/domain/identity.ts';
import { Secret } from '../../../../platform/secret.ts';
import { markup, type Markup } from '../../../../platform/markup.ts';
import { beginSale, openSale, saleToken } from '../../service/begin.ts';
import { dayText, figure } from '../../../../pages/kit/format.ts';
import { giftDrawing } from '../../../../pages/kit/gift.ts';
import { hidden } from '../../../../pages/kit/form.ts';
import { keyInput } from '../../../../pages/kit/once.ts';
import type { ConsoleRequest } from '../../../../pages/kit/request.ts';
import type { ConsoleServices } from '../../../../pages/kit/services.ts';
import {
  throttled,
  type ConsoleResponse,
  type OpenRoute,
  type PageResponse,
} from '../../../../pages/kit/route.ts';
import { fill, fillPlain } from '../../../../pages/kit/texts.ts';
import { inLanguage, visitorErrorPage } from '../../../recipient/pages/place.ts';
import { buyFields, errorList, type ShownBuyForm } from './fields.ts';
import {
  formOfSale,
  isSaleOf,
  newForm,
  readForm,
  typedAmount,
  typedForm,
  type BuyErrors,
  type TypedForm,
} from './form.ts';
import { providerName } from '../../domain/provider-names.ts';
import { buyerPage, buyPlaceOf, checkOwnLink, messagePage, type BuyPlace } from './place.ts';

/** A form that is shown, and a problem of the whole order. */
type Problem = {
  readonly errors?: BuyErrors;
  /** Above the button. */
  readonly notice?: Markup | string;
  readonly status?: PageResponse['status'];
  /** The key of the form; absent: a new one. */
  readonly key?: string | undefined;
};

/** The amounts of the choices, of which the style sheet shows the chosen one. The script fills in the typed one. */
function sums(place: BuyPlace, typed: TypedForm): Markup {
  const { locale } = place.language;
  const own = typedAmount(place, { amount: 'own', own: typed.own });
  const shown = (money: Money): Markup => figure(money, locale);
  const presets = place.buy.page.presets.map(shown);
  const chosen = own.ok ? shown(own.value) : markup`<span class="figure">–</span>`;
  return markup`<span class="sums">${presets}<span data-show="own">${chosen}</span></span>`;
}

function preview(place: BuyPlace, { typed }: ShownBuyForm): Markup {
  const { shop, texts } = place;
  const card = giftDrawing({ shop, name: typed.to, figure: sums(place, typed), drawing: null });
  const isEmpty = typed.message === '' && typed.from === '';
  const empty = isEmpty ? markup` hidden` : undefined;
  return markup`<div class="preview"><div aria-hidden="true">${card}</div>
<blockquote class="note for-other"${empty} aria-label="${texts.message}" dir="auto"><span data-show="message">${typed.message}</span><footer data-show="from">${typed.from}</footer></blockquote></div>
`;
}

/** The last valid day of a card that is made today; null: it does not expire. */
function validUntil({ buy: { page }, store }: BuyPlace, now: number): string | null {
  if (page.validityMonths === null) return null;
  return Temporal.PlainDate.from(dayOf(now, store.timeZone)).add({ months: page.validityMonths }).toString();
}

function summary(place: BuyPlace, shown: ShownBuyForm, { notice }: Problem): Markup {
  const { texts, language, buy, identity } = place;
  const { locale, shared } = language;
  const until = validUntil(place, shown.now);
  const terms = markup`<a href="${identity.terms ?? ''}" rel="noreferrer" target="_blank">${shared.terms}</a>`;
  const provider = markup`<strong>${buy.provider ? providerName(buy.provider.kind) : ''}</strong>`;
  const problem =
    notice === undefined ? undefined : markup`<div class="notice" role="alert"><span>${notice}</span></div>`;
  const label = notice === undefined ? texts.pay : `${texts.retry}: ${texts.pay}`;
  return markup`<section class="panel summary stack" aria-labelledby="sum"><h2 id="sum">${texts.summary}</h2>
<dl class="total"><dt>${texts.for}</dt><dd><span class="when-other" data-show="for">${shown.typed.to === '' ? texts.someone : shown.typed.to}</span><span class="when-me">${texts.you}</span></dd><dt>${texts.arrives}</dt><dd><span class="when-now">${texts.arrivesNow}</span><span class="when-day">${texts.arrivesOnDay}</span><span class="when-self">${texts.arrivesSelf}</span></dd><dt>${shared.expiryLabel}</dt><dd>${until === null ? texts.noExpiry : dayText(until, locale, 'long')}</dd><dt class="last">${texts.total}</dt><dd class="last">${sums(place, shown.typed)}</dd></dl>
${problem}<button class="button first wide-button"><svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><rect x="5" y="10.5" width="14" height="10" rx="2"/><path d="M8 10.5v-3a4 4 0 0 1 8 0v3"/></svg>${label}</button>
<p class="small soft">${fill(texts.provider, { provider })}</p>
<p class="small soft">${fill(texts.accept, { terms })} ${texts.withdrawHint}</p></section>
`;
}

function formPage(
  services: ConsoleServices,
  place: BuyPlace,
  typed: TypedForm,
  problem: Problem = {},
): PageResponse {
  const { texts, shop, page, buy, isFramed, language, store } = place;
  const { errors = {}, status = 200, key } = problem;
  const shown = { typed, errors, now: services.ctx.clock.now() };
  const { code, decimals } = store.currency;
  const top = isFramed ? markup` target="_top"` : undefined;
  const intro = fill(texts.lead, { store: markup`<bdi>${shop}</bdi>` });
  const lead = isFramed
    ? markup`<h1 class="sr">${texts.title}</h1>`
    : markup`<h1>${texts.title}</h1><p class="soft">${intro}</p>`;
  // Errors and the payment leave the frame.
  const action = inLanguage(page, language.tag);
  const content = markup`${lead}${errorList(place, shown)}<form class="buy-grid" id="buy" method="post" action="${action}" novalidate${top} data-locale="${language.locale}" data-currency="${code}" data-decimals="${decimals}" data-someone="${texts.someone}">${keyInput(services.ctx, key)}${workInput(place)}
${buyFields(services, place, shown)}<aside class="buy-side" aria-label="${texts.summary}">
${preview(place, shown)}${summary(place, shown, problem)}</aside></form>`;
  const title = Object.keys(errors).length > 0 ? texts.errors : texts.title;
  return {
    status,
    framedBy: buy.page.frameDomains,
    body: buyerPage(services, place, { title, content, kind: 'buy' }),
  };
}

/** The script of the page fills it in, before the form is submitted. */
function workInput({ buy }: BuyPlace): Markup | undefined {
  return buy.asksWork ? hidden('work', '') : undefined;
}

/** The page of a store that sells no cards now. Staff who may change that can try it. */
function closedPage(services: ConsoleServices, place: BuyPlace, status: 200 | 409): PageResponse {
  const { texts, buy } = place;
  const body = messagePage(services, place, {
    icon: 'paused',
    title: texts.closedTitle,
    text: texts.closedText,
    actions: checkOwnLink(services, place),
  });
  return { status, body, framedBy: buy.page.frameDomains };
}

function canBuy({ buy, isTrial }: BuyPlace): boolean {
  return buy.provider !== null && (buy.isOpen || isTrial);
}

/** The form of a sale whose payment was cancelled, or a new one. */
async function firstForm(
  { ctx, storage }: ConsoleServices,
  place: BuyPlace,
  { query }: ConsoleRequest,
): Promise<TypedForm> {
  const now = ctx.clock.now();
  const token = query.get('order');
  if (token === undefined) return newForm(place, now);
  const opened = await storage.read(() => openSale(ctx, place.store.domain, token));
  return opened && opened.sale.paidAt === null ? formOfSale(place, opened.sale, now) : newForm(place, now);
}

async function showForm(services: ConsoleServices, request: ConsoleRequest): Promise<ConsoleResponse> {
  const place = await buyPlaceOf(services, request);
  if (!canBuy(place)) return closedPage(services, place, 200);
  return formPage(services, place, await firstForm(services, place, request));
}

async function submit(services: ConsoleServices, request: ConsoleRequest): Promise<ConsoleResponse> {
  const place = await buyPlaceOf(services, request);
  if (!canBuy(place)) return closedPage(services, place, 409);
  const typed = typedForm(request);
  const key = request.form.get('key') ?? '';
  const old = { status: 422, notice: place.texts.formError } as const;
  if (!isSaleKey(key)) return formPage(services, place, typed, old);
  const read = readForm(place, typed, services.ctx.clock.now());
  if ('errors' in read) return formPage(services, place, typed, { status: 422, errors: read.errors, key });
  const begun = await begin(services, request, place, { form: read.form, key });
  if ('fault' in begun) {
    const page = formPage(services, place, typed, { notice: place.texts.limitError, key });
    return throttled(page, (begun.fault.retryAfterSeconds ?? 60) * 1_000);
  }
  // The browser has gone back to a form that was submitted, and its fields were changed.
  if (!isSaleOf(read.form, begun.sale)) return formPage(services, place, typed, old);
  return await pay(services, place, begun.sale, { typed, key });
}

type Begun = { readonly sale: OnlineSale } | { readonly fault: Fault };

async function begin(
  { ctx, storage }: ConsoleServices,
  { network, form: typed }: ConsoleRequest,
  { buy, language, isTrial }: BuyPlace,
  { form, key }: { readonly form: SaleForm; readonly key: string },
): Promise<Begun> {
  const isOnlyTrial = isTrial && !buy.isOpen;
  const work = typed.get('work') ?? '';
  const request = { buy, form, key, network, language: language.tag, isTrial: isOnlyTrial, work };
  try {
    return { sale: (await storage.write(() => beginSale(ctx, request))).sale };
  } catch (error) {
    if (error instanceof Fault && error.code === 'too-many-requests') return { fault: error };
    throw error;
  }
}

/** Leads to the provider, or to the page of a sale that is decided. Without a session, nothing can have been paid. */
async function pay(
  services: ConsoleServices,
  place: BuyPlace,
  begun: OnlineSale,
  { typed, key }: { readonly typed: TypedForm; readonly key: string },
): Promise<ConsoleResponse> {
  const { ctx } = services;
  const onlineSales = services.tools.of(checkoutTool);
  const sale = begun.state === 'new' && onlineSales ? await onlineSales.openSession(keyOfSale(begun)) : begun;
  if (sale.state === 'open' && sale.sessionUrl !== null)
    return { status: 303, url: new Secret(sale.sessionUrl) };
  if (sale.state === 'new')
    return formPage(services, place, typed, { status: 503, notice: silentNotice(place), key });
  return { status: 303, path: orderPath(place.store.domain, saleToken(ctx, sale)) };
}

function silentNotice({ texts, buy, identity: { phone } }: BuyPlace): Markup {
  const provider = buy.provider ? providerName(buy.provider.kind) : '';
  const call = phone === null ? undefined : markup` <a href="${phoneLink(phone)}" dir="ltr">${phone}</a>`;
  return markup`${fillPlain(texts.silent, { provider })}${call}`;
}

const common = {
  access: 'anyone',
  isCompressed: true,
  leadsToPayment: true,
  isFramed: true,
  visitorErrorPage,
} as const;

/** The routes of a page. `/buy` is the page of the first store. */
export const buyRoutes: readonly OpenRoute[] = ['/buy', '/buy/:domain'].flatMap(
  (path): readonly OpenRoute[] => [
    { ...common, method: 'GET', path, handle: showForm },
    { ...common, method: 'POST', path, handle: submit },
  ],
);
