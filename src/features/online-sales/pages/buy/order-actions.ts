/** The routes of the page of an order: the page, and what its buyer does there. */

import { withdrawalLimitTool, checkoutTool } from '../tools.ts';
import { parseDay } from '../../../../core/domain/day.ts';
import { parseEmail } from '../../../../core/domain/email-address.ts';
import { Fault } from '../../../../core/domain/fault.ts';
import { keyOfSale } from '../../domain/sale.ts';
import { dayText } from '../../../../pages/kit/format.ts';
import { fillPlain } from '../../../../pages/kit/texts.ts';
import { markup } from '../../../../platform/markup.ts';
import { changeDelivery, recordOwnView, sendOrderAgain } from '../../service/order.ts';
import { saleActor } from '../../service/issuing.ts';
import { requestRefund, withdrawalEndOf } from '../../service/refund.ts';
import { formText, type ConsoleRequest } from '../../../../pages/kit/request.ts';
import type { ConsoleServices } from '../../../../pages/kit/services.ts';
import type { ConsoleResponse, OpenRoute, PageResponse } from '../../../../pages/kit/route.ts';
import { sendingDays } from './form.ts';
import { isWithdrawable, withdrawalForm, type ShownChange } from './order-forms.ts';
import { orderOf, orderAfter, orderPage, type DoneAction } from './order.ts';
import type { OpenedOrder } from './order-state.ts';
import { buyerPage, hero } from './place.ts';
import { visitorErrorPage } from '../../../recipient/pages/place.ts';

type Act = (
  services: ConsoleServices,
  request: ConsoleRequest,
  opened: OpenedOrder,
) => ConsoleResponse | Promise<ConsoleResponse>;

/** Opens the order of a request before something is done with it. */
function withOrder(act: Act): OpenRoute['handle'] {
  return async (services, request) => {
    const opened = await orderOf(services, request);
    return 'response' in opened ? opened.response : await act(services, request, opened);
  };
}

/** After a change, the browser requests the page, so that a reload does not repeat it. */
function after(request: ConsoleRequest, { place }: OpenedOrder, notice: DoneAction): ConsoleResponse {
  return { status: 303, path: orderAfter({ request, place }, notice) };
}

/** The words for a change that came too late or too often. */
async function attempted(
  request: ConsoleRequest,
  opened: OpenedOrder,
  {
    done,
    tooOften = 'tooSoon',
    change,
  }: {
    readonly done: DoneAction;
    readonly tooOften?: DoneAction;
    readonly change: () => Promise<unknown>;
  },
): Promise<ConsoleResponse> {
  try {
    await change();
    return after(request, opened, done);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return after(request, opened, error.code === 'too-many-requests' ? tooOften : 'tooLate');
  }
}

async function canSendFrom(services: ConsoleServices, { place }: OpenedOrder): Promise<boolean> {
  return ((await services.emailPartsOf(place.store.id)) ?? services).canSend;
}

const showCard: Act = async (services, _request, opened) => {
  const { ctx, storage } = services;
  const showsCode = opened.code !== null;
  if (showsCode) await storage.write(() => recordOwnView(ctx, opened.order));
  return orderPage(services, opened, { showsCode });
};

const send: Act = async (services, request, opened) => {
  const { ctx, storage } = services;
  const { place, order } = opened;
  const canSend = await canSendFrom(services, opened);
  return await attempted(request, opened, {
    done: 'sentAgain',
    change: () => storage.write(() => sendOrderAgain(ctx, place.store, { facts: order, canSend })),
  });
};

const change: Act = async (services, request, opened) => {
  const { ctx, storage } = services;
  const { place, order } = opened;
  const isNow = request.form.has('now');
  const typed = { email: formText(request, 'email'), day: formText(request, 'day') };
  const address = parseEmail(typed.email);
  const errors = {
    ...(!address.ok && { email: place.texts.addressError }),
    ...dayErrors(opened, typed, isNow),
  };
  if (!address.ok || 'day' in errors) {
    const shown: ShownChange = { ...typed, errors };
    return orderPage(services, opened, { status: 422, change: shown });
  }
  const canSend = await canSendFrom(services, opened);
  const delivery = { address: address.value, sendOn: isNow ? null : typed.day };
  return await attempted(request, opened, {
    done: 'changed',
    change: () =>
      storage.write(() => changeDelivery(ctx, place.store, { facts: order, change: delivery, canSend })),
  });
};

function dayErrors(
  { place, order }: OpenedOrder,
  { day }: { readonly day: string },
  isNow: boolean,
): { readonly day?: string } {
  if (isNow) return {};
  const { from, to } = sendingDays(place, order.now);
  const parsed = parseDay(day);
  if (parsed.ok && parsed.value >= from && parsed.value <= to) return {};
  const { locale } = place.language;
  const days = { from: dayText(from, locale, 'long'), to: dayText(to, locale, 'long') };
  return { day: fillPlain(place.texts.dayError, days) };
}

const showWithdrawal: Act = (services, _request, opened) => withdrawalPage(services, opened);

/** @param wrong the typed address, which is not that of the order. */
function withdrawalPage(services: ConsoleServices, opened: OpenedOrder, wrong?: string): PageResponse {
  const { place, order, path } = opened;
  const { texts, store, language } = place;
  const number = String(services.ctx.keys.publicIds.of(order.sale.id));
  const day = dayText(withdrawalEndOf(order.sale, store), language.locale, 'long');
  const late = {
    icon: 'ended',
    title: texts.withdrawTitle,
    text: fillPlain(texts.withdrawLate, { day }),
  } as const;
  const failed = wrong === undefined ? {} : { typed: wrong, error: texts.withdrawWrong };
  const content = isWithdrawable(place, order)
    ? withdrawalForm(opened, { number, ...failed })
    : markup`${hero(late)}<div class="actions"><a class="button first" href="${path}?lang=${language.tag}">${texts.back}</a></div>`;
  const body = buyerPage(services, place, { title: texts.withdrawTitle, content, kind: 'order stack' });
  return { status: wrong === undefined ? 200 : 422, body };
}

/** Whether a typed address is that of an order. Its texts are compared as those of customers are. */
function isAddressOf({ sale }: OpenedOrder['order'], typed: string): boolean {
  const [address, own] = [parseEmail(typed), parseEmail(sale.buyerAddress)];
  return address.ok && own.ok && address.value.key === own.value.key;
}

/** The card stops with the statement; the provider pays afterwards, whether or not it responds now. */
const withdraw: Act = async (services, request, opened) => {
  const { ctx, storage, tools } = services;
  const { place, order } = opened;
  if (!isWithdrawable(place, order)) return withdrawalPage(services, opened);
  const key = keyOfSale(order.sale);
  const typed = formText(request, 'email');
  // The link is not only the buyer's: the provider has it, and a receipt can be forwarded.
  tools.of(withdrawalLimitTool)(key, ctx.clock.monotonic());
  if (!isAddressOf(order, typed)) return withdrawalPage(services, opened, typed);
  return await attempted(request, opened, {
    done: 'withdrawn',
    tooOften: 'withdrawLimit',
    async change() {
      await storage.write(() => requestRefund(ctx, { ...key, reason: null, by: 'buyer', actor: saleActor }));
      await tools.of(checkoutTool)?.sendRefunds(key);
    },
  });
};

const path = '/buy/:domain/order/:token';

const common = { access: 'anyone', visitorErrorPage } as const;

/** A form of the page leads to no other site, but the link to the payment is one of the provider. */
export const orderRoutes: readonly OpenRoute[] = [
  {
    ...common,
    method: 'GET',
    path,
    handle: withOrder((services, request, opened) =>
      orderPage(services, opened, { notice: request.query.get('done') }),
    ),
  },
  {
    ...common,
    method: 'POST',
    path: `${path}/card`,
    handle: withOrder(showCard),
  },
  { ...common, method: 'POST', path: `${path}/send`, handle: withOrder(send) },
  { ...common, method: 'POST', path: `${path}/change`, handle: withOrder(change) },
  { ...common, method: 'GET', path: `${path}/withdraw`, handle: withOrder(showWithdrawal) },
  { ...common, method: 'POST', path: `${path}/withdraw`, handle: withOrder(withdraw) },
];
