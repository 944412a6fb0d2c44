/** Adjusts the balance of a card: a new balance and a reason, then a page that shows the difference, then the change. */

import { isDisabled, isSuspended, type Card } from '../../../core/cards/domain/card.ts';
import { versionTagOf } from '../../../core/cards/service/version.ts';
import type { Fault } from '../../../core/domain/fault.ts';
import { formatMoney, subtract, type Money } from '../../../core/money/domain/money.ts';
import { isAbove } from '../../../core/stores/domain/store.ts';
import { parseText } from '../../../core/domain/text.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { adjustBalance } from '../service/card.ts';
import type { Script } from '../../../database/sql/sql.ts';
import {
  amountError,
  backLink,
  change,
  changePage,
  changeRoutes,
  multilineOf,
  openCard,
  unavailablePage,
  unreadableAmount,
  type Done,
  type OpenedCard,
} from './change-form.ts';
import { reasonOf, changeTexts } from '../../../pages/kit/card-texts.ts';
import { inputField, hidden } from '../../../pages/kit/form.ts';
import { amountText, amountValue, figure, parseTypedAmount, signedText } from '../../../pages/kit/format.ts';
import { keyInput } from '../../../pages/kit/once.ts';
import type { ConsoleResponse, StaffRequest } from '../../../pages/kit/route.ts';
import { fill, fillPlain } from '../../../pages/kit/texts.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

type Form = {
  readonly balance: string;
  readonly reason: string;
  readonly errors: Readonly<Partial<Record<'balance' | 'reason', string>>>;
};

/** The reason why the balance cannot be adjusted; undefined: it can. */
function obstacle(page: Page, card: Card): string | undefined {
  if (isDisabled(card)) return reasonOf({ code: 'card-disabled', retryAfterSeconds: 0 }, card, page.language);
  return isSuspended(card)
    ? reasonOf({ code: 'card-suspended', retryAfterSeconds: 0 }, card, page.language)
    : undefined;
}

function adjustPage(page: Page, opened: OpenedCard, { balance, reason, errors }: Form): ConsoleResponse {
  const { adjust, cancel } = page.text.cardActions;
  const { card, path } = opened;
  const title = adjust.title;
  const isRejected = Object.keys(errors).length > 0;
  const status = isRejected ? 422 : 200;
  const why = obstacle(page, card);
  if (why !== undefined) return unavailablePage(page, opened, { title, reason: why, status });
  const body = markup`<section class="panel stack change" aria-label="${title}">
<div>${figure(card.balance, page.language)}<p class="soft">${adjust.present}</p>${heldNote(page, opened)}</div>
<form class="stack" method="post" action="${page.basePath}${path}/adjust">${keyInput(page.ctx, isRejected ? page.key : undefined)}
${inputField({ name: 'balance', label: adjust.balance, value: balance, inputMode: 'decimal', kind: 'amount', error: errors.balance })}
${inputField({ name: 'reason', label: adjust.reason, value: reason, hint: adjust.reasonHint, error: errors.reason })}
<div class="row"><button class="button first">${adjust.next}</button>${backLink(page, { path, text: cancel, kind: 'quiet' })}</div>
</form></section>`;
  return changePage(page, opened, { title, body, status });
}

function heldNote(page: Page, { card: { held } }: OpenedCard): Markup | undefined {
  if (held.minor === 0n) return undefined;
  return markup`<p class="soft">${fillPlain(page.text.cardActions.adjust.held, { amount: page.amount(held) })}</p>`;
}

/** Shows the difference before the change, which needs the same version of the card. */
function reviewPage(
  page: Page,
  opened: OpenedCard,
  {
    balance,
    reason,
    notice,
  }: { readonly balance: Money; readonly reason: string; readonly notice?: string | undefined },
): ConsoleResponse {
  const { adjust, cancel } = page.text.cardActions;
  const { card, path } = opened;
  const difference = subtract(balance, card.balance);
  const warning = notice === undefined ? undefined : markup`<p class="notice" role="alert">${notice}</p>`;
  const body = markup`<section class="panel stack change" aria-label="${adjust.title}">${warning}
<div>${figure(balance, page.language)}<p class="soft">${fill(adjust.difference, { before: page.amount(card.balance), change: markup`<strong class="nowrap">${signedText(difference, page.language)}</strong>` })}</p></div>
<dl class="facts"><dt>${adjust.reason}</dt><dd>${reason}</dd></dl>
<p class="hint">${adjust.consequence}</p>
<form class="stack" method="post" action="${page.basePath}${path}/adjust">${keyInput(page.ctx, page.key)}${hidden('balance', amountValue(balance, page.language))}${hidden('reason', reason)}${hidden('version', versionTagOf(card))}
<div class="row"><button class="button first">${adjust.action}</button>${backLink(page, { path, text: cancel, kind: 'quiet' })}</div></form></section>`;
  const status = notice === undefined ? 200 : 409;
  return changePage(page, opened, { title: adjust.title, body, status });
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

async function submit(page: Page, opened: OpenedCard): Promise<ConsoleResponse> {
  const { adjust, errors: messages } = page.text.cardActions;
  const { card } = opened;
  const form = { balance: page.typed('balance'), reason: multilineOf(page, 'reason') };
  const balance = parseTypedAmount(form.balance, page.store, { language: page.language, zeroAllowed: true });
  const reason = parseText(form.reason);
  const again = (errors: Form['errors'], current = opened): ConsoleResponse =>
    adjustPage(page, current, { ...form, errors });
  if (!balance.ok || !reason.ok || reason.value === null)
    return again({
      ...(!balance.ok && {
        balance: unreadableAmount(form.balance, page.store, { language: page.language, zeroAllowed: true }),
      }),
      ...(!reason.ok && { reason: messages.badText }),
      ...(reason.ok && reason.value === null && { reason: adjust.noReason }),
    });
  const [value, why] = [balance.value, reason.value];
  const version = page.typed('version');
  if (value.minor === card.balance.minor) return again({ balance: adjust.same });
  // Without a version this is the first form, which leads to the page with the difference.
  if (version === '')
    return obstacle(page, card) === undefined
      ? reviewPage(page, opened, { balance: value, reason: why })
      : again({ balance: messages.changed });
  return await change(page, opened, {
    title: adjust.title,
    *script(): Script<Done> {
      const adjustment = { cardId: card.id, balance: value, reason: why, version };
      yield* adjustBalance(page.ctx, page.by, adjustment);
      return { done: 'adjusted', card: card.id, amount: formatMoney(value), left: formatMoney(value) };
    },
    async rejected(fault) {
      if (!fault) return again({ balance: messages.expiredForm });
      const current = await openCard(page);
      if (fault.code === 'precondition-failed')
        return obstacle(page, current.card) === undefined
          ? reviewPage(page, current, { balance: value, reason: why, notice: adjust.changed })
          : again({ balance: messages.changed }, current);
      const message = balanceError(fault, page.request, { ...current, balance: value });
      return message === undefined ? undefined : again({ balance: message }, current);
    },
  });
}

export const adjustRoutes = changeRoutes('/cards/:id/adjust', {
  open: openCard,
  show: (page, opened) => adjustPage(page, opened, { balance: '', reason: '', errors: {} }),
  submit,
});
