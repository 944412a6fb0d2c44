/** The figures of a day at the counter: what members of staff sold, redeemed and refunded, by person and by till. */

import type { Account, TransferKind } from '../../../core/money/domain/ledger.ts';

/** The line of the figures that an entry belongs to. `undone` and `cancelled` are taken from redeemed and sold. */
export const tillParts = [
  'sold',
  'cancelled',
  'toppedUp',
  'redeemed',
  'undone',
  'refunded',
  'adjusted',
] as const;

export type TillPart = (typeof tillParts)[number];

/** A transfer that a member of staff made. */
export type StaffEntry = {
  readonly id: number;
  readonly cardId: number;
  readonly lastCharacters: string;
  readonly createdAt: number;
  readonly kind: TransferKind;
  /** In minor units. */
  readonly amount: bigint;
  readonly debit: Account;
  readonly credit: Account;
  readonly staffId: number;
  /** The location where it took place; null: at no location. */
  readonly locationId: number | null;
};

/** The details of an entry from the audit log. */
export type EntryAction = { readonly tillId: number | null; readonly part: ReturnType<typeof takenBackBy> };

/** Returns the line that the entry of an action takes back: a redemption or a sale; null: neither. */
export function takenBackBy({
  action,
  details,
}: {
  readonly action: string;
  readonly details: Readonly<Record<string, unknown>>;
}): 'undone' | 'cancelled' | null {
  if (action === 'card-disabled' && details['cancels'] !== undefined) return 'cancelled';
  return details['undoes'] === undefined ? null : 'undone';
}

export type TillEntry = StaffEntry & {
  readonly tillId: number | null;
  readonly part: TillPart;
  /** In minor units: negative for what lowers its part, such as the reversal of a top-up. */
  readonly counted: bigint;
};

/** An entry with its part in the figures. @param action undefined: the audit log has no entry for it. */
export function tillEntryOf(entry: StaffEntry, action: EntryAction | undefined): TillEntry {
  const tillId = action?.tillId ?? null;
  return { ...entry, tillId, ...countedAs(entry, action?.part ?? null) };
}

function countedAs(
  { kind, amount, debit, credit }: StaffEntry,
  part: EntryAction['part'],
): Pick<TillEntry, 'part' | 'counted'> {
  const raised = credit === 'card' ? amount : -amount;
  switch (kind) {
    case 'issue':
      return { part: 'sold', counted: amount };
    case 'credit':
    case 'top_up':
      return { part: 'toppedUp', counted: amount };
    case 'debit':
    case 'capture':
      return { part: 'redeemed', counted: amount };
    case 'reversal':
      if (part === 'cancelled') return { part, counted: amount };
      if (debit !== 'redemptions') return { part: 'toppedUp', counted: raised };
      return { part: part === 'undone' ? 'undone' : 'refunded', counted: amount };
    case 'adjustment':
      // Earlier versions cancelled a sale with an adjustment.
      return part === 'cancelled' && raised < 0n
        ? { part: 'cancelled', counted: amount }
        : { part: 'adjusted', counted: raised };
  }
}

export type Count = { readonly entries: number; readonly minor: bigint };

export type TillFigures = Readonly<Record<TillPart, Count>>;

const none: Count = { entries: 0, minor: 0n };

const noFigures: TillFigures = {
  sold: none,
  cancelled: none,
  toppedUp: none,
  redeemed: none,
  undone: none,
  refunded: none,
  adjusted: none,
};

/** The sums of entries by their parts. */
export function figuresOf(entries: Iterable<TillEntry>): TillFigures {
  const sums = new Map<TillPart, Count>();
  for (const { part, counted } of entries) {
    const sum = sums.get(part) ?? none;
    sums.set(part, { entries: sum.entries + 1, minor: sum.minor + counted });
  }
  return { ...noFigures, ...Object.fromEntries(sums) };
}

function less(left: Count, right: Count): Count {
  return { entries: left.entries - right.entries, minor: left.minor - right.minor };
}

/** Returns the count and sum of the sales, without cancelled ones. */
export function soldOf({ sold, cancelled }: TillFigures): Count {
  return less(sold, cancelled);
}

/** Returns the count and sum of the redemptions, without undone ones: the gift cards that a cash register has taken. */
export function redeemedOf({ redeemed, undone }: TillFigures): Count {
  return less(redeemed, undone);
}

/** Figures by a key of the entries, such as the person, in the order of the first entries. */
export function figuresBy<Key>(
  entries: readonly TillEntry[],
  keyOf: (entry: TillEntry) => Key,
): ReadonlyMap<Key, TillFigures> {
  const groups = Map.groupBy(entries, keyOf);
  return new Map(Array.from(groups, ([key, group]) => [key, figuresOf(group)]));
}
