/** The forms and links on the page of an order. */

import { isSuspended } from '../../../../core/cards/domain/card.ts';
import { dayOf } from '../../../../core/domain/day.ts';
import { emailLengthMax } from '../../../../core/domain/email-address.ts';
import type { OnlineSale } from '../../domain/sale.ts';
import { markup, type Markup } from '../../../../platform/markup.ts';
import { refundableOf } from '../../service/going-back.ts';
import { isChangeable, isUndelivered } from '../../service/order.ts';
import { withdrawalEndOf } from '../../service/refund.ts';
import { amountText, dayText } from '../../../../pages/kit/format.ts';
import { inputField } from '../../../../pages/kit/form.ts';
import { fillPlain } from '../../../../pages/kit/texts.ts';
import { sendingDays } from './form.ts';
import type { OpenedOrder, ShownOrder } from './order-state.ts';
import type { BuyPlace } from './place.ts';

/** The typed values of the form that changes where and when a card is sent. */
export type ShownChange = {
  readonly email: string;
  readonly day: string;
  readonly errors: { readonly email?: string; readonly day?: string };
};

/** Whether the form can be filled in with a sale that was not paid. */
export function isOfferedAgain({ state }: OnlineSale): boolean {
  return state === 'new' || state === 'expired' || state === 'failed';
}

/** The path of an action of an order, in the language of the page. */
function actionPath({ path, place: { language } }: OpenedOrder, action: string): string {
  return `${path}/${action}?lang=${language.tag}`;
}

/** Whether the card was sent, and its recipient has not opened it, so that the email can be sent again. */
function isSendable({ sale, ordered }: ShownOrder): boolean {
  if (!ordered?.email || sale.delivery !== 'email' || ordered.openedAt !== null) return false;
  const { card, email } = ordered;
  const isSent = email.state === 'sent' || email.state === 'kept';
  return isSent && card.disabledAt === null && !isSuspended(card);
}

/** Whether a buyer can withdraw: from a paid order whose money has not gone back, within the legal time. */
export function isWithdrawable({ store }: BuyPlace, { sale, now }: ShownOrder): boolean {
  const isPaid = sale.state === 'issued' || sale.state === 'review';
  const isOver = dayOf(now, store.timeZone) > withdrawalEndOf(sale, store);
  return isPaid && !isOver && sale.refunded.minor === 0n && (sale.dispute === null || sale.dispute === 'won');
}

/** The form that changes where and when a card is sent. */
export function changeForm(opened: OpenedOrder, change: ShownChange | undefined): Markup | undefined {
  const { place, order } = opened;
  if (!order.ordered || !isChangeable(order, order.now)) return undefined;
  const { texts } = place;
  const { email } = order.ordered;
  const { from, to } = sendingDays(place, order.now);
  const isLate = isUndelivered(order.ordered);
  const planned = email === null || isLate ? from : dayOf(email.sendAt, place.store.timeZone);
  const typed = change ?? { email: email?.address ?? '', day: planned, errors: {} };
  const address = inputField({
    name: 'email',
    label: texts.address,
    type: 'email',
    value: typed.email.slice(0, emailLengthMax),
    error: typed.errors.email,
  });
  const hint = `${dayText(from, place.language.locale)} – ${dayText(to, place.language.locale)}`;
  const day = inputField({
    name: 'day',
    label: texts.day,
    type: 'date',
    value: typed.day.slice(0, 10),
    hint,
    error: typed.errors.day,
  });
  const open = change || isLate ? markup` open` : undefined;
  const save = isLate ? undefined : markup`<button class="button first">${texts.save}</button>`;
  return markup`<details class="panel"${open}><summary>${texts.change}</summary><form class="stack" method="post" action="${actionPath(opened, 'change')}" novalidate><div class="fields">${address}${isLate ? undefined : day}</div><div class="actions">${save}<button class="button${isLate ? ' first' : ''}" name="now" value="yes">${texts.sendNow}</button></div></form></details>
`;
}

/** The buttons of an order that need no fields. */
export function orderButtons(opened: OpenedOrder): Markup {
  const { place, order } = opened;
  const { texts } = place;
  const again = isSendable(order)
    ? markup`<form method="post" action="${actionPath(opened, 'send')}"><button class="button">${texts.sendAgain}</button></form>`
    : undefined;
  const withdraw = isWithdrawable(place, order)
    ? markup`<a class="button" href="${actionPath(opened, 'withdraw')}">${texts.withdraw}</a>`
    : undefined;
  return markup`${again}${withdraw}`;
}

/**
 * The second step of a withdrawal: the statement with the order, the address of its confirmation, which the page does not
 * show because the link is not only the buyer's, and the button that makes it (Directive 2011/83/EU, Article 11a).
 */
export function withdrawalForm(
  opened: OpenedOrder,
  {
    number,
    typed = '',
    error,
  }: { readonly number: string; readonly typed?: string; readonly error?: string },
): Markup {
  const { place, order, path } = opened;
  const { texts, store, language } = place;
  const { locale } = language;
  const { sale, ordered } = order;
  const amount = refundableOf(sale, ordered && ordered.card);
  const held = ordered !== null && ordered.card.held.minor > 0n;
  const day = dayText(withdrawalEndOf(sale, store), locale, 'long');
  const names =
    sale.buyerName === null ? undefined : markup`<dt>${texts.from}</dt><dd><bdi>${sale.buyerName}</bdi></dd>`;
  const method = sale.method === null ? undefined : markup`<dt>${texts.method}</dt><dd>${sale.method}</dd>`;
  const nothing = amount.minor === 0n ? markup`<p class="notice">${texts.withdrawNothing}</p>` : undefined;
  const reserved = held ? markup`<p class="notice">${texts.withdrawHeld}</p>` : undefined;
  const address = inputField({
    name: 'email',
    label: texts.yourAddress,
    type: 'email',
    autocomplete: 'email',
    value: typed.slice(0, emailLengthMax),
    hint: texts.withdrawReceipt,
    error,
  });
  return markup`<h1>${texts.withdrawTitle}</h1>
<p>${fillPlain(texts.withdrawText, { day })}</p>
${nothing}${reserved}<section class="panel stack" aria-labelledby="order"><h2 id="order">${fillPlain(texts.number, { number })}</h2><dl class="facts">${names}<dt>${texts.withdrawAmount}</dt><dd><strong><bdi>${amountText(amount, locale)}</bdi></strong></dd>${method}</dl>
<form class="stack" method="post" action="${actionPath(opened, 'withdraw')}" novalidate><div class="fields">${address}</div><div class="actions"><button class="button first">${texts.withdrawConfirm}</button><a class="button" href="${path}?lang=${language.tag}">${texts.back}</a></div></form></section>
`;
}
