/** Releases a hold of a card. */

import { Fault } from '../../domain/fault.ts';
import { isHoldExpired, type Hold } from '../../domain/money/hold.ts';
import { formatMoney } from '../../domain/money/money.ts';
import { markup } from '../../platform/markup.ts';
import { findHoldOf } from '../../service/cards/card-page.ts';
import { releaseHoldOf } from '../../service/staff-actions/card.ts';
import type { Script } from '../../storage/sql/sql.ts';
import { actorName } from '../kit/actors.ts';
import {
  backLink,
  change,
  changePage,
  earlierResult,
  openCard,
  reasonOf,
  changeTexts,
  unavailablePage,
  type Done,
  type OpenedCard,
} from './change-form.ts';
import { alert } from '../kit/form.ts';
import { figure, timeElement } from '../kit/format.ts';
import { keyInput } from '../kit/once.ts';
import { byOf } from '../kit/page-context.ts';
import type { ConsoleResponse, ConsoleServices, StaffRequest, StaffRoute } from '../kit/route.ts';
import { fill } from '../kit/texts.ts';
import { idIn } from '../kit/ids.ts';

type OpenedHold = OpenedCard & {
  readonly hold: Hold;
  /** The caller that placed it. */
  readonly actor: string;
};

/** @throws Fault `not-found` if the card has no such hold. */
async function openHold(services: ConsoleServices, request: StaffRequest): Promise<OpenedHold> {
  const opened = await openCard(services, request);
  const key = { cardId: opened.card.id };
  const holdId = idIn(services, request, 'hold');
  const { hold, actors } = await services.storage.read(() => findHoldOf(request.signedIn.store, key, holdId));
  return { ...opened, hold, actor: actorName(hold.actor, actors, request.language) };
}

function releasePage(
  services: ConsoleServices,
  request: StaffRequest,
  opened: OpenedHold,
  error?: string,
): ConsoleResponse {
  const { ctx, frame } = services;
  const { language, signedIn } = request;
  const { release, cancel } = changeTexts[language];
  const { card, hold, actor, path } = opened;
  const title = release.title;
  const isExpired = hold.status === 'expired' || isHoldExpired(hold, ctx.clock.earliest());
  if (isExpired || hold.status !== 'open') {
    const fault = new Fault(isExpired ? 'hold-expired' : 'hold-closed');
    const reason = reasonOf(fault, card, language) ?? '';
    return unavailablePage(services, request, opened, { title, reason });
  }
  const reference = hold.reference === null ? undefined : markup` · ${hold.reference}`;
  const placed = timeElement(hold.createdAt, signedIn.store, language);
  const until = timeElement(hold.expiresAt, signedIn.store, language);
  const body = markup`<section class="panel stack change" aria-label="${title}">${error === undefined ? undefined : alert(error)}
<div>${figure(hold.amount, language)}<p class="soft">${fill(release.held, { actor, time: placed, until })}${reference}</p></div>
<form class="stack" method="post" action="${frame.basePath}${path}/holds/${request.params['hold'] ?? ''}/release">${keyInput(ctx)}
<p>${release.consequence}</p>
<div class="row"><button class="button first">${release.action}</button>${backLink(services, request, { path, text: cancel, kind: 'quiet' })}</div>
</form></section>`;
  return changePage(services, request, opened, { title, body, status: error === undefined ? 200 : 422 });
}

async function submit(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const { release, errors } = changeTexts[request.language];
  const opened = await openHold(services, request);
  const earlier = await earlierResult(services, request, opened);
  if (earlier) return earlier;
  const { card, hold } = opened;
  return await change(services, request, opened, {
    title: release.title,
    *script(): Script<Done> {
      yield* releaseHoldOf(ctx, byOf(request), hold);
      return { done: 'released', card: card.id, amount: formatMoney(hold.amount) };
    },
    rejected: (fault) => (fault ? undefined : releasePage(services, request, opened, errors.expiredForm)),
  });
}

const path = '/cards/:id/holds/:hold/release';

export const holdReleaseRoutes: readonly StaffRoute[] = [
  {
    method: 'GET',
    path,
    access: 'changeCards',
    handle: async (services, request) => releasePage(services, request, await openHold(services, request)),
  },
  { method: 'POST', path, access: 'changeCards', handle: submit },
];
