/** Adds up the sums of days: those of each day, and those by the month of issue. */

import { isSaleAccount } from '../../../core/money/domain/ledger.ts';
import {
  type Bucket,
  type BooksDay,
  type MoveKind,
  type DaySum,
  type AgeSum,
  type SummedTransfer,
  type SummedCard,
  bucketAt,
  type Transition,
  missingDay,
} from './books.ts';

function moveOf(from: Bucket, to: Bucket): MoveKind {
  if (to === 'disabled') return 'disable';
  if (from === 'disabled') return 'enable';
  return to === 'expired' ? 'expire' : 'unexpire';
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
    const { day } = this.#days[place] ?? missingDay();
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
      const { day } = this.#days[place] ?? missingDay();
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

const noSums: DayAmounts = { entries: 0, raised: 0n, lowered: 0n, raisedTax: 0n, loweredTax: 0n, cards: 0 };

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
