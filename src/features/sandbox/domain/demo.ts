/**
 * A year of an invented shop: what its staff, its customers and its online shop did with gift cards. The steps
 * are only planned here. `features/sandbox/service/sample-data.ts` executes them.
 */

import { addDays, dayOf, startOfDay } from '../../../core/domain/day.ts';

/** A number from 0 (inclusive) to 1 (exclusive). */
export type RandomNumber = () => number;

/** A customer or recipient. */
export type DemoPerson = { readonly name: string; readonly email: string };

/** The place of a step. */
export type DemoPlace = 'Till 1' | 'Till 2' | 'Online shop';

export const demoPlaces: readonly DemoPlace[] = ['Till 1', 'Till 2', 'Online shop'];

type StepOf<Kind extends string, Details> = Details & {
  readonly kind: Kind;
  /** Instant in ms. */
  readonly at: number;
  /** The card, by its number in the plan. */
  readonly card: number;
  readonly place: DemoPlace;
};

/** Amounts are in cents. A movement, a hold and a reversal are numbered per card, from 0. */
export type DemoStep =
  | StepOf<
      'issue',
      {
        readonly value: number;
        readonly expiresOn: string | null;
        readonly customer: DemoPerson | null;
        readonly recipient: DemoPerson | null;
        readonly tags: readonly string[];
        readonly note: string | null;
        readonly message: string | null;
      }
    >
  | StepOf<
      'debit' | 'top_up',
      { readonly amount: number; readonly reference: string; readonly movement: number }
    >
  | StepOf<'hold', { readonly amount: number; readonly reference: string; readonly seconds: number }>
  | StepOf<'capture', { readonly movement: number }>
  | StepOf<'void', object>
  /** @param amount null: the rest of the movement. */
  | StepOf<'reverse', { readonly movement: number; readonly amount: number | null; readonly note: string }>
  | StepOf<'adjust', { readonly balance: number; readonly note: string }>
  | StepOf<'extend', { readonly expiresOn: string }>
  | StepOf<'disable', { readonly note: string }>;

const dayMs = 24 * 60 * 60 * 1_000;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const yearDays = 365;
const timeZone = 'UTC';

/** Values in cents, and how often they are sold. */
const values = [
  [1_000, 8],
  [1_500, 5],
  [2_000, 14],
  [2_500, 26],
  [3_000, 10],
  [5_000, 24],
  [7_500, 4],
  [10_000, 8],
  [15_000, 1],
] as const;

const firstNames =
  'Ada Amara Anton Beatrice Ben Carlos Chiara Clara Daniel Dora Elif Emil Farah Felix Grace Hana Henry Ines Ivan Jonas Juno Kofi Lena Leo Lucia Malik Marta Mei Mila Nadia Noah Olga Omar Paula Priya Rafael Rosa Sam Sofia Theo Vera Yusuf'.split(
    ' ',
  );
const lastNames =
  'Abel Baker Castillo Demir Eriksen Fischer Garcia Haddad Ito Jensen Kaya Lovell Moreau Novak Okafor Petrov Quinn Rossi Silva Tanaka Usman Vogel Weber Young Zhang'.split(
    ' ',
  );
const messages = [
  'Happy birthday!',
  'Thank you for everything.',
  'Congratulations on your new home!',
  'Merry Christmas!',
  'Get well soon.',
  'Enjoy!',
];

/**
 * Plans the sales of a number of cards in the year before `now`, and what happened to each card until then. The
 * steps are in the order of their instants, and each is possible when it is taken.
 */
export function planDemo(
  random: RandomNumber,
  { cards, now }: { readonly cards: number; readonly now: number },
): readonly DemoStep[] {
  const sales = salesOf(random, { cards, now });
  return sales
    .flatMap((soldAt, card) => new CardLife(random, { card, soldAt, now }).steps)
    .toSorted((one, other) => one.at - other.at);
}

/** The instants at which cards are sold: more before holidays and on Saturdays, during opening hours. */
function salesOf(
  random: RandomNumber,
  { cards, now }: { readonly cards: number; readonly now: number },
): readonly number[] {
  const today = dayOf(now, timeZone);
  const days = Array.from({ length: yearDays }, (_, ago) => addDays(today, -1 - ago));
  const weights = days.map((day) => [day, demandOn(day)] as const);
  return Array.from({ length: cards }, () => {
    const opening = startOfDay(choose(random, weights), timeZone) + 9 * hourMs;
    return Math.floor(opening + ((random() + random()) / 2) * 10 * hourMs);
  });
}

function demandOn(day: string): number {
  const { dayOfWeek } = Temporal.PlainDate.from(day);
  if (dayOfWeek === 7) return 0.3 * seasonOf(day);
  return (dayOfWeek === 6 ? 1.8 : 1) * seasonOf(day);
}

function seasonOf(day: string): number {
  const { month, day: date } = Temporal.PlainDate.from(day);
  if (month === 12 && date <= 24) return 5;
  if (month === 2 && date >= 7 && date <= 14) return 2.5;
  return month === 5 && date <= 12 ? 2 : 1;
}

/** The steps of one card, from its sale until now. */
class CardLife {
  readonly steps: DemoStep[] = [];
  readonly #random: RandomNumber;
  readonly #card: number;
  readonly #now: number;
  /** The instant of the last step. */
  #at: number;
  #balance: number;
  #expiresOn: string | null;
  #movements = 0;
  #isDisabled = false;

  constructor(random: RandomNumber, { card, soldAt, now }: { card: number; soldAt: number; now: number }) {
    this.#random = random;
    this.#card = card;
    this.#now = now;
    this.#at = soldAt;
    this.#balance = choose(random, values);
    const isPromotion = random() < 0.1;
    this.#expiresOn = this.#firstExpiry(dayOf(soldAt, timeZone), isPromotion);
    this.#sell(isPromotion);
    if (isPromotion && random() < 0.2) this.#extend();
    this.#use();
    if (random() < 0.01) this.#reserve();
  }

  #firstExpiry(day: string, isPromotion: boolean): string | null {
    if (isPromotion) return addDays(day, 60 + Math.floor(this.#random() * 60));
    return this.#random() < 0.4 ? addDays(day, 2 * yearDays) : null;
  }

  #sell(isPromotion: boolean): void {
    const random = this.#random;
    const isOnline = random() < 0.4;
    const note = isOnline ? null : 'Sold at the counter';
    this.steps.push({
      ...this.#stepAt(this.#at, isOnline ? 'Online shop' : tillOf(random)),
      kind: 'issue',
      value: this.#balance,
      expiresOn: this.#expiresOn,
      customer: isOnline || random() < 0.35 ? personOf(random) : null,
      recipient: isOnline && random() < 0.6 ? personOf(random) : null,
      tags: tagsOf(random, { day: dayOf(this.#at, timeZone), isPromotion }),
      note: isPromotion ? 'Promotion' : note,
      message: isOnline && random() < 0.6 ? pick(random, messages) : null,
    });
  }

  #extend(): void {
    const at = this.#at + Math.floor((5 + this.#random() * 40) * dayMs);
    if (this.#expiresOn === null || at >= this.#now) return;
    this.#expiresOn = addDays(this.#expiresOn, 90);
    const expiresOn = this.#expiresOn;
    this.steps.push({ ...this.#stepAt(at, tillOf(this.#random)), kind: 'extend', expiresOn });
    this.#at = at;
  }

  /** The instant before which the card can be used, with a margin that keeps a step from being too late. */
  get #until(): number {
    const expiry = this.#expiresOn === null ? Infinity : startOfDay(this.#expiresOn, timeZone);
    return Math.min(this.#now - hourMs, expiry) - hourMs;
  }

  #use(): void {
    const random = this.#random;
    const everyMs = random() < 0.2 ? Infinity : (15 + random() * 60) * dayMs;
    while (this.#balance > 0 && !this.#isDisabled) {
      this.#at += hourMs + Math.floor(-Math.log(1 - random()) * everyMs);
      if (!(this.#at < this.#until)) return;
      const chance = random();
      if (chance < 0.02) this.#disable();
      else if (chance < 0.04) this.#adjust();
      else if (chance < 0.08) this.#topUp();
      else if (chance < 0.35) this.#orderOnline();
      else this.#pay();
    }
  }

  #disable(): void {
    this.#isDisabled = true;
    const note = 'The customer lost it';
    this.steps.push({ ...this.#stepAt(this.#at, tillOf(this.#random)), kind: 'disable', note });
  }

  #adjust(): void {
    this.#balance += 500;
    const [balance, note] = [this.#balance, 'Goodwill for a late order'];
    this.steps.push({ ...this.#stepAt(this.#at, tillOf(this.#random)), kind: 'adjust', balance, note });
  }

  #topUp(): void {
    const random = this.#random;
    const amount = choose(random, values);
    const movement = this.#nextMovement(amount);
    const reference = numberOf(random, 'receipt');
    this.steps.push({
      ...this.#stepAt(this.#at, tillOf(random)),
      kind: 'top_up',
      amount,
      reference,
      movement,
    });
  }

  #pay(): void {
    const random = this.#random;
    const amount = amountOf(random, this.#balance);
    const movement = this.#nextMovement(-amount);
    const reference = numberOf(random, 'receipt');
    this.steps.push({
      ...this.#stepAt(this.#at, tillOf(random)),
      kind: 'debit',
      amount,
      reference,
      movement,
    });
    if (random() < 0.06) this.#refund({ movement, amount });
  }

  /** A checkout: a hold that is captured or voided within minutes. */
  #orderOnline(): void {
    const random = this.#random;
    const amount = amountOf(random, this.#balance);
    const reference = numberOf(random, 'order');
    this.steps.push({
      ...this.#stepAt(this.#at, 'Online shop'),
      kind: 'hold',
      amount,
      reference,
      seconds: 900,
    });
    this.#at += Math.ceil((1 + random() * 10) * minuteMs);
    const closing = this.#stepAt(this.#at, 'Online shop');
    if (random() < 0.15) {
      this.steps.push({ ...closing, kind: 'void' });
      return;
    }
    const movement = this.#nextMovement(-amount);
    this.steps.push({ ...closing, kind: 'capture', movement });
    if (random() < 0.06) this.#refund({ movement, amount });
  }

  /** Returns goods within two weeks: all of them, or half. */
  #refund({ movement, amount }: { readonly movement: number; readonly amount: number }): void {
    const random = this.#random;
    const at = this.#at + Math.floor((1 + random() * 13) * dayMs);
    if (at >= this.#now - hourMs) return;
    this.#at = at;
    const half = Math.max(1, Math.floor(amount / 2));
    const isPart = random() < 0.3 && half < amount;
    this.#nextMovement(isPart ? half : amount);
    this.steps.push({
      ...this.#stepAt(at, tillOf(random)),
      kind: 'reverse',
      movement,
      amount: isPart ? half : null,
      note: 'Returned goods',
    });
  }

  /** Reserves an amount for a day, minutes ago. */
  #reserve(): void {
    const random = this.#random;
    if (this.#balance === 0 || this.#isDisabled || this.#now - 2 * hourMs > this.#until) return;
    this.steps.push({
      ...this.#stepAt(this.#now - Math.ceil(random() * 30 * minuteMs), 'Online shop'),
      kind: 'hold',
      amount: amountOf(random, this.#balance),
      reference: numberOf(random, 'pickup'),
      seconds: 24 * 60 * 60,
    });
  }

  #stepAt(at: number, place: DemoPlace) {
    return { at, card: this.#card, place };
  }

  /** Changes the balance, and returns the number of the movement. */
  #nextMovement(cents: number): number {
    this.#balance += cents;
    this.#movements += 1;
    return this.#movements - 1;
  }
}

function tillOf(random: RandomNumber): DemoPlace {
  return random() < 0.7 ? 'Till 1' : 'Till 2';
}

/** Such as `receipt 48213`. */
function numberOf(random: RandomNumber, name: string): string {
  return `${name} ${10_000 + Math.floor(random() * 80_000)}`;
}

/** The whole balance, or a price in cents. */
function amountOf(random: RandomNumber, balance: number): number {
  if (balance < 300 || random() < 0.35) return balance;
  const part = Math.floor(balance * (0.2 + random() * 0.6));
  const price = part - (part % 50);
  return price < 50 ? balance : price - (random() < 0.5 ? 5 : 0);
}

/** One of about a thousand people. This domain receives no emails. */
function personOf(random: RandomNumber): DemoPerson {
  const name = `${pick(random, firstNames)} ${pick(random, lastNames)}`;
  return { name, email: `${name.replace(' ', '.').toLowerCase()}@example.com` };
}

function tagsOf(
  random: RandomNumber,
  { day, isPromotion }: { readonly day: string; readonly isPromotion: boolean },
): readonly string[] {
  const tags: string[] = [];
  if (isPromotion) tags.push('promotion');
  if (day.slice(5, 7) === '12') tags.push('christmas');
  else if (random() < 0.3) tags.push('birthday');
  if (random() < 0.05) tags.push('corporate');
  return tags;
}

function pick<T>(random: RandomNumber, from: readonly T[]): T {
  return choose(
    random,
    from.map((one) => [one, 1] as const),
  );
}

/** Chooses one of several items, each with its weight. */
function choose<T>(random: RandomNumber, from: readonly (readonly [item: T, weight: number])[]): T {
  let left = random() * from.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [item, weight] of from) {
    left -= weight;
    if (left < 0) return item;
  }
  const last = from.at(-1);
  if (!last) throw new Error('there is nothing to choose from');
  return last[0];
}
