/** Closes days: sums their entries for the reports. */

import {
  advanceClosing,
  claimClosing,
  findFirstInstant,
  findLastClosings,
  insertClosing,
  listMonths,
  type ClosingDay,
  findNewestTransaction,
  haveEnded,
  type ClosingKey,
} from '../storage/books.ts';
import { assignLateEntries } from '../storage/late-entries.ts';
import type { Script } from '../../../database/sql/sql.ts';
import type { Context } from '../../../core/storage/context.ts';
import { dayAfter, firstDay, type BooksDay } from '../domain/books.ts';
import { Sums } from '../domain/sums.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { addSums, mergeAges } from '../storage/stored-sums.ts';
import { setTimeout as wait } from 'node:timers/promises';
import { type Books, type Period, sumTransfers, sumLateTransfers, sumMoves } from './books.ts';
import { firstCandidates, listCandidates, type CandidatePage, type Candidates } from './candidates.ts';
import type { Storage } from '../../../database/storage.ts';
import { forDueStores, presentOf } from '../../../core/stores/service/work.ts';

type Closing = { readonly ctx: Context; readonly storage: Storage };

/** The longest wait of a closing for older transactions. If they do not end, the next run closes the day. */
const transactionWaitMaxMs = 5_000;
const pollMs = 50;

/**
 * Closes all days that ended more than ten minutes ago, in small transactions. Several processes can do it at the same
 * time: each transaction locks the day and continues where the last one ended.
 * @param trustedUntil the instant (ms) up to which the clock is trusted; absent: it is.
 * @returns how many there were.
 */
export async function closeDays(
  tools: Closing,
  rowsMax: number,
  trustedUntil = Number.POSITIVE_INFINITY,
): Promise<number> {
  const { ctx, storage } = tools;
  let closed = 0;
  const { dueAt, now } = presentOf(ctx);
  const time = { dueAt: () => Math.min(dueAt(), trustedUntil), now };
  await forDueStores(storage, { kind: 'closing', time }, async (store) => {
    while (await closeDay(tools, store, { rowsMax, trustedUntil })) closed += 1;
    return await storage.read(() => findNextClosing(store));
  });
  return closed;
}

/** The day of a store that is being closed, or the first open one; undefined: the store has no entries. */
function* findOpenDay(store: Store): Script<ClosingDay | BooksDay | undefined> {
  const [last] = yield* findLastClosings(store.id);
  if (last) return last.part === 'closed' ? dayAfter(last, store.timeZone) : last;
  const from = yield* findFirstInstant(store.id);
  return from === undefined ? undefined : firstDay(from, store.timeZone);
}

/** When the first open day of a store can be closed (ms); null: the store has no entries. */
function* findNextClosing(store: Store): Script<number | null> {
  const day = yield* findOpenDay(store);
  return day ? day.untilAt + closingDelayMs : null;
}

/**
 * Closes the days of a store as `closeDays` does, in the transaction that has written their entries: no other one adds
 * to days of the past.
 */
export function* closeOwnDays(
  ctx: Context,
  store: Store,
  { rowsMax, trustedUntil }: { readonly rowsMax: number; readonly trustedUntil: number },
): Script<void> {
  for (
    let begun: ClosingDay | undefined;
    (begun = yield* beginClosing(ctx, store, { isDryRun: false, trustedUntil }));
  ) {
    const books = yield* loadClosing(store, begun.day);
    if (!books) return;
    while ((yield* closeStep(ctx, books, { candidates: null, limit: rowsMax })).part === 'late');
    const found = new Set<number>();
    for (let page: CandidatePage | undefined = firstCandidates(books.period); page;) {
      const { cards, next }: Candidates = yield* listCandidates(books, page, rowsMax);
      for (const id of cards) found.add(id);
      page = next;
    }
    const candidates = inOrder(found);
    while ((yield* closeStep(ctx, books, { candidates, limit: rowsMax })).part !== 'closed');
  }
}

/** Closes one day of a store. @returns whether it was closed; if not, there is none or a transaction is still open. */
async function closeDay(
  { ctx, storage }: Closing,
  store: Store,
  { rowsMax, trustedUntil }: { readonly rowsMax: number; readonly trustedUntil: number },
): Promise<boolean> {
  // Reads first, because most calls find no day to close.
  if (!(await storage.read(() => beginClosing(ctx, store, { isDryRun: true, trustedUntil })))) return false;
  const begun = await storage.write(() => beginClosing(ctx, store, { isDryRun: false, trustedUntil }));
  if (!begun) return false;
  // Transactions that could not see the closing are either committed before the sums, or rolled back.
  if (!(await untilOthersEnd(storage, { storeId: store.id, day: begun.day }))) return false;
  const books = await storage.read(() => loadClosing(store, begun.day));
  if (!books) return true;
  const step = async (candidates: readonly number[] | null): Promise<string> =>
    (await storage.write(() => closeStep(ctx, books, { candidates, limit: rowsMax }))).part;
  while ((await step(null)) === 'late');
  const candidates = await listAllCandidates(storage, books, rowsMax);
  while ((await step(candidates)) !== 'closed');
  return true;
}

/** Waits for the transactions that are open now. @returns whether they ended in time. */
async function untilOthersEnd(storage: Storage, closing: ClosingKey): Promise<boolean> {
  const newest = await storage.read(() => findNewestTransaction(closing));
  for (let waited = 0; !(await storage.read(() => haveEnded(closing, newest))); waited += pollMs) {
    if (waited >= transactionWaitMaxMs) return false;
    await wait(pollMs);
  }
  return true;
}

async function listAllCandidates(storage: Storage, books: Books, limit: number): Promise<readonly number[]> {
  const found = new Set<number>();
  for (let page: CandidatePage | undefined = firstCandidates(books.period); page;) {
    const at: CandidatePage = page;
    const { cards, next }: Candidates = await storage.read(() => listCandidates(books, at, limit));
    for (const id of cards) found.add(id);
    page = next;
  }
  return inOrder(found);
}

function inOrder(ids: ReadonlySet<number>): readonly number[] {
  return [...ids].toSorted((left, right) => left - right);
}

/** The time from the end of a day to its closing. */
export const closingDelayMs = 10 * 60_000;

/**
 * Begins to close the first open day, if it ended more than ten minutes ago.
 * @param trustedUntil the instant (ms) up to which the clock is trusted. A clock that is ahead would close a day too early.
 * @returns the day that is to be summed; undefined if there is none.
 */
export function* beginClosing(
  ctx: Context,
  store: Store,
  { isDryRun, trustedUntil }: { readonly isDryRun: boolean; readonly trustedUntil: number },
): Script<ClosingDay | undefined> {
  const now = Math.min(ctx.clock.earliest(), trustedUntil) - closingDelayMs;
  const day = yield* findOpenDay(store);
  if (!day) return undefined;
  if ('part' in day) return day;
  if (day.untilAt > now) return undefined;
  if (!isDryRun) yield* insertClosing(store.id, day);
  return { ...day, part: 'late', doneId: 0 };
}

/** The books of a day that is being closed. */
function* loadClosing(store: Store, day: string): Script<Books | undefined> {
  const [closing, before] = yield* findLastClosings(store.id);
  if (closing?.day !== day || closing.part === 'closed') return undefined;
  const period: Period = { days: [closing], before: before ?? null, openFrom: 1 };
  return { store, period, months: yield* listMonths(store.id) };
}

/**
 * Sums the next rows of a day that is being closed, in one transaction with its progress.
 * @param candidates the cards that can move between buckets in the day, in order. They are known after the part `late`,
 * because late changes move cards; null: only this part is done.
 * @returns what is summed next.
 */
function* closeStep(
  ctx: Context,
  books: Books,
  { candidates, limit }: { readonly candidates: readonly number[] | null; readonly limit: number },
): Script<Pick<ClosingDay, 'day' | 'part' | 'doneId'>> {
  const { store, period } = books;
  const [{ day } = { day: '' }] = period.days;
  const closing = yield* claimClosing(store.id, day);
  if (!closing) return { day, part: 'closed', doneId: 0 };
  const sums = new Sums(period.days);
  let state: Pick<ClosingDay, 'part' | 'doneId'> = closing;
  // A day with few entries is summed at once.
  for (let part: ClosingDay['part'] | undefined; state.part !== part && state.part !== 'closed';) {
    if (!candidates && state.part !== 'late') break;
    ({ part } = state);
    const rows = { candidates: candidates ?? [], limit };
    state = yield* sumPart(books, sums, { closing: { ...closing, ...state }, ...rows });
  }
  yield* addSums(store, sums);
  if (state.part === 'closed') yield* mergeAges(store, { day, month: day.slice(0, 7) });
  const closedAt = state.part === 'closed' ? ctx.clock.now() : null;
  yield* advanceClosing(store.id, { ...state, day }, closedAt);
  return { ...state, day };
}

/** Sums the next rows of the part that a closing has reached. @returns what is summed next. */
function* sumPart(
  books: Books,
  sums: Sums,
  {
    closing,
    candidates,
    limit,
  }: { readonly closing: ClosingDay; readonly candidates: readonly number[]; readonly limit: number },
): Script<Pick<ClosingDay, 'part' | 'doneId'>> {
  const { day, part, doneId, untilAt } = closing;
  switch (part) {
    case 'late': {
      // All of them, before any is summed: a change of a card decides the buckets of its transfers.
      const hasMore = yield* assignLateEntries(books.store.id, { day, untilAt, limit });
      return { part: hasMore ? 'late' : 'late_transfers', doneId: 0 };
    }
    case 'late_transfers': {
      const last = yield* sumLateTransfers(books, sums, { day, after: doneId, limit });
      return last === undefined ? { part: 'transfers', doneId: 0 } : { part, doneId: last };
    }
    case 'transfers': {
      const last = yield* sumTransfers(books, sums, { after: doneId, limit });
      return last === undefined ? { part: 'cards', doneId: 0 } : { part, doneId: last };
    }
    case 'cards': {
      const from = candidates.findIndex((id) => id > doneId);
      const count = Math.ceil(limit / 10);
      const cards = from < 0 ? [] : candidates.slice(from, from + count);
      yield* sumMoves(books, sums, cards);
      const last = cards.at(-1);
      return last === undefined || cards.length < count
        ? { part: 'closed', doneId: 0 }
        : { part, doneId: last };
    }
    case 'closed':
      return closing;
  }
}
