/** The backups that the service makes itself: who may set them up, what is known about them, and what is overdue. */

import { downloadOverdueMs, placeKey, sheetPeriodMs, type AnyPlace, type Backup } from '../domain/backup.ts';
import type { Context } from '../../../core/storage/context.ts';
import {
  deleteOtherBackups,
  findBackupSettings,
  findNewestBackup,
  listBackups,
  saveBackup,
  type BackupSettings,
} from '../storage/backup.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { findFirstOpenStore } from '../../../core/stores/storage/store.ts';
import { recordBackup } from '../../proofs/service/verification.ts';

export {
  deleteBackup,
  openBucketSecret,
  openMacKey,
  saveBackupFailure,
  saveBackupTrial,
  saveDownload,
  type BackupSettings,
  type BackupTrial,
} from '../storage/backup.ts';

/** More than are ever kept. */
const backupsListedMax = 100;

export type BackupState = {
  readonly settings: BackupSettings;
  /** The place of the operator, or else of an owner; null: none is chosen. */
  readonly place: AnyPlace | null;
  /** The verified backups there, the newest first. */
  readonly backups: readonly Backup[];
};

/** @param operatorPlace the place of `BACKUP_FOLDER`; null: owners choose. */
export function* readBackupState(operatorPlace: AnyPlace | null): Script<BackupState> {
  const settings = yield* findBackupSettings();
  const place = operatorPlace ?? settings.place;
  const backups = place === null ? [] : yield* listBackups(placeKey(place), backupsListedMax);
  return { settings, place, backups };
}

/** The time zone whose nights are quiet: that of a store. */
export function* findBackupTimeZone(): Script<string> {
  return (yield* findFirstOpenStore())?.store.timeZone ?? 'UTC';
}

/** Records a backup that was read back, for the pages, the metrics and the list of steps. */
export function* recordSealedBackup(
  ctx: Context,
  {
    place,
    backup,
    keptDays,
  }: { readonly place: AnyPlace; readonly backup: Backup; readonly keptDays: number },
): Script<void> {
  yield* saveBackup(placeKey(place), backup);
  yield* deleteOtherBackups(placeKey(place), ctx.wallClock.now() - keptDays * 24 * 60 * 60 * 1_000);
  yield* recordBackup(ctx);
}

/**
 * The task of an owner: to download a backup, of which none was downloaded for a week, or to look for the recovery
 * sheet, half a year after the last time. Null: nothing. The card about health says that a backup is overdue.
 */
export type BackupConcern = 'download' | 'sheet' | null;

/** Reads one row if no backups are set up. */
export function* findBackupConcern(
  { wallClock }: Pick<Context, 'wallClock'>,
  operatorPlace: AnyPlace | null,
): Script<BackupConcern> {
  const { recipient, sheetSeenAt, place, placeSetAt } = yield* findBackupSettings();
  if (recipient === null || sheetSeenAt === null) return null;
  const now = wallClock.now();
  if (now - sheetSeenAt > sheetPeriodMs) return 'sheet';
  if ((operatorPlace ?? place)?.kind !== 'download') return null;
  const { downloadedAt } = yield* findNewestBackup();
  return now - (downloadedAt ?? placeSetAt ?? now) > downloadOverdueMs ? 'download' : null;
}
