/** The reason why a card cannot be redeemed: what is the case, what to say to the customer, and what to do. */

import type { Card } from '../../../core/cards/domain/card.ts';
import { dayOf } from '../../../core/domain/day.ts';
import type { Transfer } from '../../../core/money/domain/ledger.ts';
import { isPermitted } from '../../../core/staff/domain/staff.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { readCardPast } from '../../card-pages/service/card-page.ts';
import { actorName } from '../../../pages/kit/actors.ts';
import { cardTail, dayText, timeText } from '../../../pages/kit/format.ts';
import { identityOf } from '../../../pages/kit/identity.ts';
import type { PageResponse } from '../../../pages/kit/route.ts';
import { fillPlain, textsOf } from '../../../pages/kit/texts.ts';
import { mayTopUp } from './card.ts';
import { nextCardBar } from './entry.ts';
import { tillTexts, type TillState } from './frame.ts';
import { tillPage } from './page.ts';
import { nextForm } from './result.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

const texts = textsOf('tillUnusable');

type UnusableState = Exclude<TillState, 'active'>;

type Explanation = {
  readonly title: string;
  readonly facts: readonly MarkupPart[];
  readonly say: string;
  readonly todo: readonly string[];
  /** Pages of the card where the person can change that. */
  readonly links: readonly (readonly [path: string, label: string])[];
};

/** Facts about a card that its record does not have. */
type Details = {
  /** The person or program that disabled it; null: it is not known. */
  readonly disabledBy: string | null;
  readonly lastRedemption: Transfer | undefined;
  readonly contact: string | null;
};

export async function unusablePage(
  page: Page,
  {
    card,
    state,
    status,
  }: { readonly card: Card; readonly state: UnusableState; readonly status: PageResponse['status'] },
): Promise<PageResponse> {
  const text = page.text.tillUnusable;
  const details = await detailsOf(page, card);
  const { title, facts, say, todo, links } = explanations[state](page, {
    card,
    details,
  });
  const shown = [cardTail(card.lastCharacters), ...facts, text.nothing].map((fact, index) =>
    index === 0 ? fact : markup` · ${fact}`,
  );
  const buttons = links.map(
    ([path, label]) => markup`<a class="button" href="${page.basePath}${path}">${label}</a>`,
  );
  const body = markup`<section class="unusable${['empty', 'held', 'suspended'].includes(state) ? ' wait' : ''}" role="alert">${icons[state]}<h2>${title}</h2><p>${shown}</p></section>
<section class="panel stack"><div><h2>${text.sayTitle}</h2><p class="say">${say}</p></div><div><h2>${text.doTitle}</h2><ol class="todo">${todo.map((step) => markup`<li><span>${step}</span></li>`)}</ol></div></section>
${buttons.length === 0 ? undefined : markup`<div class="quick two-up">${buttons}</div>`}${nextForm(page.services)}
${nextCardBar(page.services, tillTexts(page.request).nextCard)}`;
  return { status, body: tillPage(page.services, page.request, { title, body }) };
}

async function detailsOf(page: Page, { id: cardId, disabledAt }: Card): Promise<Details> {
  const past = await page.read(() => readCardPast(page.store, cardId));
  const { settings, transfers, changes, actors } = past;
  const disabling =
    disabledAt === null
      ? undefined
      : changes.find(({ fields }) => fields.some(({ field }) => field === 'disabled_at'));
  return {
    disabledBy: disabling ? actorName(disabling.actor, actors, page.language) : null,
    lastRedemption: transfers.find(({ kind }) => kind === 'debit' || kind === 'capture'),
    contact: identityOf(settings).contact,
  };
}

type Explain = (page: Page, of: { readonly card: Card; readonly details: Details }) => Explanation;

const explanations: Readonly<Record<UnusableState, Explain>> = {
  expired(page, { card, details: { contact } }) {
    const text = texts[page.language];
    const day = card.expiresOn === null ? '' : dayText(card.expiresOn, page.language, 'long');
    const ask = contact === null ? text.askToExtend : fillPlain(text.askToExtendOr, { contact });
    return {
      title: fillPlain(text.expiredTitle, { day }),
      facts: [fillPlain(text.wasLeft, { amount: page.amount(card.balance) })],
      say: fillPlain(text.expiredSay, { day }),
      todo: [text.payOtherwise, ask],
      links: isAtOffice(page, 'changeCards') ? [[`/cards/${page.publicId(card.id)}/edit`, text.extend]] : [],
    };
  },
  disabled(page, { card, details: { disabledBy } }) {
    const text = texts[page.language];
    const day = longDay(card.disabledAt, page.store, page.language);
    const by = disabledBy === null ? [] : [fillPlain(text.disabledBy, { name: disabledBy })];
    return {
      title: fillPlain(text.disabledTitle, { day }),
      facts: [...by, fillPlain(text.isOnIt, { amount: page.amount(card.balance) })],
      say: text.disabledSay,
      todo: [text.giveNothing, text.askForNewer, text.callManager],
      links: isAtOffice(page, 'readCards')
        ? [[`/cards/${page.publicId(card.id)}`, tillTexts(page.request).cardPage]]
        : [],
    };
  },
  suspended(page, { card, details: { contact } }) {
    const text = texts[page.language];
    const { suspendedAt, suspendReason: reason } = card;
    const ask = contact === null ? text.doNotKeep : fillPlain(text.doNotKeepOr, { contact });
    return {
      title: fillPlain(text.suspendedTitle, { day: longDay(suspendedAt, page.store, page.language) }),
      facts: [
        fillPlain(text.isOnIt, { amount: page.amount(card.balance) }),
        ...(reason === null ? [] : [fillPlain(text.suspendReason, { reason })]),
      ],
      say: text.suspendedSay,
      todo: [text.payOtherwise, ask],
      links: isAtOffice(page, 'readCards')
        ? [[`/cards/${page.publicId(card.id)}`, tillTexts(page.request).cardPage]]
        : [],
    };
  },
  empty(page, { card, details: { lastRedemption } }) {
    const text = texts[page.language];
    const title = fillPlain(text.emptyTitle, { amount: page.amount(card.balance) });
    const canAdd = mayTopUp(page);
    const links: Explanation['links'] = canAdd
      ? [[`/till/refund/card/${page.publicId(card.id)}/add`, tillTexts(page.request).addMoney]]
      : [];
    const todo = canAdd ? [text.payOtherwise, text.orAdd] : [text.payOtherwise];
    if (!lastRedemption) return { title, facts: [], say: text.emptySay, todo, links };
    const { amount, createdAt } = lastRedemption;
    const last = {
      amount: page.amount(amount),
      time: timeText(createdAt, page.store, page.language, { dateStyle: 'long', timeStyle: 'short' }),
    };
    return {
      title,
      facts: [fillPlain(text.last, last)],
      say: fillPlain(text.emptySayLast, { time: last.time }),
      todo,
      links,
    };
  },
  held(page, { card }) {
    const text = texts[page.language];
    return {
      title: fillPlain(text.heldTitle, { amount: page.amount(card.held) }),
      facts: [],
      say: text.heldSay,
      todo: [text.payOtherwise, text.heldUntil],
      links: [],
    };
  },
};

/** Whether the person may do something in the office: a session with a PIN is at the till only. */
function isAtOffice(page: Page, permission: 'readCards' | 'changeCards'): boolean {
  return page.request.signedIn.session.tillId === null && isPermitted(page.member, permission);
}

function longDay(instant: number | null, { timeZone }: Store, language: string): string {
  return instant === null ? '' : dayText(dayOf(instant, timeZone), language, 'long');
}

function icon(path: Markup): Markup {
  return markup`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">${path}</svg>`;
}

const icons: Readonly<Record<UnusableState, Markup>> = {
  expired: icon(markup`<circle cx="12" cy="12" r="8.5"/><path d="M12 7v5l3.5 2"/>`),
  disabled: icon(markup`<circle cx="12" cy="12" r="8.5"/><path d="m6 6 12 12"/>`),
  suspended: icon(markup`<circle cx="12" cy="12" r="8.5"/><path d="M9.5 8.5v7M14.5 8.5v7"/>`),
  empty: icon(markup`<path d="m5 12.5 4.5 4.5L19 7.5"/>`),
  held: icon(
    markup`<rect x="5" y="10.5" width="14" height="10" rx="2"/><path d="M8 10.5v-3a4 4 0 0 1 8 0v3"/>`,
  ),
};
