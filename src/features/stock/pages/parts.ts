/** The common parts of the pages of printed cards: the stock of a path, its value in words, and its state. */

import type { CountedStock, Stock } from '../../../core/stocks/domain/stock.ts';
import { showStock, stockKeyOf } from '../service/stock.ts';
import { longReads } from '../../../pages/kit/long-reads.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

/** @throws Fault `not-found`. */
export async function openStock(page: Page): Promise<CountedStock> {
  const key = stockKeyOf({ storeId: page.store.id, id: page.storedId() });
  return await longReads(page.services).read(() => showStock(key));
}

/** The fixed value, or the lowest and the highest one. */
export function valueText(page: Page, { fixedValue, minimumValue, maximumValue }: Stock): string {
  return [fixedValue, minimumValue, maximumValue]
    .flatMap((value) => (value ? [page.amount(value)] : []))
    .join(' – ');
}

/** Until when the codes can be read (ms); null: they cannot. */
export function codesUntil({ ctx }: Page, { state, codesUntil: until }: Stock): number | null {
  return state === 'complete' && until !== null && ctx.clock.earliest() < until ? until : null;
}
