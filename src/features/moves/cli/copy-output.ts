/** The output of `largesse copy`, with or without `--store`. */

import { currencyOf } from '../../../core/money/domain/currency.ts';
import { formatMoney } from '../../../core/money/domain/money.ts';
import type { StoreInventory } from '../service/store-copy.ts';
import type { Verification } from '../../proofs/service/verify.ts';
import type { CopyOutcome } from './copying.ts';
import { print, printTable } from '../../../cli/output.ts';

/** Prints the tables, the stores, the differences and the speed. @param seconds of the whole command. */
export function printCopied(
  { copied, source, differences }: CopyOutcome<StoreInventory>,
  seconds: number,
): void {
  printTable(
    source.tables.map(({ table, rows, digest }) => ({ table, rows, sha256: digest.slice(0, 16) })),
    { none: '' },
  );
  print('');
  printTable(storesOf(source.verification), { none: 'There are no stores.' });
  for (const difference of differences) print(difference);
  const rate = Math.round(copied.rows / Math.max(copied.seconds, 0.001));
  print(
    `\nCopied ${copied.rows} rows in ${rounded(copied.seconds)} s (${rate} rows/s); ${rounded(seconds)} s with the comparison.`,
  );
}

/** Prints a warning if a file lists events in another order than the server from which they were copied. */
export function printReordered({ reordered }: Pick<CopyOutcome, 'reordered'>): void {
  if (reordered === 0) return;
  print(
    `- GET /events lists ${reordered} events in another order, because a file sorts them by their ids. A client that has not\n` +
      '  read all events reads again from the time before they were made.',
  );
}

export function storesOf({ stores }: Verification): readonly Readonly<Record<string, string | number>>[] {
  return stores.map(({ store, currency, cards, transfers, outstanding }) => ({
    store,
    cards,
    transfers,
    outstanding: formatMoney({ minor: outstanding, currency: currencyOf(currency) }),
    currency,
  }));
}

/** To a hundredth of a second. */
export function rounded(seconds: number): number {
  return Math.round(seconds * 100) / 100;
}
