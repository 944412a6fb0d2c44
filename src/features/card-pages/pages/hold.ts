/** Releases a hold of a card. */

import { Fault } from '../../../core/domain/fault.ts';
import { isHoldExpired, type Hold } from '../../../core/money/domain/hold.ts';
import { formatMoney } from '../../../core/money/domain/money.ts';
import { markup } from '../../../platform/markup.ts';
import { findHoldOf } from '../service/card-page.ts';
import { releaseHoldOf } from '../service/card.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { actorName } from '../../../pages/kit/actors.ts';
import {
  backLink,
  change,
  changePage,
  changeRoutes,
  openCard,
  unavailablePage,
  type Done,
  type OpenedCard,
} from './change-form.ts';
import { reasonOf } from '../../../pages/kit/card-texts.ts';
import { alert } from '../../../pages/kit/form.ts';
import { figure } from '../../../pages/kit/format.ts';
import { keyInput } from '../../../pages/kit/once.ts';
import type { ConsoleResponse } from '../../../pages/kit/route.ts';
import { fill } from '../../../pages/kit/texts.ts';
import { idIn } from '../../../pages/kit/ids.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

type OpenedHold = OpenedCard & {
  readonly hold: Hold;
  /** The caller that placed it. */
  readonly actor: string;
};

/** @throws Fault `not-found` if the card has no such hold. */
async function openHold(page: Page): Promise<OpenedHold> {
  const opened = await openCard(page);
  const key = { cardId: opened.card.id };
  const holdId = idIn(page.services, page.request, 'hold');
  const { hold, actors } = await page.read(() => findHoldOf(page.store, key, holdId));
  return { ...opened, hold, actor: actorName(hold.actor, actors, page.language) };
}

function releasePage(page: Page, opened: OpenedHold, error?: string): ConsoleResponse {
  const { release, cancel } = page.text.cardActions;
  const { card, hold, actor, path } = opened;
  const title = release.title;
  const isExpired = hold.status === 'expired' || isHoldExpired(hold, page.ctx.clock.earliest());
  if (isExpired || hold.status !== 'open') {
    const fault = new Fault(isExpired ? 'hold-expired' : 'hold-closed');
    const reason = reasonOf(fault, card, page.language) ?? '';
    return unavailablePage(page, opened, { title, reason });
  }
  const reference = hold.reference === null ? undefined : markup` · ${hold.reference}`;
  const placed = page.time(hold.createdAt);
  const until = page.time(hold.expiresAt);
  const body = markup`<section class="panel stack change" aria-label="${title}">${error === undefined ? undefined : alert(error)}
<div>${figure(hold.amount, page.language)}<p class="soft">${fill(release.held, { actor, time: placed, until })}${reference}</p></div>
<form class="stack" method="post" action="${page.basePath}${path}/holds/${page.param('hold')}/release">${keyInput(page.ctx)}
<p>${release.consequence}</p>
<div class="row"><button class="button first">${release.action}</button>${backLink(page, { path, text: cancel, kind: 'quiet' })}</div>
</form></section>`;
  return changePage(page, opened, { title, body, status: error === undefined ? 200 : 422 });
}

async function submit(page: Page, opened: OpenedHold): Promise<ConsoleResponse> {
  const { release, errors } = page.text.cardActions;
  const { card, hold } = opened;
  return await change(page, opened, {
    title: release.title,
    *script(): Script<Done> {
      yield* releaseHoldOf(page.ctx, page.by, hold);
      return { done: 'released', card: card.id, amount: formatMoney(hold.amount) };
    },
    rejected: (fault) => (fault ? undefined : releasePage(page, opened, errors.expiredForm)),
  });
}

export const holdReleaseRoutes = changeRoutes('/cards/:id/holds/:hold/release', {
  open: openHold,
  show: releasePage,
  submit,
});
