/** What the pages of the till have in common. */

import { availableOf, stateOf, type Card } from '../domain/card.ts';
import { formatMoney, type Money } from '../domain/money.ts';
import type { Markup, MarkupPart } from '../markup.ts';
import { today } from '../service/money.ts';
import de from './locales/de/till.json' with { type: 'json' };
import en from './locales/en/till.json' with { type: 'json' };
import es from './locales/es/till.json' with { type: 'json' };
import fr from './locales/fr/till.json' with { type: 'json' };
import { tillPage } from './page.ts';
import type { ConsoleServices, StaffRequest } from './route.ts';
import type { Catalogue, PageLanguage } from './texts.ts';
import { lockForm } from './till-pin.ts';

const texts: Catalogue<typeof en> = { en, de, fr, es };

export type TillTexts = typeof en;

export function tillTexts({ language }: { readonly language: PageLanguage }): TillTexts {
  return texts[language];
}

/** A page of the till, with its form to lock. */
export function framed(
  services: ConsoleServices,
  request: StaffRequest,
  page: {
    readonly title: string;
    readonly body: MarkupPart;
    readonly isWide?: boolean;
    readonly scripts?: readonly string[];
  },
): Markup {
  const lock = lockForm(services, request);
  return tillPage(services, request, { scripts: ['till.js'], ...page, lock });
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
export type TillState = 'active' | 'empty' | 'held' | 'disabled' | 'expired';

export function tillStateOf({ ctx }: ConsoleServices, { signedIn }: StaffRequest, card: Card): TillState {
  const state = stateOf(card, today(ctx, signedIn.store));
  if (state !== 'active') return state;
  if (availableOf(card).minor > 0n) return 'active';
  return card.balance.minor > 0n ? 'held' : 'empty';
}
