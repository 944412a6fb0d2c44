/** Closes days: sums their entries for the reports. */

import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../../storage/context.ts';
import type { Store } from '../../domain/stores/store.ts';
import { beginClosing, closeStep, loadClosing, type Books } from './books.ts';
import { firstCandidates, listCandidates, type CandidatePage, type Candidates } from './candidates.ts';
import {
  findNewestTransaction,
  haveEnded,
  type ClosingDay,
  type ClosingKey,
} from '../../storage/books/books.ts';
import type { Script } from '../../storage/sql/sql.ts';
import type { Storage } from '../../storage/storage.ts';
import { listOpenStores } from '../../storage/stores/store.ts';

type Closing = { readonly ctx: Context; readonly storage: Storage };

/** How long a closing waits for older transactions. If they do not end, the next run closes the day. */
const transactionWaitMaxMs = 5_000;
const pollMs = 50;

/**
 * Closes all days that ended more than ten minutes ago, in small transactions. Several processes can do it at the same
 * time: each transaction locks the day and continues where the last one ended.
 * @param trustedUntil the instant (ms) up to which the clock is trusted; absent: it is.
 */
export async function closeDays(
  tools: Closing,
  rowsMax: number,
  trustedUntil = Number.POSITIVE_INFINITY,
): Promise<void> {
  const { storage } = tools;
  for (const { store } of await storage.read(listOpenStores))
    while (await closeDay(tools, store, { rowsMax, trustedUntil }));
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
