/** Cards with their details, and lists of cards: filtered, sorted, and page by page. */

import type { Context } from '../../storage/context.ts';
import { addDays, dayOf } from '../../domain/day.ts';
import { Fault } from '../../domain/fault.ts';
import type { Store } from '../../stores/domain/store.ts';
import type { CardKey } from '../storage/card.ts';
import type { CardFilter, Listed } from '../storage/filter.ts';
import {
  countFound,
  countSource,
  findNewestSince,
  listByBalance,
  listFound,
  sourcesOf,
  type CardPosition,
  type CardSort,
  type CardSource,
} from '../storage/list.ts';
import { findDetailedCards, type DetailedCard } from '../storage/detailed-card.ts';
import {
  countWalk,
  walkBatch,
  walkExpiries,
  walkIds as walkKey,
  type Walk,
  type Walked,
} from '../storage/walk.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { today } from '../../stores/service/day.ts';

/** The number of cards that one request reads. */
export type RowsMax = { readonly found: number; readonly walk: number; readonly slowWalk: number };

/** SQLite runs in the service's only thread: a request must not block it for more than about 5 ms. */
const rowsMaxOfRequest: RowsMax = {
  /** Cards that an index finds, each somewhere in the table. */
  found: 2_000,
  /** Cards in the order of the table. */
  walk: 10_000,
  /** Cards of a walk for each of which another row is read. */
  slowWalk: 2_500,
};

/** @throws Fault `not-found` if the store has no such card. */
export function* showCardDetails(ctx: Context, { storeId, cardId }: CardKey): Script<DetailedCard> {
  const [found] = yield* findDetailedCards(storeId, [cardId], ctx.clock.earliest());
  if (!found) throw new Fault('not-found');
  return found;
}

export type CardListCommand = {
  readonly store: Store;
  readonly filter: CardFilter;
  readonly sort: CardSort;
  /** The position after which the page begins; null: the first page. */
  readonly after: CardPosition | null;
  readonly limit: number;
  /** Whether the page ends before the position `after`. Default: it begins after it. */
  readonly isBackwards?: boolean;
};

export type CardListPage = {
  /** In the order of the list. */
  readonly cards: readonly DetailedCard[];
  /** The position at which the next page continues in the same direction; null: this is the last page. */
  readonly next: CardPosition | null;
};

/**
 * A page of cards. It can be short, or empty, and still have a next page.
 * @throws Fault `invalid-query` if too many cards would have to be sorted by balance.
 */
export function* listCards(
  ctx: Context,
  command: CardListCommand,
  rowsMax: RowsMax = rowsMaxOfRequest,
): Script<CardListPage> {
  const { store, filter, limit } = command;
  const now = ctx.clock.earliest();
  const listed: Listed = { storeId: store.id, filter, today: today(ctx, store), now };
  const { found, end } = yield* findPositions(listed, command, rowsMax);
  const positions = found.slice(0, limit);
  const cards =
    positions.length === 0
      ? []
      : yield* findDetailedCards(
          store.id,
          positions.map(({ id }) => id),
          now,
        );
  return {
    cards: command.isBackwards === true ? cards.toReversed() : cards,
    next: found.length > limit ? (positions.at(-1) ?? null) : end,
  };
}

/** The positions of a page, one more if there are more, and the end of the part that was read. */
function* findPositions(
  listed: Listed,
  { filter, sort, after, limit, isBackwards = false }: CardListCommand,
  rowsMax: RowsMax,
): Script<Walked> {
  const page = { sort, after, limit: limit + 1, isBackwards };
  const source = yield* findSource(listed, rowsMax);
  if (source !== null) return { found: yield* listFound(listed, source, page), end: null };
  const isDescending = sort.isDescending !== isBackwards;
  const walk = { isDescending, after, limit: limit + 1 };
  switch (sort.by) {
    case 'balance':
      if ((yield* countSource(listed, 'created_at', rowsMax.walk + 1)) > rowsMax.walk)
        throw new Fault('invalid-query', { errors: { sort: [tooManyToSort] } });
      return { found: yield* listByBalance(listed, page), end: null };
    case 'created_at':
      return yield* walkIds(listed, { ...walk, rowsMax: walkMaxOf(filter, rowsMax) }, false);
    case 'expires_on': {
      if (isBackwards) return yield* walkExpiriesBack(listed, { ...walk, rowsMax: rowsMax.slowWalk });
      // Cards that never expire follow those that expire, in both directions.
      if (after !== null && after.expiresOn === null) {
        const start = after.id === 0 ? null : after;
        const walked = yield* walkIds(
          listed,
          { ...walk, after: start, rowsMax: walkMaxOf(filter, rowsMax) },
          true,
        );
        // The last card of the stretch can be one that expires.
        return { ...walked, end: walked.end && { ...walked.end, expiresOn: null } };
      }
      const walked = yield* walkExpiries(listed, { ...walk, rowsMax: rowsMax.slowWalk });
      const end = walked.end ?? (filter.expiresOn ? null : beforeNeverExpiring);
      return { ...walked, end };
    }
  }
}

/** Walks through the cards in the order of their ids: those of a batch along its index. */
function* walkIds(listed: Listed, walk: Walk, neverExpiring: boolean): Script<Walked> {
  const { batchId } = listed.filter;
  if (batchId === null) return yield* walkKey(listed, walk, neverExpiring);
  return yield* walkBatch(listed, walk, { batchId, neverExpiring });
}

/** A part of the list by expiry before a position: cards that never expire, and before them those that expire. */
function* walkExpiriesBack(listed: Listed, walk: Walk): Script<Walked> {
  const { after } = walk;
  if (after === null || after.expiresOn !== null) return yield* walkExpiries(listed, walk);
  if (after.id === 0) return yield* walkExpiries(listed, { ...walk, after: null });
  const { found, end } = yield* walkIds(listed, walk, true);
  return { found, end: end ? { ...end, expiresOn: null } : beforeNeverExpiring };
}

const tooManyToSort =
  'cannot be the balance of more than 10,000 cards: narrow created_at_min and created_at_max, or filter by email or order_id';

/**
 * The first day from which on all cards can be sorted by balance, in the store's time zone; undefined: there is none, because
 * too many were issued today or all can be sorted.
 */
export function* findSortableSince(
  ctx: Context,
  store: Store,
  rowsMax: RowsMax = rowsMaxOfRequest,
): Script<string | undefined> {
  const since = yield* findNewestSince(store.id, rowsMax.walk);
  if (since === undefined) return undefined;
  const day = addDays(dayOf(since, store.timeZone), 1);
  return day <= today(ctx, store) ? day : undefined;
}

/** The position before the cards that never expire. */
const beforeNeverExpiring: CardPosition = Object.freeze({ id: 0, balance: 0n, expiresOn: null });

function walkMaxOf({ emailStatus, state, issuedAt }: CardFilter, rowsMax: RowsMax): number {
  return emailStatus !== null || state === 'scheduled' || issuedAt !== null ? rowsMax.slowWalk : rowsMax.walk;
}

/** A source of the filter with few cards; null if there is none. */
function* findSource(listed: Listed, rowsMax: RowsMax): Script<CardSource | null> {
  for (const source of sourcesOf(listed.filter)) {
    if ((yield* countSource(listed, source, rowsMax.found + 1)) <= rowsMax.found) return source;
  }
  return null;
}

export type CardCount = {
  readonly count: number;
  /** Whether there are no more; otherwise, cards were left out of the count. */
  readonly isExact: boolean;
};

/** The number of cards that meet a filter, as far as one request can count them. */
export function* countCards(
  ctx: Context,
  { store, filter }: Pick<CardListCommand, 'store' | 'filter'>,
  rowsMax: RowsMax = rowsMaxOfRequest,
): Script<CardCount> {
  const listed: Listed = { storeId: store.id, filter, today: today(ctx, store), now: ctx.clock.earliest() };
  const source = yield* findSource(listed, rowsMax);
  if (source !== null) return { count: yield* countFound(listed, source), isExact: true };
  const only = onlySourceOf(filter);
  if (only !== null) {
    const count = yield* countSource(listed, only, rowsMax.walk + 1);
    return { count: Math.min(count, rowsMax.walk), isExact: count <= rowsMax.walk };
  }
  const { cards, isComplete } = yield* countWalk(listed, walkMaxOf(filter, rowsMax));
  return { count: cards, isExact: isComplete };
}

/** The source whose cards are exactly those of the filter; null if there is none. */
function onlySourceOf(filter: CardFilter): CardSource | null {
  const [source, ...others] = sourcesOf(filter);
  const given = Object.values(filter).filter((value) => value !== null).length;
  if (source === undefined || others.length > 0 || given > 1) return null;
  const isExact = ['order_id', 'batch_id', 'disabled_at', 'expires_on', 'issued_at'].includes(source);
  return isExact ? source : null;
}
