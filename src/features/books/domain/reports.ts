/** Reports: what the sums of the books mean. Amounts are in minor units. */

import { inBuckets, type AgeSum, type Bucket, type Buckets, type DaySum } from './books.ts';
import { addAgeAmounts } from './sums.ts';
import { isSaleAccount } from '../../../core/money/domain/ledger.ts';
import { journalAccounts, type JournalAccount } from '../../../core/stores/domain/store.ts';
import { readVat, type VatKind } from '../../../core/money/domain/vat.ts';

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

/** Adds the sum of transfers. The reversal of a top-up lowers `toppedUp`, that of an issue `issued`. */
export function addMovement(movements: Movements, sum: DaySum): void {
  if (isMove(sum)) return;
  const net = sum.raised - sum.lowered;
  movements.entries += sum.entries;
  if (sum.kind === 'issue' || sum.kind === 'cancellation') movements.issued += net;
  else if (sum.kind === 'credit' || sum.kind === 'top_up') movements.toppedUp += net;
  else if (sum.kind === 'debit' || sum.kind === 'capture') movements.redeemed -= net;
  else if (sum.kind === 'reversal' && sum.account === 'redemptions') movements.refunded += net;
  else if (sum.kind === 'reversal' && isSaleAccount(sum.account)) movements.toppedUp += net;
  else movements.adjusted += net;
}

export function outstandingOf(movements: Movements): bigint {
  const { issued, toppedUp, redeemed, refunded, adjusted } = movements;
  return issued + toppedUp - redeemed + refunded + adjusted;
}

/** `tax`: the VAT in the amount that was due at the sale, so that it is not part of what the store owes. */
export type Balance = { readonly amount: bigint; readonly tax: bigint; readonly cards: number };

/** The balances of the buckets after sums of days. */
export function balancesOf(sums: readonly DaySum[]): Buckets<Balance> {
  return inBuckets((bucket) => {
    const own = sums.filter((sum) => sum.bucket === bucket);
    return {
      amount: own.reduce((total, { raised, lowered }) => total + raised - lowered, 0n),
      tax: own.reduce((total, { raisedTax, loweredTax }) => total + raisedTax - loweredTax, 0n),
      cards: own.reduce((total, { cards }) => total + cards, 0),
    };
  });
}

/** The cards that were issued in a month: their balances, and what was sold and redeemed of them. */
export type Cohort = Pick<AgeSum, 'sold' | 'soldTax' | 'redeemed' | 'redeemedTax'> & {
  readonly balances: Buckets<Balance>;
};

/** The cards by the month of issue, in order. */
export function cohortsOf(sums: readonly AgeSum[]): ReadonlyMap<string, Cohort> {
  const byMonth = Map.groupBy(sums, ({ issued }) => issued);
  const months = [...byMonth].toSorted(([left], [right]) => (left < right ? -1 : 1));
  return new Map(months.map(([issued, own]) => [issued, cohortOf(issued, own)]));
}

function cohortOf(issued: string, sums: readonly AgeSum[]): Cohort {
  const totals = inBuckets((bucket) => emptyAge(issued, bucket));
  for (const sum of sums) addAgeAmounts(totals[sum.bucket], sum);
  const all = emptyAge(issued, 'active');
  for (const total of Object.values(totals)) addAgeAmounts(all, total);
  const { sold, soldTax, redeemed, redeemedTax } = all;
  const balances = inBuckets((bucket) => {
    const { raised, lowered, tax, cards } = totals[bucket];
    return { amount: raised - lowered, tax, cards };
  });
  return { sold, soldTax, redeemed, redeemedTax, balances };
}

function emptyAge(issued: string, bucket: Bucket): AgeSum {
  return {
    issued,
    period: issued,
    bucket,
    raised: 0n,
    lowered: 0n,
    tax: 0n,
    cards: 0,
    sold: 0n,
    soldTax: 0n,
    redeemed: 0n,
    redeemedTax: 0n,
  };
}

/** A line of the journal: an amount on one side of an account. */
export type JournalLine = {
  readonly day: string;
  readonly kind: DaySum['kind'];
  readonly account: JournalAccount;
  /** The location of the transfers; null: none, or the lines are not split. */
  readonly locationId: number | null;
  /** Greater than 0 on one side, 0 on the other. */
  debit: bigint;
  credit: bigint;
  readonly vatKind: VatKind | null;
  readonly vatRate: string | null;
  /** When the tax of the line is due; null: the line is not the counterpart of a taxable supply. */
  readonly vatDue: 'at_sale' | 'at_redemption' | null;
  /** The change of the balances behind the line, with tax; negative if it lowers them. */
  gross: bigint;
  /** The VAT in `gross` that is due at the sale; null if no rate is known. */
  tax: bigint | null;
};

function liabilityOf(bucket: Bucket): JournalAccount {
  return `liability_${bucket}`;
}

/** Sorts lines by day and kind. */
function inOrder(lines: readonly JournalLine[]): readonly JournalLine[] {
  const placeOf = ({ day, kind }: JournalLine): string => `${day} ${kind}`;
  return lines.toSorted((left, right) =>
    placeOf(left) < placeOf(right) ? -1 : Number(placeOf(left) > placeOf(right)),
  );
}

/** A change of balances, with tax, and the tax in it. Both are negative if it lowers them. */
type Change = { readonly gross: bigint; readonly tax: bigint };

/** Collects lines that differ in nothing but their amounts. */
class Lines {
  readonly #lines = new Map<string, JournalLine>();

  get inOrder(): readonly JournalLine[] {
    return inOrder([...this.#lines.values()]);
  }

  /** @param credited the amount that the account is credited with; negative: debited. */
  add(sum: DaySum, account: JournalAccount, credited: bigint, { gross, tax }: Change): void {
    if (credited === 0n) return;
    const { day, kind, vat, locationId } = sum;
    const side = credited < 0n ? 'debit' : 'credit';
    const key = [day, kind, account, side, vat, locationId].join('\n');
    const read = vat === '' ? null : readVat(vat);
    let line = this.#lines.get(key);
    if (!line) {
      const vatRate = read?.kind === 'single_purpose' ? read.rate : null;
      line = {
        day,
        kind,
        account,
        locationId,
        debit: 0n,
        credit: 0n,
        vatKind: read?.kind ?? null,
        vatRate,
        vatDue: vatDueOf(account, read?.kind),
        gross: 0n,
        tax: vatRate === null ? null : 0n,
      };
      this.#lines.set(key, line);
    }
    if (credited < 0n) line.debit -= credited;
    else line.credit += credited;
    line.gross += gross;
    if (line.tax !== null) line.tax += tax;
  }
}

/**
 * The lines of sums in order, each with its counterpart at the same location: their debits and credits are equal. The
 * liability does not contain tax that is due at the sale: a sale credits it to `vat_payable`, and only its reversal takes
 * it back.
 */
export function journalOf(sums: readonly DaySum[]): readonly JournalLine[] {
  const lines = new Lines();
  for (const sum of sums) {
    const { account, raised, lowered, raisedTax, loweredTax } = sum;
    for (const change of [
      { gross: raised, tax: raisedTax },
      { gross: -lowered, tax: -loweredTax },
    ]) {
      const net = change.gross - change.tax;
      if (isTransfers(account))
        lines.add(sum, account, isSaleAccount(account) ? -change.gross : -net, change);
      lines.add(sum, liabilityOf(sum.bucket), net, change);
      if (isSaleAccount(account)) lines.add(sum, 'vat_payable', change.tax, change);
    }
  }
  return lines.inOrder;
}

/** Whether a sum is of transfers, whose other account is never the card's own. */
function isTransfers(account: DaySum['account']): account is Exclude<DaySum['account'], '' | 'card'> {
  return account !== '' && account !== 'card';
}

/** The sums of all locations together: the lines of a journal that is not split. */
export function withoutLocations(sums: readonly DaySum[]): readonly DaySum[] {
  return sums.map((sum) => ({ ...sum, locationId: null }));
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
    const { kind, account, locationId, vatKind, vatRate, vatDue } = line;
    const month = line.day.slice(0, 7);
    const side = line.debit > 0n ? 'debit' : 'credit';
    const key = [month, kind, account, locationId, side, vatKind, vatRate, vatDue].join('\n');
    const found = months.get(key);
    if (!found) {
      months.set(key, { ...line, day: month });
      continue;
    }
    found.debit += line.debit;
    found.credit += line.credit;
    found.gross += line.gross;
    if (line.tax !== null) found.tax = (found.tax ?? 0n) + line.tax;
  }
  return inOrder([...months.values()]);
}

/** When the tax on the line of the other account is due: on a sale, or on a redemption. */
function vatDueOf(account: JournalAccount, kind: VatKind | undefined): JournalLine['vatDue'] {
  if (kind === 'single_purpose' && isSaleAccount(account)) return 'at_sale';
  return kind === 'multi_purpose' && account === 'redemptions' ? 'at_redemption' : null;
}

/** The changes of the expired balances. */
export type Breakage = {
  /** Balances of cards that expired. */
  expired: bigint;
  expiredTax: bigint;
  /** Balances of expired cards that became valid again. */
  restored: bigint;
  /** Balances of expired cards that were disabled, less those that were re-enabled. */
  disabled: bigint;
  /** Changes of the balances of expired cards by transfers. */
  adjusted: bigint;
  /** The change of the VAT in all of them. */
  tax: bigint;
  cards: number;
};

export function breakageOf(sums: readonly DaySum[]): Breakage {
  const breakage: Breakage = {
    expired: 0n,
    expiredTax: 0n,
    restored: 0n,
    disabled: 0n,
    adjusted: 0n,
    tax: 0n,
    cards: 0,
  };
  for (const sum of sums) {
    if (sum.bucket !== 'expired') continue;
    const change = sum.raised - sum.lowered;
    const tax = sum.raisedTax - sum.loweredTax;
    breakage.cards += sum.cards;
    breakage.tax += tax;
    if (sum.kind === 'expire') {
      breakage.expired += change;
      breakage.expiredTax += tax;
    } else if (sum.kind === 'unexpire') breakage.restored -= change;
    else if (isMove(sum)) breakage.disabled -= change;
    else breakage.adjusted += change;
  }
  return breakage;
}
