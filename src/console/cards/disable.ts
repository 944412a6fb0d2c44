/** Disables a card, and enables it again within the store's time for that. */

import type { Store } from '../../domain/stores/store.ts';
import { markup } from '../../platform/markup.ts';
import { disableCard, enableCard } from '../../service/staff-actions/card.ts';
import type { Script } from '../../storage/sql/sql.ts';
import {
  backLink,
  change,
  changePage,
  earlierResult,
  openCard,
  reasonOf,
  changeTexts,
  unavailablePage,
  unusableReason,
  type Done,
  type OpenedCard,
} from './change-form.ts';
import { alert } from '../kit/form.ts';
import { amountText, figure, timeElement } from '../kit/format.ts';
import { keyInput, keyOf } from '../kit/once.ts';
import { byOf } from '../kit/page-context.ts';
import type { ConsoleResponse, ConsoleServices, StaffRequest, StaffRoute } from '../kit/route.ts';
import { fill, fillPlain, plural } from '../kit/texts.ts';

type Form = { readonly isReleasing: boolean; readonly error?: string };

/** Until when (ms) a disabled card can be enabled again; undefined: it cannot. */
function enableUntil(
  { ctx }: Pick<ConsoleServices, 'ctx'>,
  { undoWindowMinutes }: Store,
  { card: { disabledAt } }: OpenedCard,
): number | undefined {
  if (disabledAt === null) return undefined;
  const until = disabledAt + undoWindowMinutes * 60_000;
  return ctx.clock.earliest() < until ? until : undefined;
}

function enableLink(
  services: ConsoleServices,
  request: StaffRequest,
  opened: OpenedCard,
): ReturnType<typeof markup> | undefined {
  if (enableUntil(services, request.signedIn.store, opened) === undefined) return undefined;
  const { title } = changeTexts[request.language].enable;
  return markup`<a class="button first" href="${services.frame.basePath}${opened.path}/enable">${title}</a>`;
}

function disablePage(
  services: ConsoleServices,
  request: StaffRequest,
  opened: OpenedCard,
  { isReleasing, error }: Form,
): ConsoleResponse {
  const { ctx, frame } = services;
  const { language, signedIn } = request;
  const { disable, resend, cancel } = changeTexts[language];
  const { card, path } = opened;
  const title = disable.title;
  const status = error === undefined ? 200 : 422;
  if (card.disabledAt !== null) {
    const action = enableLink(services, request, opened);
    return unavailablePage(services, request, opened, { title, reason: disable.already, status, action });
  }
  const { undoWindowMinutes } = signedIn.store;
  const undo = undoWindowMinutes === 0 ? disable.final : plural(language, disable.undo, undoWindowMinutes);
  const replace = markup`<a href="${frame.basePath}${path}/resend">${resend.title}</a>`;
  const replacement =
    unusableReason(services, request, card) === undefined
      ? markup`<p class="notice">${fill(disable.replace, { link: replace })}</p>`
      : undefined;
  const checked = isReleasing ? markup` checked` : undefined;
  const invalid =
    error === undefined ? undefined : markup` aria-invalid="true" aria-describedby="holds-error"`;
  const message = error === undefined ? undefined : markup`<p class="error" id="holds-error">${error}</p>`;
  const holds =
    card.held.minor === 0n
      ? undefined
      : markup`<div><p>${fillPlain(disable.held, { amount: amountText(card.held, language) })}</p>
<label class="check"><input type="checkbox" name="release_holds" value="1"${checked}${invalid}>${disable.release}</label>${message}</div>`;
  const body = markup`<section class="panel stack change" aria-label="${title}">${holds === undefined && error !== undefined ? alert(error) : undefined}
<div>${figure(card.balance, language)}<p class="soft">${disable.balance}</p></div>
<p>${disable.consequence} ${undo}</p>
${replacement}
<form class="stack" method="post" action="${frame.basePath}${path}/disable">${keyInput(ctx, error === undefined ? undefined : keyOf(request))}
${holds}
<div class="row"><button class="button bad">${disable.action}</button>${backLink(services, request, { path, text: cancel, kind: 'quiet' })}</div>
</form></section>`;
  return changePage(services, request, opened, { title, body, status });
}

async function submitDisable(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const { disable, errors: messages } = changeTexts[request.language];
  const opened = await openCard(services, request);
  const earlier = await earlierResult(services, request, opened);
  if (earlier) return earlier;
  const { card } = opened;
  const isReleasing = request.form.get('release_holds') === '1';
  // Another person has disabled the card: the page says so.
  if (card.disabledAt !== null) return disablePage(services, request, opened, { isReleasing, error: '' });
  return await change(services, request, opened, {
    title: disable.title,
    *script(): Script<Done> {
      yield* disableCard(ctx, byOf(request), { cardId: card.id, releaseHolds: isReleasing });
      return { done: 'disabled', card: card.id };
    },
    async rejected(fault) {
      const error = fault ? disable.holdsRemain : messages.expiredForm;
      if (fault && !fault.errors?.['disable']) return undefined;
      return disablePage(services, request, await openCard(services, request), { isReleasing, error });
    },
  });
}

function enablePage(
  services: ConsoleServices,
  request: StaffRequest,
  opened: OpenedCard,
  error?: string,
): ConsoleResponse {
  const { ctx, frame } = services;
  const { language, signedIn } = request;
  const { enable, cancel } = changeTexts[language];
  const { card, path } = opened;
  const title = enable.title;
  const until = enableUntil(services, signedIn.store, opened);
  if (until === undefined) {
    const closed = reasonOf({ code: 'undo-window-closed', retryAfterSeconds: 0 }, card, language) ?? '';
    const reason = card.disabledAt === null ? enable.already : closed;
    return unavailablePage(services, request, opened, { title, reason });
  }
  const time = timeElement(until, signedIn.store, language, { timeStyle: 'short' });
  const body = markup`<section class="panel stack change" aria-label="${title}">${error === undefined ? undefined : alert(error)}
<div>${figure(card.balance, language)}<p class="soft">${enable.balance}</p></div>
<p>${enable.consequence} ${fill(enable.until, { time })}</p>
<form class="stack" method="post" action="${frame.basePath}${path}/enable">${keyInput(ctx)}
<div class="row"><button class="button first">${enable.action}</button>${backLink(services, request, { path, text: cancel, kind: 'quiet' })}</div>
</form></section>`;
  return changePage(services, request, opened, { title, body, status: error === undefined ? 200 : 422 });
}

async function submitEnable(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const { enable, errors: messages } = changeTexts[request.language];
  const opened = await openCard(services, request);
  const earlier = await earlierResult(services, request, opened);
  if (earlier) return earlier;
  const { card } = opened;
  return await change(services, request, opened, {
    title: enable.title,
    *script(): Script<Done> {
      yield* enableCard(ctx, byOf(request), card.id);
      return { done: 'enabled', card: card.id };
    },
    async rejected(fault) {
      if (!fault) return enablePage(services, request, opened, messages.expiredForm);
      if (fault.code !== 'undo-window-closed') return undefined;
      const current = await openCard(services, request);
      if (current.card.disabledAt !== null) return undefined;
      const { title, already: reason } = enable;
      return unavailablePage(services, request, current, { title, reason, status: 422 });
    },
  });
}

const access = 'changeCards';

export const disableRoutes: readonly StaffRoute[] = [
  {
    method: 'GET',
    path: '/cards/:id/disable',
    access,
    handle: async (services, request) =>
      disablePage(services, request, await openCard(services, request), { isReleasing: false }),
  },
  { method: 'POST', path: '/cards/:id/disable', access, handle: submitDisable },
  {
    method: 'GET',
    path: '/cards/:id/enable',
    access,
    handle: async (services, request) => enablePage(services, request, await openCard(services, request)),
  },
  { method: 'POST', path: '/cards/:id/enable', access, handle: submitEnable },
];
