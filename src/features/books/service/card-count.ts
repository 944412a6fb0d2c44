/** Counts of cards that the books have, for filters that are too wide to read all cards. */

import { balancesOf } from '../domain/reports.ts';
import type { CardFilter } from '../../../core/cards/storage/filter.ts';
import { findLastClosings } from '../storage/books.ts';
import type { CardCount } from '../../../core/cards/service/list.ts';
import type { ReportRuns, RequestedReport } from './report-runs.ts';
import { readSumsUntil, type SumsSource } from './report-sums.ts';

/** With more days after the last closed one, a count would take as long as a report. */
const openMsMax = 3 * 86_400_000;

/**
 * Returns the number of cards in a state according to the books; undefined if they do not have it: the last days are not
 * closed.
 */
async function countInBooks(source: SumsSource, state: 'expired' | 'disabled'): Promise<number | undefined> {
  const closings = await source.storage.read(() => findLastClosings(source.store.id));
  const closed = closings.find(({ part }) => part === 'closed');
  if (!closed || source.now - closed.untilAt > openMsMax) return undefined;
  return balancesOf(await readSumsUntil(source, source.now + 1))[state].cards;
}

/** An exact count instead of one that was ended, if the books have it. */
export async function exactCount(
  reports: ReportRuns,
  { store, signal }: Pick<RequestedReport, 'signal'> & Pick<SumsSource, 'store'>,
  { filter, counted }: { readonly filter: CardFilter; readonly counted: CardCount },
): Promise<CardCount> {
  const { state } = filter;
  const isOnly = Object.values(filter).filter((value) => value !== null).length === 1;
  if (counted.isExact || !isOnly || (state !== 'expired' && state !== 'disabled')) return counted;
  const requested = { store, name: 'count', made: ['list', state], isPast: false, signal } as const;
  const count = await reports(requested, (source) => countInBooks({ ...source, store }, state));
  return count === undefined ? counted : { count, isExact: true };
}
