/** `largesse copy` */

import { Option, type Command } from 'commander';
import { readCopyConfig, shownLocation, type DatabaseConfig } from '../../../start/config.ts';
import { openDatabase, openTarget } from '../../../start/database.ts';
import { printCopied, printReordered, rounded, storesOf } from './copy-output.ts';
import { copyDatabase, type DatabaseOutcome } from './copying.ts';
import { readDomain } from '../../../cli/read.ts';
import { runMove } from './store-move.ts';
import { print, printJson } from '../../../cli/output.ts';
import { showProgress } from '../../../cli/progress.ts';

const help = `
An address is file:<path>, postgres://<user>@<host>/<database>, env:<NAME> for a variable with the
address, or @<path> for a file with the address. Use env: or @ if the address has a password: other
users of the machine can see the arguments of a command, and the shell keeps them in its history.

Stop all processes of the service first, and later start it only on the target. The command does not
change the source. If the source changes during the copy, the comparison fails.

The target must be empty. The command creates and migrates it (PARTITIONS applies). The service and
other commands cannot open the target until the copy is complete and both databases are equal. To
continue an interrupted copy, run the same command again.

A source from before the first release is converted into the schema of this version. The target is then
compared with the rows of the source, sums of days are computed again, and the ledger is verified.

The target needs the same keys as the source: KEYS_FILE, or the key file next to the source.

With --store, the command moves one store into a database that has other stores. All processes of both
installations continue to run. A store that leaves a file stays open while it is copied and compared, and
is closed only for its last changes; an error opens it again. A store that leaves a server is closed from the
beginning on. Requests of a closed store get 503 with Retry-After. It is opened in the target when both are
equal, and remains closed in the source. To continue an interrupted move, run the same command again.
The target must know all keys of the source and have the same oldest key: create the second installation
with a copy of the key file of the first one. To give up a move that has not ended, run
"largesse store reopen" on the source.`;

type Options = {
  readonly from: string;
  readonly to: string;
  readonly store?: string;
  readonly json?: boolean;
};

export function addCopyCommand(root: Command): void {
  root
    .command('copy')
    .description('copy a database into an empty one, for example from a file to a server, and compare both')
    .requiredOption('--from <address>', 'the source database')
    .requiredOption('--to <address>', 'the empty target database, or with --store one with other stores')
    .addOption(
      new Option('--store <domain>', 'move only this store, while all others are served').argParser(
        readDomain,
      ),
    )
    .option('--json', 'print JSON')
    .addHelpText('after', help)
    .action(async (options: Options) => {
      const { source: from, target: to, exposed } = readCopyConfig(options);
      for (const option of exposed)
        console.error(
          `largesse: other users of the machine can see the password in ${option}: see largesse copy --help`,
        );
      const startedAt = performance.now();
      if (options.store !== undefined)
        return await runMove({ from, to, domain: options.store, asJson: options.json === true, startedAt });
      await using opened = await openDatabase(from, {
        prepare: false,
        withoutTimeLimit: true,
        isConverted: true,
      });
      await using target = await openTarget(to);
      const { ctx, storage: source } = opened;
      const progress = showProgress(process.stderr, { isSilent: options.json === true });
      const isTargetFile = to.database.kind === 'file';
      const copying = { ctx, source, target, isTargetFile, run: ctx.random.requestId(), progress };
      const outcome = await copyDatabase(copying, shownLocation(from.database));
      const seconds = (performance.now() - startedAt) / 1_000;
      printOutcome(outcome, { from, to, seconds, asJson: options.json === true });
    });
}

function printOutcome(
  outcome: DatabaseOutcome,
  {
    from,
    to,
    seconds,
    asJson,
  }: {
    readonly from: DatabaseConfig;
    readonly to: DatabaseConfig;
    readonly seconds: number;
    readonly asJson: boolean;
  },
): void {
  const { resumed, copied, source, differences, reordered, isConverted } = outcome;
  const ok = differences.length === 0;
  if (!ok) process.exitCode = 1;
  if (asJson)
    return printJson({
      ok,
      from: shownLocation(from.database),
      to: shownLocation(to.database),
      resumed,
      converted: isConverted,
      copied: copied.rows,
      seconds: { copying: rounded(copied.seconds), all: rounded(seconds) },
      tables: source.tables,
      stores: storesOf(source.verification),
      reordered_events: reordered,
      differences,
    });
  printCopied(outcome, seconds);
  print(ok ? success({ from, to, isConverted }) : failure);
  if (ok) printReordered(outcome);
}

function success({
  from,
  to,
  isConverted,
}: {
  readonly from: DatabaseConfig;
  readonly to: DatabaseConfig;
  readonly isConverted: boolean;
}): string {
  const elsewhere = from.keysFile === to.keysFile ? '' : `, or with a copy of it at ${to.keysFile}`;
  return (
    (isConverted
      ? 'The source was converted. The target has all its rows, and the ledger matches every balance. Staff sign in again.\n'
      : 'Both databases are equal, and in both the ledger matches every balance.\n') +
    `Serve the target, and only the target, with KEYS_FILE=${from.keysFile}${elsewhere}.`
  );
}

const failure =
  'The copy is not equal to the source, and no command opens it. If the source has changed, stop what uses it; if its ledger\n' +
  'does not match, see "largesse verify". Then empty the target (remove the file, or drop the database) and copy again.';
