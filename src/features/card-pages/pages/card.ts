/** The page of a card, and the check of its chain. */

import { propertyOf } from '../../../core/cards/domain/fields.ts';
import { availableOf } from '../../../core/cards/domain/state.ts';
import { subtract, type Money } from '../../../core/money/domain/money.ts';
import { tagsIn } from '../../../core/cards/domain/tags.ts';
import { joinMarkup, linesOf, markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { readCardPage } from '../service/card-page.ts';
import { isCursor } from '../../../core/requests/service/cursor.ts';
import { today } from '../../../core/stores/service/day.ts';
import type { DetailedCard } from '../../../core/cards/storage/detailed-card.ts';
import { actorName } from '../../../pages/kit/actors.ts';
import { fieldLabel, otherFields, shownOf } from './fields.ts';
import { balanceRibbon, cardEnding, stateTag } from './parts.ts';
import { possibleActions, reenableUntil, type CardAction } from './possible.ts';
import { cardTexts } from './texts.ts';
import { checkPage } from './verify.ts';
import { amountText, dayText, figure } from '../../../pages/kit/format.ts';
import type { ConsoleResponse, ConsoleRoute, StaffRequest } from '../../../pages/kit/route.ts';
import { fill, fillPlain, plural } from '../../../pages/kit/texts.ts';
import { idIn } from '../../../pages/kit/ids.ts';
import { historyPanel, type ShownCard } from './card-timeline.ts';
import { get, type Page } from '../../../pages/kit/page-context.ts';

async function cardPage(page: Page): Promise<ConsoleResponse> {
  const cardId = idIn(page.services, page.request);
  const sent = page.request.query.get('history') ?? '';
  const cursor = isCursor(sent) ? sent : null;
  const made = await page.read(() => readCardPage(page.ctx, page.store, cardId, cursor));
  const shown: ShownCard = {
    ...made,
    store: page.store,
    member: page.member,
    today: today(page.ctx, page.store),
    now: page.ctx.clock.earliest(),
    path: `${page.basePath}/cards/${page.publicId(cardId)}`,
    isFirst: cursor === null,
  };
  const text = page.text.card;
  const actions = possibleActions(shown);
  const { found } = made;
  const { card } = found;
  const body = markup`${doneNotice(page)}${disabledNotice(page, shown)}${suspendedNotice(page, shown)}<div class="grid two"><div class="stack">
${balancePanel(page, shown)}
${historyPanel(page, shown)}</div>
<aside class="stack" aria-label="${text.facts}">
${drawing(page, found)}
${factsPanel(page, shown)}
${actionPanel(page, shown, actions)}</aside></div>`;
  const heading = markup`<a class="soft quiet" href="${page.basePath}/cards">${text.cards}</a> <span class="soft" aria-hidden="true">/</span> <span class="code nowrap">${cardEnding(found, page.language)}</span>`;
  return page.show('/cards', {
    title: fillPlain(text.title, { last: card.lastCharacters }),
    heading,
    ...(actions.has('redeem') && { actions: actionLink(page, shown, 'redeem', ' first') }),
    body,
  });
}

/** Returns the notice about the last change: one of a fixed set of names, never a text from the URL. */
function doneNotice(page: Page): Markup | undefined {
  const { done } = page.text.card;
  const name = page.request.query.get('done') ?? '';
  return Object.hasOwn(done, name)
    ? markup`<p class="notice good" role="status">${done[name as keyof typeof done]}</p>
`
    : undefined;
}

function disabledNotice(page: Page, shown: ShownCard): Markup | undefined {
  const { card } = shown.found;
  if (card.disabledAt === null) return undefined;
  const text = page.text.card;
  const until = reenableUntil(shown);
  const enable =
    until !== null && possibleActions(shown).has('enable')
      ? markup` ${fill(text.enableUntil, { time: page.time(until) })}`
      : undefined;
  const day = page.time(card.disabledAt, { dateStyle: 'medium' });
  return markup`<p class="notice" role="note"><span>${fill(text.disabledText, { day })}${enable}</span></p>
`;
}

/** Since when and why the card is suspended, unless it is disabled. */
function suspendedNotice(page: Page, { found: { card } }: ShownCard): Markup | undefined {
  const { suspendedAt, suspendReason } = card;
  if (suspendedAt === null || card.disabledAt !== null) return undefined;
  const text = page.text.card;
  const day = page.time(suspendedAt, { dateStyle: 'medium' });
  const reason =
    suspendReason === null
      ? undefined
      : markup`<br>${fill(text.suspendedWhy, { reason: linesOf(suspendReason) })}`;
  return markup`<p class="notice" role="note"><span>${fill(text.suspendedText, { day })}${reason}</span></p>
`;
}

function actionLink(page: Page, { path }: ShownCard, action: CardAction, kind = ''): Markup {
  return markup`<a class="button${kind}" href="${path}/${action}">${page.text.card[action]}</a>`;
}

function balancePanel(page: Page, { found, today: day }: ShownCard): Markup {
  const text = page.text.card;
  const { card } = found;
  const amount = (money: Money): string => page.amount(money);
  const available = availableOf(card, day);
  const split =
    card.held.minor > 0n
      ? ` · ${fillPlain(text.split, { available: amount(available), held: amount(card.held) })}`
      : '';
  return markup`<section class="panel" aria-label="${text.balance}"><div class="row apart"><div>${figure(card.balance, page.language)}<p class="soft">${fillPlain(text.leftOf, { initial: amount(card.initialValue) })}${split}</p></div>${stateTag(found, { today: day, language: page.language })}</div>
${balanceBar(found, available, page.language)}</section>`;
}

function balanceBar({ card }: DetailedCard, available: Money, language: StaffRequest['language']): Markup {
  const { balance, initialValue, held } = card;
  const total = balance.minor > initialValue.minor ? balance : initialValue;
  const label = fillPlain(cardTexts[language].bar, {
    total: amountText(total, language),
    available: amountText(available, language),
    held: amountText(held, language),
    redeemed: amountText(subtract(total, balance), language),
  });
  return balanceRibbon(card, label);
}

function drawing(page: Page, found: DetailedCard): Markup {
  return markup`<div class="gift" aria-hidden="true"><svg class="knot" viewBox="0 0 48 48"><path d="M24 24C12 6 2 13 8 20c4 4 11 4 16 4 5 0 12 0 16-4 6-7-4-14-16 4zM24 24c-3 7-7 11-11 15M24 24c3 7 7 11 11 15"/></svg><span class="shop">${page.store.name}</span><span class="tail">•••• ${found.card.lastCharacters}</span>${figure(found.card.balance, page.language)}</div>`;
}

function given(value: string | null): MarkupPart {
  return value === null ? undefined : linesOf(value);
}

function factsPanel(page: Page, { found: { card }, actors, issue }: ShownCard): Markup {
  const text = page.text.card;
  const linked = (name: string, value: string): Markup =>
    markup`<a href="${page.basePath}/cards?${new URLSearchParams({ [name]: value }).toString()}">${value}</a>`;
  const fact = (name: string, value: MarkupPart): Markup =>
    markup`<dt>${name}</dt><dd>${value ?? markup`<span class="soft">${text.none}</span>`}</dd>`;
  const { recipient, customer, recipientName, orderId, vat, expiresOn } = card;
  const holderFacts: readonly MarkupPart[] = [
    ...(recipientName === null ? [] : [recipientName]),
    ...(recipient ? [linked('email', recipient.email)] : []),
  ];
  const tags = tagsIn(card.tags).map((tag) => linked('tag', tag));
  const vatText = (): string | undefined => {
    if (!vat) return undefined;
    return vat.kind === 'multi_purpose' ? text.vatMulti : fillPlain(text.vatSingle, { rate: vat.rate });
  };
  const otherFacts = otherFields.map((name) => {
    const value = card[propertyOf(name)];
    return value === null
      ? undefined
      : fact(fieldLabel(name, page.language), linesOf(shownOf(name, value, page.language)));
  });
  const sold = page.time(card.createdAt);
  return markup`<section class="panel" aria-label="${text.facts}"><dl class="facts">${fact(text.for, holderFacts.length > 0 ? joinMarkup(holderFacts, markup`<br>`) : undefined)}${fact(text.from, given(card.senderName))}${customer ? fact(text.buyer, linked('email', customer.email)) : undefined}${fact(fieldLabel('message', page.language), given(card.message))}${fact(text.sold, sold)}${fact(text.expires, expiresOn === null ? text.never : dayText(expiresOn, page.language))}${fact(fieldLabel('note', page.language), given(card.note))}${fact(fieldLabel('external_id', page.language), given(card.externalId))}${otherFacts}${card.design === null ? undefined : fact(fieldLabel('design', page.language), shownOf('design', card.design, page.language))}${tags.length > 0 ? fact(fieldLabel('tags', page.language), joinMarkup(tags, ', ')) : undefined}${orderId === null ? undefined : fact(text.order, linked('order_id', String(orderId)))}${vat ? fact(text.vat, vatText()) : undefined}${issue ? fact(text.createdBy, actorName(issue.actor, actors, page.language)) : undefined}</dl></section>`;
}

/** The actions in the order of the page; what ends something is last. */
const rows = [
  'add',
  'adjust',
  'resend',
  'print',
  'edit',
  'resume',
  'suspend',
  'enable',
  'disable',
] as const satisfies readonly CardAction[];

const rowIcons: Readonly<Record<(typeof rows)[number], string>> = {
  add: 'M12 5v14M5 12h14',
  adjust: 'M4 8h10M18 8h2M4 16h2M10 16h10M14 6v4M6 14v4',
  resend: 'M9 8h12v12H8zM16 8V4H4v12h4',
  print: 'M7 9V4h10v5M7 17H4V9h16v8h-3M7 14h10v6H7z',
  edit: 'm4 20 1-4L16 5l3 3L8 19zM14 7l3 3',
  resume: 'M8 5v14l11-7z',
  suspend: 'M9 5v14M15 5v14',
  enable: 'm5 12 5 5 9-10',
  disable: 'M5.500 5.500l13 13M12 3.500a8.500 8.500 0 1 0 0 17 8.500 8.500 0 0 0 0-17z',
};

/** Each action with its effect, which a person reads before the click. */
function actionPanel(page: Page, { path }: ShownCard, actions: ReadonlySet<CardAction>): Markup | undefined {
  const text = page.text.card;
  const { final, undo } = text.disableEffect;
  const minutes = page.store.undoWindowMinutes;
  const effects = { ...text.effects, disable: minutes === 0 ? final : plural(page.language, undo, minutes) };
  const shown = rows
    .filter((name) => actions.has(name))
    .map((name) => {
      const kind = name === 'disable' ? markup` class="bad"` : undefined;
      return markup`<li><a href="${path}/${name}"${kind}><svg viewBox="0 0 24 24" aria-hidden="true"><path d="${rowIcons[name]}"/></svg><span><strong>${text[name]}</strong> <span class="soft">${effects[name]}</span></span></a></li>
`;
    });
  if (shown.length === 0) return undefined;
  return markup`<section class="panel flush" aria-label="${text.actions}"><ul class="rows">
${shown}</ul></section>`;
}

export const cardRoutes: readonly ConsoleRoute[] = [
  get('/cards/:id', 'readCards', cardPage),
  get('/cards/:id/verify', 'readCards', checkPage),
];
