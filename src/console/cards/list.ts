/** The list of cards: search, filters and pages. */

import { likelyLastCharacters, meaningOf, type SearchFilter } from '../../domain/cards/search.ts';
import { Fault } from '../../domain/fault.ts';
import { isPermitted, type Permission } from '../../domain/staff/staff.ts';
import { markup, type Markup, type MarkupPart } from '../../platform/markup.ts';
import {
  cardCursorOf,
  customerIdOf,
  filterOf,
  readCardCursor,
  sorts,
  type SortName,
} from '../../service/cards/filter.ts';
import { exactCount } from '../../service/cards/count.ts';
import {
  countCards,
  findSortableSince,
  listCards,
  type CardCount,
  type CardListPage,
} from '../../service/cards/list.ts';
import { isCursor, type CursorScope } from '../../service/requests/cursor.ts';
import { today } from '../../service/money/money.ts';
import { findCardByCode } from '../../service/staff/lookup.ts';
import { retrieve } from '../../service/cards/card.ts';
import type { CardFilter, CardPosition, DetailedCard } from '../../storage/cards/list.ts';
import { cardEnding, cardsTexts, filterText, stateTag } from './parts.ts';
import { exportRoutes } from './export.ts';
import { queryWith, readCardsQuery, type CardsQuery, type FilterName } from './query.ts';
import { inputField } from '../kit/form.ts';
import { amountText, dayText, timeElement } from '../kit/format.ts';
import { longReads } from '../kit/long-reads.ts';
import { runSearch } from '../kit/lookups.ts';
import { shellPage } from '../kit/page.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleRoute,
  type ConsoleServices,
  type StaffRequest,
} from '../kit/route.ts';
import { fill, fillPlain, plural } from '../kit/texts.ts';

const pageSize = 50;

/** How often a page reads on if no card meets the filters: each step reads at most 10,000 cards. */
const stepsMax = 2;

type Listed = CardListPage & {
  /** The position before which newer cards are; null: this is the first page. */
  readonly newer: CardPosition | null;
  readonly older: CardPosition | null;
  /**
   * Null, unless too many cards would have to be sorted by balance: the first day from which on all cards can be sorted;
   * undefined: there is none.
   */
  readonly unsorted: { readonly sort: SortName; readonly sortableSince: string | undefined } | null;
};

function may({ signedIn: { member } }: StaffRequest, permission: Permission): boolean {
  return isPermitted(member.role, permission);
}

async function readFilter(
  { storage }: ConsoleServices,
  { signedIn: { store } }: StaffRequest,
  { filters, email }: CardsQuery,
): Promise<CardFilter> {
  const customerId = email ? await storage.read(() => customerIdOf(store.id, email)) : null;
  return filterOf(filters, customerId);
}

function scopeOf(
  { signedIn: { store } }: StaffRequest,
  sort: SortName,
  filter: CardFilter,
): { readonly older: CursorScope; readonly newer: CursorScope } {
  const list = ['console cards', store.id, sort, filter];
  return { older: [...list, 'older'], newer: [...list, 'newer'] };
}

type Position = { readonly after: CardPosition | null; readonly isBackwards: boolean };

/** The position of the page. A cursor of another list begins at the first page. */
function positionOf(
  { ctx }: ConsoleServices,
  { query }: StaffRequest,
  scopes: ReturnType<typeof scopeOf>,
): Position {
  const [older, newer] = [query.get('cursor') ?? '', query.get('newer') ?? ''];
  const isBackwards = newer !== '';
  const text = isBackwards ? newer : older;
  if (!isCursor(text)) return { after: null, isBackwards: false };
  try {
    return { after: readCardCursor(ctx, isBackwards ? scopes.newer : scopes.older, text), isBackwards };
  } catch (error) {
    if (error instanceof Fault && error.code === 'invalid-query') return { after: null, isBackwards: false };
    throw error;
  }
}

function positionAt(found: DetailedCard | undefined): CardPosition | null {
  if (!found) return null;
  const { id, balance, expiresOn } = found.card;
  return { id, balance: balance.minor, expiresOn };
}

/** A page of the list. If its part of the list has no card that meets the filters, it reads some more parts. */
async function readPage(
  services: ConsoleServices,
  request: StaffRequest,
  { filter, sort, ...from }: { readonly filter: CardFilter; readonly sort: SortName } & Position,
): Promise<Listed> {
  const { ctx } = services;
  const { store } = request.signedIn;
  const reads = longReads(services);
  const list = { store, filter, sort: sorts[sort], limit: pageSize, isBackwards: from.isBackwards };
  let { after } = from;
  let page: CardListPage = { cards: [], next: after };
  for (
    let step = 0;
    step < stepsMax && page.cards.length === 0 && (step === 0 || after !== null);
    step += 1
  ) {
    const position = after;
    page = await reads.read(() => listCards(ctx, { ...list, after: position }));
    after = page.next;
  }
  const { cards, next } = page;
  if (from.isBackwards) {
    // Fewer cards are before this page than it could have: it is the first one.
    if (next === null)
      return await readPage(services, request, { filter, sort, after: null, isBackwards: false });
    return { cards, next, newer: next, older: positionAt(cards.at(-1)) ?? next, unsorted: null };
  }
  const newer = from.after === null ? null : (positionAt(cards[0]) ?? next);
  return { cards, next, newer, older: next, unsorted: null };
}

async function listPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const { store } = request.signedIn;
  const query = readCardsQuery(request.query, store);
  const filter = await readFilter(services, request, query);
  const read = (sort: SortName): Promise<Listed> => {
    const position = positionOf(services, request, scopeOf(request, sort, filter));
    return readPage(services, request, { filter, sort, ...position });
  };
  const listed = await read(query.sort).catch(async (error: unknown) => {
    const isTooLong =
      error instanceof Fault && error.code === 'invalid-query' && query.sort.endsWith('balance');
    if (!isTooLong) throw error;
    // Another period can be too long as well.
    const hasPeriod = query.sent.has('created_at_min') || query.sent.has('created_at_max');
    const sortableSince = hasPeriod
      ? undefined
      : await longReads(services).read(() => findSortableSince(ctx, store));
    return { ...(await read('-created_at')), unsorted: { sort: query.sort, sortableSince } };
  });
  const name = listed.cards.length === 0 && !listed.older ? nameMeant(request, query) : undefined;
  if (name) return seeOther(pathOf(name, request.query.get('typed')));
  // A list on one page needs no statement to count it.
  const count =
    listed.cards.length > 0 && (listed.older || listed.newer)
      ? await exactCount(
          services.reports,
          { store, signal: request.signal },
          { filter, counted: await longReads(services).read(() => countCards(ctx, { store, filter })) },
        )
      : { count: listed.cards.length, isExact: true };
  const shown = listed.unsorted ? { ...query, sort: '-created_at' as const } : query;
  const { title } = cardsTexts[request.language];
  const body = listBody(services, request, { query: shown, filter, listed, count });
  return {
    status: 200,
    body: shellPage(services, request, {
      title,
      path: '/cards',
      actions: issueLink(services, request),
      body,
    }),
  };
}

function issueLink({ frame }: ConsoleServices, request: StaffRequest): Markup | undefined {
  const text = cardsTexts[request.language];
  const many = may(request, 'issueBatches')
    ? markup`<a class="button" href="${frame.basePath}/cards/batches">${text.issueMany}</a>`
    : undefined;
  return may(request, 'useTill')
    ? markup`<span class="row">${many}<a class="button first" href="${frame.basePath}/cards/new">${text.issue}</a></span>`
    : undefined;
}

type Shown = {
  readonly query: CardsQuery;
  readonly filter: CardFilter;
  readonly listed: Listed;
  readonly count: CardCount;
};

function listBody(services: ConsoleServices, request: StaffRequest, shown: Shown): Markup {
  const { query, listed, count } = shown;
  const text = cardsTexts[request.language];
  const unsorted = listed.unsorted ? unsortedNotice(services, request, query, listed.unsorted) : undefined;
  const counted = plural(request.language, count.isExact ? text.count : text.countAtLeast, count.count);
  const path = `${services.frame.basePath}/cards`;
  const exported = may(request, 'exportCards')
    ? markup`<a class="button" href="${path}/export${queryWith(query)}">${text.export}</a>`
    : undefined;
  const cards =
    listed.cards.length === 0
      ? emptyPanel(services, request, shown)
      : markup`${cardTable(services, request, listed.cards)}
<div class="row apart"><span class="small soft" role="status">${counted}</span><span class="row">${exported}${pageLinks(services, request, shown)}</span></div>`;
  return markup`<div class="stack">${searchForm(services, request)}
${stateFilters(services, request, query)}
${searchFilters(services, request, query)}${dormantForm(services, request, query)}${unsorted}${listed.cards.length > 0 ? sortLinks(services, request, query) : undefined}
${cards}</div>`;
}

/** Says that the cards are not sorted by balance, with a link to the newest ones that can be. */
function unsortedNotice(
  { frame }: ConsoleServices,
  { language }: StaffRequest,
  query: CardsQuery,
  { sort, sortableSince }: NonNullable<Listed['unsorted']>,
): Markup {
  const text = cardsTexts[language];
  if (sortableSince === undefined) return markup`<p class="notice" role="alert">${text.sortImpossible}</p>`;
  const path = `${frame.basePath}/cards${queryWith({ ...query, sort }, { created_at_min: sortableSince })}`;
  const name = fillPlain(text.sortableSince, { day: dayText(sortableSince, language) });
  return markup`<p class="notice" role="alert">${fill(text.sortFewer, { link: markup`<a href="${path}">${name}</a>` })}</p>`;
}

/** A form with POST, because what a person types or scans can be a code, which must not be in a URL. */
function searchForm({ frame }: ConsoleServices, { language }: StaffRequest): Markup {
  const text = cardsTexts[language];
  return markup`<form method="post" action="${frame.basePath}/cards/find" role="search"><label class="sr" for="q">${text.find}</label>
<div class="search"><input class="field" id="q" name="q" type="search" autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="300" aria-describedby="q-hint" autofocus><button class="button">${text.search}</button></div>
<p class="hint" id="q-hint">${text.findHint}</p></form>`;
}

function stateFilters({ frame }: ConsoleServices, { language }: StaffRequest, query: CardsQuery): Markup {
  const text = cardsTexts[language];
  const { state } = query.filters;
  const isBounced = query.filters.email_status === 'bounced' && state === undefined;
  const names = ['all', 'active', 'scheduled', 'empty', 'expired', 'disabled', 'bounced'] as const;
  const links = names.map((name) => {
    const isState = name !== 'all' && name !== 'bounced';
    const changes = {
      state: isState ? name : undefined,
      email_status: name === 'bounced' ? 'bounced' : undefined,
    };
    const isShown = name === 'bounced' ? isBounced : !isBounced && (state ?? 'all') === name;
    const current = isShown ? markup` aria-current="true"` : undefined;
    return markup`<a href="${frame.basePath}/cards${queryWith(query, changes)}"${current}>${text.states[name]}</a>`;
  });
  return markup`<nav class="pills" aria-label="${text.show}">${links}</nav>`;
}

/** A filter by the day after which a card was not used, as laws on unclaimed property need it. */
function dormantForm(
  { frame }: ConsoleServices,
  { language }: StaffRequest,
  query: CardsQuery,
): Markup | undefined {
  if (query.sent.has('last_activity_at_max')) return undefined;
  const { dormant } = cardsTexts[language];
  const kept = [...new URLSearchParams(queryWith(query))].map(
    ([name, value]) => markup`<input type="hidden" name="${name}" value="${value}">`,
  );
  const field = inputField({ name: 'last_activity_at_max', label: dormant.until, type: 'date' });
  return markup`<details class="small"><summary>${dormant.title}</summary><form class="filters" action="${frame.basePath}/cards">${kept}${field}<button class="button">${dormant.show}</button></form></details>
`;
}

/** What the list is limited to, apart from the state, each with a link that removes it. */
function searchFilters(
  { frame }: ConsoleServices,
  { language, query: given }: StaffRequest,
  query: CardsQuery,
): Markup | undefined {
  const text = cardsTexts[language];
  const path = `${frame.basePath}/cards`;
  const shown = [...query.sent].filter(
    ([name]) => name !== 'state' && !(name === 'email_status' && query.filters.email_status === 'bounced'),
  );
  if (shown.length === 0) return undefined;
  const items = shown.map(([name, value]) => {
    const filter = filterText(name, value, language);
    const remove = fillPlain(text.remove, { filter });
    return markup`<li><span class="chip">${filter} <a href="${path}${queryWith(query, { [name]: undefined })}" aria-label="${remove}">×</a></span></li>`;
  });
  const others = otherSearches(given.get('typed') ?? '', query);
  const links = others.map(
    ({ name, value }) =>
      markup`<li><a href="${path}?${new URLSearchParams({ [name]: value }).toString()}">${filterText(name, value, language)}</a></li>`,
  );
  const also = links.length > 0 ? markup`<li class="soft">${text.alsoSearch}</li>${links}` : undefined;
  return markup`<ul class="chips" aria-label="${text.filters}">${items}${also}</ul>
`;
}

/** The search for a name, if the list shows only the cards that end with its four letters. */
function nameMeant({ query }: StaffRequest, { sent }: CardsQuery): SearchFilter | undefined {
  const typed = query.get('typed') ?? '';
  const meaning = meaningOf(typed);
  if (meaning.kind !== 'filter' || /\d/.test(typed)) return undefined;
  if (sent.size !== 1 || !sent.has('last_characters')) return undefined;
  return meaning.others.find(({ name }) => name === 'text');
}

/** The other meanings of what was typed, if the list shows one of them. */
function otherSearches(typed: string, { sent }: CardsQuery): readonly SearchFilter[] {
  const meaning = meaningOf(typed);
  if (meaning.kind !== 'filter') return [];
  const all = [meaning.filter, ...meaning.others];
  return all.some(({ name }) => sent.has(name)) ? all.filter(({ name }) => !sent.has(name)) : [];
}

function sortLinks({ frame }: ConsoleServices, { language }: StaffRequest, query: CardsQuery): Markup {
  const text = cardsTexts[language];
  const links = (Object.keys(sorts) as SortName[]).map((sort) => {
    const current = sort === query.sort ? markup` aria-current="true"` : undefined;
    return markup`<li><a href="${frame.basePath}/cards${queryWith({ ...query, sort })}"${current}>${text.sorts[sort]}</a></li>`;
  });
  return markup`<details class="sort"><summary><span class="sr">${text.sortedBy}: </span>${text.sorts[query.sort]}</summary><ul>${links}</ul></details>`;
}

function cardTable(
  { ctx, frame }: ConsoleServices,
  { language, signedIn: { store } }: StaffRequest,
  cards: readonly DetailedCard[],
): Markup {
  const text = cardsTexts[language];
  const day = today(ctx, store);
  const rows = cards.map((found) => {
    const { card } = found;
    const { name, details } = holderOf(found, language);
    const held =
      card.held.minor > 0n
        ? markup`<br><span class="small soft">${fillPlain(text.onHold, { amount: amountText(card.held, language) })}</span>`
        : undefined;
    const path = `${frame.basePath}/cards/${ctx.keys.publicIds.of(card.id)}`;
    return markup`<tr role="row"><td role="cell" class="code nowrap"><a class="whole" href="${path}">${cardEnding(found, language)}</a></td><td role="cell"><strong>${name}</strong>${details}</td><td role="cell">${stateTag(found, { today: day, language })}</td><td role="cell" class="soft nowrap">${timeElement(card.createdAt, store, language, { dateStyle: 'medium' })}</td><td role="cell" class="sum soft">${amountText(card.initialValue, language)}</td><td role="cell" class="sum"><strong>${amountText(card.balance, language)}</strong>${held}</td></tr>
`;
  });
  const { columns } = text;
  const heads = (['card', 'recipient', 'state', 'sold', 'initial', 'balance'] as const).map((name) =>
    name === 'initial' || name === 'balance'
      ? markup`<th role="columnheader" scope="col" class="sum">${columns[name]}</th>`
      : markup`<th role="columnheader" scope="col">${columns[name]}</th>`,
  );
  return markup`<section class="panel flush" aria-label="${text.title}"><table class="table list lines" role="table"><caption class="sr">${text.caption}</caption><thead role="rowgroup"><tr role="row">${heads}</tr></thead><tbody role="rowgroup">
${rows}</tbody></table></section>`;
}

/** The recipient of a card: a name, and an address or an order. */
function holderOf(
  { card }: DetailedCard,
  language: StaffRequest['language'],
): { readonly name: MarkupPart; readonly details: MarkupPart } {
  const text = cardsTexts[language];
  const email = card.recipient?.email ?? card.customer?.email;
  const order = card.orderId === null ? undefined : fillPlain(text.order, { number: card.orderId });
  const name = card.recipientName ?? email;
  const more = card.recipientName === null ? order : (email ?? order);
  return {
    name: name ?? markup`<span aria-hidden="true">—</span><span class="sr">${text.noName}</span>`,
    details: more === undefined ? undefined : markup`<br><span class="small soft">${more}</span>`,
  };
}

function pageLinks(
  { ctx, frame }: ConsoleServices,
  request: StaffRequest,
  { query, filter, listed: { older, newer } }: Shown,
): Markup | undefined {
  const text = cardsTexts[request.language];
  const scopes = scopeOf(request, query.sort, filter);
  const to = (changes: Readonly<Record<string, string>>): string =>
    `${frame.basePath}/cards${queryWith(query, changes)}`;
  const newerLink =
    newer &&
    markup`<a class="button" rel="prev" href="${to({ newer: cardCursorOf(ctx, scopes.newer, newer) })}">${text.newer}</a>`;
  const olderLink =
    older &&
    markup`<a class="button" rel="next" href="${to({ cursor: cardCursorOf(ctx, scopes.older, older) })}">${text.older}</a>`;
  if (!newerLink && !olderLink) return undefined;
  return markup`<nav class="row" aria-label="${text.pages}">${newerLink ?? undefined}${olderLink ?? undefined}</nav>`;
}

const emptyDrawing = markup`<svg viewBox="0 0 88 60" aria-hidden="true"><rect x="3" y="3" width="82" height="54" rx="8"/><path d="M60 3v54M3 28h82"/><path class="knot" d="M60 28c-9-13-17-8-12-3 3 3 8 3 12 3s9 0 12-3c5-5-3-10-12 3zM60 28c-2 5-5 8-8 11M60 28c2 5 5 8 8 11"/></svg>`;

function emptyPanelOf(title: MarkupPart, paragraphs: readonly MarkupPart[]): Markup {
  return markup`<section class="panel empty" role="status">${emptyDrawing}<h2>${title}</h2>${paragraphs.map((each) => (each === undefined ? undefined : markup`<p>${each}</p>`))}</section>`;
}

/** One sentence and one action. */
function emptyPanel(services: ConsoleServices, request: StaffRequest, shown: Shown): Markup {
  const { frame, ctx } = services;
  const { query, filter, listed } = shown;
  const text = cardsTexts[request.language];
  const path = `${frame.basePath}/cards`;
  if (listed.older) {
    const cursor = cardCursorOf(ctx, scopeOf(request, query.sort, filter).older, listed.older);
    const more = markup`<a class="button" rel="next" href="${path}${queryWith(query, { cursor })}">${text.continueSearch}</a>`;
    return emptyPanelOf(text.continueTitle, [markup`<span class="soft">${text.continueText}</span>`, more]);
  }
  if (query.sent.size === 0 && !listed.newer)
    return emptyPanelOf(text.noneTitle, [
      markup`<span class="soft">${text.noneText}</span>`,
      issueLink(services, request),
    ]);
  const all = markup`<a class="button" href="${path}">${text.showAll}</a>`;
  const searched = (['last_characters', 'email', 'order_id', 'text', 'note', 'tag'] satisfies FilterName[])
    .map((name) => query.sent.get(name))
    .find((value) => value !== undefined);
  if (searched === undefined) return emptyPanelOf(text.noMatchTitle, [all]);
  const likely = likelyLastCharacters(query.sent.get('last_characters')?.toLowerCase() ?? '');
  const meant =
    likely === null
      ? undefined
      : fill(text.didYouMean, {
          link: markup`<a class="code" href="${path}${queryWith(query, { last_characters: likely })}">${likely}</a>`,
        });
  return emptyPanelOf(fillPlain(text.notFoundTitle, { value: searched }), [
    markup`<span class="soft">${text.notFoundText}</span>`,
    meant,
    all,
  ]);
}

/** A page without the list, for a search that cannot or must not be in a URL. */
function searchResultPage(
  services: ConsoleServices,
  request: StaffRequest,
  { status, panel }: { readonly status: 404 | 422; readonly panel: Markup },
): ConsoleResponse {
  const { title } = cardsTexts[request.language];
  const body = markup`<div class="stack">${searchForm(services, request)}
${panel}</div>`;
  return { status, body: shellPage(services, request, { title, path: '/cards', body }) };
}

async function find(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const text = cardsTexts[request.language];
  const typed = request.form.get('q') ?? '';
  const meaning = meaningOf(typed);
  const showAll = markup`<a class="button" href="${services.frame.basePath}/cards">${text.showAll}</a>`;
  switch (meaning.kind) {
    case 'nothing':
      return seeOther('/cards');
    case 'invalid': {
      const panel = emptyPanelOf(text.invalidTitle, [
        markup`<span class="soft">${text.invalidText}</span>`,
        showAll,
      ]);
      return searchResultPage(services, request, { status: 422, panel });
    }
    case 'filter':
      return seeOther(pathOf(meaning.filter, meaning.others.length > 0 ? typed.trim() : undefined));
    case 'wrong-code':
      return unknownCode(services, request, showAll);
    case 'code': {
      const { ctx } = services;
      const { code, otherwise } = meaning;
      const found = await runSearch(services, request, (searcher) => findCardByCode(ctx, searcher, [code]));
      if (found.kind === 'throttled') throw found.fault;
      if (found.kind === 'found') return seeOther(`/cards/${ctx.keys.publicIds.of(found.result.id)}`);
      const [replaced] = found.retired;
      if (replaced !== undefined) return await replacedCode(services, request, replaced);
      return otherwise ? seeOther(pathOf(otherwise)) : unknownCode(services, request, showAll);
    }
  }
}

/** @param typed what was typed, if it has several meanings, so that the page offers the others. */
function pathOf({ name, value }: SearchFilter, typed?: string): string {
  const parameters = new URLSearchParams({ [name]: value, ...(typed !== undefined && { typed }) });
  return `/cards?${parameters.toString()}`;
}

function unknownCode(services: ConsoleServices, request: StaffRequest, showAll: Markup): ConsoleResponse {
  const text = cardsTexts[request.language];
  const panel = emptyPanelOf(text.codeUnknownTitle, [
    markup`<span class="soft">${text.codeUnknownText}</span>`,
    showAll,
  ]);
  return searchResultPage(services, request, { status: 404, panel });
}

async function replacedCode(
  services: ConsoleServices,
  request: StaffRequest,
  cardId: number,
): Promise<ConsoleResponse> {
  const text = cardsTexts[request.language];
  const { ctx, storage, frame } = services;
  const card = await storage.read(() => retrieve(request.signedIn.store.id, cardId));
  const last = markup`<span class="code">${card.lastCharacters}</span>`;
  const open = markup`<a class="button" href="${frame.basePath}/cards/${ctx.keys.publicIds.of(cardId)}">${text.openCard}</a>`;
  const panel = emptyPanelOf(text.codeReplacedTitle, [fill(text.codeReplacedText, { last }), open]);
  return searchResultPage(services, request, { status: 404, panel });
}

export const cardsRoutes: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/cards', access: 'readCards', handle: listPage },
  { method: 'POST', path: '/cards/find', access: 'readCards', handle: find },
  ...exportRoutes,
];
