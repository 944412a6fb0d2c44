/** The tools with which a page sets up the backups, tries one, and sends one to a browser. */

import type { BackupTools } from '../pages/tools.ts';
import { errorText } from '../../../platform/system-error.ts';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { parseBucketHost } from '../delivery/s3-target.ts';
import { BackupError, type Backup } from '../domain/backup.ts';
import { isWritableFolder, otherDisks, parseMounts } from '../../../platform/mounts.ts';
import { makeRecoveryKey, parseRecoveryKey, sheetIdOf } from '../platform/recovery-key.ts';
import type { Secret } from '../../../platform/secret.ts';
import { readBackupState, saveBackupTrial, type BackupTrial } from '../service/backups.ts';
import { assertFree, type BackupRuns, type ExclusiveWork } from './backups.ts';
import type { BackupParts } from './parts.ts';
import { targetOf } from './places.ts';
import { openOrder, runInThread } from './thread.ts';

export function backupToolsOf(parts: BackupParts, runs: BackupRuns): BackupTools {
  const { config, rule, operatorPlace, readMounts } = parts;
  const file = config.database.kind === 'file' ? config.database.file : '';
  return {
    rule,
    operatorPlace,
    listDisks: () =>
      otherDisks(file, parseMounts(readMounts())).map(({ path, source }) => ({
        path,
        source,
        isWritable: isWritableFolder(path),
      })),
    parseHost: parseBucketHost,
    makeSheet: makeRecoveryKey,
    sheetIdOf,
    parseKey: parseRecoveryKey,
    run: runs.run,
    isRunning: runs.isRunning,
    tryNewest: async (key) => await runs.alone(async (work) => await tryNewest(parts, work, key)),
    read: async (name) => await openToRead(parts, name),
  };
}

async function newestOf({ database, operatorPlace }: BackupParts) {
  const { settings, place, backups } = await database.storage.read(() => readBackupState(operatorPlace));
  const [newest] = backups;
  return place && newest && { settings, place, newest };
}

/** Opens the newest backup with a key, as after the loss of the machine, and removes it. */
async function tryNewest(
  parts: BackupParts,
  { files, signal }: ExclusiveWork,
  identity: Secret,
): Promise<BackupTrial | BackupError | null> {
  const { config, database, freeSpace } = parts;
  const { ctx, storage } = database;
  const found = await newestOf(parts);
  if (!found) return null;
  const { settings, place, newest } = found;
  try {
    await assertFree(parts, newest.bytes + newest.databaseBytes);
    const source = targetOf(parts, place, settings).read(newest.name);
    await pipeline(source, createWriteStream(files.sealed, { flags: 'wx', mode: 0o600 }), { signal });
    const databaseBytesMax = (await freeSpace?.()) ?? 2 * newest.databaseBytes;
    const opened = await runInThread(openOrder({ config, files, identity, databaseBytesMax }), signal);
    const { problem, stores } = opened;
    const trial = {
      triedAt: ctx.wallClock.now(),
      name: newest.name,
      problem: problem === 'newer' ? 'unreadable' : problem,
      stores: stores.slice(0, storesMax),
    };
    await storage.write(() => saveBackupTrial(trial));
    return trial;
  } catch (error) {
    if (error instanceof BackupError) return error;
    const message = errorText(error);
    return new BackupError('other', message, { cause: error });
  }
}

/** The stores whose totals a page shows. */
const storesMax = 20;

/** @returns undefined: it is not a backup at the place. @throws BackupError if its first bytes cannot be read. */
async function openToRead(
  parts: BackupParts,
  name: string,
): Promise<{ readonly backup: Backup; readonly content: AsyncIterable<Uint8Array> } | undefined> {
  const { database, operatorPlace } = parts;
  const { settings, place, backups } = await database.storage.read(() => readBackupState(operatorPlace));
  const backup = backups.find((each) => each.name === name);
  if (!backup || !place) return undefined;
  const source = targetOf(parts, place, settings).read(name)[Symbol.asyncIterator]();
  const first = await source.next().catch((error: unknown) => {
    if (error instanceof BackupError) throw error;
    throw new BackupError('diskMissing', errorText(error), {
      cause: error,
    });
  });
  return { backup, content: continued(first, source) };
}

async function* continued(
  first: IteratorResult<Uint8Array>,
  source: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    for (let part = first; part.done !== true; part = await source.next()) yield part.value;
  } finally {
    await source.return?.();
  }
}
