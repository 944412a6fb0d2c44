/** Compares the stored sums of closed days with the transfers, and replaces them. */

import type { AgeSum, DaySum } from '../../books/domain/books.ts';
import { sumAmountsOf, isZeroSum, monthlyAges } from '../../books/domain/sums.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { findLastClosings } from '../../books/storage/books.ts';
import { findFirstAgedDay, listDayAges, listMonthAges, listSums } from '../../books/storage/stored-sums.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { recompute } from '../../books/service/recompute.ts';
import type { StoreVerifying } from './row-check.ts';

function textOf(sum: DaySum | AgeSum): string {
  return sumAmountsOf(sum).join(' ');
}

function byKey<T extends DaySum | AgeSum>(
  sums: readonly T[],
  keyOf: (sum: T) => string,
): ReadonlyMap<string, string> {
  return new Map(sums.filter((sum) => !isZeroSum(sum)).map((sum) => [keyOf(sum), textOf(sum)]));
}

/** The keys whose values differ. */
function differences(
  left: ReadonlyMap<string, string>,
  right: ReadonlyMap<string, string>,
): readonly string[] {
  const keys = new Set([...left.keys(), ...right.keys()]);
  return [...keys].filter((key) => left.get(key) !== right.get(key));
}

const dayKey = ({ day, kind, bucket, account, actor, vat, locationId }: DaySum): string =>
  JSON.stringify([day, kind, bucket, account, vat, actor, locationId]);
const ageKey = ({ issued, period, bucket }: AgeSum): string => JSON.stringify([issued, period, bucket]);

/** Finds closed days, and months, whose stored sums are not those of the transfers. */
export function* checkBooks(store: Store, { found }: Pick<StoreVerifying, 'found'>): Script<void> {
  const sums = yield* recompute(store);
  const closings = yield* findLastClosings(store.id);
  const last = closings.find(({ part }) => part === 'closed');
  const stored = last ? yield* listSums(store, { from: '', to: last.day }) : [];
  const wrongDays = differences(byKey(sums.days, dayKey), byKey(stored, dayKey)).map(firstOf);
  const storedMonths = last ? yield* listMonthAges(store, endOfMonths) : [];
  const storedAges = last ? yield* listDayAges(store, { from: '', to: last.day }) : [];
  const agedFrom = (yield* findFirstAgedDay(store)) ?? endOfMonths;
  const ages = [...monthlyAges(sums.ages), ...sums.ages.filter(({ period }) => period >= agedFrom)];
  const wrongAges = differences(byKey(ages, ageKey), byKey([...storedMonths, ...storedAges], ageKey)).map(
    firstOf,
  );
  for (const day of [...new Set(wrongDays)].toSorted())
    found({ cardId: null, problem: `the sums of the closed day ${day} differ from its transfers` });
  for (const month of [...new Set(wrongAges)].toSorted())
    found({ cardId: null, problem: `the sums of cards issued in ${month} differ from their transfers` });
}

/** After all months. */
const endOfMonths = '9999-13';

function firstOf(key: string): string {
  const [name] = JSON.parse(key) as readonly [string];
  return name;
}
