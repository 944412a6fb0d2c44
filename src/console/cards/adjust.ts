/** Adjusts the balance of a card: a new balance and a reason, then a page that shows the difference, then the change. */

import { isDisabled, isSuspended, type Card } from '../../domain/cards/card.ts';
import { versionTagOf } from '../../service/cards/version.ts';
import type { Fault } from '../../domain/fault.ts';
import { formatMoney, subtract, type Money } from '../../domain/money/money.ts';
import { isAbove } from '../../domain/stores/store.ts';
import { parseText } from '../../domain/text.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import { adjustBalance } from '../../service/staff-actions/card.ts';
import type { Script } from '../../storage/sql/sql.ts';
import {
  amountError,
  backLink,
  change,
  changePage,
  earlierResult,
  multilineOf,
  openCard,
  reasonOf,
  changeTexts,
  unavailablePage,
  unreadableAmount,
  type Done,
  type OpenedCard,
} from './change-form.ts';
import { inputField, hidden } from '../kit/form.ts';
import { amountText, amountValue, figure, parseTypedAmount, signedText } from '../kit/format.ts';
import { keyInput, keyOf } from '../kit/once.ts';
import { byOf } from '../kit/page-context.ts';
import { formText } from '../kit/request.ts';
import type { ConsoleResponse, ConsoleServices, StaffRequest, StaffRoute } from '../kit/route.ts';
import { fill, fillPlain } from '../kit/texts.ts';

type Form = {
  readonly balance: string;
  readonly reason: string;
  readonly errors: Readonly<Partial<Record<'balance' | 'reason', string>>>;
};

/** The reason why the balance cannot be adjusted; undefined: it can. */
function obstacle({ language }: StaffRequest, card: Card): string | undefined {
  if (isDisabled(card)) return reasonOf({ code: 'card-disabled', retryAfterSeconds: 0 }, card, language);
  return isSuspended(card)
    ? reasonOf({ code: 'card-suspended', retryAfterSeconds: 0 }, card, language)
    : undefined;
}

function adjustPage(
  services: ConsoleServices,
  request: StaffRequest,
  opened: OpenedCard,
  { balance, reason, errors }: Form,
): ConsoleResponse {
  const { ctx, frame } = services;
  const { language } = request;
  const { adjust, cancel } = changeTexts[language];
  const { card, path } = opened;
  const title = adjust.title;
  const isRejected = Object.keys(errors).length > 0;
  const status = isRejected ? 422 : 200;
  const why = obstacle(request, card);
  if (why !== undefined) return unavailablePage(services, request, opened, { title, reason: why, status });
  const body = markup`<section class="panel stack change" aria-label="${title}">
<div>${figure(card.balance, language)}<p class="soft">${adjust.present}</p>${heldNote(request, opened)}</div>
<form class="stack" method="post" action="${frame.basePath}${path}/adjust">${keyInput(ctx, isRejected ? keyOf(request) : undefined)}
${inputField({ name: 'balance', label: adjust.balance, value: balance, inputMode: 'decimal', kind: 'amount', error: errors.balance })}
${inputField({ name: 'reason', label: adjust.reason, value: reason, hint: adjust.reasonHint, error: errors.reason })}
<div class="row"><button class="button first">${adjust.next}</button>${backLink(services, request, { path, text: cancel, kind: 'quiet' })}</div>
</form></section>`;
  return changePage(services, request, opened, { title, body, status });
}

function heldNote({ language }: StaffRequest, { card: { held } }: OpenedCard): Markup | undefined {
  if (held.minor === 0n) return undefined;
  return markup`<p class="soft">${fillPlain(changeTexts[language].adjust.held, { amount: amountText(held, language) })}</p>`;
}

/** Shows the difference before the change, which needs the same version of the card. */
function reviewPage(
  services: ConsoleServices,
  request: StaffRequest,
  opened: OpenedCard,
  {
    balance,
    reason,
    notice,
  }: { readonly balance: Money; readonly reason: string; readonly notice?: string | undefined },
): ConsoleResponse {
  const { ctx, frame } = services;
  const { language } = request;
  const { adjust, cancel } = changeTexts[language];
  const { card, path } = opened;
  const difference = subtract(balance, card.balance);
  const warning = notice === undefined ? undefined : markup`<p class="notice" role="alert">${notice}</p>`;
  const body = markup`<section class="panel stack change" aria-label="${adjust.title}">${warning}
<div>${figure(balance, language)}<p class="soft">${fill(adjust.difference, { before: amountText(card.balance, language), change: markup`<strong class="nowrap">${signedText(difference, language)}</strong>` })}</p></div>
<dl class="facts"><dt>${adjust.reason}</dt><dd>${reason}</dd></dl>
<p class="hint">${adjust.consequence}</p>
<form class="stack" method="post" action="${frame.basePath}${path}/adjust">${keyInput(ctx, keyOf(request))}${hidden('balance', amountValue(balance, language))}${hidden('reason', reason)}${hidden('version', versionTagOf(card))}
<div class="row"><button class="button first">${adjust.action}</button>${backLink(services, request, { path, text: cancel, kind: 'quiet' })}</div></form></section>`;
  const status = notice === undefined ? 200 : 409;
  return changePage(services, request, opened, { title: adjust.title, body, status });
}

/** The message at the balance for what the service rejects; undefined: the fault is about something else. */
function balanceError(
  fault: Fault,
  request: StaffRequest,
  { card, balance }: OpenedCard & { readonly balance: Money },
): string | undefined {
  const { language, signedIn } = request;
  const { store } = signedIn;
  const message = amountError(fault, { currency: store.currency, language });
  if (message !== undefined || fault.code !== 'invalid-parameter' || !fault.errors?.['balance'])
    return message;
  const { errors } = changeTexts[language];
  // `update` rejects a balance of a card that is neither disabled nor suspended for one of two reasons.
  if (isAbove(store.issueLimit, balance))
    return fillPlain(errors.storeLimit, { amount: amountText(store.issueLimit, language) });
  return fillPlain(errors.belowHeld, { amount: amountText(card.held, language) });
}

async function submit(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const { language, signedIn } = request;
  const { store } = signedIn;
  const { adjust, errors: messages } = changeTexts[language];
  const opened = await openCard(services, request);
  const earlier = await earlierResult(services, request, opened);
  if (earlier) return earlier;
  const { card } = opened;
  const form = { balance: formText(request, 'balance'), reason: multilineOf(request, 'reason') };
  const balance = parseTypedAmount(form.balance, store, { language, zeroAllowed: true });
  const reason = parseText(form.reason);
  const again = (errors: Form['errors'], current = opened): ConsoleResponse =>
    adjustPage(services, request, current, { ...form, errors });
  if (!balance.ok || !reason.ok || reason.value === null)
    return again({
      ...(!balance.ok && { balance: unreadableAmount(form.balance, store, { language, zeroAllowed: true }) }),
      ...(!reason.ok && { reason: messages.badText }),
      ...(reason.ok && reason.value === null && { reason: adjust.noReason }),
    });
  const [value, why] = [balance.value, reason.value];
  const version = formText(request, 'version');
  if (value.minor === card.balance.minor) return again({ balance: adjust.same });
  // Without a version this is the first form, which leads to the page with the difference.
  if (version === '')
    return obstacle(request, card) === undefined
      ? reviewPage(services, request, opened, { balance: value, reason: why })
      : again({ balance: messages.changed });
  return await change(services, request, opened, {
    title: adjust.title,
    *script(): Script<Done> {
      const adjustment = { cardId: card.id, balance: value, reason: why, version };
      yield* adjustBalance(ctx, byOf(request), adjustment);
      return { done: 'adjusted', card: card.id, amount: formatMoney(value), left: formatMoney(value) };
    },
    async rejected(fault) {
      if (!fault) return again({ balance: messages.expiredForm });
      const current = await openCard(services, request);
      if (fault.code === 'precondition-failed')
        return obstacle(request, current.card) === undefined
          ? reviewPage(services, request, current, { balance: value, reason: why, notice: adjust.changed })
          : again({ balance: messages.changed }, current);
      const message = balanceError(fault, request, { ...current, balance: value });
      return message === undefined ? undefined : again({ balance: message }, current);
    },
  });
}

export const adjustRoutes: readonly StaffRoute[] = [
  {
    method: 'GET',
    path: '/cards/:id/adjust',
    access: 'changeCards',
    handle: async (services, request) =>
      adjustPage(services, request, await openCard(services, request), {
        balance: '',
        reason: '',
        errors: {},
      }),
  },
  { method: 'POST', path: '/cards/:id/adjust', access: 'changeCards', handle: submit },
];
