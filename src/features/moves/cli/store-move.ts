/** `largesse copy --store` */

import { shownLocation, type DatabaseConfig } from '../../../start/config.ts';
import { openDatabase } from '../../../start/database.ts';
import { printCopied, printReordered, rounded, storesOf } from './copy-output.ts';
import { CopyError, nothingIntoSandbox, sandboxIsNotCopied } from '../service/copy.ts';
import { print, printJson } from '../../../cli/output.ts';
import { showProgress } from '../../../cli/progress.ts';
import type { MoveOutcome } from './moving.ts';
import { moveStore } from './store-copying.ts';

type Moving = {
  readonly from: DatabaseConfig;
  readonly to: DatabaseConfig;
  readonly domain: string;
  readonly asJson: boolean;
  /** The start, by `performance.now`. */
  readonly startedAt: number;
};

/** Moves a store, and prints the result. */
export async function runMove({ from, to, domain, asJson, startedAt }: Moving): Promise<void> {
  // Both databases are in use by other processes, which may not have every key of the file.
  const options = { prepare: false, withoutTimeLimit: true, recordsKeys: false };
  await using source = await openDatabase(from, options);
  await using target = await openDatabase(to, options);
  if (source.ctx.testClock) throw new CopyError(sandboxIsNotCopied);
  if (target.ctx.testClock) throw new CopyError(nothingIntoSandbox);
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

function jsonOf(outcome: MoveOutcome, { from, to, domain, seconds }: Shown) {
  const { resumed, copied, closedSeconds, source, differences, reordered } = outcome;
  return {
    ok: differences.length === 0,
    store: domain,
    from,
    to,
    resumed,
    copied: copied.rows,
    seconds: { copying: rounded(copied.seconds), closed: rounded(closedSeconds), all: rounded(seconds) },
    tables: source.tables,
    stores: storesOf(source.verification),
    reordered_events: reordered,
    differences,
  };
}

function printMove(outcome: MoveOutcome, { from, to, domain, seconds }: Shown): void {
  const { closedSeconds, isSourceOpen, source, differences } = outcome;
  const tables = source.tables.filter(({ rows }) => rows > 0);
  printCopied({ ...outcome, source: { ...source, tables } }, seconds);
  if (differences.length > 0) {
    print(
      isSourceOpen
        ? `The copy is not equal to the source, so ${domain} stays open there. Find the cause, and run the same command again: it\n` +
            'deletes the copy and begins again. Or give up the move with "largesse store reopen".'
        : `The copy is not equal to the source, so ${domain} is closed on both sides. Find the cause, and run the same command again:\n` +
            'it deletes the copy and begins again. Or open the store in the source with "largesse store reopen".',
    );
    return;
  }
  print(
    `${domain} was closed for ${rounded(closedSeconds)} s. It is open in ${to}, and closed in ${from}.\n` +
      'Ids, codes, tokens, webhooks, events and idempotency keys are unchanged. Send its requests to the target now:\n' +
      '- change the URL of clients and of the app proxy. Requests to the source get 503 until then.\n' +
      '- links in emails that were sent before, passkeys, sessions and tills belong to the host name of the source.\n' +
      '  They remain valid if the target gets the requests of that host name; otherwise people sign in with their\n' +
      '  passwords, add new passkeys and enroll the tills again.',
  );
  printReordered(outcome);
}
