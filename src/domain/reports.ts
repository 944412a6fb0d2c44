/** Reports: what the sums of the books mean. Amounts are in minor units. */

import { inBuckets, type AgeSum, type Buckets, type DaySum } from './books.ts';
import type { CardState } from './card.ts';
import { journalAccounts, type JournalAccount } from './store.ts';
import { readVat, taxIn, type VatKind } from './vat.ts';

/** The changes of the liability by their causes: issued + topped up − redeemed + refunded + adjusted. */
export type Movements = {
  issued: bigint;
  toppedUp: bigint;
  redeemed: bigint;
  refunded: bigint;
  adjusted: bigint;
  /** The number of transfers. */
  entries: number;
};

export function noMovements(): Movements {
  return { issued: 0n, toppedUp: 0n, redeemed: 0n, refunded: 0n, adjusted: 0n, entries: 0 };
}

/** Whether a sum is of moves between buckets, which do not change the liability. */
function isMove({ account }: Pick<DaySum, 'account'>): boolean {
  return account === '';
}

/** Adds the sum of transfers. The reversal of a top-up lowers `toppedUp`. */
export function addMovement(movements: Movements, sum: DaySum): void {
  if (isMove(sum)) return;
  const net = sum.raised - sum.lowered;
  movements.entries += sum.entries;
  if (sum.kind === 'issue') movements.issued += net;
  else if (sum.kind === 'credit') movements.toppedUp += net;
  else if (sum.kind === 'debit' || sum.kind === 'capture') movements.redeemed -= net;
  else if (sum.kind === 'reversal' && sum.account === 'redemptions') movements.refunded += net;
  else if (sum.kind === 'reversal' && sum.account === 'sales') movements.toppedUp += net;
  else movements.adjusted += net;
}

export function outstandingOf(movements: Movements): bigint {
  const { issued, toppedUp, redeemed, refunded, adjusted } = movements;
  return issued + toppedUp - redeemed + refunded + adjusted;
}

export type Balance = { readonly amount: bigint; readonly cards: number };

/** The balances of the buckets after sums. */
export function balancesOf(
  sums: readonly Pick<DaySum, 'bucket' | 'raised' | 'lowered' | 'cards'>[],
): Buckets<Balance> {
  return inBuckets((bucket) => {
    const own = sums.filter((sum) => sum.bucket === bucket);
    return {
      amount: own.reduce((total, { raised, lowered }) => total + raised - lowered, 0n),
      cards: own.reduce((total, { cards }) => total + cards, 0),
    };
  });
}

/** The balances of the buckets by the month of issue, in order. */
export function agesOf(sums: readonly AgeSum[]): ReadonlyMap<string, Buckets<Balance>> {
  const byMonth = Map.groupBy(sums, ({ issued }) => issued);
  const months = [...byMonth].toSorted(([left], [right]) => (left < right ? -1 : 1));
  return new Map(months.map(([issued, own]) => [issued, balancesOf(own)]));
}

/** A line of the journal: an amount on one side of an account. */
export type JournalLine = {
  readonly day: string;
  readonly kind: DaySum['kind'];
  readonly account: JournalAccount;
  /** Greater than 0 on one side, 0 on the other. */
  debit: bigint;
  credit: bigint;
  readonly vatKind: VatKind | null;
  readonly vatRate: string | null;
  /** When the tax of the line is due; null: it is on an account of the liability, or the line is not taxable. */
  readonly vatDue: 'at_sale' | 'at_redemption' | null;
  /** The tax in the amount, if it is due and the rate is known; negative if it is to be returned. */
  tax: bigint | null;
};

function liabilityOf(bucket: CardState): JournalAccount {
  return `liability_${bucket}`;
}

/** Sorts lines by day and kind. */
function inOrder(lines: readonly JournalLine[]): readonly JournalLine[] {
  const placeOf = ({ day, kind }: JournalLine): string => `${day} ${kind}`;
  return lines.toSorted((left, right) =>
    placeOf(left) < placeOf(right) ? -1 : Number(placeOf(left) > placeOf(right)),
  );
}

/** The lines of sums in order, each with its counterpart: their debits and credits are equal. */
export function journalOf(sums: readonly DaySum[]): readonly JournalLine[] {
  const lines = new Map<string, JournalLine>();
  const add = (
    sum: DaySum,
    account: JournalAccount,
    {
      debit,
      credit,
      isTaxable,
    }: { readonly debit: bigint; readonly credit: bigint; readonly isTaxable: boolean },
  ): void => {
    if (debit === 0n && credit === 0n) return;
    const side = debit > 0n ? 'debit' : 'credit';
    const { vat } = sum;
    const key = [sum.day, sum.kind, account, side, vat].join('\n');
    const read = vat === '' ? null : readVat(vat);
    let line = lines.get(key);
    if (!line) {
      line = {
        day: sum.day,
        kind: sum.kind,
        account,
        debit: 0n,
        credit: 0n,
        vatKind: read?.kind ?? null,
        vatRate: read?.kind === 'single_purpose' ? read.rate : null,
        vatDue: isTaxable ? vatDueOf(sum, read?.kind) : null,
        tax: null,
      };
      lines.set(key, line);
    }
    line.debit += debit;
    line.credit += credit;
  };
  for (const sum of sums) {
    const [raised, lowered] = nonNegative(sum);
    const liability = liabilityOf(sum.bucket);
    if (isMove(sum)) {
      add(sum, liability, { debit: lowered, credit: 0n, isTaxable: false });
      add(sum, liability, { debit: 0n, credit: raised, isTaxable: false });
      continue;
    }
    // The other account of a transfer is never empty, nor the card's own.
    const other = sum.account as Exclude<DaySum['account'], '' | 'card'>;
    add(sum, other, { debit: raised, credit: 0n, isTaxable: true });
    add(sum, liability, { debit: 0n, credit: raised, isTaxable: false });
    add(sum, liability, { debit: lowered, credit: 0n, isTaxable: false });
    add(sum, other, { debit: 0n, credit: lowered, isTaxable: true });
  }
  const sorted = inOrder([...lines.values()]);
  for (const line of sorted)
    if (line.vatDue === 'at_sale' && line.vatRate !== null)
      line.tax = line.debit > 0n ? taxIn(line.debit, line.vatRate) : -taxIn(line.credit, line.vatRate);
  return sorted;
}

/** An account in a period. A balance is its credits less its debits, so that of a liability is what the store owes. */
export type AccountBalance = {
  readonly account: JournalAccount;
  readonly opening: bigint;
  readonly debit: bigint;
  readonly credit: bigint;
  readonly closing: bigint;
};

function totalsOf(
  lines: readonly JournalLine[],
  account: JournalAccount,
): Pick<AccountBalance, 'debit' | 'credit'> {
  const own = lines.filter((line) => line.account === account);
  return {
    debit: own.reduce((total, { debit }) => total + debit, 0n),
    credit: own.reduce((total, { credit }) => total + credit, 0n),
  };
}

/** The accounts that have a balance or lines, by the lines before a period and those in it. */
export function accountsOf(
  before: readonly JournalLine[],
  lines: readonly JournalLine[],
): readonly AccountBalance[] {
  return journalAccounts.flatMap((account) => {
    const [earlier, own] = [totalsOf(before, account), totalsOf(lines, account)];
    const opening = earlier.credit - earlier.debit;
    if (opening === 0n && own.debit === 0n && own.credit === 0n) return [];
    return [{ account, opening, ...own, closing: opening + own.credit - own.debit }];
  });
}

/** The lines of each month: those of its days that differ in nothing else, as one. Its `day` is `YYYY-MM`. */
export function monthlyLinesOf(lines: readonly JournalLine[]): readonly JournalLine[] {
  const months = new Map<string, JournalLine>();
  for (const line of lines) {
    const { kind, account, vatKind, vatRate, vatDue } = line;
    const month = line.day.slice(0, 7);
    const side = line.debit > 0n ? 'debit' : 'credit';
    const key = [month, kind, account, side, vatKind, vatRate, vatDue].join('\n');
    const found = months.get(key);
    if (!found) {
      months.set(key, { ...line, day: month });
      continue;
    }
    found.debit += line.debit;
    found.credit += line.credit;
    if (line.tax !== null) found.tax = (found.tax ?? 0n) + line.tax;
  }
  return inOrder([...months.values()]);
}

/** Sums of moves can be negative, if a card moved twice on a day. A negative amount is one on the other side. */
function nonNegative({ raised, lowered }: DaySum): readonly [bigint, bigint] {
  const [up, down] = [raised < 0n ? 0n : raised, lowered < 0n ? 0n : lowered];
  return [up - (lowered < 0n ? lowered : 0n), down - (raised < 0n ? raised : 0n)];
}

/** When the tax on the line of the other account is due: on a sale, or on a redemption. */
function vatDueOf({ account }: DaySum, kind: VatKind | undefined): JournalLine['vatDue'] {
  if (kind === 'single_purpose' && account === 'sales') return 'at_sale';
  return kind === 'multi_purpose' && account === 'redemptions' ? 'at_redemption' : null;
}

/** The changes of the expired balances. */
export type Breakage = {
  /** Balances of cards that expired. */
  expired: bigint;
  /** Balances of expired cards that became valid again. */
  restored: bigint;
  /** Balances of expired cards that were disabled, less those that were re-enabled. */
  disabled: bigint;
  /** Changes of the balances of expired cards by transfers. */
  adjusted: bigint;
  cards: number;
};

export function breakageOf(sums: readonly DaySum[]): Breakage {
  const breakage: Breakage = { expired: 0n, restored: 0n, disabled: 0n, adjusted: 0n, cards: 0 };
  for (const sum of sums) {
    if (sum.bucket !== 'expired') continue;
    const net = sum.raised - sum.lowered;
    breakage.cards += sum.cards;
    if (sum.kind === 'expire') breakage.expired += net;
    else if (sum.kind === 'unexpire') breakage.restored -= net;
    else if (isMove(sum)) breakage.disabled -= net;
    else breakage.adjusted += net;
  }
  return breakage;
}
