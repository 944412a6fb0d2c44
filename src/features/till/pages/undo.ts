/** Undoes a redemption by its ledger entry: for managers. The result page undoes a person's own redemption. */

import { Fault } from '../../../core/domain/fault.ts';
import { markup } from '../../../platform/markup.ts';
import { findRedemption, undoRedemption, type UndoableRedemption } from '../service/redemption.ts';
import { alert } from '../../../pages/kit/form.ts';
import { cardTail, figure } from '../../../pages/kit/format.ts';
import { keyInput } from '../../../pages/kit/once.ts';
import { seeOther, type ConsoleResponse, type StaffRoute } from '../../../pages/kit/route.ts';
import { fill } from '../../../pages/kit/texts.ts';
import { tillPage } from './page.ts';
import { undoError, undoneShown } from './result.ts';
import { Page, get, post } from '../../../pages/kit/page-context.ts';

/** @throws Fault `not-found` if the path does not have the id of a redemption. */
function requireRedemption(page: Page): Promise<UndoableRedemption> {
  return page.readById((id) => findRedemption(page.ctx, page.store.id, id), 'entry');
}

function undoPage(
  page: Page,
  { transfer, reversed, card }: UndoableRedemption,
  error?: string,
): ConsoleResponse {
  const { services, request, ctx } = page;
  const text = page.text.till;
  const tail = cardTail(card.lastCharacters);
  const amount = figure(transfer.amount, page.language);
  if (reversed >= transfer.amount.minor) return undoneShown(new Page(services, request), { amount, tail });
  const path = page.url(`/till/undo/${page.publicId(transfer.id)}`);
  const body = markup`${error === undefined ? undefined : alert(error)}<div class="paid wait"><div>${amount}</div><p><strong>${fill(text.redeemedFrom, { tail })}</strong></p></div>
<form class="stack" method="post" action="${path}">${keyInput(ctx)}<button class="button bad big">${text.undo}</button></form>`;
  const status = error === undefined ? 200 : 422;
  return { status, body: tillPage(services, request, { title: text.undo, body }) };
}

async function submitUndo(page: Page): Promise<ConsoleResponse> {
  const redemption = await requireRedemption(page);
  const transferId = redemption.transfer.id;
  const path = `/till/undo/${page.publicId(transferId)}`;
  const { key } = page;
  if (key === undefined) return seeOther(path);
  try {
    await page.once(key, function* run() {
      const { transfer } = yield* undoRedemption(page.ctx, page.by, transferId);
      return { state: 'undone', entry: page.publicId(transfer.id) };
    });
    return seeOther(path);
  } catch (error) {
    const text = error instanceof Fault ? undoError(page, error) : undefined;
    if (text === undefined) throw error;
    return undoPage(page, redemption, text);
  }
}

export const tillUndoRoutes: readonly StaffRoute[] = [
  get('/till/undo/:entry', 'changeCards', async (page) => undoPage(page, await requireRedemption(page))),
  post('/till/undo/:entry', 'changeCards', submitUndo),
];
