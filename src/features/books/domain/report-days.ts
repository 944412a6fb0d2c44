/** The days of a report, in the time zone of its store. */

import { addDays, startOfDay } from '../../../core/domain/day.ts';
import type { Store } from '../../../core/stores/domain/store.ts';

/** The moment of a report. */
export type ReportMoment = {
  /** The instant (ms) at which it ends, which it does not include. */
  readonly until: number;
  /** The last instant that the caller wrote, or the day. */
  readonly shown: string;
};

/** The end of a day that has begun; now, if the day has not ended. */
export function momentOfDay(day: string, { timeZone }: Pick<Store, 'timeZone'>, now: number): ReportMoment {
  const until = startOfDay(addDays(day, 1), timeZone);
  return { until: Math.min(until, now + 1), shown: day };
}

/** The first and the last day of a report. */
export type ReportDays = { readonly from: string; readonly to: string };

export const reportDaysMax = 366;

/** Returns the error of a report's days. */
export function problemOfDays({ from, to }: ReportDays): 'reversed' | 'too-long' | undefined {
  if (to < from) return 'reversed';
  return to > addDays(from, reportDaysMax - 1) ? 'too-long' : undefined;
}
