/** The list of cards: search, filters and pages. */

import { reportRunsTool } from '../../books/service/report-runs.ts';
import { likelyLastCharacters, meaningOf, type SearchFilter } from '../../../core/cards/domain/search.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { isPermitted, type Permission } from '../../../core/staff/domain/staff.ts';
import type { Location } from '../../../core/stores/domain/location.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import {
  cardCursorOf,
  customerIdOf,
  filterOf,
  limitedFilter,
  readCardCursor,
  sorts,
  type SortName,
} from '../../../core/cards/service/filter.ts';
import { exactCount } from '../../books/service/card-count.ts';
import {
  countCards,
  findSortableSince,
  listCards,
  type CardCount,
  type CardListPage,
} from '../../../core/cards/service/list.ts';
import { isCursor, type CursorScope } from '../../../core/requests/service/cursor.ts';
import { today } from '../../../core/stores/service/day.ts';
import type { CardFilter } from '../../../core/cards/storage/filter.ts';
import type { CardPosition } from '../../../core/cards/storage/list.ts';
import type { DetailedCard } from '../../../core/cards/storage/detailed-card.ts';
import { cardEnding, cardsTexts, emptyPanelOf, stateTag } from './parts.ts';
import { findCards, pathOfSearch } from './find.ts';
import { exportRoutes } from './export.ts';
import { queryWith, readCardsQuery, type CardsQuery, type FilterName } from './query.ts';
import {
  dormantForm,
  placeForm,
  batchNameOf,
  searchFilters,
  searchForm,
  sortLinks,
  stateFilters,
} from './list-filters.ts';
import { dayText } from '../../../pages/kit/format.ts';
import { longReads } from '../../../pages/kit/long-reads.ts';
import { listPlaces } from '../../../pages/kit/places.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleRoute,
  type StaffRequest,
} from '../../../pages/kit/route.ts';
import { fill, fillPlain, plural } from '../../../pages/kit/texts.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';

const pageSize = 50;

/** The most steps of a page on which no card meets the filters: each reads at most 10,000 cards. */
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

function may(page: Page, permission: Permission): boolean {
  return isPermitted(page.member, permission);
}

async function readFilter(page: Page, { filters, email }: CardsQuery): Promise<CardFilter> {
  const customerId = email ? await page.read(() => customerIdOf(page.store.id, email)) : null;
  return limitedFilter(page.member, filterOf(filters, customerId));
}

function scopeOf(
  page: Page,
  sort: SortName,
  filter: CardFilter,
): { readonly older: CursorScope; readonly newer: CursorScope } {
  const list = ['console cards', page.store.id, sort, filter];
  return { older: [...list, 'older'], newer: [...list, 'newer'] };
}

type Position = { readonly after: CardPosition | null; readonly isBackwards: boolean };

/** The position of the page. A cursor of another list begins at the first page. */
function positionOf(page: Page, scopes: ReturnType<typeof scopeOf>): Position {
  const [older, newer] = [page.request.query.get('cursor') ?? '', page.request.query.get('newer') ?? ''];
  const isBackwards = newer !== '';
  const text = isBackwards ? newer : older;
  if (!isCursor(text)) return { after: null, isBackwards: false };
  try {
    return { after: readCardCursor(page.ctx, isBackwards ? scopes.newer : scopes.older, text), isBackwards };
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
  page: Page,
  { filter, sort, ...from }: { readonly filter: CardFilter; readonly sort: SortName } & Position,
): Promise<Listed> {
  const reads = longReads(page.services);
  const { store } = page;
  const list = { store, filter, sort: sorts[sort], limit: pageSize, isBackwards: from.isBackwards };
  let { after } = from;
  let shown: CardListPage = { cards: [], next: after };
  for (
    let step = 0;
    step < stepsMax && shown.cards.length === 0 && (step === 0 || after !== null);
    step += 1
  ) {
    const position = after;
    shown = await reads.read(() => listCards(page.ctx, { ...list, after: position }));
    after = shown.next;
  }
  const { cards, next } = shown;
  if (from.isBackwards) {
    // Fewer cards are before this page than it could have: it is the first one.
    if (next === null) return await readPage(page, { filter, sort, after: null, isBackwards: false });
    return { cards, next, newer: next, older: positionAt(cards.at(-1)) ?? next, unsorted: null };
  }
  const newer = from.after === null ? null : (positionAt(cards[0]) ?? next);
  return { cards, next, newer, older: next, unsorted: null };
}

async function listPage(page: Page): Promise<ConsoleResponse> {
  const { ctx, store, services, request } = page;
  const reads = longReads(services);
  const query = readCardsQuery(request.query, store);
  const filter = await readFilter(page, query);
  const read = (sort: SortName): Promise<Listed> => {
    const position = positionOf(page, scopeOf(page, sort, filter));
    return readPage(page, { filter, sort, ...position });
  };
  const listed = await read(query.sort).catch(async (error: unknown) => {
    const isTooLong =
      error instanceof Fault && error.code === 'invalid-query' && query.sort.endsWith('balance');
    if (!isTooLong) throw error;
    // Another period can be too long as well.
    const hasPeriod = query.sent.has('created_at_min') || query.sent.has('created_at_max');
    const sortableSince = hasPeriod ? undefined : await reads.read(() => findSortableSince(ctx, store));
    return { ...(await read('-created_at')), unsorted: { sort: query.sort, sortableSince } };
  });
  const name = listed.cards.length === 0 && !listed.older ? nameMeant(page, query) : undefined;
  if (name) return seeOther(pathOfSearch(name, request.query.get('typed')));
  // A list on one page needs no statement to count it.
  const count =
    listed.cards.length > 0 && (listed.older || listed.newer)
      ? await exactCount(
          services.tools.of(reportRunsTool),
          { store, signal: request.signal },
          { filter, counted: await reads.read(() => countCards(ctx, { store, filter })) },
        )
      : { count: listed.cards.length, isExact: true };
  const shown = listed.unsorted ? { ...query, sort: '-created_at' as const } : query;
  const { title } = page.text.cards;
  const locations = await page.read(() => listPlaces(request.signedIn));
  const batch = await batchNameOf(page, query);
  const body = listBody(page, { query: shown, filter, listed, count, locations, batch });
  return page.show('/cards', { title, actions: issueLink(page), body });
}

function issueLink(page: Page): Markup | undefined {
  const text = page.text.cards;
  const many = may(page, 'readStore')
    ? markup`<a class="button" href="${page.basePath}/cards/batches">${may(page, 'issueBatches') ? text.issueMany : page.text.batches.title}</a>`
    : undefined;
  return may(page, 'useTill')
    ? markup`<span class="row">${many}<a class="button first" href="${page.basePath}/cards/new">${text.issue}</a></span>`
    : many;
}

type Shown = {
  readonly query: CardsQuery;
  readonly filter: CardFilter;
  readonly listed: Listed;
  readonly count: CardCount;
  /** The locations that the person sees. */
  readonly locations: readonly Location[];
  /** The name of the batch of the cards. */
  readonly batch: string | undefined;
};

function listBody(page: Page, shown: Shown): Markup {
  const { query, listed, count, locations, batch } = shown;
  const text = page.text.cards;
  const unsorted = listed.unsorted ? unsortedNotice(page, query, listed.unsorted) : undefined;
  const counted = plural(page.language, count.isExact ? text.count : text.countAtLeast, count.count);
  const path = `${page.basePath}/cards`;
  const exported = may(page, 'exportCards')
    ? markup`<a class="button" href="${path}/export${queryWith(query)}">${text.export}</a>`
    : undefined;
  const cards =
    listed.cards.length === 0
      ? emptyPanel(page, shown)
      : markup`${cardTable(page, listed.cards)}
<div class="row apart"><span class="small soft" role="status">${counted}</span><span class="row">${exported}${pageLinks(page, shown)}</span></div>`;
  return markup`<div class="stack">${searchForm(page)}
${stateFilters(page, query)}
${placeForm(page, query, locations)}${searchFilters(page, query, batch)}${dormantForm(page, query)}${unsorted}${listed.cards.length > 0 ? sortLinks(page, query) : undefined}
${cards}</div>`;
}

/** Says that the cards are not sorted by balance, with a link to the newest ones that can be. */
function unsortedNotice(
  page: Page,
  query: CardsQuery,
  { sort, sortableSince }: NonNullable<Listed['unsorted']>,
): Markup {
  const text = page.text.cards;
  if (sortableSince === undefined) return markup`<p class="notice" role="alert">${text.sortImpossible}</p>`;
  const path = `${page.basePath}/cards${queryWith({ ...query, sort }, { created_at_min: sortableSince })}`;
  const name = fillPlain(text.sortableSince, { day: dayText(sortableSince, page.language) });
  return markup`<p class="notice" role="alert">${fill(text.sortFewer, { link: markup`<a href="${path}">${name}</a>` })}</p>`;
}

/** The search for a name, if the list shows only the cards that end with its four letters. */
function nameMeant(page: Page, { sent }: CardsQuery): SearchFilter | undefined {
  const typed = page.request.query.get('typed') ?? '';
  const meaning = meaningOf(typed);
  if (meaning.kind !== 'filter' || /\d/.test(typed)) return undefined;
  if (sent.size !== 1 || !sent.has('last_characters')) return undefined;
  return meaning.others.find(({ name }) => name === 'text');
}

function cardTable(page: Page, cards: readonly DetailedCard[]): Markup {
  const text = page.text.cards;
  const day = today(page.ctx, page.store);
  const rows = cards.map((found) => {
    const { card } = found;
    const { name, details } = holderOf(found, page.language);
    const held =
      card.held.minor > 0n
        ? markup`<br><span class="small soft">${fillPlain(text.onHold, { amount: page.amount(card.held) })}</span>`
        : undefined;
    const path = `${page.basePath}/cards/${page.publicId(card.id)}`;
    return markup`<tr role="row"><td role="cell" class="code nowrap"><a class="whole" href="${path}">${cardEnding(found, page.language)}</a></td><td role="cell"><strong>${name}</strong>${details}</td><td role="cell">${stateTag(found, { today: day, language: page.language })}</td><td role="cell" class="soft nowrap">${page.time(card.createdAt, { dateStyle: 'medium' })}</td><td role="cell" class="sum soft">${page.amount(card.initialValue)}</td><td role="cell" class="sum"><strong>${page.amount(card.balance)}</strong>${held}</td></tr>
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

function pageLinks(page: Page, { query, filter, listed: { older, newer } }: Shown): Markup | undefined {
  const text = page.text.cards;
  const scopes = scopeOf(page, query.sort, filter);
  const to = (changes: Readonly<Record<string, string>>): string =>
    `${page.basePath}/cards${queryWith(query, changes)}`;
  const newerLink =
    newer &&
    markup`<a class="button" rel="prev" href="${to({ newer: cardCursorOf(page.ctx, scopes.newer, newer) })}">${text.newer}</a>`;
  const olderLink =
    older &&
    markup`<a class="button" rel="next" href="${to({ cursor: cardCursorOf(page.ctx, scopes.older, older) })}">${text.older}</a>`;
  if (!newerLink && !olderLink) return undefined;
  return markup`<nav class="row" aria-label="${text.pages}">${newerLink ?? undefined}${olderLink ?? undefined}</nav>`;
}

/** One sentence and one action. */
function emptyPanel(page: Page, shown: Shown): Markup {
  const { query, filter, listed } = shown;
  const text = page.text.cards;
  const path = `${page.basePath}/cards`;
  if (listed.older) {
    const cursor = cardCursorOf(page.ctx, scopeOf(page, query.sort, filter).older, listed.older);
    const more = markup`<a class="button" rel="next" href="${path}${queryWith(query, { cursor })}">${text.continueSearch}</a>`;
    return emptyPanelOf(text.continueTitle, [markup`<span class="soft">${text.continueText}</span>`, more]);
  }
  if (query.sent.size === 0 && !listed.newer)
    return emptyPanelOf(text.noneTitle, [
      markup`<span class="soft">${text.noneText}</span>`,
      issueLink(page),
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

export const cardsRoutes: readonly ConsoleRoute[] = [
  get('/cards', 'readCards', listPage),
  post('/cards/find', 'readCards', findCards),
  ...exportRoutes,
];
