/**
 * Makes sealed backups: copies and verifies the database, seals the copy with the key file, sends it to its place, reads it
 * back and compares it. Only then it counts. A process that ends at any moment leaves the earlier backups, and files next to
 * the database that the next start removes.
 */

import { errorText } from '../../../platform/system-error.ts';
import { existsSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { isMachineOfOwners } from '../../../core/stores/service/machine.ts';
import type { BackupTarget } from '../delivery/target.ts';
import { backupNameOf, BackupError, placeKey, type AnyPlace, type BackupTrouble } from '../domain/backup.ts';
import { backupsToRemove, isBackupDue, nextBackupAttempt } from '../domain/schedule.ts';
import { codeOf } from '../../../platform/error-code.ts';
import { sheetIdOf } from '../platform/recovery-key.ts';
import {
  deleteBackup,
  findBackupTimeZone,
  openMacKey,
  readBackupState,
  recordSealedBackup,
  saveBackupFailure,
  type BackupSettings,
  type BackupState,
} from '../service/backups.ts';
import { tryLockFile } from '../../../database/sqlite/file-lock.ts';
import type { BackupParts } from './parts.ts';
import { targetOf } from './places.ts';
import { BackupThreadError, leftFilesOf, runInThread, workFilesOf, type WorkFiles } from './thread.ts';

/** Work next to the database, of which only one runs over all processes. */
export type ExclusiveWork = {
  readonly files: WorkFiles;
  readonly signal: AbortSignal;
};

export type BackupRuns = {
  /** Makes a backup if one is due. */
  readonly runIfDue: () => Promise<void>;
  /** Makes a backup now, or waits for the one in progress. A failure is stored, and not thrown. */
  readonly run: () => Promise<void>;
  /** Whether this or another process makes a backup, or did so when it was killed. */
  readonly isRunning: () => boolean;
  /** Runs something else next to the database, after work in progress; null: another process does such work. */
  readonly alone: <Result>(work: (parts: ExclusiveWork) => Promise<Result>) => Promise<Result | null>;
  /** Removes what a killed process has left next to the database. */
  readonly removeLeft: () => Promise<void>;
  /** Ends work in progress. */
  readonly stop: () => Promise<void>;
};

/** The backups of a process. */
export type Backups = { readonly parts: BackupParts; readonly runs: BackupRuns };

/** Free space that remains, so that the service itself can write. */
const spareBytes = 64 * 2 ** 20;
/** Backups at places that are no longer used are forgotten after this time. */
const keptDays = 30;

export function backupRuns(parts: BackupParts): BackupRuns {
  const { config, database, rule, operatorPlace } = parts;
  const { ctx, storage } = database;
  const stopping = new AbortController();
  let running: Promise<unknown> | undefined;
  /** Whether work of any process, or of one that has ended, has left files. */
  const hasFiles = (): boolean =>
    config.database.kind === 'file' &&
    leftFilesOf(workFilesOf(config.database.file)).some((path) => existsSync(path));

  const alone: BackupRuns['alone'] = async (work) => {
    if (config.database.kind !== 'file') return null;
    while (running) await running.catch(() => undefined);
    const { file } = config.database;
    const done = (async () => {
      using lock = tryLockFile(`${file}.backup-lock`);
      if (!lock) return null;
      const files = workFilesOf(file);
      await removeLeft(files);
      try {
        return await work({ files, signal: stopping.signal });
      } finally {
        await removeLeft(files);
      }
    })();
    running = done;
    try {
      return await done;
    } finally {
      running = undefined;
    }
  };

  const run = async (): Promise<void> => {
    if (running) return void (await running.catch(() => undefined));
    const state = await storage.read(() => readBackupState(operatorPlace));
    const { settings, place } = state;
    if (place === null || settings.recipient === null || !(await storage.read(() => isMachineOfOwners(rule))))
      return;
    await alone(async (work) => {
      try {
        await makeBackup(parts, work, { ...state, place });
      } catch (error) {
        if (!stopping.signal.aborted) await recordFailure(parts, settings, error);
      }
    });
  };

  const runIfDue = async (): Promise<void> => {
    if (running) return;
    const { settings, place, backups } = await storage.read(() => readBackupState(operatorPlace));
    if (place === null || settings.recipient === null) return;
    const now = ctx.wallClock.now();
    // A time far ahead is from before the clock was set back.
    const isWaiting = settings.nextAt !== null && settings.nextAt > now && settings.nextAt - now < retryMaxMs;
    const timeZone = await storage.read(findBackupTimeZone);
    const last = backups[0]?.at ?? null;
    if (!isWaiting && isBackupDue(settings.rhythm, { last, now, timeZone })) await run();
  };

  return {
    runIfDue,
    run,
    alone,
    isRunning: () => running !== undefined || hasFiles(),
    async removeLeft() {
      if (hasFiles()) await alone(() => Promise.resolve());
    },
    async stop() {
      stopping.abort();
      await running?.catch(() => undefined);
    },
  };
}

const retryMaxMs = 6 * 60 * 60_000;

/** Removes what interrupted work has left. Only the owner of the lock calls it. */
async function removeLeft(files: WorkFiles): Promise<void> {
  for (const file of leftFilesOf(files)) await rm(file, { force: true });
}

/** @throws BackupError, or the error of the thread. */
async function makeBackup(
  parts: BackupParts,
  { files, signal }: ExclusiveWork,
  { settings, place }: BackupState & { readonly place: AnyPlace },
): Promise<void> {
  const { config, database, logger } = parts;
  const { ctx, storage } = database;
  const { recipient, sealedMacKey } = settings;
  if (recipient === null || sealedMacKey === null || config.database.kind !== 'file') return;
  const startedAt = ctx.wallClock.monotonic();
  const target = targetOf(parts, place, settings);
  await target.prepare();
  await assertFree(parts, 2 * statSync(config.database.file).size);
  const at = ctx.wallClock.now();
  const macKey = openMacKey(ctx, recipient, sealedMacKey);
  const sealed = await runInThread({ kind: 'seal', config, files, recipient, macKey, at } as const, signal);
  if (sealed.kind === 'damaged') throw new BackupError('damaged', sealed.problem);
  const name = backupNameOf(at, sheetIdOf(recipient));
  await target.put(name, { path: files.sealed, bytes: sealed.bytes, sha256: sealed.sha256 }, signal);
  const { bytes, databaseBytes } = sealed;
  const backup = { name, at, bytes, databaseBytes, verifiedAt: ctx.wallClock.now(), downloadedAt: null };
  await storage.write(() => recordSealedBackup(ctx, { place, backup, keptDays }));
  const tookMs = Math.round(ctx.wallClock.monotonic() - startedAt);
  logger.info(
    { place: placeKey(place), file: name, bytes, duration_ms: tookMs },
    'a backup was made and verified',
  );
  await removeOld(parts, target, place);
}

/** Removes old backups. A failure is logged: the next backup removes them. */
async function removeOld(
  { database: { ctx, storage }, operatorPlace, isClockTrusted, logger }: BackupParts,
  target: BackupTarget,
  place: AnyPlace,
): Promise<void> {
  // A wrong clock would remove all backups but the newest one.
  if (!isClockTrusted()) return;
  try {
    const { backups } = await storage.read(() => readBackupState(operatorPlace));
    const present = await target.list();
    const [newest] = backups;
    const removed =
      place.kind === 'download'
        ? present.filter((name) => name !== newest?.name)
        : backupsToRemove({ verified: backups, present }, Math.max(ctx.wallClock.now(), newest?.at ?? 0));
    const there = new Set(present);
    // A listed backup exists: it is removed from the list first.
    for (const { name } of backups)
      if (removed.includes(name) || !there.has(name))
        await storage.write(() => deleteBackup(placeKey(place), name));
    for (const name of removed) await target.remove(name);
  } catch (error) {
    logger.warn({ err: error }, 'old backups could not be removed');
  }
}

/** @throws BackupError if the disk of the database has not enough space for work next to it. */
export async function assertFree(
  { freeSpace }: Pick<BackupParts, 'freeSpace'>,
  bytes: number,
): Promise<void> {
  const free = await freeSpace?.();
  if (free !== undefined && free < bytes + spareBytes)
    throw new BackupError('noSpace', `${bytes + spareBytes} bytes are needed, and ${free} are free`);
}

const troubles: Readonly<Record<string, BackupTrouble>> = { ENOSPC: 'noSpace', EDQUOT: 'noSpace' };

async function recordFailure(
  { database: { ctx, storage }, logger }: BackupParts,
  { failures, trouble: before }: BackupSettings,
  error: unknown,
): Promise<void> {
  const trouble = error instanceof BackupError ? error.trouble : (troubles[codeOf(error)] ?? 'other');
  const response = errorText(error).slice(0, responseLengthMax);
  const now = ctx.wallClock.now();
  const byte = ctx.random.bytes(1)[0] ?? 0;
  const nextAt = nextBackupAttempt(failures + 1, { now, random: byte / 256 });
  const details = { trouble, response, failures: failures + 1, next: new Date(nextAt).toISOString() };
  // A place that stays unreachable is logged as an error once.
  if (trouble === before) logger.warn(details, 'the backup failed again');
  else
    logger.error(
      { ...details, ...(!(error instanceof BackupThreadError) && { err: error }) },
      'the backup failed',
    );
  await storage.write(() => saveBackupFailure({ trouble, response, failedAt: now, nextAt }));
}

const responseLengthMax = 500;
