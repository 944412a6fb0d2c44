/** Voids printed cards of a stock, all that are left or some, after a confirmation. */

import { leftOf } from '../../../core/stocks/domain/stock.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { readChosenCode } from '../../../core/cards/domain/given-code.ts';
import { markup } from '../../../platform/markup.ts';
import { voidStockBy } from '../service/staff-stock.ts';
import { withoutAccess } from '../../../pages/kit/without-access.ts';
import { alert, textArea } from '../../../pages/kit/form.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import { panel } from '../../../pages/kit/parts.ts';
import { seeOther, type ConsoleResponse } from '../../../pages/kit/route.ts';
import { plural } from '../../../pages/kit/texts.ts';
import { openStock } from './parts.ts';
import { linesError, readTypedCodes, withinBudget } from './typed-codes.ts';

type Problem = { readonly notice?: string; readonly codes?: string };

async function formPage(page: Page, { notice, codes }: Problem = {}): Promise<ConsoleResponse> {
  const counted = await openStock(page);
  const { stock } = counted;
  const { void: text, unnamed } = page.text.stock;
  const path = `/cards/stock/${stock.id}`;
  const left = leftOf(counted);
  const back = page.link(path, page.text.batches.print.back, 'quiet');
  const isRejected = notice !== undefined || codes !== undefined;
  const status = isRejected ? 422 : 200;
  const form = page.form(
    `${path}/void`,
    markup`${textArea({ name: 'codes', label: text.codes, hint: text.codesHint, error: codes })}
<div class="row"><button class="button bad">${text.confirm}</button>${back}</div>`,
    isRejected ? page.key : undefined,
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
  const { ctx, by, key } = page;
  const { stock } = await openStock(page);
  const { errors: text } = page.text.stock;
  if (key === undefined) return await formPage(page, { notice: page.text.batches.errors.incomplete });
  const typed = readTypedCodes(page, readChosenCode);
  if ('error' in typed) return await formPage(page, { codes: typed.error });
  const codes = typed.codes.length > 0 ? typed.codes : null;
  try {
    const rejected = await withinBudget(page, typed, async () => {
      await page.once(key, () => voidStockBy(ctx, by, stock.id, codes));
      return undefined;
    });
    if (rejected) return await formPage(page, { codes: linesError(text.notLeft, rejected) });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (error.code === 'too-many-misses') return await formPage(page, { codes: text.tooManyTries });
    const withheld = withoutAccess(page, error);
    if (!withheld) throw error;
    return withheld;
  }
  return seeOther(`/cards/stock/${stock.id}`);
}

export const voidPage = { show: (page: Page): Promise<ConsoleResponse> => formPage(page), submit };
