/** The common parts of the pages of sales, refunds and receipts. */

import { Fault } from '../../../core/domain/fault.ts';
import { parseAmount, type Money } from '../../../core/money/domain/money.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

/** The key of a submitted form. @throws Fault `invalid-body` if the service did not make the form. */
export function requireKey(page: Page): string {
  const key = page.key;
  if (key === undefined) throw new Fault('invalid-body');
  return key;
}

/** An amount as a fault or a result contains it. */
export function storedAmount(text: string, { currency }: Pick<Store, 'currency'>): Money {
  const parsed = parseAmount(text, { currency, zeroAllowed: true });
  if (!parsed.ok) throw new Error(`an amount ${parsed.error}`);
  return parsed.value;
}

export const tick: Markup = markup`<svg class="tick" viewBox="0 0 48 48" fill="none" stroke="currentColor" stroke-width="3.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><circle cx="24" cy="24" r="21"/><path d="m15 24.5 6.5 6.5L34 18"/></svg>`;
