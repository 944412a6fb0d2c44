/** Cards that a report of a past instant has to read. */

import { listCardsDisabled, listCardsWithExpiry } from '../storage/books.ts';
import { idSkewMaxMs } from '../../../core/money/storage/transfer.ts';
import { listLateEntries } from '../storage/late-entries.ts';
import {
  listCardsWithChanges,
  listFormerDisablings,
  listFormerExpiries,
} from '../../../core/cards/storage/terms.ts';
import { idsAt } from '../../../platform/random.ts';
import type { Script } from '../../../database/sql/sql.ts';
import type { Period, Books } from './books.ts';

/** One page of the cards that can move between buckets in a period. */
export type CandidatePage =
  | { readonly source: 'expiring'; readonly at: string; readonly id: number }
  | { readonly source: 'disabled'; readonly at: number; readonly id: number }
  | { readonly source: 'formerly_expiring' | 'formerly_disabled'; readonly at: string; readonly id: number }
  | { readonly source: 'changed'; readonly id: number }
  | { readonly source: 'late'; readonly place: number; readonly id: number };

/** Cards, of which some can be in another page too, and the next page. */
export type Candidates = { readonly cards: readonly number[]; readonly next: CandidatePage | undefined };

export function firstCandidates({ days, before }: Period): CandidatePage & { readonly source: 'expiring' } {
  return { source: 'expiring', at: before?.day ?? days[0]?.day ?? '', id: 0 };
}

/** The days whose late entries are in a period; null: it also contains those that no day contains. */
export function lateDaysOf({ days, openFrom }: Period): readonly (string | null)[] {
  const names = days.map(({ day }) => day);
  return openFrom < days.length ? [...names, null] : names;
}

/**
 * Returns a page of the cards that can move between buckets in a period: their terms change in it, or an instant of one
 * of their terms is in it. A later change can have replaced that term, so the terms before changes are searched as well.
 */
export function* listCandidates(
  { store, period }: Books,
  page: CandidatePage,
  limit: number,
): Script<Candidates> {
  const [storeId, first, last] = [store.id, period.days.at(0), period.days.at(-1)];
  if (!first || !last) return { cards: [], next: undefined };
  switch (page.source) {
    case 'expiring': {
      const found = yield* listCardsWithExpiry(storeId, { after: page, until: last.day, limit });
      const [end] = found.length < limit ? [] : found.slice(-1);
      const next: CandidatePage = end
        ? { source: 'expiring', ...end }
        : { source: 'disabled', at: first.fromAt, id: 0 };
      return { cards: found.map(({ id }) => id), next };
    }
    case 'disabled': {
      const found = yield* listCardsDisabled(storeId, { after: page, until: last.untilAt, limit });
      const [end] = found.length < limit ? [] : found.slice(-1);
      const next: CandidatePage = end
        ? { source: 'disabled', ...end }
        : { source: 'formerly_expiring', at: firstCandidates(period).at, id: 0 };
      return { cards: found.map(({ id }) => id), next };
    }
    case 'formerly_expiring': {
      const found = yield* listFormerExpiries(storeId, { after: page, until: last.day, limit });
      const [end] = found.length < limit ? [] : found.slice(-1);
      const next: CandidatePage = end
        ? { source: 'formerly_expiring', at: end.at, id: end.id }
        : { source: 'formerly_disabled', at: String(first.fromAt), id: 0 };
      return { cards: found.map(({ cardId }) => cardId), next };
    }
    case 'formerly_disabled': {
      const found = yield* listFormerDisablings(storeId, { after: page, until: String(last.untilAt), limit });
      const [end] = found.length < limit ? [] : found.slice(-1);
      const next: CandidatePage = end
        ? { source: 'formerly_disabled', at: end.at, id: end.id }
        : { source: 'changed', id: Math.max(0, idsAt(first.fromAt - idSkewMaxMs) - 1) };
      return { cards: found.map(({ cardId }) => cardId), next };
    }
    case 'changed': {
      const before = idsAt(last.untilAt + idSkewMaxMs + 1);
      const { cards, next: id } = yield* listCardsWithChanges(storeId, { after: page.id, before, limit });
      return {
        cards,
        next: id === undefined ? { source: 'late', place: 0, id: 0 } : { source: 'changed', id },
      };
    }
    case 'late': {
      // Behind the days are the late entries that no day contains.
      const day = period.days[page.place]?.day ?? null;
      const found = yield* listLateEntries(store, { day, after: page.id, limit });
      const [end] = found.length < limit ? [] : found.slice(-1);
      const place = end ? page.place : page.place + 1;
      const next: CandidatePage | undefined =
        place >= lateDaysOf(period).length ? undefined : { source: 'late', place, id: end?.id ?? 0 };
      return { cards: found.map(({ cardId }) => cardId), next };
    }
  }
}
