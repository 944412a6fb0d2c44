/** Disables a card, and enables it again within the store's time for that. */

import type { Store } from '../../../core/stores/domain/store.ts';
import { markup } from '../../../platform/markup.ts';
import { disableCard, enableCard } from '../service/card.ts';
import type { Script } from '../../../database/sql/sql.ts';
import {
  backLink,
  change,
  changePage,
  changeRoutes,
  openCard,
  unavailablePage,
  unusableReason,
  type Done,
  type OpenedCard,
} from './change-form.ts';
import { reasonOf } from '../../../pages/kit/card-texts.ts';
import { alert } from '../../../pages/kit/form.ts';
import { figure } from '../../../pages/kit/format.ts';
import { keyInput } from '../../../pages/kit/once.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import type { ConsoleResponse, StaffRoute } from '../../../pages/kit/route.ts';
import { fill, fillPlain, plural } from '../../../pages/kit/texts.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

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

function enableLink(page: Page, opened: OpenedCard): ReturnType<typeof markup> | undefined {
  if (enableUntil(page.services, page.store, opened) === undefined) return undefined;
  const { title } = page.text.cardActions.enable;
  return markup`<a class="button first" href="${page.basePath}${opened.path}/enable">${title}</a>`;
}

function disablePage(page: Page, opened: OpenedCard, { isReleasing, error }: Form): ConsoleResponse {
  const { disable, resend, cancel } = page.text.cardActions;
  const { card, path } = opened;
  const title = disable.title;
  const status = error === undefined ? 200 : 422;
  if (card.disabledAt !== null) {
    const action = enableLink(page, opened);
    return unavailablePage(page, opened, { title, reason: disable.already, status, action });
  }
  const { undoWindowMinutes } = page.store;
  const undo =
    undoWindowMinutes === 0 ? disable.final : plural(page.language, disable.undo, undoWindowMinutes);
  const replace = markup`<a href="${page.basePath}${path}/resend">${resend.title}</a>`;
  const replacement =
    unusableReason(page, card) === undefined
      ? markup`<p class="notice">${fill(disable.replace, { link: replace })}</p>`
      : undefined;
  const checked = isReleasing ? markup` checked` : undefined;
  const invalid =
    error === undefined ? undefined : markup` aria-invalid="true" aria-describedby="holds-error"`;
  const message = error === undefined ? undefined : markup`<p class="error" id="holds-error">${error}</p>`;
  const holds =
    card.held.minor === 0n
      ? undefined
      : markup`<div><p>${fillPlain(disable.held, { amount: page.amount(card.held) })}</p>
<label class="check"><input type="checkbox" name="release_holds" value="1"${checked}${invalid}>${disable.release}</label>${message}</div>`;
  const body = markup`<section class="panel stack change" aria-label="${title}">${holds === undefined && error !== undefined ? alert(error) : undefined}
<div>${figure(card.balance, page.language)}<p class="soft">${disable.balance}</p></div>
<p>${disable.consequence} ${undo}</p>
${replacement}
<form class="stack" method="post" action="${page.basePath}${path}/disable">${keyInput(page.ctx, error === undefined ? undefined : page.key)}
${holds}
<div class="row"><button class="button bad">${disable.action}</button>${backLink(page, { path, text: cancel, kind: 'quiet' })}</div>
</form></section>`;
  return changePage(page, opened, { title, body, status });
}

async function submitDisable(page: Page, opened: OpenedCard): Promise<ConsoleResponse> {
  const { disable, errors: messages } = page.text.cardActions;
  const { card } = opened;
  const isReleasing = page.request.form.get('release_holds') === '1';
  // Another person has disabled the card: the page says so.
  if (card.disabledAt !== null) return disablePage(page, opened, { isReleasing, error: '' });
  return await change(page, opened, {
    title: disable.title,
    *script(): Script<Done> {
      yield* disableCard(page.ctx, page.by, { cardId: card.id, releaseHolds: isReleasing });
      return { done: 'disabled', card: card.id };
    },
    async rejected(fault) {
      const error = fault ? disable.holdsRemain : messages.expiredForm;
      if (fault && !fault.errors?.['disable']) return undefined;
      return disablePage(page, await openCard(page), { isReleasing, error });
    },
  });
}

function enablePage(page: Page, opened: OpenedCard, error?: string): ConsoleResponse {
  const { enable, cancel } = page.text.cardActions;
  const { card, path } = opened;
  const title = enable.title;
  const until = enableUntil(page.services, page.store, opened);
  if (until === undefined) {
    const closed = reasonOf({ code: 'undo-window-closed', retryAfterSeconds: 0 }, card, page.language) ?? '';
    const reason = card.disabledAt === null ? enable.already : closed;
    return unavailablePage(page, opened, { title, reason });
  }
  const time = page.time(until, { timeStyle: 'short' });
  const body = markup`<section class="panel stack change" aria-label="${title}">${error === undefined ? undefined : alert(error)}
<div>${figure(card.balance, page.language)}<p class="soft">${enable.balance}</p></div>
<p>${enable.consequence} ${fill(enable.until, { time })}</p>
<form class="stack" method="post" action="${page.basePath}${path}/enable">${keyInput(page.ctx)}
<div class="row"><button class="button first">${enable.action}</button>${backLink(page, { path, text: cancel, kind: 'quiet' })}</div>
</form></section>`;
  return changePage(page, opened, { title, body, status: error === undefined ? 200 : 422 });
}

async function submitEnable(page: Page, opened: OpenedCard): Promise<ConsoleResponse> {
  const { enable, errors: messages } = page.text.cardActions;
  const { card } = opened;
  return await change(page, opened, {
    title: enable.title,
    *script(): Script<Done> {
      yield* enableCard(page.ctx, page.by, card.id);
      return { done: 'enabled', card: card.id };
    },
    async rejected(fault) {
      if (!fault) return enablePage(page, opened, messages.expiredForm);
      if (fault.code !== 'undo-window-closed') return undefined;
      const current = await openCard(page);
      if (current.card.disabledAt !== null) return undefined;
      const { title, already: reason } = enable;
      return unavailablePage(page, current, { title, reason, status: 422 });
    },
  });
}

export const disableRoutes: readonly StaffRoute[] = [
  ...changeRoutes('/cards/:id/disable', {
    open: openCard,
    show: (page, opened) => disablePage(page, opened, { isReleasing: false }),
    submit: submitDisable,
  }),
  ...changeRoutes('/cards/:id/enable', { open: openCard, show: enablePage, submit: submitEnable }),
];
