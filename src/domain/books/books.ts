/**
 * The books of a store: its days, and what each transfer adds to the sums of a day.
 *
 * A *bucket* is the state of the card of an amount. The sums of a bucket up to the end of a day are the balances of the
 * cards that are in that state then: when the state of a card changes, its balance moves from one bucket to another.
 */

import type { SpendState } from '../cards/state.ts';
import { addDays, dayOf, startOfDay } from '../day.ts';
import { isSaleAccount, type Account, type TransferKind } from '../money/ledger.ts';

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

function moveOf(from: Bucket, to: Bucket): MoveKind {
  if (to === 'disabled') return 'disable';
  if (from === 'disabled') return 'enable';
  return to === 'expired' ? 'expire' : 'unexpire';
}

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
    const { day, untilAt } = days[place] ?? failed();
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

function failed(): never {
  throw new RangeError('the place is not that of a day');
}

/** The amounts of a sum of a day, and of one by the month of issue. */
type DayAmounts = Pick<DaySum, 'entries' | 'raised' | 'lowered' | 'raisedTax' | 'loweredTax' | 'cards'>;
type AgeAmounts = Omit<AgeSum, 'issued' | 'period' | 'bucket'>;

/** The amounts of a sum, without its key. */
export function sumAmountsOf(sum: DaySum | AgeSum): readonly (bigint | number)[] {
  const { raised, lowered, cards } = sum;
  return 'issued' in sum
    ? [raised, lowered, sum.tax, sum.sold, sum.soldTax, sum.redeemed, sum.redeemedTax, cards]
    : [sum.entries, raised, lowered, sum.raisedTax, sum.loweredTax, cards];
}

/** Whether a sum has no amount. */
export function isZeroSum(sum: DaySum | AgeSum): boolean {
  return sumAmountsOf(sum).every((amount) => Number(amount) === 0);
}

/** Adds up the sums of days. */
export class Sums {
  readonly #days: readonly BooksDay[];
  readonly #byKey = new Map<string, DaySum>();
  readonly #ages = new Map<string, AgeSum>();

  constructor(days: readonly BooksDay[]) {
    this.#days = days;
  }

  get days(): readonly DaySum[] {
    return [...this.#byKey.values()];
  }

  /** By the day of the changes. */
  get ages(): readonly AgeSum[] {
    return [...this.#ages.values()];
  }

  /** Adds other sums of the same days. */
  addAll(other: Sums): void {
    for (const [key, sum] of other.#byKey) addDay(this.#byKey, key, sum);
    for (const sum of other.#ages.values()) addAge(this.#ages, sum);
  }

  /** Adds a transfer of one of the days. @returns its bucket. */
  addTransfer(card: SummedCard, transfer: SummedTransfer): Bucket {
    const { place, at, kind, account, actor, locationId, effect, tax, isFirst, count } = transfer;
    const { day } = this.#days[place] ?? failed();
    const bucket = bucketAt(card, day, at);
    const isRaise = effect > 0n;
    this.#add(card, {
      day,
      kind,
      bucket,
      account,
      actor,
      vat: card.vat,
      locationId,
      raised: isRaise ? effect : 0n,
      lowered: isRaise ? 0n : -effect,
      raisedTax: isRaise ? tax : 0n,
      loweredTax: isRaise ? 0n : -tax,
      entries: count,
      cards: isFirst ? count : 0,
    });
    return bucket;
  }

  /**
   * Adds the moves between buckets that a card's transfers have in the days.
   * @param transfers all of the card's transfers up to the end of the days.
   */
  addMoves(card: SummedCard, transfers: readonly SummedTransfer[], transitions: readonly Transition[]): void {
    if (transitions.length === 1 && card.terms.length === 1 && card.terms[0]?.disabledAt === null) return;
    const moved = new Map<string, Move>();
    for (const { place, at, effect, tax, isFirst, count } of transfers) {
      const day = this.#days[place];
      let bucket = day ? bucketAt(card, day.day, at) : (transitions[0]?.bucket ?? 'active');
      const move = (on: number, to: Bucket): void => {
        if (to === bucket) return;
        const key = `${on} ${bucket} ${to}`;
        const sum = moved.get(key) ?? { place: on, from: bucket, to, amount: 0n, tax: 0n, cards: 0 };
        sum.amount += effect;
        sum.tax += tax;
        sum.cards += isFirst ? count : 0;
        moved.set(key, sum);
        bucket = to;
      };
      if (day) move(place, transitions.findLast((one) => one.place <= place)?.bucket ?? bucket);
      for (const { place: later, bucket: to } of transitions) if (later > place) move(later, to);
    }
    for (const { place, from, to, amount, tax, cards } of moved.values()) {
      if (amount === 0n && tax === 0n && cards === 0) continue;
      const { day } = this.#days[place] ?? failed();
      const kind = moveOf(from, to);
      const key = { day, kind, account: '', actor: '', vat: card.vat, locationId: null } as const;
      this.#add(card, {
        ...key,
        ...noSums,
        bucket: from,
        entries: cards,
        lowered: amount,
        loweredTax: tax,
        cards: -cards,
      });
      this.#add(card, {
        ...key,
        ...noSums,
        bucket: to,
        entries: cards,
        raised: amount,
        raisedTax: tax,
        cards,
      });
    }
  }

  #add(card: SummedCard, sum: DaySum): void {
    const { day, kind, bucket, account, actor, vat, locationId } = sum;
    addDay(this.#byKey, `${day}\n${kind}\n${bucket}\n${account}\n${vat}\n${actor}\n${locationId}`, sum);
    const month = day.slice(0, 7);
    // A clock that was wrong can issue a card after the day of one of its transfers.
    const issued = card.issued < month ? card.issued : month;
    addAge(this.#ages, { issued, period: day, bucket, ...ageAmountsOf(sum) });
  }
}

/** Adds the sums of days to those of their months. */
export function monthlyAges(ages: readonly AgeSum[]): readonly AgeSum[] {
  const months = new Map<string, AgeSum>();
  for (const age of ages) addAge(months, { ...age, period: age.period.slice(0, 7) });
  return [...months.values()];
}

/** The amounts that moved from one bucket to another at the end of the day at `place`. */
type Move = {
  readonly place: number;
  readonly from: Bucket;
  readonly to: Bucket;
  amount: bigint;
  tax: bigint;
  cards: number;
};

const noSums: DayAmounts = {
  entries: 0,
  raised: 0n,
  lowered: 0n,
  raisedTax: 0n,
  loweredTax: 0n,
  cards: 0,
};

function ageAmountsOf({ account, raised, lowered, raisedTax, loweredTax, cards }: DaySum): AgeAmounts {
  const [change, tax] = [raised - lowered, raisedTax - loweredTax];
  const [isSale, isRedemption] = [isSaleAccount(account), account === 'redemptions'];
  return {
    raised,
    lowered,
    tax,
    sold: isSale ? change : 0n,
    soldTax: isSale ? tax : 0n,
    redeemed: isRedemption ? -change : 0n,
    redeemedTax: isRedemption ? -tax : 0n,
    cards,
  };
}

function addDay(sums: Map<string, DaySum>, key: string, added: DaySum): void {
  const sum = sums.get(key);
  if (!sum) {
    sums.set(key, { ...added });
    return;
  }
  sum.entries += added.entries;
  sum.raised += added.raised;
  sum.lowered += added.lowered;
  sum.raisedTax += added.raisedTax;
  sum.loweredTax += added.loweredTax;
  sum.cards += added.cards;
}

/** Adds amounts to those of the same cards. */
export function addAgeAmounts(sum: AgeSum, added: AgeAmounts): void {
  sum.raised += added.raised;
  sum.lowered += added.lowered;
  sum.tax += added.tax;
  sum.sold += added.sold;
  sum.soldTax += added.soldTax;
  sum.redeemed += added.redeemed;
  sum.redeemedTax += added.redeemedTax;
  sum.cards += added.cards;
}

function addAge(sums: Map<string, AgeSum>, added: AgeSum): void {
  const { issued, period, bucket } = added;
  const key = `${issued} ${period} ${bucket}`;
  const sum = sums.get(key);
  if (sum) addAgeAmounts(sum, added);
  else sums.set(key, { ...added });
}

/** An amount in each bucket. */
export type Buckets<T> = Readonly<Record<Bucket, T>>;

/** A value for each bucket. */
export function inBuckets<T>(valueOf: (bucket: Bucket) => T): Buckets<T> {
  return Object.fromEntries(buckets.map((bucket) => [bucket, valueOf(bucket)])) as Buckets<T>;
}
