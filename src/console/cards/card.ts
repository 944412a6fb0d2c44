/** The page of a card, and the check of its chain. */

import { isCardField, propertyOf, type CardFieldName } from '../../domain/cards/fields.ts';
import { availableOf, isDisabled, isExpired } from '../../domain/cards/card.ts';
import type { CardChange, FieldChange } from '../../domain/cards/change.ts';
import { addDays, startOfDay } from '../../domain/day.ts';
import { isHoldExpired } from '../../domain/money/hold.ts';
import { subtract, type Money } from '../../domain/money/money.ts';
import { tagsIn } from '../../domain/cards/tags.ts';
import { joinMarkup, linesOf, markup, type Markup, type MarkupPart } from '../../platform/markup.ts';
import { readCardPage, type CardRecord } from '../../service/cards/card-page.ts';
import type { TimelineItem } from '../../service/cards/timeline.ts';
import { isCursor } from '../../service/requests/cursor.ts';
import { today } from '../../service/money/money.ts';
import type { DetailedCard } from '../../storage/cards/list.ts';
import { actorName } from '../kit/actors.ts';
import { fieldLabel, otherFields, shownOf } from './fields.ts';
import { balanceRibbon, cardEnding, stateTag } from './parts.ts';
import {
  canRelease,
  canReverse,
  possibleActions,
  reenableUntil,
  type CardAction,
  type CardView,
} from './possible.ts';
import { cardTexts, movementName, signedAmount } from './texts.ts';
import { checkPage } from './verify.ts';
import { amountText, dayText, figure, timeElement } from '../kit/format.ts';
import { shellPage } from '../kit/page.ts';
import type { ConsoleResponse, ConsoleRoute, ConsoleServices, StaffRequest } from '../kit/route.ts';
import { fill, fillPlain, plural } from '../kit/texts.ts';
import { idIn } from '../kit/ids.ts';

/** Everything that the page shows. */
type Shown = CardView &
  CardRecord & {
    readonly path: string;
    readonly isFirst: boolean;
  };

async function cardPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, storage, frame } = services;
  const { store, member } = request.signedIn;
  const cardId = idIn(services, request);
  const sent = request.query.get('history') ?? '';
  const cursor = isCursor(sent) ? sent : null;
  const page = await storage.read(() => readCardPage(ctx, store, cardId, cursor));
  const shown: Shown = {
    ...page,
    store,
    role: member.role,
    today: today(ctx, store),
    now: ctx.clock.earliest(),
    path: `${frame.basePath}/cards/${ctx.keys.publicIds.of(cardId)}`,
    isFirst: cursor === null,
  };
  const text = cardTexts[request.language];
  const { language } = request;
  const actions = possibleActions(shown);
  const { found } = page;
  const { card } = found;
  const body = markup`${doneNotice(request)}${disabledNotice(request, shown)}<div class="grid two"><div class="stack">
${balancePanel(request, shown)}
${historyPanel(services, request, shown)}</div>
<aside class="stack" aria-label="${text.facts}">
${drawing(request, found)}
${factsPanel(services, request, shown)}
${actionPanel(request, shown, actions)}</aside></div>`;
  const heading = markup`<a class="soft quiet" href="${frame.basePath}/cards">${text.cards}</a> <span class="soft" aria-hidden="true">/</span> <span class="code nowrap">${cardEnding(found, language)}</span>`;
  return {
    status: 200,
    body: shellPage(services, request, {
      title: fillPlain(text.title, { last: card.lastCharacters }),
      heading,
      path: '/cards',
      ...(actions.has('redeem') && { actions: actionLink(request, shown, 'redeem', ' first') }),
      body,
    }),
  };
}

/** What was just done: one of a fixed set of names, never a text from the URL. */
function doneNotice({ language, query }: StaffRequest): Markup | undefined {
  const { done } = cardTexts[language];
  const name = query.get('done') ?? '';
  return Object.hasOwn(done, name)
    ? markup`<p class="notice good" role="status">${done[name as keyof typeof done]}</p>
`
    : undefined;
}

function disabledNotice({ language, signedIn: { store } }: StaffRequest, shown: Shown): Markup | undefined {
  const { card } = shown.found;
  if (card.disabledAt === null) return undefined;
  const text = cardTexts[language];
  const until = reenableUntil(shown);
  const enable =
    until !== null && possibleActions(shown).has('enable')
      ? markup` ${fill(text.enableUntil, { time: timeElement(until, store, language) })}`
      : undefined;
  const day = timeElement(card.disabledAt, store, language, { dateStyle: 'medium' });
  return markup`<p class="notice" role="note"><span>${fill(text.disabledText, { day })}${enable}</span></p>
`;
}

function actionLink({ language }: StaffRequest, { path }: Shown, action: CardAction, kind = ''): Markup {
  return markup`<a class="button${kind}" href="${path}/${action}">${cardTexts[language][action]}</a>`;
}

function balancePanel({ language }: StaffRequest, { found, today: day }: Shown): Markup {
  const text = cardTexts[language];
  const { card } = found;
  const amount = (money: Money): string => amountText(money, language);
  const available = availableOf(card);
  const split =
    card.held.minor > 0n
      ? ` · ${fillPlain(text.split, { available: amount(available), held: amount(card.held) })}`
      : '';
  return markup`<section class="panel" aria-label="${text.balance}"><div class="row apart"><div>${figure(card.balance, language)}<p class="soft">${fillPlain(text.leftOf, { initial: amount(card.initialValue) })}${split}</p></div>${stateTag(found, { today: day, language })}</div>
${balanceBar(found, language)}</section>`;
}

function balanceBar({ card }: DetailedCard, language: StaffRequest['language']): Markup {
  const { balance, initialValue, held } = card;
  const total = balance.minor > initialValue.minor ? balance : initialValue;
  const label = fillPlain(cardTexts[language].bar, {
    total: amountText(total, language),
    available: amountText(availableOf(card), language),
    held: amountText(held, language),
    redeemed: amountText(subtract(total, balance), language),
  });
  return balanceRibbon(card, label);
}

function drawing({ language, signedIn: { store } }: StaffRequest, found: DetailedCard): Markup {
  return markup`<div class="gift" aria-hidden="true"><svg class="knot" viewBox="0 0 48 48"><path d="M24 24C12 6 2 13 8 20c4 4 11 4 16 4 5 0 12 0 16-4 6-7-4-14-16 4zM24 24c-3 7-7 11-11 15M24 24c3 7 7 11 11 15"/></svg><span class="shop">${store.name}</span><span class="tail">•••• ${found.card.lastCharacters}</span>${figure(found.card.balance, language)}</div>`;
}

function given(value: string | null): MarkupPart {
  return value === null ? undefined : linesOf(value);
}

function factsPanel(
  { frame }: ConsoleServices,
  { language, signedIn: { store } }: StaffRequest,
  { found: { card }, actors, issue }: Shown,
): Markup {
  const text = cardTexts[language];
  const linked = (name: string, value: string): Markup =>
    markup`<a href="${frame.basePath}/cards?${new URLSearchParams({ [name]: value }).toString()}">${value}</a>`;
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
      : fact(fieldLabel(name, language), linesOf(shownOf(name, value, language)));
  });
  const sold = timeElement(card.createdAt, store, language);
  return markup`<section class="panel" aria-label="${text.facts}"><dl class="facts">${fact(text.for, holderFacts.length > 0 ? joinMarkup(holderFacts, markup`<br>`) : undefined)}${fact(text.from, given(card.senderName))}${customer ? fact(text.buyer, linked('email', customer.email)) : undefined}${fact(fieldLabel('message', language), given(card.message))}${fact(text.sold, sold)}${fact(text.expires, expiresOn === null ? text.never : dayText(expiresOn, language))}${fact(fieldLabel('note', language), given(card.note))}${otherFacts}${tags.length > 0 ? fact(fieldLabel('tags', language), joinMarkup(tags, ', ')) : undefined}${orderId === null ? undefined : fact(text.order, linked('order_id', String(orderId)))}${vat ? fact(text.vat, vatText()) : undefined}${issue ? fact(text.createdBy, actorName(issue.actor, actors, language)) : undefined}</dl></section>`;
}

/** The actions in the order of the page; what ends something is last. */
const rows = [
  'adjust',
  'resend',
  'print',
  'edit',
  'enable',
  'disable',
] as const satisfies readonly CardAction[];

const rowIcons: Readonly<Record<(typeof rows)[number], string>> = {
  adjust: 'M12 5v14M5 12h14',
  resend: 'M9 8h12v12H8zM16 8V4H4v12h4',
  print: 'M7 9V4h10v5M7 17H4V9h16v8h-3M7 14h10v6H7z',
  edit: 'm4 20 1-4L16 5l3 3L8 19zM14 7l3 3',
  enable: 'm5 12 5 5 9-10',
  disable: 'M5.500 5.500l13 13M12 3.500a8.500 8.500 0 1 0 0 17 8.500 8.500 0 0 0 0-17z',
};

/** Each action with its effect, which a person reads before the click. */
function actionPanel(
  { language, signedIn: { store } }: StaffRequest,
  { path }: Shown,
  actions: ReadonlySet<CardAction>,
): Markup | undefined {
  const text = cardTexts[language];
  const { final, undo } = text.disableEffect;
  const minutes = store.undoWindowMinutes;
  const effects = { ...text.effects, disable: minutes === 0 ? final : plural(language, undo, minutes) };
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

function historyPanel(services: ConsoleServices, request: StaffRequest, shown: Shown): Markup {
  const text = cardTexts[request.language];
  const { timeline, path, isFirst } = shown;
  const items = timeline.items.map((item) => ({ at: item.at, line: lineOf(services, request, shown, item) }));
  const expiry = isFirst ? expiryLine(request, shown) : undefined;
  if (expiry) {
    const place = items.findIndex(({ at }) => at < expiry.at);
    items.splice(place < 0 ? items.length : place, 0, expiry);
  }
  const newest = isFirst ? undefined : markup`<a class="button" href="${path}">${text.newest}</a>`;
  const older =
    timeline.older === null
      ? undefined
      : markup`<a class="button" rel="next" href="${path}?history=${timeline.older}">${text.older}</a>`;
  const pages =
    newest || older
      ? markup`<nav class="row" aria-label="${text.history}">${newest}${older}</nav>
`
      : undefined;
  return markup`<section class="panel stack"><h2>${text.history}</h2><ol class="timeline">
${items.map(({ line }) => line)}</ol>
${pages}<p class="small soft">${text.chained} <a href="${path}/verify">${text.verify}</a></p></section>`;
}

type Line = {
  /** Of the mark on the line. */
  readonly kind?: 'money' | 'fail';
  readonly what: string;
  readonly details?: MarkupPart;
  readonly amount?: MarkupPart;
  readonly when: MarkupPart;
  readonly links?: MarkupPart;
  readonly after?: MarkupPart;
};

function lineMarkup({ kind, what, details, amount, when, links, after }: Line): Markup {
  const mark = kind && markup` class="${kind}"`;
  return markup`<li${mark}><div><strong>${what}</strong>${details === undefined ? undefined : markup` <span class="soft">${details}</span>`}</div><span class="sum">${amount}</span><span class="soft">${when}${links === undefined ? undefined : markup` · ${links}`}</span>${after}</li>
`;
}

/** An expiry follows from the last valid day, without an entry. */
function expiryLine(
  { language, signedIn: { store } }: StaffRequest,
  { found: { card }, today: day }: Shown,
): { readonly at: number; readonly line: Markup } | undefined {
  if (isDisabled(card) || !isExpired(card, day) || card.expiresOn === null) return undefined;
  const at = startOfDay(addDays(card.expiresOn, 1), store.timeZone);
  const line = { what: cardTexts[language].expired, when: timeElement(at, store, language) };
  return { at, line: lineMarkup(line) };
}

function lineOf(services: ConsoleServices, request: StaffRequest, shown: Shown, item: TimelineItem): Markup {
  switch (item.kind) {
    case 'transfer':
      return lineMarkup(transferLine(services, request, shown, item));
    case 'hold':
      return lineMarkup(holdLine(services, request, shown, item));
    case 'email':
      return lineMarkup(emailLine(services, request, item));
    case 'change':
      return lineMarkup(changeLine(request, shown, item));
    case 'action': {
      const { staffActions } = cardTexts[request.language];
      const { action, staffId } = item.action;
      const what = Object.hasOwn(staffActions, action)
        ? staffActions[action as keyof typeof staffActions]
        : action;
      const actor = staffId === null ? null : `staff:${staffId}`;
      return lineMarkup({ what, when: whenAndWho(request, shown, { item, actor }) });
    }
  }
}

function whenAndWho(
  { language, signedIn: { store } }: StaffRequest,
  { actors }: Shown,
  { item, actor }: { readonly item: TimelineItem; readonly actor: string | null },
): Markup {
  const text = cardTexts[language];
  const name = actorName(actor, actors, language);
  const till = item.staffAction?.till ?? null;
  const who = till === null ? name : fillPlain(text.atTill, { who: name, till });
  return fill(text.who, { time: timeElement(item.at, store, language), who });
}

/** Reference, note, order and reason, as far as there are any. */
function why(
  language: StaffRequest['language'],
  entry: { readonly reference: string | null; readonly note: string | null; readonly orderId: number | null },
): string | undefined {
  const text = cardTexts[language];
  const parts = [
    entry.reference,
    entry.note,
    entry.orderId === null ? null : fillPlain(text.orderNumber, { number: entry.orderId }),
  ].filter((part) => part !== null);
  return parts.length === 0 ? undefined : parts.join(' · ');
}

function transferLine(
  { ctx }: Pick<ConsoleServices, 'ctx'>,
  request: StaffRequest,
  shown: Shown,
  item: Extract<TimelineItem, { readonly kind: 'transfer' }>,
): Line {
  const { language } = request;
  const text = cardTexts[language];
  const { transfer, left } = item;
  const details = why(language, transfer);
  const refund =
    left && canReverse(shown, item)
      ? markup`<a href="${shown.path}/entries/${ctx.keys.publicIds.of(transfer.id)}/refund">${transfer.kind === 'credit' ? text.reverseCredit : text.refund}</a>${left.minor < transfer.amount.minor ? markup` <span>(${fillPlain(text.ofLeft, { amount: amountText(left, language) })})</span>` : undefined}`
      : undefined;
  return {
    kind: 'money',
    what: movementName(transfer, language),
    ...(details !== undefined && { details }),
    amount: signedAmount(transfer, language),
    when: whenAndWho(request, shown, { item, actor: transfer.actor }),
    ...(refund && { links: refund }),
    after: markup`<span class="sum soft"><span class="sr">${text.balanceAfter} </span>${amountText(transfer.balanceAfter, language)}</span>`,
  };
}

function holdLine(
  { ctx }: Pick<ConsoleServices, 'ctx'>,
  request: StaffRequest,
  shown: Shown,
  item: Extract<TimelineItem, { readonly kind: 'hold' }>,
): Line {
  const {
    language,
    signedIn: { store },
  } = request;
  const text = cardTexts[language];
  const { hold } = item;
  const status = isHoldExpired(hold, shown.now) ? 'expired' : hold.status;
  const end =
    status === 'open'
      ? fill(text.holdUntil, { time: timeElement(hold.expiresAt, store, language) })
      : undefined;
  const { extension } = item;
  const extended =
    extension &&
    fill(text.holdExtended, {
      actor: actorName(extension.actor, shown.actors, language),
      time: timeElement(extension.createdAt, store, language),
    });
  const captured =
    status === 'captured' && hold.captured.minor < hold.amount.minor
      ? fillPlain(text.captured, { amount: amountText(hold.captured, language) })
      : undefined;
  const parts: readonly MarkupPart[] = [why(language, hold), end, extended, captured].filter(
    (part) => part !== undefined && part !== null,
  );
  return {
    what: text.holds[status],
    ...(parts.length > 0 && { details: joinMarkup(parts, ' · ') }),
    amount: markup`<span class="soft">${amountText(hold.amount, language)}</span>`,
    when: whenAndWho(request, shown, { item, actor: hold.actor }),
    ...(canRelease(shown, hold) && {
      links: markup`<a href="${shown.path}/holds/${ctx.keys.publicIds.of(hold.id)}/release">${text.release}</a>`,
    }),
  };
}

function emailLine(
  { ctx, frame }: ConsoleServices,
  { language, signedIn: { store } }: StaffRequest,
  { email, at }: Extract<TimelineItem, { readonly kind: 'email' }>,
): Line {
  const text = cardTexts[language];
  const { id, state, kind, response, nextAt, endedAt, lastAt } = email;
  // The address of an erased person is empty.
  const address = email.address === '' ? text.erased : email.address;
  const moment = nextAt ?? endedAt ?? lastAt;
  const time = timeElement(moment ?? at, store, language);
  const hasFailed = state === 'bounced' || state === 'dead';
  const reason = hasFailed && response !== null ? `: ${response}` : '';
  return {
    ...(hasFailed && { kind: 'fail' }),
    what: text.emails[kind],
    details: markup`${fillPlain(text.emailTo, { address })} · ${fill(text.emailStates[state], { time })}${reason}`,
    when: timeElement(at, store, language),
    links: markup`<a href="${frame.basePath}/emails/${String(ctx.keys.publicIds.of(id))}">${text.showEmail}</a>`,
  };
}

function changeLine(
  request: StaffRequest,
  shown: Shown,
  item: Extract<TimelineItem, { readonly kind: 'change' }>,
): Line {
  const { language } = request;
  const { change } = item;
  const details = change.fields
    .filter(({ field }) => field !== 'disabled_at')
    .map((field) => fieldText(field, language));
  return {
    what: changeName(change, language),
    ...(details.length > 0 && { details: details.join(' · ') }),
    when: whenAndWho(request, shown, { item, actor: change.actor }),
  };
}

function changeName({ fields }: CardChange, language: StaffRequest['language']): string {
  const text = cardTexts[language];
  const disabling = fields.find(({ field }) => field === 'disabled_at');
  if (disabling) return disabling.new === null ? text.cardEnabled : text.cardDisabled;
  return fields.some(({ field }) => field === 'code') ? text.codeReplaced : text.changed;
}

const shownLengthMax = 80;

function fieldText(change: FieldChange, language: StaffRequest['language']): string {
  const text = cardTexts[language];
  const { field, isErased } = change;
  const shown = (value: FieldChange['old']): string => {
    if (isErased === true) return text.erased;
    if (value === null) return field === 'expires_on' ? text.never : text.empty;
    const line = isCardField(field) ? shownOf(field, String(value), language) : String(value);
    const characters = Array.from(line);
    return characters.length > shownLengthMax ? `${characters.slice(0, shownLengthMax).join('')}…` : line;
  };
  const values = { old: shown(change.old), new: shown(change.new) };
  if (field === 'code') return fillPlain(text.codeReplacedText, values);
  if (field === 'disabled_at') return '';
  const short: Readonly<Partial<Record<CardFieldName, string>>> = text.fields;
  return fillPlain(text.fieldChange, { field: short[field] ?? fieldLabel(field, language), ...values });
}

export const cardRoutes: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/cards/:id', access: 'readCards', handle: cardPage },
  { method: 'GET', path: '/cards/:id/verify', access: 'readCards', handle: checkPage },
];
