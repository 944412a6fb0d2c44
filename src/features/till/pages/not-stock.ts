/** The till: a code that was to be sold is in no stock. Scanning again is the default. */

import { isPermitted } from '../../../core/staff/domain/staff.ts';
import { lastCharactersOf } from '../../../core/cards/domain/code.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import { markup } from '../../../platform/markup.ts';
import type { Secret } from '../../../platform/secret.ts';
import { hidden, inputField } from '../../../pages/kit/form.ts';
import { amountValue, cardTail } from '../../../pages/kit/format.ts';
import { keyInput } from '../../../pages/kit/once.ts';
import type { PageResponse } from '../../../pages/kit/route.ts';
import { fill, fillPlain } from '../../../pages/kit/texts.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import { cameraFrame, cameraScripts } from './camera.ts';
import { payButton } from './entry.ts';
import { taskHeading, tillPage } from './page.ts';
import { sealedInput } from './sealed-code.ts';

type Rejected = {
  readonly amount: Money;
  readonly email: string;
  readonly key: string;
  /** The code that is in no stock, of which only the last characters are shown. */
  readonly code: Secret;
  /** Whether it can be that of a card of the shop's own. */
  readonly mayBeOwn: boolean;
};

export function notStockPage(page: Page, { amount, email, key, code, mayBeOwn }: Rejected): PageResponse {
  const text = page.text.tillSales;
  const card = cardTail(lastCharactersOf(code));
  const shown = page.amount(amount);
  const sent = markup`${keyInput(page.ctx, key)}${hidden('amount', amountValue(amount, page.language))}${hidden('email', email)}`;
  const isOffered = mayBeOwn && isPermitted(page.member, 'changeCards');
  const own = isOffered
    ? markup`<details class="folded own-code"><summary>${text.ownTitle}</summary><form class="stack" method="post" action="${page.basePath}/till/sell/own">${sent}${sealedInput(page, code)}
<p class="soft">${fill(text.ownHint, { card })}</p><button class="button">${fill(text.ownSell, { amount: shown, card })}</button></form></details>`
    : undefined;
  const body = markup`${taskHeading(page, { title: text.sellTitle, path: '/till/sell' })}
<section class="notice stack" role="alert"><h3>${fill(text.notStockTitle, { card })}</h3><p>${text.notStockText}</p><p>${fill(text.amountKept, { amount: shown })}</p></section>
<div class="columns"><div>${cameraFrame(page)}</div>
<div class="stack"><form class="entry-form" data-code method="post" action="${page.basePath}/till/sell" autocomplete="off">
${sent}${hidden('how', 'card')}
${inputField({ name: 'code', label: text.scanAgain, kind: 'code', hasFocus: true })}
${payButton(text.checkCode)}</form>
${own}</div></div>`;
  const title = fillPlain(text.notStockTitle, { card: lastCharactersOf(code) });
  return {
    status: 422,
    body: tillPage(page.services, page.request, { title, body, isWide: true, scripts: cameraScripts }),
  };
}
