/** The background job that closes the days of the books. */

import type { Database } from './database.ts';
import {
  beginClosing,
  closeStep,
  firstCandidates,
  listCandidates,
  loadClosing,
  type Books,
  type CandidatePage,
  type Candidates,
} from './service/books.ts';
import { findNewestTransaction, haveEnded, type Closing } from './storage/books.ts';
import { listStores } from './storage/store.ts';
import type { Store } from './domain/store.ts';

/**
 * Closes all days that ended more than ten minutes ago, in small transactions. Several processes can do it at the same
 * time: each transaction locks the day and continues where the last one ended.
 */
export async function closeDays(database: Database, rowsMax: number): Promise<void> {
  const { storage } = database;
  for (const { store } of await storage.read(listStores)) while (await closeDay(database, store, rowsMax));
}

/** Closes one day of a store. @returns whether it was closed; if not, there is none or a transaction is still open. */
async function closeDay({ ctx, storage }: Database, store: Store, rowsMax: number): Promise<boolean> {
  // Reads first, because most calls find no day to close.
  if (!(await storage.read(() => beginClosing(ctx, store, { isDryRun: true })))) return false;
  const begun = await storage.write(() => beginClosing(ctx, store, { isDryRun: false }));
  if (!begun) return false;
  // Transactions that could not see the closing are either committed before the sums, or rolled back.
  const newest = await storage.read(findNewestTransaction);
  if (!(await storage.read(() => haveEnded(newest)))) return false;
  const books = await storage.read(() => loadClosing(store, begun.day));
  if (!books) return true;
  let candidates: readonly number[] | undefined;
  for (let step: Pick<Closing, 'day' | 'part' | 'doneId'> = begun; ;) {
    if (step.part === 'cards') candidates ??= await listAllCandidates(storage, books, rowsMax);
    const next = await storage.write(() =>
      closeStep(ctx, books, { candidates: candidates ?? null, limit: rowsMax }),
    );
    if (next.part === 'closed') return true;
    step = next;
  }
}

async function listAllCandidates(
  storage: Database['storage'],
  books: Books,
  limit: number,
): Promise<readonly number[]> {
  const found = new Set<number>();
  for (let page: CandidatePage | undefined = firstCandidates(books.period); page;) {
    const at: CandidatePage = page;
    const { cards, next }: Candidates = await storage.read(() => listCandidates(books, at, limit));
    for (const id of cards) found.add(id);
    page = next;
  }
  return [...found].toSorted((left, right) => left - right);
}
