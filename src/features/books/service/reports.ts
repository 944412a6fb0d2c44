/**
 * Reports from the books, as the API, CSV files and pages show them. Their members have the names of the API. An amount is
 * a bigint in minor units.
 */

import { inBuckets, type Bucket, type Buckets, type DaySum } from '../domain/books.ts';
import { formatInstant } from '../../../core/domain/day.ts';
import type { ReportDays, ReportMoment } from '../domain/report-days.ts';
import {
  accountsOf,
  addMovement,
  balancesOf,
  breakageOf,
  cohortsOf,
  journalOf,
  noMovements,
  outstandingOf,
  withoutLocations,
  type AccountBalance,
  type Balance,
  type JournalLine,
  type Movements,
} from '../domain/reports.ts';
import {
  findBooksMoment,
  readAgesUntil,
  readHeldAt,
  readSumsOfDays,
  readSumsUntil,
  type SumsSource,
} from './report-sums.ts';
import type { PlacesOfEntries } from '../../../core/stores/domain/location.ts';
import { listAllLocations } from '../../../core/stores/service/location.ts';
import { readSuspendedAt } from './suspended.ts';

/** The moment of a report: what was requested, or now. */
function momentOf({ now }: SumsSource, asked: ReportMoment | undefined): ReportMoment {
  return asked ?? { until: now + 1, shown: formatInstant(now) };
}

/** The causes of a change of the liability. */
type Causes = Readonly<Record<'issued' | 'topped_up' | 'redeemed' | 'refunded' | 'adjusted', bigint>>;

/** The number of cards, by their states. */
type CardCounts = Readonly<Record<'cards' | `cards_${Bucket}`, number>>;

type Summary<Amounts extends string> = { readonly currency: string } & Readonly<Record<Amounts, bigint>>;

/** A report with rows. */
type Table<S, Row> = { readonly summary: S; readonly rows: readonly Row[] };

type NetName = 'outstanding_vat' | 'outstanding_net' | `${Bucket}_net`;

/** The balances without the VAT that was due at the sale: what the liability accounts of the journal contain. */
function netRecord(balances: Buckets<Balance>): Readonly<Record<NetName, bigint>> {
  const all = totalOf(Object.values(balances));
  const { active, expired, disabled } = balances;
  return {
    outstanding_vat: all.tax,
    outstanding_net: netOf(all),
    active_net: netOf(active),
    expired_net: netOf(expired),
    disabled_net: netOf(disabled),
  };
}

function netOf({ amount, tax }: Balance): bigint {
  return amount - tax;
}

function movementRecord({ issued, toppedUp, redeemed, refunded, adjusted }: Movements): Causes {
  return { issued, topped_up: toppedUp, redeemed, refunded, adjusted };
}

function movementsOf(sums: readonly DaySum[]): Movements {
  const movements = noMovements();
  for (const sum of sums) addMovement(movements, sum);
  return movements;
}

export type LiabilityReport = { readonly as_of: string } & Causes &
  CardCounts & { readonly cards_suspended: number } & Summary<
    'outstanding' | 'available' | 'on_hold' | 'suspended' | 'expired' | 'disabled' | NetName
  >;

/** @param asked absent: now. */
export async function readLiability(source: SumsSource, asked?: ReportMoment): Promise<LiabilityReport> {
  const moment = momentOf(source, asked);
  const sums = await readSumsUntil(source, moment.until);
  const at = await findBooksMoment(source, moment.until - 1);
  const held = at ? await readHeldAt(source, at) : 0n;
  const suspended = at ? await readSuspendedAt(source, at) : { amount: 0n, cards: 0 };
  const movements = movementsOf(sums);
  const balances = balancesOf(sums);
  const { active, expired, disabled } = balances;
  return {
    as_of: moment.shown,
    currency: source.store.currency.code,
    ...movementRecord(movements),
    outstanding: outstandingOf(movements),
    available: active.amount - held,
    on_hold: held,
    suspended: suspended.amount,
    expired: expired.amount,
    disabled: disabled.amount,
    ...netRecord(balances),
    cards: active.cards + expired.cards + disabled.cards,
    cards_active: active.cards,
    cards_suspended: suspended.cards,
    cards_expired: expired.cards,
    cards_disabled: disabled.cards,
  };
}

/** The location of a row; both are null at no location, and in a report that is not split. */
type Place = { readonly location_id: number | null; readonly location: string | null };

/** The names of the store's locations. */
async function readNames({ storage, store }: SumsSource): Promise<ReadonlyMap<number, string>> {
  const locations = await storage.read(() => listAllLocations(store.id));
  return new Map(locations.map(({ id, name }) => [id, name]));
}

export const journalSplits = ['location'] as const;

export type JournalQuery = ReportDays & {
  /** Absent: the lines of all locations are together. */
  readonly by?: (typeof journalSplits)[number] | undefined;
  /** Absent: all transactions. Otherwise the balances begin at 0 with the period. */
  readonly locations?: PlacesOfEntries | undefined;
};

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
  readonly net_amount: bigint;
  readonly vat_amount: bigint | null;
  readonly gross_amount: bigint;
} & Place;

export type JournalReport = Table<
  ReportDays & Summary<'opening' | 'change' | 'closing' | 'closing_gross' | 'debits' | 'credits'>,
  JournalRow
> & {
  readonly lines: readonly JournalLine[];
  readonly accounts: readonly AccountBalance[];
  /** The liability with VAT, and its causes. `expired` became unusable and stays a part of it. */
  readonly totals: Readonly<Record<'opening' | 'closing' | 'expired', bigint>> & Causes;
};

export async function readJournal(
  source: SumsSource,
  { from, to, by, locations }: JournalQuery,
): Promise<JournalReport> {
  const { store } = source;
  const all = await readSumsOfDays(source, { from, to });
  const before = locations ? [] : all.before;
  const days = all.days.filter(({ locationId }) => locations?.includes(locationId) !== false);
  const opening = totalOf(Object.values(balancesOf(before)));
  const change = totalOf(Object.values(balancesOf(days)));
  const names = by && (await readNames(source));
  const lines = journalOf(names ? days : withoutLocations(days));
  return {
    summary: {
      from,
      to,
      currency: store.currency.code,
      opening: netOf(opening),
      change: netOf(change),
      closing: netOf(opening) + netOf(change),
      closing_gross: opening.amount + change.amount,
      debits: lines.reduce((sum, { debit }) => sum + debit, 0n),
      credits: lines.reduce((sum, { credit }) => sum + credit, 0n),
    },
    lines,
    accounts: accountsOf(journalOf(before), lines),
    totals: {
      opening: opening.amount,
      ...movementRecord(movementsOf(days)),
      closing: opening.amount + change.amount,
      expired: breakageOf(days).expired,
    },
    rows: lines.map((line) => ({
      day: line.day,
      kind: line.kind,
      account: store.accountNames[line.account] ?? line.account,
      debit: line.debit,
      credit: line.credit,
      vat_kind: line.vatKind,
      vat_rate: line.vatRate,
      vat_due: line.vatDue,
      net_amount: line.gross - (line.tax ?? 0n),
      vat_amount: line.tax,
      gross_amount: line.gross,
      location_id: line.locationId,
      location: nameIn(names, line.locationId),
    })),
  };
}

function nameIn(names: ReadonlyMap<number, string> | undefined, id: number | null): string | null {
  return id === null ? null : (names?.get(id) ?? null);
}

function totalOf(values: readonly Balance[]): Balance {
  return {
    amount: values.reduce((total, value) => total + value.amount, 0n),
    tax: values.reduce((total, value) => total + value.tax, 0n),
    cards: values.reduce((total, value) => total + value.cards, 0),
  };
}

type CohortName =
  'issued_to_date' | 'issued_to_date_net' | 'redeemed_to_date' | 'redeemed_to_date_net' | 'adjusted_to_date';

export type AgingReport = Table<
  { readonly as_of: string } & Summary<'outstanding' | 'outstanding_vat' | 'outstanding_net'>,
  { readonly issued: string; readonly outstanding: bigint } & Readonly<
    Record<Bucket | NetName | CohortName, bigint>
  > &
    CardCounts
>;

/** @param asked absent: now. */
export async function readAging(source: SumsSource, asked?: ReportMoment): Promise<AgingReport> {
  const moment = momentOf(source, asked);
  const cohorts = cohortsOf(await readAgesUntil(source, moment.until));
  const rows = [...cohorts].map(([issued, { balances, sold, soldTax, redeemed, redeemedTax }]) => {
    const all = totalOf(Object.values(balances));
    return {
      issued,
      outstanding: all.amount,
      ...inBuckets((bucket) => balances[bucket].amount),
      ...netRecord(balances),
      issued_to_date: sold,
      issued_to_date_net: sold - soldTax,
      redeemed_to_date: redeemed,
      redeemed_to_date_net: redeemed - redeemedTax,
      adjusted_to_date: all.amount - sold + redeemed,
      cards: all.cards,
      cards_active: balances.active.cards,
      cards_expired: balances.expired.cards,
      cards_disabled: balances.disabled.cards,
    };
  });
  const total = totalOf([...cohorts.values()].flatMap(({ balances }) => Object.values(balances)));
  return {
    summary: {
      as_of: moment.shown,
      currency: source.store.currency.code,
      outstanding: total.amount,
      outstanding_vat: total.tax,
      outstanding_net: netOf(total),
    },
    rows,
  };
}

export const activityGroups = ['day', 'month', 'actor', 'location'] as const;

export type ActivityGroup = (typeof activityGroups)[number];

/** The name of a group; null: the transactions that took place at no location. */
function groupOf({ day, actor, locationId }: DaySum, group: ActivityGroup): string | null {
  switch (group) {
    case 'day':
      return day;
    case 'month':
      return day.slice(0, 7);
    case 'actor':
      return actor;
    case 'location':
      return locationId === null ? null : String(locationId);
  }
}

export type ActivityQuery = ReportDays & {
  readonly by: ActivityGroup;
  /** Absent: all transactions. */
  readonly locations?: PlacesOfEntries | undefined;
};

export type ActivityReport = Table<
  Pick<ActivityQuery, 'by' | 'from' | 'to'> & Summary<never>,
  {
    /** Null: the transactions that took place at no location. */
    readonly group: string | null;
    readonly transactions: number;
    readonly change: bigint;
    /** The name of the location that the group is; null: the groups are others. */
    readonly location: string | null;
  } & Causes
>;

export async function readActivity(
  source: SumsSource,
  { by, from, to, locations }: ActivityQuery,
): Promise<ActivityReport> {
  const { days } = await readSumsOfDays(source, { from, to });
  const names = by === 'location' ? await readNames(source) : undefined;
  const grouped = new Map<string | null, Movements>();
  for (const sum of days) {
    if (sum.account === '' || locations?.includes(sum.locationId) === false) continue;
    const name = groupOf(sum, by);
    let movements = grouped.get(name);
    if (!movements) grouped.set(name, (movements = noMovements()));
    addMovement(movements, sum);
  }
  const sorted = [...grouped].toSorted(([left], [right]) => inOrder(left, right));
  return {
    summary: { by, from, to, currency: source.store.currency.code },
    rows: sorted.map(([group, movements]) => ({
      group,
      transactions: movements.entries,
      ...movementRecord(movements),
      change: outstandingOf(movements),
      location: nameIn(names, names && group !== null ? Number(group) : null),
    })),
  };
}

/** The group of no location is the last one. */
function inOrder(left: string | null, right: string | null): number {
  if (left === null || right === null) return left === null ? 1 : -1;
  return left < right ? -1 : 1;
}

export type BreakageReport = Table<
  ReportDays & Summary<'opening' | 'closing' | 'closing_net'>,
  { readonly month: string; readonly cards: number } & Readonly<
    Record<
      | 'opening'
      | 'expired'
      | 'restored'
      | 'disabled'
      | 'adjusted'
      | 'closing'
      | 'expired_net'
      | 'closing_net',
      bigint
    >
  >
>;

export async function readBreakage(source: SumsSource, { from, to }: ReportDays): Promise<BreakageReport> {
  const { before, days } = await readSumsOfDays(source, { from, to });
  const { expired } = balancesOf(before);
  let { amount: balance, tax, cards } = expired;
  const rows = [...Map.groupBy(days, ({ day }) => day.slice(0, 7))].map(([month, sums]) => {
    const breakage = breakageOf(sums);
    const opening = balance;
    balance += breakage.expired - breakage.restored - breakage.disabled + breakage.adjusted;
    tax += breakage.tax;
    cards += breakage.cards;
    const { expired: added, expiredTax, restored, disabled, adjusted } = breakage;
    const net = { expired_net: added - expiredTax, closing_net: balance - tax };
    return { month, opening, expired: added, restored, disabled, adjusted, closing: balance, ...net, cards };
  });
  return {
    summary: {
      from,
      to,
      currency: source.store.currency.code,
      opening: expired.amount,
      closing: balance,
      closing_net: balance - tax,
    },
    rows,
  };
}
