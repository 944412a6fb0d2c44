/** The liability at the ends of closed months. */

import { dayOf } from '../../../core/domain/day.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { parallel, resolved, type Script } from '../../../database/sql/sql.ts';
import { findFirstInstant, findLastClosings, type ClosingDay } from '../storage/books.ts';
import { listClosedMonths, type ClosedMonth } from '../storage/closed-months.ts';

/** The closed months of a store. */
export type MonthEnds = {
  /** The liability at the end of each month that is closed as a whole, the earliest first. */
  readonly months: readonly { readonly month: string; readonly outstanding: bigint }[];
  /** The last closed day; null: none. */
  readonly closedUpTo: string | null;
  /** The day of the first entry, if no day is closed; null: there is none. */
  readonly from: string | null;
};

export function* findMonthEnds(store: Store): Script<MonthEnds> {
  const closed = yield* findLastClosed(store.id);
  const [months, firstAt] = yield* parallel(
    closed ? listClosedMonths(store) : resolved<readonly ClosedMonth[]>([]),
    closed ? resolved(undefined) : findFirstInstant(store.id),
  );
  return monthEndsOf(store, { closed, months, firstAt });
}

/** The last closed day of a store; null: none. */
export function* findLastClosed(storeId: number): Script<ClosingDay | null> {
  return (yield* findLastClosings(storeId)).find(({ part }) => part === 'closed') ?? null;
}

/** @param place.firstAt the instant (ms) of the first entry; undefined: there is none, or a day is closed. */
export function monthEndsOf(
  { timeZone }: Pick<Store, 'timeZone'>,
  {
    closed,
    months,
    firstAt,
  }: {
    readonly closed: ClosingDay | null;
    readonly months: readonly ClosedMonth[];
    readonly firstAt: number | undefined;
  },
): MonthEnds {
  let outstanding = 0n;
  const ends = months.map(({ month, change }) => {
    outstanding += change;
    return { month, outstanding };
  });
  return {
    months: closed ? withoutGaps(ends, closed).filter(({ month }) => isEnded(month, closed)) : [],
    closedUpTo: closed?.day ?? null,
    from: firstAt === undefined ? null : dayOf(firstAt, timeZone),
  };
}

function nextMonth(month: string): string {
  return Temporal.PlainYearMonth.from(month).add({ months: 1 }).toString();
}

/** Whether all days of a month are closed. */
function isEnded(month: string, { day }: Pick<ClosingDay, 'day'>): boolean {
  return Temporal.PlainDate.from(day).add({ days: 1 }).toString() >= `${nextMonth(month)}-01`;
}

/** Adds the months without a change, up to the last closed day. */
function withoutGaps(
  ends: readonly { readonly month: string; readonly outstanding: bigint }[],
  { day }: Pick<ClosingDay, 'day'>,
): readonly { readonly month: string; readonly outstanding: bigint }[] {
  return ends.flatMap((end, place) => {
    const next = ends[place + 1]?.month ?? nextMonth(day.slice(0, 7));
    const filled = [end];
    for (let month = nextMonth(end.month); month < next; month = nextMonth(month))
      filled.push({ month, outstanding: end.outstanding });
    return filled;
  });
}
