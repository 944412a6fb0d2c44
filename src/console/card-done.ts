/** What a change of a card has done. */

import { isPermitted } from '../domain/staff.ts';
import { markup, type Markup } from '../markup.ts';
import {
  backLink,
  changePage,
  isDone,
  openCard,
  amountOrNone,
  changeTexts,
  unavailablePage,
  type Done,
} from './card-change.ts';
import { amountText } from './format.ts';
import { findResult } from './once.ts';
import type { ConsoleResponse, ConsoleServices, StaffRequest, StaffRoute } from './route.ts';
import { fillPlain } from './texts.ts';

/** The link to refund what was redeemed. */
function undoLink(
  { ctx, frame }: ConsoleServices,
  { language, signedIn: { member } }: StaffRequest,
  { path, done, entry }: Done & { readonly path: string },
): Markup | undefined {
  if (done !== 'redeemed' || entry === undefined || !isPermitted(member.role, 'changeCards'))
    return undefined;
  const href = `${frame.basePath}${path}/entries/${String(ctx.keys.publicIds.of(entry))}/refund`;
  return markup`<a class="button" href="${href}">${changeTexts[language].done.undo}</a>`;
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
  const what = fillPlain(text.what[found.done], {
    amount: shown(found.amount),
    address: found.address ?? '',
  });
  const again = request.query.get('again') === '1' ? markup`<p class="notice">${text.again}</p>` : undefined;
  const left =
    found.left === undefined
      ? undefined
      : markup`<p class="soft">${fillPlain(text.left, { amount: shown(found.left) })}</p>`;
  const { path } = opened;
  const body = markup`<section class="panel stack change" aria-label="${text.title}">${again}
<div class="notice good" role="status"><p>${what}</p></div>${left}
<div class="row">${backLink(services, request, { path, kind: 'first' })}${undoLink(services, request, { ...found, path })}</div></section>`;
  return changePage(services, request, opened, { title: text.title, body });
}

export const doneRoutes: readonly StaffRoute[] = [
  { method: 'GET', path: '/cards/:id/done/:key', access: 'useTill', handle: donePage },
];
