/** The notices about changes of a card. */

import { markup, type Markup } from '../../platform/markup.ts';
import {
  backLink,
  changePage,
  isDone,
  openCard,
  amountOrNone,
  changeTexts,
  unavailablePage,
  type Done,
} from './change-form.ts';
import { emailTexts, keepsEmails } from '../emails/texts.ts';
import { amountText } from '../kit/format.ts';
import { findResult } from '../kit/once.ts';
import type { ConsoleResponse, ConsoleServices, StaffRequest, StaffRoute } from '../kit/route.ts';
import { fillPlain } from '../kit/texts.ts';

/** The link to refund what was redeemed, or to the receipt of what was added. */
function entryLink(
  { ctx, frame }: ConsoleServices,
  { language }: StaffRequest,
  { path, done, entry }: Done & { readonly path: string },
): Markup | undefined {
  if (entry === undefined || (done !== 'redeemed' && done !== 'added')) return undefined;
  const text = changeTexts[language].done;
  const id = String(ctx.keys.publicIds.of(entry));
  return done === 'added'
    ? markup`<a class="button" href="${frame.basePath}/till/receipts/${id}">${text.receipt}</a>`
    : markup`<a class="button" href="${frame.basePath}${path}/entries/${id}/refund">${text.undo}</a>`;
}

async function donePage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { language, signedIn } = request;
  const { done: text } = changeTexts[language];
  const opened = await openCard(services, request);
  const found = await findResult(services, request, request.params['key'] ?? '', isDone);
  if (found?.card !== opened.card.id)
    return unavailablePage(services, request, opened, { title: text.title, reason: text.over, status: 404 });
  const { currency } = signedIn.store;
  const shown = (stored: string | undefined): string => {
    const amount = amountOrNone(stored, currency);
    return amount ? amountText(amount, language) : '';
  };
  const isKept = found.done === 'sent' && keepsEmails(services);
  const said = isKept ? emailTexts[language].page.keptNow : text.what[found.done];
  const what = fillPlain(said, { amount: shown(found.amount), address: found.address ?? '' });
  const again = request.query.get('again') === '1' ? markup`<p class="notice">${text.again}</p>` : undefined;
  const left =
    found.left === undefined
      ? undefined
      : markup`<p class="soft">${fillPlain(text.left, { amount: shown(found.left) })}</p>`;
  const { path } = opened;
  const body = markup`<section class="panel stack change" aria-label="${text.title}">${again}
<div class="notice${isKept ? undefined : ' good'}" role="status"><p>${what}</p></div>${left}
<div class="row">${backLink(services, request, { path, kind: 'first' })}${entryLink(services, request, { ...found, path })}</div></section>`;
  return changePage(services, request, opened, { title: text.title, body });
}

export const doneRoutes: readonly StaffRoute[] = [
  { method: 'GET', path: '/cards/:id/done/:key', access: 'changeCards', handle: donePage },
];
