/** The settings of buy pages. */

import { currencyOf } from '../../../core/money/domain/currency.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import type { SalePage, WorkDemand } from '../domain/rules.ts';
import {
  columns,
  flag,
  integer,
  integerOrNull,
  money,
  textOrNull,
  unchanged,
  writeOnly,
  type Column,
  type RowOf,
} from '../../../database/sql/columns.ts';
import { forUpdate } from '../../../database/sql/fragments.ts';
import { all, execute, first, lock, sql, type Script } from '../../../database/sql/sql.ts';

type InCurrency = { readonly currency: string };

function moneyOrNull<Field extends string>(
  field: Field,
): Column<bigint | null, Field, Money | null, InCurrency> {
  return {
    field,
    read: (minor, row) => (minor === null ? null : { minor, currency: currencyOf(row.currency) }),
    write: (record) => record[field]?.minor ?? null,
  };
}

function amounts<Field extends string>(field: Field): Column<string, Field, readonly Money[], InCurrency> {
  return {
    field,
    read(stored, row) {
      const currency = currencyOf(row.currency);
      return stored === '' ? [] : stored.split(',').map((minor) => ({ minor: BigInt(minor), currency }));
    },
    write: (record) => record[field].map(({ minor }) => minor).join(','),
  };
}

function hosts<Field extends string>(field: Field): Column<string, Field, readonly string[]> {
  return {
    field,
    read: (stored) => (stored === '' ? [] : stored.split(',')),
    write: (record) => record[field].join(','),
  };
}

const pages = columns({
  store_id: integer('storeId'),
  is_open: flag('isOpen'),
  currency: writeOnly<string>()((page: Pick<SalePage, 'min'>) => page.min.currency.code),
  presets: amounts('presets'),
  lowest: money('min'),
  highest: money('max'),
  validity_months: integerOrNull('validityMonths'),
  terms: textOrNull('termsUrl'),
  terms_text: textOrNull('termsText'),
  privacy: textOrNull('privacyUrl'),
  imprint: textOrNull('imprintUrl'),
  frame_domains: hosts('frameDomains'),
  address_limit: moneyOrNull('addressLimit'),
  card_limit: moneyOrNull('cardLimit'),
  network_limit: moneyOrNull('networkLimit'),
  store_limit: moneyOrNull('storeLimit'),
  review_above: moneyOrNull('reviewAbove'),
  reviews_first: flag('reviewsFirst'),
  reviews_foreign: flag('reviewsForeign'),
  review_hours: integer('reviewHours'),
  delay_minutes: integer('delayMinutes'),
  work: unchanged<WorkDemand>()('work'),
  country: textOrNull('country'),
  updated_at: integer('updatedAt'),
});

export function* findSalePage(storeId: number): Script<SalePage | undefined> {
  const row = yield* first(sql<RowOf<typeof pages>>`
    select ${pages.names} from sale_pages where store_id = ${storeId}`);
  return row && pages.read(row);
}

/**
 * Locks the settings until the transaction ends, and waits for the lock: what counts towards the limits of a day comes one after
 * another, and what the caller reads next is newer.
 */
export function* lockSalePage(storeId: number): Script<void> {
  yield* all(lock`select store_id from sale_pages where store_id = ${storeId} ${forUpdate}`);
}

export function* saveSalePage(page: SalePage): Script<void> {
  yield* execute(sql`
    insert into sale_pages (${pages.names}) values (${pages.values(page)})
    on conflict (store_id) do update set ${pages.excluded}`);
}
