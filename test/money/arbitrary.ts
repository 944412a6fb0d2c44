/** Steps of a random run: targets, days and times are relative, which keeps a shortened run meaningful. */

import fc from 'fast-check';
import { statusOf, type Changes, type Model } from '../support/reference-model.ts';

/** A number that selects an element of a list, or none. */
type Selector = number;

/** Days from today; null: never. */
type Expiry = number | null;

/** The versions of the card that a caller names: `several` includes the current one. */
export type Naming = 'none' | 'current' | 'outdated' | 'several' | 'nothing';

type OnCard = { readonly card: Selector; readonly naming: Naming };

type Advance = {
  readonly kind: 'advance';
  /** Moves by this many ms, or to this many ms after the next expiry of the given kind. */
  readonly by: number;
  readonly to: 'hold' | 'undo window' | null;
};

export type Step = Place & Change;

/** A location of the run, or none. */
type Place = { readonly location?: number | null };

type Change =
  | {
      readonly kind: 'issue';
      readonly amount: bigint;
      readonly expires: Expiry;
      readonly isSuspended: boolean;
    }
  | ({
      readonly kind: 'update';
      readonly releaseHolds: boolean;
      readonly changes: Omit<Changes, 'expiresOn'> & { readonly expires?: Expiry };
    } & OnCard)
  | ({ readonly kind: 'debit'; readonly amount: bigint; readonly partial: boolean } & OnCard)
  | ({ readonly kind: 'credit'; readonly amount: bigint } & OnCard)
  | ({ readonly kind: 'top_up'; readonly amount: bigint; readonly expires: Expiry } & OnCard)
  | ({ readonly kind: 'hold'; readonly amount: bigint; readonly seconds: number } & OnCard)
  | { readonly kind: 'capture'; readonly hold: Selector; readonly amount: bigint | null }
  | { readonly kind: 'void'; readonly hold: Selector }
  | {
      readonly kind: 'reverse';
      readonly transfer: Selector;
      readonly amount: bigint | null;
      readonly maySell: boolean;
    }
  | ({ readonly kind: 'undo' | 'suspend' | 'resume' } & OnCard)
  | { readonly kind: 'print'; readonly codes: number; readonly fixed: bigint | null }
  | { readonly kind: 'activate'; readonly code: Selector; readonly amount: bigint }
  | { readonly kind: 'void_stock'; readonly code: Selector; readonly all: boolean }
  | { readonly kind: 'expire' }
  | Advance;

const selectorsMax = 999;
const selector = fc.integer({ min: 0, max: selectorsMax });

/** Returns the index that a selector selects from `count` elements; one in fifty selects none. */
export function resolve(selected: Selector, count: number): number {
  return selected % 50 === 49 ? -1 : count - 1 - (Math.trunc(selected / 2) % Math.max(count, 1));
}

/** Returns how far the clock moves. It never goes back. */
export function advance(model: Model, { by, to }: Advance): number {
  const ends =
    to === 'hold'
      ? model.holds.filter((hold) => statusOf(model, hold) === 'open').map(({ expiresAt }) => expiresAt)
      : model.cards.flatMap(({ disabledAt }) =>
          disabledAt === null ? [] : [disabledAt + model.undoWindowMs],
        );
  const waiting = ends.map((end) => end + by - model.now).filter((ms) => ms >= 0);
  return to === null ? by : Math.min(...waiting, 60_000);
}

const amount = fc.oneof(
  fc.bigInt({ min: 1n, max: 3_000n }),
  fc.constantFrom(1n, 500n, 1_000n, 1_000n, 2_000n, 5_000n),
);
const amountOrNull = fc.option(amount, { freq: 2 });
const expires = fc.constantFrom<Expiry[]>(null, null, -1, 0, 0, 1, 2);
const onCard = {
  card: selector,
  naming: fc.constantFrom<Naming[]>('none', 'none', 'none', 'none', 'current', 'several', 'outdated', 'nothing'),
}; // prettier-ignore
const kind = <K extends Step['kind']>(name: K) => fc.constant(name);

const changes = fc.record(
  {
    balance: fc.oneof(amount, fc.constant(0n)),
    disable: fc.boolean(),
    expires,
    note: fc.constantFrom('one', 'two', null),
  },
  { requiredKeys: [] },
);

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ kind: kind('issue'), amount, expires, isSuspended: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: kind('update'), releaseHolds: fc.boolean(), changes, ...onCard }),
  },
  { weight: 5, arbitrary: fc.record({ kind: kind('debit'), amount, partial: fc.boolean(), ...onCard }) },
  { weight: 4, arbitrary: fc.record({ kind: kind('credit'), amount, ...onCard }) },
  { weight: 4, arbitrary: fc.record({ kind: kind('top_up'), amount, expires, ...onCard }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: kind('hold'),
      amount,
      seconds: fc.constantFrom(1, 60, 600, 900),
      ...onCard,
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: kind('capture'), hold: selector, amount: amountOrNull }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('void'), hold: selector }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: kind('reverse'),
      transfer: selector,
      amount: amountOrNull,
      maySell: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: kind('undo'), ...onCard }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('suspend'), ...onCard }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('resume'), ...onCard }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: kind('print'),
      codes: fc.integer({ min: 1, max: 3 }),
      fixed: fc.constantFrom(null, 1_000n),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: kind('activate'), code: selector, amount: fc.constantFrom(1_000n, 2_000n) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: kind('void_stock'), code: selector, all: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('expire') }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: kind('advance'),
      by: fc.constantFrom(0, 1_000, 60_000, 86_400_000),
      to: fc.constant(null),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: kind('advance'),
      by: fc.constantFrom(-1, 0, 1),
      to: fc.constantFrom('hold' as const, 'undo window' as const),
    }),
  },
);

/** Locations of a run. */
export const locationCount = 2;

const step: fc.Arbitrary<Step> = fc
  .tuple(change, fc.option(fc.nat({ max: locationCount - 1 })))
  .map(([made, location]) => ({ ...made, location }));

/** A run starts with a card: otherwise most targets would not exist. */
export const steps: fc.Arbitrary<readonly Step[]> = fc
  .tuple(
    fc.record({
      kind: kind('issue'),
      amount: fc.bigInt({ min: 2_000n, max: 4_000n }),
      expires,
      isSuspended: fc.constant(false),
    }),
    fc.array(step, { minLength: 1, maxLength: 59, size: 'max' }),
  )
  .map(([issued, others]) => [issued, ...others]);
