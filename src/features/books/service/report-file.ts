/** The table of a report from the books, its CSV file, and its amounts as text. */

import { csvOf } from '../../../core/tables/domain/csv.ts';
import { formatMoney } from '../../../core/money/domain/money.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { ExportRow } from '../../../core/tables/domain/export-table.ts';

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
    'outstanding_vat',
    'outstanding_net',
    'available',
    'on_hold',
    'suspended',
    'expired',
    'disabled',
    'active_net',
    'expired_net',
    'disabled_net',
    'cards',
    'cards_active',
    'cards_suspended',
    'cards_expired',
    'cards_disabled',
  ],
  journal: [
    'day',
    'kind',
    'account',
    'debit',
    'credit',
    'vat_kind',
    'vat_rate',
    'vat_due',
    'net_amount',
    'vat_amount',
    'gross_amount',
    'location_id',
    'location',
  ],
  aging: [
    'issued',
    'outstanding',
    'outstanding_vat',
    'outstanding_net',
    'active',
    'expired',
    'disabled',
    'active_net',
    'expired_net',
    'disabled_net',
    'issued_to_date',
    'issued_to_date_net',
    'redeemed_to_date',
    'redeemed_to_date_net',
    'adjusted_to_date',
    'cards',
    'cards_active',
    'cards_expired',
    'cards_disabled',
  ],
  activity: [
    'group',
    'transactions',
    'issued',
    'topped_up',
    'redeemed',
    'refunded',
    'adjusted',
    'change',
    'location',
  ],
  breakage: [
    'month',
    'opening',
    'expired',
    'restored',
    'disabled',
    'adjusted',
    'closing',
    'expired_net',
    'closing_net',
    'cards',
  ],
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

/** The rows of a report, with the amounts as in the books. */
export type ReportRows = {
  readonly rows: readonly Readonly<Record<string, Value>>[];
  /** The moment or period of the report, as a part of the file’s name. */
  readonly about: string;
};

/** The name of a report’s file, without its ending. */
export function reportFileName(report: ReportName, { about }: Pick<ReportRows, 'about'>): string {
  return `${report}-${about.replaceAll(/[^0-9A-Za-z-]/g, '')}`;
}

/** The CSV file of a report in the API. */
export function reportFile(store: Pick<Store, 'currency'>, report: ReportName, made: ReportRows): ReportFile {
  return {
    name: `${reportFileName(report, made)}.csv`,
    text: csvOf(
      reportColumns[report],
      made.rows.map((row) => reportRow(store, row)),
    ),
  };
}

/** A row whose amounts and rates of VAT are numbers. */
export function reportRow(
  { currency }: Pick<Store, 'currency'>,
  row: Readonly<Record<string, Value>>,
): ExportRow {
  const entries = Object.entries(row).map(([name, value]) => {
    if (typeof value === 'bigint') return [name, { decimal: formatMoney({ minor: value, currency }) }];
    return [name, name === 'vat_rate' && typeof value === 'string' ? { decimal: value } : value];
  });
  return Object.fromEntries(entries) as ExportRow;
}
