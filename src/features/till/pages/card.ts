/** The card of a page of the till: what it has, and what can be done with it. */

import type { Card } from '../../../core/cards/domain/card.ts';
import { availableOf } from '../../../core/cards/domain/state.ts';
import { dayOf } from '../../../core/domain/day.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import { isPermitted } from '../../../core/staff/domain/staff.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { today } from '../../../core/stores/service/day.ts';
import { cardTail, dayText, figure } from '../../../pages/kit/format.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { tillStateOf, tillTexts, type TillState } from './frame.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

const stateTags = {
  active: 'good',
  empty: 'ended',
  held: 'wait',
  suspended: 'wait',
  disabled: 'bad',
  expired: 'bad',
} as const satisfies Record<TillState, string>;

/** A drawing and details of a card on a tablet, one line on a phone. A card that cannot be used has no drawing. */
export function cardColumn(page: Page, card: Card): Markup {
  const state = tillStateOf(page, card);
  const text = tillTexts(page.request);
  const available = availableOf(card, today(page.ctx, page.store));
  const isVoid = state === 'disabled' || state === 'expired' || state === 'suspended';
  const small = isVoid ? text[state] : text.availableSmall;
  const held =
    card.held.minor > 0n ? ` · ${fillPlain(text.heldSmall, { amount: page.amount(card.held) })}` : '';
  const drawing = isVoid
    ? undefined
    : markup`<div class="only-wide"><div class="gift"><svg class="knot" viewBox="0 0 48 48" aria-hidden="true"><path d="M24 24C12 6 2 13 8 20c4 4 11 4 16 4 5 0 12 0 16-4 6-7-4-14-16 4zM24 24c-3 7-7 11-11 15M24 24c3 7 7 11 11 15"/></svg><span class="shop">${page.store.name}</span><span class="tail">•••• ${card.lastCharacters}</span>${figure(available, page.language)}</div></div>
`;
  return markup`<div>${drawing}<div class="found ${isVoid ? 'void' : 'only-narrow'}"><span class="mini" aria-hidden="true"></span><div><strong>${card.recipientName ?? text.giftCard}</strong><br><span class="small soft">${cardTail(card.lastCharacters)}${held}</span></div><div class="end">${figure(isVoid ? card.balance : available, page.language)}<br><span class="small soft">${small}</span></div></div>
${factsOf(page, card, { state, available })}</div>`;
}

function factsOf(
  page: Page,
  card: Card,
  { state, available }: { readonly state: TillState; readonly available: Money },
): Markup {
  const text = tillTexts(page.request);
  const shown = state === 'held' ? 'active' : state;
  const sold = fillPlain(text.soldValue, {
    day: dayText(dayOf(card.createdAt, page.store.timeZone), page.language),
    amount: page.amount(card.initialValue),
  });
  const held =
    card.held.minor > 0n
      ? markup`<dt>${text.held}</dt><dd class="sum">${page.amount(card.held)}</dd>`
      : undefined;
  return markup`<section class="panel only-wide" aria-label="${text.card}"><div class="row apart"><strong>${card.recipientName ?? text.giftCard}</strong><span class="tag ${stateTags[state]}">${text[shown]}</span></div>
<dl class="facts"><dt>${text.available}</dt><dd class="sum">${page.amount(available)}</dd>${held}<dt>${text.sold}</dt><dd class="sum">${sold}</dd><dt>${text.expires}</dt><dd class="sum">${card.expiresOn === null ? text.never : dayText(card.expiresOn, page.language)}</dd></dl></section>`;
}

/** Whether the person can add money to a card: not in a session with a PIN. */
export function mayTopUp(page: Page): boolean {
  return page.request.signedIn.session.tillId === null && isPermitted(page.member, 'changeCards');
}

type Task = 'redeem' | 'add' | 'refund';

/** The tasks for a card, each one tap away. @param key of the redemption, if the page has it. */
export function cardTasks(
  page: Page,
  { card, current, key }: { readonly card: Card; readonly current: Task; readonly key?: string },
): Markup {
  const text = tillTexts(page.request);
  const id = page.publicId(card.id);
  const link = (task: Task, path: string, label: string): Markup =>
    markup`<a href="${page.basePath}${path}"${task === current ? markup` aria-current="page"` : undefined}>${label}</a>`;
  return markup`<nav class="segment" aria-label="${text.tasks}">${link('redeem', `/till/card/${id}${key === undefined ? '' : `?k=${key}`}`, text.redeem)}${
    mayTopUp(page) ? link('add', `/till/refund/card/${id}/add`, text.addMoney) : undefined
  }${link('refund', `/till/refund/card/${id}`, text.refund)}</nav>`;
}
