/** Suspends a card, with a reason for staff, and resumes it. */

import { isExpired } from '../../../core/cards/domain/card.ts';
import { parseText } from '../../../core/domain/text.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { today } from '../../../core/stores/service/day.ts';
import { resumeCardBy, suspendCardBy } from '../service/suspension.ts';
import type { Script } from '../../../database/sql/sql.ts';
import {
  backLink,
  change,
  changePage,
  changeRoutes,
  multilineOf,
  openCard,
  unavailablePage,
  type Done,
  type OpenedCard,
} from './change-form.ts';
import { changeTexts, reasonOf } from '../../../pages/kit/card-texts.ts';
import { alert, textArea } from '../../../pages/kit/form.ts';
import { figure } from '../../../pages/kit/format.ts';
import type { ConsoleResponse, StaffRoute } from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

type Name = 'suspend' | 'resume';

/** The reason why the card cannot be suspended, or resumed; undefined: it can. */
function obstacle({ ctx, store, language }: Page, name: Name, { card }: OpenedCard): string | undefined {
  if (card.disabledAt !== null)
    return reasonOf({ code: 'card-disabled', retryAfterSeconds: 0 }, card, language);
  if ((card.suspendedAt !== null) === (name === 'suspend')) return changeTexts[language][name].already;
  // A card that has expired cannot be spent without a suspension.
  return name === 'suspend' && isExpired(card, today(ctx, store))
    ? reasonOf({ code: 'card-expired', retryAfterSeconds: 0 }, card, language)
    : undefined;
}

/** Returns the other consequences, for the card as it is. */
function noteOf(page: Page, name: Name, { card }: OpenedCard): Markup | undefined {
  const { suspend, resume } = page.text.cardActions;
  if (name === 'resume')
    return isExpired(card, today(page.ctx, page.store)) ? markup`<p>${resume.expired}</p>` : undefined;
  return card.held.minor === 0n
    ? undefined
    : markup`<p>${fillPlain(suspend.held, { amount: page.amount(card.held) })}</p>`;
}

type Form = {
  readonly reason: string;
  /** At the reason. */
  readonly error?: string;
  /** Above the form. */
  readonly notice?: string;
};

function formPage(
  page: Page,
  name: Name,
  opened: OpenedCard,
  { reason, error, notice }: Form,
): ConsoleResponse {
  const { language } = page;
  const { suspend, cancel, ...texts } = changeTexts[language];
  const { title, consequence, balance, action } = name === 'suspend' ? suspend : texts.resume;
  const { card, path } = opened;
  const isRejected = error !== undefined || notice !== undefined;
  const status = isRejected ? 422 : 200;
  const why = obstacle(page, name, opened);
  if (why !== undefined) return unavailablePage(page, opened, { title, reason: why, status });
  const field =
    name === 'suspend'
      ? textArea({ name: 'reason', label: suspend.reason, value: reason, hint: suspend.reasonHint, error })
      : undefined;
  const back = backLink(page, { path, text: cancel, kind: 'quiet' });
  const fields = markup`${field}
<div class="row"><button class="button first">${action}</button>${back}</div>
`;
  const body = markup`<section class="panel stack change" aria-label="${title}">${notice === undefined ? undefined : alert(notice)}
<div>${figure(card.balance, language)}<p class="soft">${balance}</p></div>
<p>${consequence}</p>
${noteOf(page, name, opened)}
${page.form(`${path}/${name}`, fields, isRejected ? page.key : undefined)}</section>`;
  return changePage(page, opened, { title, body, status });
}

async function submit(page: Page, name: Name, opened: OpenedCard): Promise<ConsoleResponse> {
  const { ctx, by } = page;
  const { errors: messages, ...texts } = page.text.cardActions;
  const { title } = texts[name];
  const form = { reason: multilineOf(page, 'reason') };
  const why = obstacle(page, name, opened);
  if (why !== undefined) return unavailablePage(page, opened, { title, reason: why, status: 422 });
  const reason = parseText(form.reason);
  if (!reason.ok) return formPage(page, name, opened, { ...form, error: messages.badText });
  const { id: cardId } = opened.card;
  return await change(page, opened, {
    title,
    *script(): Script<Done> {
      if (name === 'resume') {
        yield* resumeCardBy(ctx, by, cardId);
        return { done: 'resumed', card: cardId };
      }
      yield* suspendCardBy(ctx, by, { cardId, reason: reason.value });
      return { done: 'suspended', card: cardId };
    },
    rejected: (fault) =>
      fault ? undefined : formPage(page, name, opened, { ...form, notice: messages.expiredForm }),
  });
}

function routesOf(name: Name): readonly StaffRoute[] {
  return changeRoutes(`/cards/:id/${name}`, {
    open: openCard,
    show: (page, opened) => formPage(page, name, opened, { reason: '' }),
    submit: (page, opened) => submit(page, name, opened),
  });
}

export const suspendRoutes = [...routesOf('suspend'), ...routesOf('resume')];
