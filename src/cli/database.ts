/** `largesse migrate`, `verify`, `backup`, `vacuum` */

import { open, rename } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { readDatabaseConfig, shownLocation } from '../start/config.ts';
import { openDatabase, type Database } from '../start/database.ts';
import { currencyOf } from '../core/money/domain/currency.ts';
import { Fault } from '../core/domain/fault.ts';
import { formatMoney } from '../core/money/domain/money.ts';
import { recordBackup } from '../features/proofs/service/verification.ts';
import type { Mismatch } from '../features/proofs/service/verify.ts';
import { CommandError, describeFault } from './failure.ts';
import { assertCanMake } from './new-file.ts';
import { print, printJson, printTable } from './output.ts';
import { DistributionError } from '../database/postgres/distribute.ts';
import { vacuum } from '../database/sqlite/vacuum.ts';
import { showProgress } from './progress.ts';
import { removeDatabase } from '../database/sqlite/restore.ts';
import { describeMismatch, verifyDatabase } from '../features/proofs/cli/verifying.ts';

export function addDatabaseCommands(root: Command): void {
  root
    .command('migrate')
    .description('create the database or migrate it to this version')
    .option(
      '--citus',
      'distribute the tables by store over the servers of a Citus cluster; no process may use the database',
    )
    .option('--json', 'print JSON')
    .action(migrate);

  root
    .command('verify')
    .description(
      'recompute every balance, hash chain and total, and check all rows and the file; exit with 1 if anything is wrong',
    )
    .option('--json', 'print JSON')
    .action(verify);

  root
    .command('backup')
    .description(
      'copy the database into a new file while the service runs, and verify the copy; store the key file separately',
    )
    .argument('<file>', 'the new file')
    .option('--json', 'print JSON')
    .action(makeBackup);

  root
    .command('vacuum')
    .description(
      'rewrite the database file, so that it contains no remains of deleted rows; a running service cannot write until it ends',
    )
    .option('--json', 'print JSON')
    .action(vacuumFile);
}

async function migrate({ citus, json }: { citus?: boolean; json?: boolean }): Promise<void> {
  const config = readDatabaseConfig();
  await using database = await openDatabase(config, { prepare: true });
  const applied = await database.storage.applied();
  if (citus && database.ctx.testClock) throw new CommandError('a sandbox is not distributed over servers');
  const distributed = citus ? await distribute(database) : [];
  if (json) printJson({ database: shownLocation(config.database), migrations: applied, distributed });
  else {
    print(`${shownLocation(config.database)} is at migration ${applied.at(-1)?.version ?? 0}.`);
    if (citus) print(`${distributed.length} tables were distributed now.`);
  }
}

async function verify({ json }: { json?: boolean }): Promise<void> {
  const progress = showProgress(process.stderr, { isSilent: json === true });
  const { stores, mismatches, unrecorded } = await verifyDatabase(readDatabaseConfig(), {
    prepare: false,
    isRecorded: true,
    progress,
  });
  if (unrecorded !== undefined) warn('The console does not show this verification', unrecorded);
  const totals = stores.map(({ store, currency, cards, transfers, outstanding, accounts }) => ({
    store,
    cards,
    transfers,
    currency,
    outstanding: formatMoney({ minor: outstanding, currency: currencyOf(currency) }),
    ...Object.fromEntries(
      Object.entries(accounts).map(([account, minor]) => [
        account,
        formatMoney({ minor, currency: currencyOf(currency) }),
      ]),
    ),
  }));
  const isSound = mismatches.length === 0;
  if (json) printJson({ ok: isSound, stores: totals, mismatches });
  else {
    // A file that cannot be read has no totals.
    if (isSound || totals.length > 0)
      printTable(
        totals.map(({ store, cards, transfers, outstanding, currency }) => ({
          store,
          cards,
          transfers,
          outstanding,
          currency,
        })),
        { none: 'There are no stores.' },
      );
    for (const mismatch of mismatches) print(describeMismatch(mismatch));
    print(isSound ? 'The ledger matches every balance.' : conclusionOf(mismatches));
  }
  if (mismatches.length > 0) process.exitCode = 1;
}

async function makeBackup(file: string, { json }: { json?: boolean }): Promise<void> {
  const target = resolve(file);
  const config = readDatabaseConfig();
  await using database = await openDatabase(config, { prepare: false });
  const { backup } = database.storage;
  if (!backup) throw new CommandError('a server is backed up with its own tools, such as pg_dump');
  assertCanMake(target);
  const unverified = `${target}.unverified`;
  // An earlier backup that was killed may have left its log, which does not belong to this copy.
  removeDatabase(unverified);
  await backup(unverified);
  const { mismatches } = await verifyDatabase(
    { ...config, database: { kind: 'file', file: unverified } },
    { prepare: false },
  );
  if (mismatches.length > 0) {
    for (const mismatch of mismatches) console.error(describeMismatch(mismatch));
    throw new CommandError(
      `the copy is damaged and remains at ${unverified}: run verify on the database itself`,
    );
  }
  await publish(unverified, target);
  try {
    await database.storage.write(() => recordBackup(database.ctx));
  } catch (error) {
    warn('The console does not show this backup', error);
  }
  if (json) printJson({ backup: target });
  else
    print(
      `Copied to ${target} and verified. The copy can be opened only with the key file, which it does not contain.`,
    );
}

async function vacuumFile({ json }: { json?: boolean }): Promise<void> {
  const config = readDatabaseConfig();
  const { database: location } = config;
  if (location.kind !== 'file')
    throw new CommandError('a server removes deleted rows with its own tools, such as VACUUM FULL');
  // Opens the database first, which checks its version.
  await using database = await openDatabase(config, { prepare: false });
  vacuum(location.file, database.ctx.clock.now());
  if (json) printJson({ database: location.file });
  else print(`${location.file} contains only its rows.`);
}

/** @throws CommandError if the database cannot be distributed. */
async function distribute({ storage }: Database): Promise<readonly string[]> {
  if (!storage.distribute)
    throw new CommandError('a file cannot be distributed: set DATABASE_URL to a server');
  try {
    return await storage.distribute();
  } catch (error) {
    if (error instanceof DistributionError) throw new CommandError(error.message, { cause: error });
    throw error;
  }
}

/** Prints a warning about a record that the result does not depend on. */
function warn(what: string, cause: unknown): void {
  const reason = cause instanceof Fault ? describeFault(cause) : String(cause);
  console.error(`${what}, because it could not be recorded: ${reason}`);
}

/** Renames a file once it is durable. @throws CommandError if the new name is taken. */
async function publish(file: string, name: string): Promise<void> {
  await syncOf(file);
  try {
    // This fails if the name is taken, on every file system; `rename` does not.
    await (await open(name, 'wx')).close();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST')
      throw new CommandError(`${name} already exists`, { cause: error });
    throw error;
  }
  await rename(file, name);
  await syncOf(dirname(name));
}

async function syncOf(path: string): Promise<void> {
  await using handle = await open(path);
  await handle.sync();
}

function conclusionOf(mismatches: readonly Mismatch[]): string {
  return mismatches.some(({ store }) => store !== null)
    ? 'The ledger does not match.'
    : 'The database is damaged.';
}
