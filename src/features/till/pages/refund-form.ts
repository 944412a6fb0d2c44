/** The form of a refund at the till: the redemptions of a card, one of which is refunded. */

import { isDisabled } from '../../../core/cards/domain/card.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import type { Refundable, RefundableCard } from '../service/refund.ts';
import { alert } from '../../../pages/kit/form.ts';
import { amountValue } from '../../../pages/kit/format.ts';
import { keyInput } from '../../../pages/kit/once.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import type { PageResponse } from '../../../pages/kit/route.ts';
import { fillPlain, textsOf } from '../../../pages/kit/texts.ts';
import { cardColumn, cardTasks } from './card.ts';
import { amountEntry, entryData, nextCardBar, payButton } from './entry.ts';
import { tillPage } from './page.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

export const refundTexts = textsOf('tillRefunds');

/** The values of a form that is shown again. */
export type Shown = {
  readonly typed?: string;
  readonly key?: string;
  readonly error?: string;
  readonly notice?: Markup;
};

type RefundForm = Shown &
  RefundableCard & {
    /** Absent: the card has no redemption that can be refunded. */
    readonly chosen?: Refundable;
  };

export function refundPage(page: Page, form: RefundForm): PageResponse {
  const { card, chosen, typed, key, error, notice } = form;
  const text = page.text.tillRefunds;
  const isRefundable = chosen !== undefined && chosen.left.minor > 0n && !isDisabled(card);
  const frameOf = (entry: Markup): Markup =>
    markup`${cardColumn(page, card)}
<div>${cardTasks(page, { card, current: 'refund' })}
${redemptionList(page, form)}${entry}</div>`;
  const shown = (body: Markup): PageResponse => ({
    status: error === undefined ? 200 : 422,
    body: tillPage(page.services, page.request, {
      title: text.title,
      body: markup`${notice}${body}`,
      isWide: true,
    }),
  });
  if (!isRefundable) {
    const without = chosen ? text.allRefunded : text.none;
    const reason = alert(isDisabled(card) ? text.disabled : without);
    return shown(
      markup`<div class="columns">${frameOf(markup`${reason}${nextCardBar(page.services, text.next)}`)}</div>`,
    );
  }
  const { left } = chosen;
  const hint = fillPlain(text.amountHint, { amount: page.amount(left) });
  const data = entryData(page, {
    hint,
    note: { text: text.willHave, base: card.balance, change: 'adds' },
    button: text.refund,
    buttonAmount: text.refundAmount,
  });
  const entry = amountEntry(page, {
    label: text.amount,
    hint,
    typed: typed ?? amountValue(left, page.language),
    error,
  });
  return shown(markup`<form class="columns entry-form" method="post" action="${pathOf(page.services, chosen)}"${data}>${keyInput(page.ctx, key)}
${frameOf(markup`${entry}
${payButton(text.refund)}`)}</form>`);
}

function pathOf({ ctx, frame }: ConsoleServices, { transfer }: Refundable): string {
  return `${frame.basePath}/till/refund/entry/${String(ctx.keys.publicIds.of(transfer.id))}`;
}

/** Links to the redemptions of the card. */
function redemptionList(page: Page, { redemptions, chosen }: RefundForm): Markup | undefined {
  const text = page.text.tillRefunds;
  const isListed = redemptions.some(({ transfer }) => transfer.id === chosen?.transfer.id);
  const listed = chosen && !isListed ? [chosen, ...redemptions] : redemptions;
  if (listed.length === 0) return undefined;
  const items = listed.map((redemption) => {
    const { transfer, left } = redemption;
    const { amount, createdAt } = transfer;
    const current = transfer.id === chosen?.transfer.id ? markup` aria-current="true"` : undefined;
    const part =
      left.minor === amount.minor
        ? undefined
        : markup`<br><small class="soft">${fillPlain(text.left, { amount: page.amount(left) })}</small>`;
    return markup`<li><a class="choice" href="${pathOf(page.services, redemption)}"${current}><span>${page.time(createdAt)}${part}</span><span class="sum">${page.amount(amount)}</span></a></li>
`;
  });
  return markup`<nav aria-label="${text.cardTitle}"><ul class="spent">${items}</ul></nav>
`;
}
