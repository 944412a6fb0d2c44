/** `largesse copy --store` */

import { shownLocation, type DatabaseConfig } from '../config.ts';
import { openDatabase } from '../database.ts';
import { currencyOf } from '../domain/currency.ts';
import { formatMoney } from '../domain/money.ts';
import { print, printJson, printTable } from './output.ts';
import { showProgress } from './progress.ts';
import { moveStore, type MoveOutcome } from './store-copying.ts';

type Moving = {
  readonly from: DatabaseConfig;
  readonly to: DatabaseConfig;
  readonly domain: string;
  readonly asJson: boolean;
  /** Of `performance.now`. */
  readonly startedAt: number;
};

/** Moves a store, and prints the result. */
export async function runMove({ from, to, domain, asJson, startedAt }: Moving): Promise<void> {
  // Both databases are in use by other processes, which may not have every key of the file.
  const options = { prepare: false, withoutTimeLimit: true, recordsKeys: false };
  await using source = await openDatabase(from, options);
  await using target = await openDatabase(to, options);
  const sides = {
    source: { ...source, shown: shownLocation(from.database), isFile: from.database.kind === 'file' },
    target: { ...target, shown: shownLocation(to.database), isFile: to.database.kind === 'file' },
  };
  const progress = showProgress(process.stderr, { isSilent: asJson });
  const outcome = await moveStore({ ...sides, domain, run: source.ctx.random.requestId(), progress });
  if (outcome.differences.length > 0) process.exitCode = 1;
  const seconds = (performance.now() - startedAt) / 1_000;
  const shown = { from: sides.source.shown, to: sides.target.shown, domain, seconds };
  if (asJson) printJson(jsonOf(outcome, shown));
  else printMove(outcome, shown);
}

type Shown = {
  readonly from: string;
  readonly to: string;
  readonly domain: string;
  readonly seconds: number;
};

function storesOf({ source }: MoveOutcome) {
  return source.verification.stores.map(({ store, currency, cards, transfers, outstanding }) => ({
    store,
    cards,
    transfers,
    outstanding: formatMoney({ minor: outstanding, currency: currencyOf(currency) }),
    currency,
  }));
}

function jsonOf(outcome: MoveOutcome, { from, to, domain, seconds }: Shown) {
  const { resumed, copied, closedSeconds, source, differences, reordered } = outcome;
  return {
    ok: differences.length === 0,
    store: domain,
    from,
    to,
    resumed,
    copied: copied.rows,
    seconds: { copying: round(copied.seconds), closed: round(closedSeconds), all: round(seconds) },
    tables: source.tables,
    stores: storesOf(outcome),
    reordered_events: reordered,
    differences,
  };
}

function printMove(outcome: MoveOutcome, { from, to, domain, seconds }: Shown): void {
  const { copied, closedSeconds, source, differences, reordered } = outcome;
  printTable(
    source.tables
      .filter(({ rows }) => rows > 0)
      .map(({ table, rows, digest }) => ({ table, rows, sha256: digest.slice(0, 16) })),
    { none: '' },
  );
  print('');
  printTable(storesOf(outcome), { none: '' });
  for (const difference of differences) print(difference);
  const rate = Math.round(copied.rows / Math.max(copied.seconds, 0.001));
  print(
    `\nCopied ${copied.rows} rows in ${round(copied.seconds)} s (${rate} rows/s); ${round(seconds)} s with the comparison.`,
  );
  if (differences.length > 0) {
    print(
      `The copy is not equal to the source, so ${domain} is closed on both sides. Find the cause, and run the same command again:\n` +
        'it deletes the copy and begins again. Or open the store in the source with "largesse store reopen".',
    );
    return;
  }
  print(
    `${domain} was closed for ${round(closedSeconds)} s. It is open in ${to}, and closed in ${from}.\n` +
      'Ids, codes, tokens, webhooks, events and idempotency keys are unchanged. Send its requests to the target now:\n' +
      '- change the URL of clients and of the app proxy. Requests to the source get 503 until then.\n' +
      '- links in emails that were sent before, passkeys, sessions and tills belong to the host name of the source.\n' +
      '  They remain valid if the target gets the requests of that host name; otherwise people sign in with their\n' +
      '  passwords, add new passkeys and enroll the tills again.',
  );
  if (reordered > 0)
    print(
      `- GET /events lists ${reordered} events in another order, because a file sorts them by their ids. A client that has not\n` +
        '  read all events reads again from the time before they were made.',
    );
}

function round(seconds: number): number {
  return Math.round(seconds * 100) / 100;
}
