/**
 * Reads the sums that reports show: those of closed days, and those of the entries after them. Each read is small,
 * because a read of the embedded engine blocks all others.
 */

import { type AgeSum, type BooksDay, type DaySum, bucketAt } from '../domain/books.ts';
import { Sums } from '../domain/sums.ts';
import { addDays } from '../../../core/domain/day.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import {
  findBooksState,
  listClosedDaysUpTo,
  loadSummedCard,
  sumLateTransfers,
  sumMoves,
  sumTransfers,
  type Books,
  type Period,
} from './books.ts';
import {
  firstCandidates,
  listCandidates,
  lateDaysOf,
  type CandidatePage,
  type Candidates,
} from './candidates.ts';
import { findClosedDayOf, listClosedDays, listMonths } from '../storage/books.ts';
import { findFirstAgedDay, listDayAges, listMonthAges, listSums, sumPeriod } from '../storage/stored-sums.ts';
import { findHoldRange, listHoldsAt, type HoldRange, type HoldThen } from '../storage/past-holds.ts';
import type { Script } from '../../../database/sql/sql.ts';
import type { Storage } from '../../../database/storage.ts';

/** The store whose sums are read. `now` is an instant in ms. */
export type SumsSource = {
  readonly storage: Pick<Storage, 'read'>;
  readonly store: Store;
  readonly now: number;
};

/** One read of the embedded engine blocks all others for some milliseconds. */
const rowsMax = 200;
const closedDaysInRead = 60;

/** The books up to an instant: the days whose sums are stored, and the period after them, whose sums are not. */
type Position = { readonly closedUpTo: BooksDay | null; readonly period: Period };

const noPeriod: Period = { days: [], before: null, openFrom: 0 };

/** @param until the instant (ms) at which the period ends, which it does not include. */
async function findPosition({ storage, store, now }: SumsSource, until: number): Promise<Position> {
  const state = await storage.read(() => findBooksState(store, Math.max(now, until)));
  if (!state) return { closedUpTo: null, period: noPeriod };
  const { closed, closing, open } = state;
  if (closed && until <= closed.untilAt) {
    const { day, before = null } = await storage.read(() => findClosedDayOf(store.id, until - 1));
    if (!day) return { closedUpTo: before, period: noPeriod };
    if (day.untilAt === until) return { closedUpTo: day, period: noPeriod };
    return { closedUpTo: before, period: { days: [{ ...day, untilAt: until }], before, openFrom: 1 } };
  }
  const days = open
    .filter(({ fromAt }) => fromAt < until)
    .map((day) => ({ ...day, untilAt: Math.min(day.untilAt, until) }));
  return { closedUpTo: closed, period: { days, before: closed, openFrom: closing ? 1 : 0 } };
}

/** Sums a period whose sums are not stored. */
async function sumOpen({ storage }: SumsSource, books: Books): Promise<Sums> {
  const { days } = books.period;
  const sums = new Sums(days);
  if (days.length === 0) return sums;
  /** Adds what one read sums. An engine can run the script of a read again, so each run begins with empty sums. */
  const add = async <T>(sum: (part: Sums) => Script<T>): Promise<T> => {
    const { part, result } = await storage.read(function* () {
      const own = new Sums(days);
      return { part: own, result: yield* sum(own) };
    });
    sums.addAll(part);
    return result;
  };
  for (const day of lateDaysOf(books.period)) {
    for (let after: number | undefined = 0; after !== undefined;) {
      const from: number = after;
      after = await add((part) => sumLateTransfers(books, part, { day, after: from, limit: rowsMax }));
    }
  }
  for (let after: number | undefined = 0; after !== undefined;) {
    const from: number = after;
    after = await add((part) => sumTransfers(books, part, { after: from, limit: rowsMax }));
  }
  const moving = new Set<number>();
  for (let page: CandidatePage | undefined = firstCandidates(books.period); page;) {
    const at: CandidatePage = page;
    const { cards, next }: Candidates = await storage.read(() => listCandidates(books, at, rowsMax));
    for (const id of cards) moving.add(id);
    page = next;
  }
  const cards = [...moving];
  for (let from = 0; from < cards.length; from += 50)
    await add((part) => sumMoves(books, part, cards.slice(from, from + 50)));
  return sums;
}

/** The books of a period. Its open days can be of months that have no closed day yet. */
async function booksOf({ storage, store }: SumsSource, period: Period): Promise<Books> {
  const months = [...(await storage.read(() => listMonths(store.id)))];
  for (const { day, fromAt } of period.days) {
    const month = day.slice(0, 7);
    if ((months.at(-1)?.month ?? '') < month) months.push({ month, fromAt });
  }
  return { store, period, months };
}

/** The day of the first entry; undefined if there is none that is closed. */
async function findFirstClosedDay({ storage, store }: SumsSource): Promise<string | undefined> {
  const [day] = await storage.read(() => listClosedDays(store.id, { from: '', limit: 1 }));
  return day?.day;
}

/** Calls a function for ranges of days from `from` to `to` that are small enough for one read. */
async function inRanges(
  from: string,
  to: string,
  read: (range: { readonly from: string; readonly to: string }) => Promise<void>,
): Promise<void> {
  for (let start = from; start <= to;) {
    const last = addDays(start, closedDaysInRead - 1);
    await read({ from: start, to: last < to ? last : to });
    start = addDays(last, 1);
  }
}

/** All sums up to an instant, which they do not include. Stored ones have no day, actor, VAT or location. */
export async function readSumsUntil(source: SumsSource, until: number): Promise<readonly DaySum[]> {
  const { storage, store } = source;
  const { closedUpTo, period } = await findPosition(source, until);
  const sums: DaySum[] = [];
  const first = closedUpTo && (await findFirstClosedDay(source));
  if (closedUpTo && first !== undefined)
    await inRanges(first ?? '', closedUpTo.day, async (range) => {
      sums.push(...(await storage.read(() => sumPeriod(store, range))));
    });
  const open = await sumOpen(source, await booksOf(source, period));
  return [...sums, ...open.days];
}

/** The place of a sum among others, as in `listSums`. */
function orderOf({ day, kind, bucket, account, actor, vat, locationId }: DaySum): string {
  return [day, kind, bucket, account, actor, vat, locationId].join('\n');
}

/** The sums of days in their order, both ends included, and the balances before them. */
export type SumsOfDays = { readonly before: readonly DaySum[]; readonly days: readonly DaySum[] };

export async function readSumsOfDays(
  source: SumsSource,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<SumsOfDays> {
  const { storage, store, now } = source;
  const { closedUpTo, period } = await findPosition(source, now + 1);
  const before: DaySum[] = [];
  const days: DaySum[] = [];
  const first = closedUpTo && (await findFirstClosedDay(source));
  if (closedUpTo && first !== undefined && first !== null) {
    const last = closedUpTo.day;
    const dayBefore = addDays(from, -1);
    await inRanges(first, dayBefore < last ? dayBefore : last, async (range) => {
      before.push(...(await storage.read(() => sumPeriod(store, range))));
    });
    await inRanges(from > first ? from : first, to < last ? to : last, async (range) => {
      days.push(...(await storage.read(() => listSums(store, range))));
    });
  }
  if (closedUpTo === null || to > closedUpTo.day) {
    const open = await sumOpen(source, await booksOf(source, period));
    const sorted = open.days.toSorted((left, right) => (orderOf(left) < orderOf(right) ? -1 : 1));
    for (const sum of sorted) {
      if (sum.day < from) before.push(sum);
      else if (sum.day <= to) days.push(sum);
    }
  }
  return { before, days };
}

/** The sums by the month of issue up to an instant, which they do not include. Stored ones are of months and days. */
export async function readAgesUntil(source: SumsSource, until: number): Promise<readonly AgeSum[]> {
  const { storage, store } = source;
  const { closedUpTo, period } = await findPosition(source, until);
  const agesIn = async (part: Period): Promise<readonly AgeSum[]> =>
    (await sumOpen(source, await booksOf(source, part))).ages;
  const open = await agesIn(period);
  if (!closedUpTo) return open;
  const { months, days, missing } = await storage.read(() => readStoredAges(store, closedUpTo.day));
  return [...months, ...days, ...(missing ? await agesIn(missing) : []), ...open];
}

/**
 * Returns the stored sums by the month of issue up to the end of a closed day.
 * @returns also the days of its month whose sums are not stored, because an earlier version closed them; null: none.
 */
function* readStoredAges(store: Store, last: string): Script<StoredAges> {
  const month = last.slice(0, 7);
  const months = yield* listMonthAges(store, month);
  const agedFrom = yield* findFirstAgedDay(store);
  const closed = yield* listClosedDaysUpTo(store.id, last);
  const [first] = closed;
  if (!first || (agedFrom !== undefined && agedFrom <= first.day))
    return { months, days: yield* listDayAges(store, { from: month, to: last }), missing: null };
  const { before = null } = yield* findClosedDayOf(store.id, first.fromAt);
  return { months, days: [], missing: { days: closed, before, openFrom: closed.length } };
}

type StoredAges = {
  readonly months: readonly AgeSum[];
  readonly days: readonly AgeSum[];
  readonly missing: Period | null;
};

/** An instant in the books: its day, and the books up to it. */
export type BooksMoment = { readonly at: number; readonly day: BooksDay; readonly books: Books };

/** @param at an instant (ms), which is included. Undefined result: the store has no entry until then. */
export async function findBooksMoment(source: SumsSource, at: number): Promise<BooksMoment | undefined> {
  const { storage, store } = source;
  const { period, closedUpTo } = await findPosition(source, at + 1);
  const day = period.days.at(-1) ?? closedUpTo;
  if (!day) return undefined;
  if (period.days.length > 0) return { at, day, books: await booksOf(source, period) };
  const { before = null } = await storage.read(() => findClosedDayOf(store.id, day.fromAt));
  return { at, day, books: await booksOf(source, { days: [day], before, openFrom: 1 }) };
}

/** The amount that open holds reserved on cards in the bucket `active`, in minor units. */
export async function readHeldAt(
  { storage, store }: SumsSource,
  { at, day, books }: BooksMoment,
): Promise<bigint> {
  let held = 0n;
  for (let last: HoldRange | null = null; ;) {
    const before: HoldRange | null = last;
    const range: HoldRange | undefined = await storage.read(() => findHoldRange(store.id, at, before));
    if (!range) return held;
    const holds: readonly HoldThen[] = await storage.read(() => listHoldsAt(store.id, range, at));
    for (let from = 0; from < holds.length; from += rowsMax) {
      const page = holds.slice(from, from + rowsMax);
      held += await storage.read(() => sumUsable(books, page, { day: day.day, at }));
    }
    last = range;
  }
}

/** The amount of the holds whose cards were usable on a day and at an instant in it. */
function* sumUsable(
  books: Books,
  holds: readonly HoldThen[],
  { day, at }: { readonly day: string; readonly at: number },
): Script<bigint> {
  let held = 0n;
  for (const { cardId, amount } of holds) {
    const card = yield* loadSummedCard(books, cardId);
    if (card && bucketAt(card, day, at) === 'active') held += amount;
  }
  return held;
}
