/** The history of a card: its creation, recorded changes and expiries. */

import type { Card } from './card.ts';
import type { FieldChange } from './change.ts';
import { spendStateOf, type SpendState } from './state.ts';
import { addDays, dayOf, startOfDay } from '../../domain/day.ts';

/** The time zone of a store from an instant (ms) until another one. */
export type ZonePeriod = { readonly from: number; readonly until: number; readonly timeZone: string };

/**
 * The first instant (ms) at which a card with this last valid day is expired.
 * @param zones the time zones of its store, in order, without gaps.
 */
function expiryOf(expiresOn: string, zones: readonly ZonePeriod[]): number {
  const dayAfter = addDays(expiresOn, 1);
  for (const { from, until, timeZone } of zones) {
    const begins = Math.max(from, startOfDay(dayAfter, timeZone));
    if (begins < until) return begins;
  }
  return Infinity;
}

/** The day of an instant (ms) in the time zone that the store had then. */
function dayIn(zones: readonly ZonePeriod[], instant: number): string {
  const period = zones.find(({ until }) => instant < until);
  return dayOf(instant, period?.timeZone ?? 'UTC');
}

/**
 * `expired` and `recording_began` are derived: they have the id of the entry before them. Changes between the creation
 * and `recording_began` were not recorded.
 */
export const historyKinds = ['created', 'changed', 'expired', 'recording_began'] as const;

export type HistoryEntry = {
  readonly id: number;
  readonly kind: (typeof historyKinds)[number];
  /** Instant in ms. */
  readonly at: number;
  readonly actor: string | null;
  /** The card's state after the entry. */
  readonly state: SpendState;
  readonly changes: readonly FieldChange[];
};

/** An entry that is stored: the creation or a change. */
export type RecordedEntry = Omit<HistoryEntry, 'kind' | 'state'> & { readonly kind: 'created' | 'changed' };

/** A recorded entry, the card after it, and the instant (ms) of the next recorded entry, or the present one. */
export type EntryInTime = { readonly entry: RecordedEntry; readonly card: Card; readonly until: number };

/** Returns an entry after the derived entries that follow it. @param recordedFrom see `StorePast.changesFrom`. */
export function entriesOf(
  { entry, card, until }: EntryInTime,
  { zones, recordedFrom }: { readonly zones: readonly ZonePeriod[]; readonly recordedFrom: number },
): readonly HistoryEntry[] {
  const stateAt = (at: number): SpendState => spendStateOf(card, dayIn(zones, at));
  const derived = (kind: HistoryEntry['kind'], at: number): HistoryEntry => {
    return { id: entry.id, kind, at, actor: null, state: stateAt(at), changes: [] };
  };
  const isRecorded = entry.kind === 'changed' || entry.at >= recordedFrom;
  const from = isRecorded ? entry.at : recordedFrom;
  const expiresAt =
    card.expiresOn === null || card.disabledAt !== null ? Infinity : expiryOf(card.expiresOn, zones);
  return [
    ...(expiresAt > from && expiresAt <= until ? [derived('expired', expiresAt)] : []),
    ...(isRecorded ? [] : [derived('recording_began', recordedFrom)]),
    { ...entry, state: stateAt(entry.at) },
  ];
}
