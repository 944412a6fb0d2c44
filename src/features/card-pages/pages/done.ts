/** The notices about changes of a card. */

import { markup, type Markup } from '../../../platform/markup.ts';
import {
  backLink,
  changePage,
  isDone,
  openCard,
  amountOrNone,
  unavailablePage,
  type Done,
} from './change-form.ts';
import { keepsEmails } from '../../emails/pages/texts.ts';
import { findResult } from '../../../pages/kit/once.ts';
import type { ConsoleResponse, StaffRoute } from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { get, type Page } from '../../../pages/kit/page-context.ts';

/** The link to refund what was redeemed, or to the receipt of what was added. */
function entryLink(page: Page, { path, done, entry }: Done & { readonly path: string }): Markup | undefined {
  if (entry === undefined || (done !== 'redeemed' && done !== 'added')) return undefined;
  const text = page.text.cardActions.done;
  const id = String(page.publicId(entry));
  return done === 'added'
    ? markup`<a class="button" href="${page.basePath}/till/receipts/${id}">${text.receipt}</a>`
    : markup`<a class="button" href="${page.basePath}${path}/entries/${id}/refund">${text.undo}</a>`;
}

async function donePage(page: Page): Promise<ConsoleResponse> {
  const { done: text } = page.text.cardActions;
  const opened = await openCard(page);
  const found = await findResult(page.services, page.request, page.param('key'), isDone);
  if (found?.card !== opened.card.id)
    return unavailablePage(page, opened, { title: text.title, reason: text.over, status: 404 });
  const { currency } = page.store;
  const shown = (stored: string | undefined): string => {
    const amount = amountOrNone(stored, currency);
    return amount ? page.amount(amount) : '';
  };
  const isKept = found.done === 'sent' && keepsEmails(page.services);
  const said = isKept ? page.text.emails.page.keptNow : text.what[found.done];
  const what = fillPlain(said, { amount: shown(found.amount), address: found.address ?? '' });
  const again =
    page.request.query.get('again') === '1' ? markup`<p class="notice">${text.again}</p>` : undefined;
  const left =
    found.left === undefined
      ? undefined
      : markup`<p class="soft">${fillPlain(text.left, { amount: shown(found.left) })}</p>`;
  const { path } = opened;
  const body = markup`<section class="panel stack change" aria-label="${text.title}">${again}
<div class="notice${isKept ? undefined : ' good'}" role="status"><p>${what}</p></div>${left}
<div class="row">${backLink(page, { path, kind: 'first' })}${entryLink(page, { ...found, path })}</div></section>`;
  return changePage(page, opened, { title: text.title, body });
}

export const doneRoutes: readonly StaffRoute[] = [get('/cards/:id/done/:key', 'changeCards', donePage)];
