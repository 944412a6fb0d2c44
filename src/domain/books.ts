/**
 * The books of a store: its days, and what each transfer adds to the sums of a day.
 *
 * A *bucket* is the state of the card of an amount. The sums of a bucket up to the end of a day are the balances of the
 * cards that are in that state then: when the state of a card changes, its balance moves from one bucket to another.
 */

import { cardStates, type CardState } from './card.ts';
import { addDays, dayOf, startOfDay } from './day.ts';
import type { Account, TransferKind } from './ledger.ts';

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

function moveOf(from: CardState, to: CardState): MoveKind {
  if (to === 'disabled') return 'disable';
  if (from === 'disabled') return 'enable';
  return to === 'expired' ? 'expire' : 'unexpire';
}

/** The sums of one key of a day. */
export type DaySum = {
  readonly day: string;
  readonly kind: TransferKind | MoveKind;
  readonly bucket: CardState;
  /** The other account; empty for a move. */
  readonly account: Account | '';
  readonly actor: string;
  /** As `formatVat` writes it; empty: none is recorded. */
  readonly vat: string;
  entries: number;
  raised: bigint;
  lowered: bigint;
  cards: number;
};

/** The changes of balances by the month of issue. */
export type AgeSum = {
  /** `YYYY-MM` */
  readonly issued: string;
  readonly month: string;
  readonly bucket: CardState;
  raised: bigint;
  lowered: bigint;
  cards: number;
};

/** A transfer as the books need it. */
export type SummedTransfer = {
  /** The place of its day in the days that are summed; -1: before them. */
  readonly place: number;
  /** When it counts: its `created_at`, or the start of its day if that is later. */
  readonly at: number;
  readonly kind: TransferKind;
  readonly account: Account;
  readonly actor: string;
  /** The change of the balance, in minor units. */
  readonly effect: bigint;
  readonly isFirst: boolean;
};

/** The terms of a card from an instant on. */
export type Terms = {
  /** Instant in ms. */
  readonly since: number;
  readonly expiresOn: string | null;
  readonly disabledAt: number | null;
};

/** A card as the books need it: its terms in the order of time, the first of them since its issue. */
export type SummedCard = {
  readonly terms: readonly Terms[];
  readonly vat: string;
  /** The month of its issue, `YYYY-MM`. */
  readonly issued: string;
};

/** The bucket of a card on a day at an instant. */
export function bucketAt({ terms }: Pick<SummedCard, 'terms'>, day: string, at: number): CardState {
  const { expiresOn, disabledAt } = terms.findLast(({ since }) => since <= at) ?? terms[0] ?? noTerms;
  if (disabledAt !== null && disabledAt <= at) return 'disabled';
  return expiresOn !== null && expiresOn < day ? 'expired' : 'active';
}

const noTerms: Terms = { since: 0, expiresOn: null, disabledAt: null };

/** From the end of the day at `place` on, the card is in `bucket`. */
export type Transition = { readonly place: number; readonly bucket: CardState };

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

  get ages(): readonly AgeSum[] {
    return [...this.#ages.values()];
  }

  /** Adds other sums of the same days. */
  addAll(other: Sums): void {
    for (const [key, sum] of other.#byKey) addTo(this.#byKey, key, { ...sum, ...noSums }, sum);
    for (const [key, sum] of other.#ages)
      addTo(this.#ages, key, { ...sum, raised: 0n, lowered: 0n, cards: 0 }, { ...sum, entries: 0 });
  }

  /** Adds a transfer of one of the days. @returns its bucket. */
  addTransfer(card: SummedCard, transfer: SummedTransfer): CardState {
    const { place, at, kind, account, actor, effect, isFirst } = transfer;
    const { day } = this.#days[place] ?? failed();
    const bucket = bucketAt(card, day, at);
    const key = { day, kind, bucket, account, actor, vat: card.vat };
    const change = effect > 0n ? { raised: effect, lowered: 0n } : { raised: 0n, lowered: -effect };
    this.#add(card, key, { entries: 1, cards: isFirst ? 1 : 0, ...change });
    return bucket;
  }

  /**
   * Adds the moves between buckets that a card's transfers have in the days.
   * @param transfers all of the card's transfers up to the end of the days.
   */
  addMoves(card: SummedCard, transfers: readonly SummedTransfer[], transitions: readonly Transition[]): void {
    if (transitions.length === 1 && card.terms.length === 1 && card.terms[0]?.disabledAt === null) return;
    const moved = new Map<
      string,
      { place: number; from: CardState; to: CardState; amount: bigint; cards: number }
    >();
    for (const { place, at, effect, isFirst } of transfers) {
      const day = this.#days[place];
      let bucket = day ? bucketAt(card, day.day, at) : (transitions[0]?.bucket ?? 'active');
      const move = (on: number, to: CardState): void => {
        if (to === bucket) return;
        const key = `${on} ${bucket} ${to}`;
        const sum = moved.get(key) ?? { place: on, from: bucket, to, amount: 0n, cards: 0 };
        sum.amount += effect;
        sum.cards += isFirst ? 1 : 0;
        moved.set(key, sum);
        bucket = to;
      };
      if (day) move(place, transitions.findLast((one) => one.place <= place)?.bucket ?? bucket);
      for (const { place: later, bucket: to } of transitions) if (later > place) move(later, to);
    }
    for (const { place, from, to, amount, cards } of moved.values()) {
      if (amount === 0n && cards === 0) continue;
      const { day } = this.#days[place] ?? failed();
      const key = { day, kind: moveOf(from, to), account: '', actor: '', vat: card.vat } as const;
      this.#add(
        card,
        { ...key, bucket: from },
        { entries: cards, raised: 0n, lowered: amount, cards: -cards },
      );
      this.#add(card, { ...key, bucket: to }, { entries: cards, raised: amount, lowered: 0n, cards });
    }
  }

  #add(
    card: SummedCard,
    key: Omit<DaySum, 'entries' | 'raised' | 'lowered' | 'cards'>,
    change: Pick<DaySum, 'entries' | 'raised' | 'lowered' | 'cards'>,
  ): void {
    const { day, kind, bucket, account, actor, vat } = key;
    addTo(
      this.#byKey,
      `${day}\n${kind}\n${bucket}\n${account}\n${vat}\n${actor}`,
      { ...key, ...noSums },
      change,
    );
    const month = day.slice(0, 7);
    // A clock that was wrong can issue a card after the day of one of its transfers.
    const issued = card.issued < month ? card.issued : month;
    const age = { issued, month, bucket, raised: 0n, lowered: 0n, cards: 0 };
    addTo(this.#ages, `${issued} ${month} ${bucket}`, age, change);
  }
}

const noSums = { entries: 0, raised: 0n, lowered: 0n, cards: 0 };

function addTo<T extends { raised: bigint; lowered: bigint; cards: number; entries?: number }>(
  sums: Map<string, T>,
  key: string,
  empty: T,
  change: Pick<DaySum, 'entries' | 'raised' | 'lowered' | 'cards'>,
): void {
  let sum = sums.get(key);
  if (!sum) sums.set(key, (sum = empty));
  if (sum.entries !== undefined) sum.entries += change.entries;
  sum.raised += change.raised;
  sum.lowered += change.lowered;
  sum.cards += change.cards;
}

/** An amount in each bucket. */
export type Buckets<T> = Readonly<Record<CardState, T>>;

/** A value for each bucket. */
export function inBuckets<T>(valueOf: (bucket: CardState) => T): Buckets<T> {
  return Object.fromEntries(cardStates.map((bucket) => [bucket, valueOf(bucket)])) as Buckets<T>;
}
