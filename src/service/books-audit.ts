/** Compares the stored sums of closed days with the transfers, and replaces them. */

import type { AgeSum, DaySum, Sums } from '../domain/books.ts';
import type { Store } from '../domain/store.ts';
import {
  findLastClosings,
  insertAge,
  insertDay,
  deleteAges,
  deleteDay,
  listAges,
  listSums,
} from '../storage/books.ts';
import type { Script } from '../storage/sql.ts';
import { recompute } from './books.ts';
import type { StoreVerifying } from './check.ts';

type Amounts = Pick<DaySum, 'raised' | 'lowered' | 'cards'> & { readonly entries?: number };

function isZero({ entries = 0, raised, lowered, cards }: Amounts): boolean {
  return entries === 0 && raised === 0n && lowered === 0n && cards === 0;
}

function textOf({ entries = 0, raised, lowered, cards }: Amounts): string {
  return `${entries} ${raised} ${lowered} ${cards}`;
}

function byKey<T extends Amounts>(
  sums: readonly T[],
  keyOf: (sum: T) => string,
): ReadonlyMap<string, string> {
  return new Map(sums.filter((sum) => !isZero(sum)).map((sum) => [keyOf(sum), textOf(sum)]));
}

/** The keys whose values differ. */
function differences(
  left: ReadonlyMap<string, string>,
  right: ReadonlyMap<string, string>,
): readonly string[] {
  const keys = new Set([...left.keys(), ...right.keys()]);
  return [...keys].filter((key) => left.get(key) !== right.get(key));
}

const dayKey = ({ day, kind, bucket, account, actor, vat }: DaySum): string =>
  JSON.stringify([day, kind, bucket, account, vat, actor]);
const ageKey = ({ issued, month, bucket }: AgeSum): string => JSON.stringify([issued, month, bucket]);

/** Finds closed days, and months, whose stored sums are not those of the transfers. */
export function* checkBooks(store: Store, { found }: Pick<StoreVerifying, 'found'>): Script<void> {
  const sums = yield* recompute(store);
  const closings = yield* findLastClosings(store.id);
  const last = closings.find(({ part }) => part === 'closed');
  const stored = last ? yield* listSums(store, { from: '', to: last.day }) : [];
  const wrongDays = differences(byKey(sums.days, dayKey), byKey(stored, dayKey)).map(firstOf);
  const ages = yield* listAges(store, '9999-12');
  const wrongAges = differences(byKey(sums.ages, ageKey), byKey(ages, ageKey)).map(firstOf);
  for (const day of [...new Set(wrongDays)].toSorted())
    found({ cardId: null, problem: `the sums of the closed day ${day} differ from its transfers` });
  for (const month of [...new Set(wrongAges)].toSorted())
    found({ cardId: null, problem: `the sums of cards issued in ${month} differ from their transfers` });
}

function firstOf(key: string): string {
  const [name] = JSON.parse(key) as readonly [string];
  return name;
}

/** Replaces the stored sums of one closed day. */
export function* replaceDay(store: Store, day: string, sums: readonly DaySum[]): Script<void> {
  yield* deleteDay(store, day);
  for (const sum of sums) if (!isZero(sum)) yield* insertDay(store, sum);
}

/** Replaces the stored sums by month of issue. @returns false if a day was closed after `lastDay`: they are not current. */
export function* replaceAges(
  store: Store,
  { lastDay, ages }: { readonly lastDay: string; readonly ages: Sums['ages'] },
): Script<boolean> {
  const closings = yield* findLastClosings(store.id);
  if (closings.find(({ part }) => part === 'closed')?.day !== lastDay) return false;
  yield* deleteAges(store);
  for (const sum of ages) if (!isZero(sum)) yield* insertAge(store, sum.month, sum);
  return true;
}
