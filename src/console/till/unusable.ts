/** The reason why a card cannot be redeemed: what is the case, what to say to the customer, and what to do. */

import type { Card } from '../../domain/cards/card.ts';
import { dayOf } from '../../domain/day.ts';
import type { Transfer } from '../../domain/money/ledger.ts';
import { isPermitted } from '../../domain/staff/staff.ts';
import type { Store } from '../../domain/stores/store.ts';
import { markup, type Markup, type MarkupPart } from '../../platform/markup.ts';
import { readCardPast } from '../../service/cards/card-page.ts';
import { actorName } from '../kit/actors.ts';
import { amountText, cardTail, dayText, timeText } from '../kit/format.ts';
import { contactOf } from '../recipient/place.ts';
import type { ConsoleServices, PageResponse, StaffRequest } from '../kit/route.ts';
import { fillPlain, textsOf } from '../kit/texts.ts';
import { mayTopUp } from './card.ts';
import { nextCardBar } from './entry.ts';
import { tillTexts, type TillState } from './frame.ts';
import { tillPage } from './page.ts';
import { nextForm } from './result.ts';

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
  services: ConsoleServices,
  request: StaffRequest,
  {
    card,
    state,
    status,
  }: { readonly card: Card; readonly state: UnusableState; readonly status: PageResponse['status'] },
): Promise<PageResponse> {
  const { frame } = services;
  const text = texts[request.language];
  const details = await detailsOf(services, request, card);
  const { title, facts, say, todo, links } = explanations[state](services, request, { card, details });
  const shown = [cardTail(card.lastCharacters), ...facts, text.nothing].map((fact, index) =>
    index === 0 ? fact : markup` · ${fact}`,
  );
  const buttons = links.map(
    ([path, label]) => markup`<a class="button" href="${frame.basePath}${path}">${label}</a>`,
  );
  const body = markup`<section class="unusable${['empty', 'held', 'suspended'].includes(state) ? ' wait' : ''}" role="alert">${icons[state]}<h2>${title}</h2><p>${shown}</p></section>
<section class="panel stack"><div><h2>${text.sayTitle}</h2><p class="say">${say}</p></div><div><h2>${text.doTitle}</h2><ol class="todo">${todo.map((step) => markup`<li><span>${step}</span></li>`)}</ol></div></section>
${buttons.length === 0 ? undefined : markup`<div class="quick two-up">${buttons}</div>`}${nextForm(services)}
${nextCardBar(services, tillTexts(request).nextCard)}`;
  return { status, body: tillPage(services, request, { title, body }) };
}

async function detailsOf(
  { storage }: ConsoleServices,
  { language, signedIn: { store } }: StaffRequest,
  { id: cardId, disabledAt }: Card,
): Promise<Details> {
  const past = await storage.read(() => readCardPast(store, cardId));
  const { settings, transfers, changes, actors } = past;
  const disabling =
    disabledAt === null
      ? undefined
      : changes.find(({ fields }) => fields.some(({ field }) => field === 'disabled_at'));
  return {
    disabledBy: disabling ? actorName(disabling.actor, actors, language) : null,
    lastRedemption: transfers.find(({ kind }) => kind === 'debit' || kind === 'capture'),
    contact: contactOf(settings),
  };
}

type Explain = (
  services: ConsoleServices,
  request: StaffRequest,
  of: { readonly card: Card; readonly details: Details },
) => Explanation;

const explanations: Readonly<Record<UnusableState, Explain>> = {
  expired({ ctx }, request, { card, details: { contact } }) {
    const { language } = request;
    const text = texts[language];
    const day = card.expiresOn === null ? '' : dayText(card.expiresOn, language, 'long');
    const ask = contact === null ? text.askToExtend : fillPlain(text.askToExtendOr, { contact });
    return {
      title: fillPlain(text.expiredTitle, { day }),
      facts: [fillPlain(text.wasLeft, { amount: amountText(card.balance, language) })],
      say: fillPlain(text.expiredSay, { day }),
      todo: [text.payOtherwise, ask],
      links: isAtOffice(request, 'changeCards')
        ? [[`/cards/${ctx.keys.publicIds.of(card.id)}/edit`, text.extend]]
        : [],
    };
  },
  disabled({ ctx }, request, { card, details: { disabledBy } }) {
    const { language, signedIn } = request;
    const text = texts[language];
    const day = longDay(card.disabledAt, signedIn.store, language);
    const by = disabledBy === null ? [] : [fillPlain(text.disabledBy, { name: disabledBy })];
    return {
      title: fillPlain(text.disabledTitle, { day }),
      facts: [...by, fillPlain(text.isOnIt, { amount: amountText(card.balance, language) })],
      say: text.disabledSay,
      todo: [text.giveNothing, text.askForNewer, text.callManager],
      links: isAtOffice(request, 'readCards')
        ? [[`/cards/${ctx.keys.publicIds.of(card.id)}`, tillTexts(request).cardPage]]
        : [],
    };
  },
  suspended({ ctx }, request, { card, details: { contact } }) {
    const { language, signedIn } = request;
    const text = texts[language];
    const { suspendedAt, suspendReason: reason } = card;
    const ask = contact === null ? text.doNotKeep : fillPlain(text.doNotKeepOr, { contact });
    return {
      title: fillPlain(text.suspendedTitle, { day: longDay(suspendedAt, signedIn.store, language) }),
      facts: [
        fillPlain(text.isOnIt, { amount: amountText(card.balance, language) }),
        ...(reason === null ? [] : [fillPlain(text.suspendReason, { reason })]),
      ],
      say: text.suspendedSay,
      todo: [text.payOtherwise, ask],
      links: isAtOffice(request, 'readCards')
        ? [[`/cards/${ctx.keys.publicIds.of(card.id)}`, tillTexts(request).cardPage]]
        : [],
    };
  },
  empty({ ctx }, request, { card, details: { lastRedemption } }) {
    const { language, signedIn } = request;
    const text = texts[language];
    const title = fillPlain(text.emptyTitle, { amount: amountText(card.balance, language) });
    const canAdd = mayTopUp(request);
    const links: Explanation['links'] = canAdd
      ? [[`/till/refund/card/${ctx.keys.publicIds.of(card.id)}/add`, tillTexts(request).addMoney]]
      : [];
    const todo = canAdd ? [text.payOtherwise, text.orAdd] : [text.payOtherwise];
    if (!lastRedemption) return { title, facts: [], say: text.emptySay, todo, links };
    const { amount, createdAt } = lastRedemption;
    const last = {
      amount: amountText(amount, language),
      time: timeText(createdAt, signedIn.store, language, { dateStyle: 'long', timeStyle: 'short' }),
    };
    return {
      title,
      facts: [fillPlain(text.last, last)],
      say: fillPlain(text.emptySayLast, { time: last.time }),
      todo,
      links,
    };
  },
  held(_services, { language }, { card }) {
    const text = texts[language];
    return {
      title: fillPlain(text.heldTitle, { amount: amountText(card.held, language) }),
      facts: [],
      say: text.heldSay,
      todo: [text.payOtherwise, text.heldUntil],
      links: [],
    };
  },
};

/** Whether the person may do something in the office: a session with a PIN is at the till only. */
function isAtOffice(
  { signedIn: { member, session } }: StaffRequest,
  permission: 'readCards' | 'changeCards',
): boolean {
  return session.tillId === null && isPermitted(member, permission);
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
