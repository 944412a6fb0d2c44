/** Voids the printed cards of a stock that are left, after a confirmation. */

import { leftOf } from '../../domain/stocks/stock.ts';
import { Fault } from '../../domain/fault.ts';
import { markup } from '../../platform/markup.ts';
import { voidStockBy } from '../../service/staff-actions/stock.ts';
import { withoutAccess } from '../cards/change-form.ts';
import { alert } from '../kit/form.ts';
import type { Page } from '../kit/page-context.ts';
import { panel } from '../kit/parts.ts';
import { seeOther, type ConsoleResponse } from '../kit/route.ts';
import { plural } from '../kit/texts.ts';
import { openStock } from './parts.ts';

async function formPage(page: Page, notice?: string): Promise<ConsoleResponse> {
  const counted = await openStock(page);
  const { stock } = counted;
  const { void: text, unnamed } = page.text.stock;
  const path = `/cards/stock/${stock.id}`;
  const left = leftOf(counted);
  const back = page.link(path, page.text.batches.print.back, 'quiet');
  const status = notice === undefined ? 200 : 422;
  const form = page.form(
    `${path}/void`,
    markup`<div class="row"><button class="button bad">${text.confirm}</button>${back}</div>`,
    notice === undefined ? undefined : page.key,
  );
  const body = panel(
    text.title,
    left === 0
      ? markup`<p>${text.none}</p><div class="row">${back}</div>`
      : markup`${notice === undefined ? undefined : alert(notice)}<p class="soft">${stock.name ?? unnamed}</p><p><strong>${plural(page.language, text.question, left)}</strong></p><p>${text.consequence}</p>${form}`,
  );
  return page.show('/cards', { title: text.title, body, status });
}

async function submit(page: Page): Promise<ConsoleResponse> {
  const { services, request, ctx, by, key } = page;
  const { stock } = await openStock(page);
  if (key === undefined) return await formPage(page, page.text.batches.errors.incomplete);
  try {
    await page.once(key, () => voidStockBy(ctx, by, stock.id));
  } catch (error) {
    const withheld = error instanceof Fault ? withoutAccess(services, request, error) : undefined;
    if (!withheld) throw error;
    return withheld;
  }
  return seeOther(`/cards/stock/${stock.id}`);
}

export const voidPage = { show: (page: Page): Promise<ConsoleResponse> => formPage(page), submit };
