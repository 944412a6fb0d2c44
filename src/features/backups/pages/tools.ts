/** The tools of pages for backups and restores. */

import type { MachineRule } from '../../../core/stores/domain/machine.ts';
import type { Parsed } from '../../../platform/parsed.ts';
import type { Secret } from '../../../platform/secret.ts';
import { ToolKey } from '../../../platform/tools.ts';
import type { AnyPlace, Backup, BackupError } from '../domain/backup.ts';
import type { RestoreTools } from '../domain/restore.ts';
import type { RecoveryKey } from '../platform/recovery-key.ts';
import type { BackupTrial } from '../service/backups.ts';

/** The tools that set up the backups of the machine. */
export type BackupTools = {
  /** The people who may set them up. */
  readonly rule: MachineRule;
  /** The place of the operator; null: owners choose one. */
  readonly operatorPlace: AnyPlace | null;
  /** The disks other than that of the database. */
  readonly listDisks: () => readonly {
    readonly path: string;
    readonly source: string;
    readonly isWritable: boolean;
  }[];
  readonly parseHost: (text: string) => Parsed<{ readonly host: string; readonly port: number }>;
  readonly makeSheet: () => Promise<RecoveryKey>;
  readonly sheetIdOf: (recipient: string) => string;
  readonly parseKey: (text: string) => Promise<Parsed<RecoveryKey>>;
  /** Makes a backup now. A failure is stored, and not thrown. */
  readonly run: () => Promise<void>;
  readonly isRunning: () => boolean;
  /** Opens the newest backup and verifies it. Null: there is none, or other work with backups is in progress. */
  readonly tryNewest: (key: Secret) => Promise<BackupTrial | BackupError | null>;
  /** Undefined: there is no such backup. @throws BackupError if it cannot be read. */
  readonly read: (
    name: string,
  ) => Promise<{ readonly backup: Backup; readonly content: AsyncIterable<Uint8Array> } | undefined>;
};

/** Null: the database is on a server, whose operator backs it up. */
export const backupTool = new ToolKey<BackupTools | null>('backups');

/** Restores a backup before there is a shop; null: the database is on a server. */
export const restoreTool = new ToolKey<RestoreTools | null>('restore');
