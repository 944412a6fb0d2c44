/**
 * Reports from the books, as the API, CSV files and pages show them. Their members have the names of the API. An amount is
 * a bigint in minor units.
 */

import { inBuckets, type DaySum } from '../domain/books.ts';
import { cardStates, type CardState } from '../domain/card.ts';
import { csvOf, type CsvRow } from '../domain/csv.ts';
import { formatInstant } from '../domain/day.ts';
import { formatMoney } from '../domain/money.ts';
import type { ReportDays, ReportMoment } from '../domain/report-days.ts';
import {
  accountsOf,
  addMovement,
  agesOf,
  balancesOf,
  breakageOf,
  journalOf,
  noMovements,
  outstandingOf,
  type AccountBalance,
  type Balance,
  type JournalLine,
  type Movements,
} from '../domain/reports.ts';
import type { Store } from '../domain/store.ts';
import { readAgesUntil, readHeldAt, readSumsOfDays, readSumsUntil, type SumsSource } from './report-sums.ts';

/** The columns of the CSV files, in their order. */
export const reportColumns = {
  liability: [
    'as_of',
    'currency',
    'issued',
    'topped_up',
    'redeemed',
    'refunded',
    'adjusted',
    'outstanding',
    'available',
    'on_hold',
    'expired',
    'disabled',
    'cards',
    'cards_active',
    'cards_expired',
    'cards_disabled',
  ],
  journal: ['day', 'kind', 'account', 'debit', 'credit', 'vat_kind', 'vat_rate', 'vat_due', 'vat_amount'],
  aging: [
    'issued',
    'outstanding',
    'active',
    'expired',
    'disabled',
    'cards',
    'cards_active',
    'cards_expired',
    'cards_disabled',
  ],
  activity: ['group', 'transactions', 'issued', 'topped_up', 'redeemed', 'refunded', 'adjusted', 'change'],
  breakage: ['month', 'opening', 'expired', 'restored', 'disabled', 'adjusted', 'closing', 'cards'],
} as const;

export type ReportName = keyof typeof reportColumns;

type Value = string | number | bigint | null;

/** A record whose amounts are texts with exactly the currency's decimals. */
type WithAmounts<R> = { readonly [Name in keyof R]: Shown<R[Name]> };

type Shown<V> = V extends bigint ? string : V;

/** Writes the amounts of a record as text. */
export function withAmounts<const R extends Readonly<Record<string, Value>>>(
  { currency }: Pick<Store, 'currency'>,
  record: R,
): WithAmounts<R> {
  const entries = Object.entries(record).map(([name, value]) => [
    name,
    typeof value === 'bigint' ? formatMoney({ minor: value, currency }) : value,
  ]);
  return Object.fromEntries(entries) as WithAmounts<R>;
}

/** A CSV file. */
export type ReportFile = { readonly name: string; readonly text: string };

/** The CSV file of a report. @param about what the report is of, as a part of the file's name. */
export function reportFile(
  store: Pick<Store, 'currency'>,
  report: ReportName,
  { rows, about }: { readonly rows: readonly Readonly<Record<string, Value>>[]; readonly about: string },
): ReportFile {
  const shown: readonly CsvRow[] = rows.map((row) => withAmounts(store, row));
  return {
    name: `${report}-${about.replaceAll(/[^0-9A-Za-z-]/g, '')}.csv`,
    text: csvOf(reportColumns[report], shown),
  };
}

/** The moment of a report: what was requested, or now. */
function momentOf({ now }: SumsSource, asked: ReportMoment | undefined): ReportMoment {
  return asked ?? { until: now + 1, shown: formatInstant(now) };
}

/** The causes of a change of the liability. */
type Causes = Readonly<Record<'issued' | 'topped_up' | 'redeemed' | 'refunded' | 'adjusted', bigint>>;

/** The number of cards, by their states. */
type CardCounts = Readonly<Record<'cards' | `cards_${CardState}`, number>>;

type Summary<Amounts extends string> = { readonly currency: string } & Readonly<Record<Amounts, bigint>>;

/** A report with rows. */
type Table<S, Row> = { readonly summary: S; readonly rows: readonly Row[] };

function movementRecord({ issued, toppedUp, redeemed, refunded, adjusted }: Movements): Causes {
  return { issued, topped_up: toppedUp, redeemed, refunded, adjusted };
}

function movementsOf(sums: readonly DaySum[]): Movements {
  const movements = noMovements();
  for (const sum of sums) addMovement(movements, sum);
  return movements;
}

export type LiabilityReport = { readonly as_of: string } & Causes &
  CardCounts &
  Summary<'outstanding' | 'available' | 'on_hold' | 'expired' | 'disabled'>;

/** @param asked absent: now. */
export async function readLiability(source: SumsSource, asked?: ReportMoment): Promise<LiabilityReport> {
  const moment = momentOf(source, asked);
  const sums = await readSumsUntil(source, moment.until);
  const held = await readHeldAt(source, moment.until - 1);
  const movements = movementsOf(sums);
  const { active, expired, disabled } = balancesOf(sums);
  return {
    as_of: moment.shown,
    currency: source.store.currency.code,
    ...movementRecord(movements),
    outstanding: outstandingOf(movements),
    available: active.amount - held,
    on_hold: held,
    expired: expired.amount,
    disabled: disabled.amount,
    cards: active.cards + expired.cards + disabled.cards,
    cards_active: active.cards,
    cards_expired: expired.cards,
    cards_disabled: disabled.cards,
  };
}

type JournalRow = {
  readonly day: string;
  readonly kind: string;
  /** The store's name of the account. */
  readonly account: string;
  readonly debit: bigint;
  readonly credit: bigint;
  readonly vat_kind: string | null;
  readonly vat_rate: string | null;
  readonly vat_due: JournalLine['vatDue'];
  readonly vat_amount: bigint | null;
};

export type JournalReport = Table<
  ReportDays & Summary<'opening' | 'change' | 'closing' | 'debits' | 'credits'>,
  JournalRow
> & { readonly lines: readonly JournalLine[]; readonly accounts: readonly AccountBalance[] };

export async function readJournal(source: SumsSource, { from, to }: ReportDays): Promise<JournalReport> {
  const { store } = source;
  const { before, days } = await readSumsOfDays(source, { from, to });
  const opening = outstandingOf(movementsOf(before));
  const change = outstandingOf(movementsOf(days));
  const lines = journalOf(days);
  return {
    summary: {
      from,
      to,
      currency: store.currency.code,
      opening,
      change,
      closing: opening + change,
      debits: lines.reduce((sum, { debit }) => sum + debit, 0n),
      credits: lines.reduce((sum, { credit }) => sum + credit, 0n),
    },
    lines,
    accounts: accountsOf(journalOf(before), lines),
    rows: lines.map((line) => ({
      day: line.day,
      kind: line.kind,
      account: store.accountNames[line.account] ?? line.account,
      debit: line.debit,
      credit: line.credit,
      vat_kind: line.vatKind,
      vat_rate: line.vatRate,
      vat_due: line.vatDue,
      vat_amount: line.tax,
    })),
  };
}

function totalOf(values: readonly Balance[]): Balance {
  return {
    amount: values.reduce((total, value) => total + value.amount, 0n),
    cards: values.reduce((total, value) => total + value.cards, 0),
  };
}

export type AgingReport = Table<
  { readonly as_of: string } & Summary<'outstanding'>,
  { readonly issued: string; readonly outstanding: bigint } & Readonly<Record<CardState, bigint>> & CardCounts
>;

/** @param asked absent: now. */
export async function readAging(source: SumsSource, asked?: ReportMoment): Promise<AgingReport> {
  const moment = momentOf(source, asked);
  const ages = agesOf(await readAgesUntil(source, moment.until));
  const rows = [...ages].map(([issued, buckets]) => {
    const all = totalOf(Object.values(buckets));
    return {
      issued,
      outstanding: all.amount,
      ...inBuckets((bucket) => buckets[bucket].amount),
      cards: all.cards,
      cards_active: buckets.active.cards,
      cards_expired: buckets.expired.cards,
      cards_disabled: buckets.disabled.cards,
    };
  });
  const total = totalOf([...ages.values()].flatMap((buckets) => cardStates.map((bucket) => buckets[bucket])));
  return {
    summary: {
      as_of: moment.shown,
      currency: source.store.currency.code,
      outstanding: total.amount,
    },
    rows,
  };
}

export const activityGroups = ['day', 'month', 'actor'] as const;

export type ActivityGroup = (typeof activityGroups)[number];

function groupOf({ day, actor }: DaySum, group: ActivityGroup): string {
  if (group === 'actor') return actor;
  return group === 'day' ? day : day.slice(0, 7);
}

type ActivityQuery = ReportDays & { readonly by: ActivityGroup };

export type ActivityReport = Table<
  ActivityQuery & Summary<never>,
  { readonly group: string; readonly transactions: number; readonly change: bigint } & Causes
>;

export async function readActivity(
  source: SumsSource,
  { by, from, to }: ActivityQuery,
): Promise<ActivityReport> {
  const { days } = await readSumsOfDays(source, { from, to });
  const grouped = new Map<string, Movements>();
  for (const sum of days) {
    if (sum.account === '') continue;
    const name = groupOf(sum, by);
    let movements = grouped.get(name);
    if (!movements) grouped.set(name, (movements = noMovements()));
    addMovement(movements, sum);
  }
  const sorted = [...grouped].toSorted(([left], [right]) => (left < right ? -1 : 1));
  return {
    summary: { by, from, to, currency: source.store.currency.code },
    rows: sorted.map(([group, movements]) => ({
      group,
      transactions: movements.entries,
      ...movementRecord(movements),
      change: outstandingOf(movements),
    })),
  };
}

export type BreakageReport = Table<
  ReportDays & Summary<'opening' | 'closing'>,
  { readonly month: string; readonly cards: number } & Readonly<
    Record<'opening' | 'expired' | 'restored' | 'disabled' | 'adjusted' | 'closing', bigint>
  >
>;

export async function readBreakage(source: SumsSource, { from, to }: ReportDays): Promise<BreakageReport> {
  const { before, days } = await readSumsOfDays(source, { from, to });
  const { expired } = balancesOf(before);
  let { amount: balance, cards } = expired;
  const rows = [...Map.groupBy(days, ({ day }) => day.slice(0, 7))].map(([month, sums]) => {
    const breakage = breakageOf(sums);
    const opening = balance;
    balance += breakage.expired - breakage.restored - breakage.disabled + breakage.adjusted;
    cards += breakage.cards;
    const { expired: added, restored, disabled, adjusted } = breakage;
    return { month, opening, expired: added, restored, disabled, adjusted, closing: balance, cards };
  });
  return {
    summary: { from, to, currency: source.store.currency.code, opening: expired.amount, closing: balance },
    rows,
  };
}
