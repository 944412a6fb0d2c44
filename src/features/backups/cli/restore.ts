/** `largesse restore` */

import { errorText } from '../../../platform/system-error.ts';
import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { systemClock } from '../../../platform/clock.ts';
import { systemRandom } from '../../../platform/random.ts';
import { readDatabaseConfig, type DatabaseConfig } from '../../../start/config.ts';
import { makeFolder } from '../../../platform/folders.ts';
import {
  copyDurably,
  InUseError,
  isSqliteFile,
  lockFile,
  removeAbandonedCopies,
  replaceFile,
  reserveCopy,
  syncFile,
  type AbandonedCopies,
} from '../../../database/sqlite/restore.ts';
import { CommandError } from '../../../cli/failure.ts';
import { assertCanMake } from '../../../cli/new-file.ts';
import { print, printJson } from '../../../cli/output.ts';
import { describeMismatch, verifyDatabase, type VerifiedDatabase } from '../../proofs/cli/verifying.ts';

export function addRestoreCommand(root: Command): void {
  root
    .command('restore')
    .description('verify a backup and replace the database with it; stop the service first')
    .argument('<file>', 'the backup, which is not changed')
    .option('--replace', 'replace an existing database, and keep it under another name')
    .option('--json', 'print JSON')
    .action(
      async (backup: string, { replace = false, json = false }: { replace?: boolean; json?: boolean }) => {
        const config = readDatabaseConfig();
        const done = await restore(config, resolve(backup), replace);
        if (json) return printJson(done);
        for (const { store, cards, transfers } of done.stores)
          print(`${store}: ${cards} gift cards, ${transfers} transfers, every balance verified.`);
        print(`Restored ${done.backup} to ${done.database}, with the keys of ${done.keys_file}.`);
        if (done.kept.length > 0) print(`Kept the previous database: ${done.kept.join(', ')}.`);
        if (done.kept_is_damaged) print('SQLite cannot read the previous database.');
        return undefined;
      },
    );
}

type Restored = {
  readonly backup: string;
  readonly database: string;
  readonly keys_file: string;
  readonly stores: readonly Pick<VerifiedDatabase['stores'][number], 'store' | 'cards' | 'transfers'>[];
  /** The new paths of the previous database's files. */
  readonly kept: readonly string[];
  /** Whether SQLite could not read the previous database. Its log is then kept as a separate file. */
  readonly kept_is_damaged: boolean;
};

async function restore(config: DatabaseConfig, backup: string, mayReplace: boolean): Promise<Restored> {
  const { database, keysFile } = config;
  if (database.kind === 'server')
    throw new CommandError(
      'a server is restored with its own tools, such as pg_restore into an empty database',
    );
  const { file } = database;
  assertBackup(backup, file);
  const exists = existsSync(file);
  if (exists && !mayReplace)
    throw new CommandError(`${file} exists: use --replace, which keeps it under another name`);
  makeFolder(dirname(file));
  using locked = exists ? lock(file) : undefined;
  const copiedAt = nameOfNow();
  assertCanMake(`${file}.${copiedAt}`);
  reportAbandoned(removeAbandonedCopies(file));
  const like = exists ? file : dirname(file);
  using copy = reserveCopy(file, { at: copiedAt, random: randomName(), like });
  const { stores } = await copyVerified(backup, { config, temporary: copy.path, like });
  const kept = replaceFile(file, copy.path, `${file}.replaced-${nameOfNow()}`);
  return {
    backup,
    database: file,
    keys_file: keysFile,
    stores: stores.map(({ store, cards, transfers }) => ({ store, cards, transfers })),
    kept,
    kept_is_damaged: locked?.isDamaged ?? false,
  };
}

function reportAbandoned({ removed, left }: AbandonedCopies): void {
  if (removed.length > 0)
    console.error(`Removed the copies of a restore that was interrupted: ${removed.join(', ')}.`);
  if (left.length > 0)
    console.error(`Delete the copies of a restore that was interrupted: ${left.join(', ')}.`);
}

/** Makes a verified and durable copy. @throws CommandError with the reason why the backup cannot be restored. */
async function copyVerified(
  backup: string,
  options: { readonly config: DatabaseConfig; readonly temporary: string; readonly like: string },
): Promise<VerifiedDatabase> {
  const { config, temporary, like } = options;
  try {
    copyDurably(backup, temporary, like);
    const verification = await verifyCopy({ ...config, database: { kind: 'file', file: temporary } });
    if (verification.isSandbox)
      throw new Error('it is of a sandbox, whose gift cards have no value: a sandbox is never restored');
    const [first, ...rest] = verification.mismatches;
    if (first) {
      const others = rest.length > 0 ? `, and ${rest.length} more problems` : '';
      throw new Error(`it is damaged: ${describeMismatch(first)}${others}`);
    }
    syncFile(temporary);
    return verification;
  } catch (error) {
    const reason = errorText(error).replaceAll(temporary, backup);
    throw new CommandError(`${backup} was not restored, and the database was not changed: ${reason}`, {
      cause: error,
    });
  }
}

function randomName(): string {
  return Buffer.from(systemRandom(systemClock).bytes(4)).toString('hex');
}

/** @throws CommandError if the file is not a backup, or is the database itself. */
function assertBackup(backup: string, file: string): void {
  const status = statSync(backup, { throwIfNoEntry: false });
  if (!status?.isFile()) throw new CommandError(`there is no file ${backup}`);
  const current = statSync(file, { throwIfNoEntry: false });
  if (current && current.ino === status.ino && current.dev === status.dev)
    throw new CommandError(`${backup} is the database itself`);
  if ((statSync(`${backup}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0)
    throw new CommandError(`${backup}-wal exists: ${backup} is in use or is not a finished backup`);
  if (!isSqliteFile(backup)) throw new CommandError(`${backup} is not a SQLite database`);
}

function lock(file: string): ReturnType<typeof lockFile> {
  try {
    return lockFile(file);
  } catch (error) {
    if (error instanceof InUseError) throw new CommandError(error.message, { cause: error });
    throw error;
  }
}

/** Verifies a copy with the configured keys. A copy of an earlier version is migrated, as the service would do. */
async function verifyCopy(config: DatabaseConfig): Promise<VerifiedDatabase> {
  if (!existsSync(config.keysFile))
    throw new Error(
      `the key file ${config.keysFile} is missing: put back the one that the backup was made with, or set KEYS_FILE`,
    );
  return await verifyDatabase(config, { prepare: true });
}

/** The current time for file names: `20261121T070203Z`. */
function nameOfNow(): string {
  return new Date(systemClock.now()).toISOString().replaceAll(/[-:]|\.\d+/g, '');
}
