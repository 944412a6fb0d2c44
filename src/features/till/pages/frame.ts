/** The common parts of the pages of the till. */

import { unheldOf, type Card } from '../../../core/cards/domain/card.ts';
import { spendStateOf, type SpendState } from '../../../core/cards/domain/state.ts';
import { formatMoney, type Money } from '../../../core/money/domain/money.ts';
import { today } from '../../../core/stores/service/day.ts';
import { type PageLanguage, type Texts, textsOf } from '../../../pages/kit/texts.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

const texts = textsOf('till');

export type TillTexts = Texts['till'];

export function tillTexts({ language }: { readonly language: PageLanguage }): TillTexts {
  return texts[language];
}

/** An amount of whole units without decimals, such as `€20`. */
export function shortAmount(money: Money, language: PageLanguage): string {
  return new Intl.NumberFormat(language, {
    style: 'currency',
    currency: money.currency.code,
    trailingZeroDisplay: 'stripIfInteger',
  }).format(formatMoney(money) as `${number}`);
}

/** A card as the till shows it. `empty`: nothing is left, `held`: all that is left is on hold. */
export type TillState = SpendState | 'empty' | 'held';

export function tillStateOf(page: Page, card: Card): TillState {
  const state = spendStateOf(card, today(page.ctx, page.store));
  if (state !== 'active') return state;
  if (unheldOf(card).minor > 0n) return 'active';
  return card.balance.minor > 0n ? 'held' : 'empty';
}
