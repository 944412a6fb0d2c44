/** The common parts of the pages of printed cards: the stock of a path, its value in words, and its state. */

import { Fault } from '../../domain/fault.ts';
import type { CountedStock, Stock } from '../../domain/stocks/stock.ts';
import type { Markup } from '../../platform/markup.ts';
import { showStock, stockKeyOf } from '../../service/stocks/stock.ts';
import { longReads } from '../kit/long-reads.ts';
import type { Page } from '../kit/page-context.ts';
import { tag } from '../kit/parts.ts';

/** The id in the path. @throws Fault `not-found`: stocks have no public ids of their own. */
export function stockIdOf(page: Page): number {
  const text = page.param('id');
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : 0;
  if (id === 0 || !Number.isSafeInteger(id)) throw new Fault('not-found');
  return id;
}

/** @throws Fault `not-found`. */
export async function openStock(page: Page): Promise<CountedStock> {
  const key = stockKeyOf({ storeId: page.store.id, id: stockIdOf(page) });
  return await longReads(page.services).read(() => showStock(key));
}

/** The fixed value, or the lowest and the highest one. */
export function valueText(page: Page, { fixedValue, minimumValue, maximumValue }: Stock): string {
  return [fixedValue, minimumValue, maximumValue]
    .flatMap((value) => (value ? [page.amount(value)] : []))
    .join(' – ');
}

export function stockTag({ text }: Page, { state, failed }: Stock): Markup {
  const { running, failed: incomplete, complete } = text.stock.states;
  if (state === 'running') return tag('wait', running);
  return failed > 0 ? tag('bad', incomplete) : tag('good', complete);
}

/** Until when the codes can be read (ms); null: they cannot. */
export function codesUntil({ ctx }: Page, { state, codesUntil: until }: Stock): number | null {
  return state === 'complete' && until !== null && ctx.clock.earliest() < until ? until : null;
}
