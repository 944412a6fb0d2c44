/**
 * The volume of a store's cards in a year. Cards that only one shop accepts are a limited network; an EU shop
 * reports to its authority once they have paid for more than 1,000,000 EUR in twelve months (Directive (EU) 2015/2366,
 * articles 3(k) and 37(2)).
 */

import { addDays } from '../../../core/domain/day.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { findLastClosings } from '../../books/storage/books.ts';
import { sumPeriod } from '../../books/storage/stored-sums.ts';
import type { Script } from '../../../database/sql/sql.ts';

const currency = 'EUR';
/** 80 % of the limit, which leaves time for the report. */
const noticedUnits = 800_000n;
const days = 365;

/**
 * The redemptions of the last 365 closed days, if they approach the limit.
 * @returns undefined: they do not, or the store has another currency.
 */
export function* findNoticedVolume(store: Store): Script<Money | undefined> {
  if (store.currency.code !== currency) return undefined;
  const [last] = yield* findLastClosings(store.id);
  if (!last) return undefined;
  const sums = yield* sumPeriod(store, { from: addDays(last.day, -days), to: last.day });
  const minor = sums
    .filter(({ account }) => account === 'redemptions')
    .reduce((sum, { lowered, raised }) => sum + lowered - raised, 0n);
  const noticed = noticedUnits * 10n ** BigInt(store.currency.decimals);
  return minor >= noticed ? { minor, currency: store.currency } : undefined;
}
