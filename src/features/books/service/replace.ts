/** Replaces stored sums with others. */

import type { Store } from '../../../core/stores/domain/store.ts';
import { isZeroSum, monthlyAges, type Sums } from '../domain/sums.ts';
import type { DaySum } from '../domain/books.ts';
import { findLastClosings } from '../storage/books.ts';
import { deleteAges, deleteDay, insertAge, insertDay, lockClosing } from '../storage/stored-sums.ts';
import type { Script } from '../../../database/sql/sql.ts';

/** Replaces the stored sums of one closed day. */
export function* replaceDay(store: Store, day: string, sums: readonly DaySum[]): Script<void> {
  yield* deleteDay(store, day);
  for (const sum of sums) if (!isZeroSum(sum)) yield* insertDay(store, sum);
}

/** Replaces the stored sums by month of issue. @returns false if a day was closed after `lastDay`: they are not current. */
export function* replaceAges(
  store: Store,
  { lastDay, ages }: { readonly lastDay: string; readonly ages: Sums['ages'] },
): Script<boolean> {
  yield* lockClosing(store.id, lastDay);
  const closings = yield* findLastClosings(store.id);
  if (closings.find(({ part }) => part === 'closed')?.day !== lastDay) return false;
  yield* deleteAges(store, lastDay);
  for (const sum of [...ages, ...monthlyAges(ages)]) if (!isZeroSum(sum)) yield* insertAge(store, sum);
  return true;
}
