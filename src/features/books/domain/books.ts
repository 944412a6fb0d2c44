/**
 * The books of a store: its days, and what each transfer adds to the sums of a day.
 *
 * A *bucket* is the state of the card of an amount. The sums of a bucket up to the end of a day are the balances of the
 * cards that are in that state then: when the state of a card changes, its balance moves from one bucket to another.
 */

import type { SpendState } from '../../../core/cards/domain/state.ts';
import { addDays, dayOf, startOfDay } from '../../../core/domain/day.ts';
import type { Account, TransferKind } from '../../../core/money/domain/ledger.ts';

/** A suspension moves nothing: the balance of a suspended card is in the bucket that it would be in without it. */
export type Bucket = Exclude<SpendState, 'suspended'>;

export const buckets = ['active', 'expired', 'disabled'] as const satisfies readonly Bucket[];

/** A day of the books: from `fromAt` until before `untilAt`, instants in ms. */
export type BooksDay = { readonly day: string; readonly fromAt: number; readonly untilAt: number };

/** The day of the books that contains an instant, if no day before it was closed. */
export function firstDay(instant: number, timeZone: string): BooksDay {
  const day = dayOf(instant, timeZone);
  return { day, fromAt: startOfDay(day, timeZone), untilAt: startOfDay(addDays(day, 1), timeZone) };
}

/**
 * The day after a closed one. After a change of the time zone it is longer or shorter, because it begins where the
 * closed day ends.
 */
export function dayAfter(last: Pick<BooksDay, 'day' | 'untilAt'>, timeZone: string): BooksDay {
  const local = dayOf(last.untilAt, timeZone);
  const next = addDays(last.day, 1);
  const day = local > next ? local : next;
  return { day, fromAt: last.untilAt, untilAt: startOfDay(addDays(day, 1), timeZone) };
}

/** The kinds of moves between buckets. */
export type MoveKind = 'expire' | 'unexpire' | 'disable' | 'enable';

/** The kinds of entries in the books: the reversal of an issue is a cancellation of the sale. */
export type EntryKind = TransferKind | 'cancellation';

/** The sums of one key of a day. */
export type DaySum = {
  readonly day: string;
  readonly kind: EntryKind | MoveKind;
  readonly bucket: Bucket;
  /** The other account; empty for a move. */
  readonly account: Account | '';
  readonly actor: string;
  /** The text of `formatVat`; empty: the VAT is not recorded. */
  readonly vat: string;
  /** The location of the transfers; null: none. A move takes place at none. */
  readonly locationId: number | null;
  entries: number;
  raised: bigint;
  lowered: bigint;
  /** The VAT in `raised` and in `lowered` that is due at the sale. */
  raisedTax: bigint;
  loweredTax: bigint;
  cards: number;
};

/** The changes of balances by the month of issue. */
export type AgeSum = {
  /** `YYYY-MM` */
  readonly issued: string;
  /** The day of the changes, or their month: `YYYY-MM-DD` or `YYYY-MM`. */
  readonly period: string;
  readonly bucket: Bucket;
  raised: bigint;
  lowered: bigint;
  /** The VAT in `raised` less that in `lowered`. */
  tax: bigint;
  /** Issued and topped up, less what was cancelled; and the VAT in it. */
  sold: bigint;
  soldTax: bigint;
  /** Redeemed, less refunds; and the VAT in it. */
  redeemed: bigint;
  redeemedTax: bigint;
  cards: number;
};

/** A transfer as the books need it, or several of a day that differ only in their amounts. */
export type SummedTransfer = {
  /** The place of its day in the days that are summed; -1: before them. */
  readonly place: number;
  /** When it counts: its `created_at`, or the start of its day if that is later. */
  readonly at: number;
  readonly kind: EntryKind;
  readonly account: Account;
  readonly actor: string;
  readonly locationId: number | null;
  /** The change of the balance, in minor units. */
  readonly effect: bigint;
  /** The VAT in it, as `taxesOf` computes it; 0 if none is due at the sale. */
  readonly tax: bigint;
  readonly isFirst: boolean;
  /** The number of transfers. */
  readonly count: number;
};

/** The terms of a card from an instant on. */
export type Terms = {
  /** Instant in ms. */
  readonly since: number;
  readonly expiresOn: string | null;
  readonly disabledAt: number | null;
  readonly suspendedAt: number | null;
};

/** A card as the books need it: its terms in the order of time, the first of them since its issue. */
export type SummedCard = {
  readonly terms: readonly Terms[];
  readonly vat: string;
  /** The month of its issue, `YYYY-MM`. */
  readonly issued: string;
};

/** The bucket of a card on a day at an instant. */
export function bucketAt({ terms }: Pick<SummedCard, 'terms'>, day: string, at: number): Bucket {
  const { expiresOn, disabledAt } = termsAt(terms, at);
  if (disabledAt !== null && disabledAt <= at) return 'disabled';
  return expiresOn !== null && expiresOn < day ? 'expired' : 'active';
}

/** Whether a card is suspended at an instant, whatever its bucket is. */
export function isSuspendedAt({ terms }: Pick<SummedCard, 'terms'>, at: number): boolean {
  const { suspendedAt } = termsAt(terms, at);
  return suspendedAt !== null && suspendedAt <= at;
}

function termsAt(terms: readonly Terms[], at: number): Terms {
  return terms.findLast(({ since }) => since <= at) ?? terms[0] ?? noTerms;
}

const noTerms: Terms = { since: 0, expiresOn: null, disabledAt: null, suspendedAt: null };

/** From the end of the day at `place` on, the card is in `bucket`. */
export type Transition = { readonly place: number; readonly bucket: Bucket };

/**
 * The buckets of a card at the ends of days, each at the place where it begins; the first one at -1, before the days.
 * @param before the end of the day before them; null: they are the first days of the books.
 */
export function transitionsOf(
  card: Pick<SummedCard, 'terms'>,
  days: readonly BooksDay[],
  before: Pick<BooksDay, 'day' | 'untilAt'> | null,
): readonly Transition[] {
  const isConstant =
    card.terms.length === 1 && card.terms[0]?.expiresOn === null && card.terms[0].disabledAt === null;
  if (isConstant) return [{ place: -1, bucket: 'active' }];
  const transitions: Transition[] = [
    { place: -1, bucket: before ? bucketAt(card, before.day, before.untilAt - 1) : 'active' },
  ];
  for (const place of placesToCheck(card, days)) {
    const { day, untilAt } = days[place] ?? missingDay();
    const bucket = bucketAt(card, day, untilAt - 1);
    if (bucket !== transitions.at(-1)?.bucket) transitions.push({ place, bucket });
  }
  return transitions;
}

/** The only places at whose ends a bucket can differ from that of the day before, in order. */
function placesToCheck({ terms }: Pick<SummedCard, 'terms'>, days: readonly BooksDay[]): readonly number[] {
  if (days.length <= 4) return days.map((_, place) => place);
  const places = new Set([0]);
  for (const { since, expiresOn, disabledAt } of terms) {
    places.add(placeWhere(days, ({ untilAt }) => untilAt > since));
    if (disabledAt !== null) places.add(placeWhere(days, ({ untilAt }) => untilAt > disabledAt));
    if (expiresOn !== null) places.add(placeWhere(days, ({ day }) => day > expiresOn));
  }
  return [...places].filter((place) => place < days.length).toSorted((left, right) => left - right);
}

/** The first place whose day meets a condition that all later days meet; the number of days if none does. */
export function placeWhere(days: readonly BooksDay[], isMet: (day: BooksDay) => boolean): number {
  let [from, to] = [0, days.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    const day = days[middle];
    if (day && isMet(day)) to = middle;
    else from = middle + 1;
  }
  return from;
}

export function missingDay(): never {
  throw new RangeError('the place is not that of a day');
}

/** An amount in each bucket. */
export type Buckets<T> = Readonly<Record<Bucket, T>>;

/** A value for each bucket. */
export function inBuckets<T>(valueOf: (bucket: Bucket) => T): Buckets<T> {
  return Object.fromEntries(buckets.map((bucket) => [bucket, valueOf(bucket)])) as Buckets<T>;
}
