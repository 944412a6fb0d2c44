/** The balances of the cards that were suspended at an instant. A suspension moves nothing in the books, so they are read. */

import { idSkewMaxMs } from '../../../core/money/storage/transfer.ts';
import { listEntriesLaterThan } from '../storage/late-entries.ts';
import { listResumptions, listSuspendedCards } from '../../../core/cards/storage/terms.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { idsAt } from '../../../platform/random.ts';
import { findSuspendedBalance } from './books.ts';
import type { BooksMoment, SumsSource } from './report-sums.ts';

/** One read of the embedded engine blocks all others for some milliseconds. */
const rowsMax = 1_000;
const cardsAtOnce = 50;

/**
 * The suspended cards among those that are neither expired nor disabled at the instant: the sum of their balances in minor
 * units, and their number.
 */
export async function readSuspendedAt(
  source: SumsSource,
  moment: BooksMoment,
): Promise<{ readonly amount: bigint; readonly cards: number }> {
  const { storage } = source;
  const ids = [...(await listCandidates(source, moment))];
  let [amount, cards] = [0n, 0];
  for (let from = 0; from < ids.length; from += cardsAtOnce) {
    const some = ids.slice(from, from + cardsAtOnce);
    const balances = await storage.read(() =>
      parallel(...some.map((cardId) => findSuspendedBalance(moment.books, cardId, moment))),
    );
    for (const balance of balances) {
      if (balance === undefined) continue;
      amount += balance;
      cards += 1;
    }
  }
  return { amount, cards };
}

/** All cards that can have been suspended at the instant: they still are, or were resumed after it. */
async function listCandidates(
  { storage, store }: SumsSource,
  { at, day }: BooksMoment,
): Promise<ReadonlySet<number>> {
  const found = new Set<number>();
  const limit = rowsMax;
  await eachRow(
    storage,
    { at: 0, id: 0 },
    (after) => listSuspendedCards(store.id, { after, until: at, limit }),
    ({ id }) => found.add(id),
  );
  await eachRow(
    storage,
    { id: Math.max(0, idsAt(at - idSkewMaxMs) - 1), cardId: 0, suspendedAt: 0 },
    ({ id: after }) => listResumptions(store.id, { after, limit }),
    ({ cardId, suspendedAt }) => suspendedAt <= at && found.add(cardId),
  );
  // A late resumption has the id of an earlier time.
  await eachRow(
    storage,
    { id: 0, cardId: 0 },
    ({ id: after }) => listEntriesLaterThan(store.id, { day: day.day, until: at, after, limit }),
    ({ cardId }) => found.add(cardId),
  );
  return found;
}

/** Reads a list in pages. @param first the place before the first row. */
async function eachRow<Row>(
  storage: SumsSource['storage'],
  first: Row,
  list: (after: Row) => Script<readonly Row[]>,
  found: (row: Row) => void,
): Promise<void> {
  for (let after: Row | undefined = first; after !== undefined;) {
    const from: Row = after;
    const page: readonly Row[] = await storage.read(() => list(from));
    for (const row of page) found(row);
    after = page.length < rowsMax ? undefined : page.at(-1);
  }
}
