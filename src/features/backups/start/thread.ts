/** The work of backups in a thread of its own, so that requests do not wait for it: copying, verifying, sealing, and opening. */

import type { Secret } from '../../../platform/secret.ts';
import { startThread } from '../../../platform/program-files.ts';
import type { BackupProblem } from '../platform/error.ts';
import { filesOfDatabase } from '../../../database/sqlite/restore.ts';
import type { DatabaseConfig } from '../../../start/config.ts';

/** The files that a backup makes next to the database, and removes. */
export type WorkFiles = { readonly copy: string; readonly sealed: string; readonly keys: string };

export function workFilesOf(database: string): WorkFiles {
  return {
    copy: `${database}.backup-copy`,
    sealed: `${database}.backup-sealed`,
    keys: `${database}.backup-keys`,
  };
}

/** All files that can be left, with those of SQLite. */
export function leftFilesOf({ copy, sealed, keys }: WorkFiles): readonly string[] {
  return [...filesOfDatabase(copy), sealed, keys];
}

export type SealOrder = {
  readonly kind: 'seal';
  readonly config: DatabaseConfig;
  readonly files: WorkFiles;
  readonly recipient: string;
  readonly macKey: Uint8Array;
  /** The time in the backup (ms since 1970 UTC). */
  readonly at: number;
};

export type OpenOrder = {
  readonly kind: 'open';
  readonly config: DatabaseConfig;
  readonly files: WorkFiles;
  readonly identity: string;
  readonly databaseBytesMax: number;
};

/** The totals of a store in a backup. */
type StoreInBackup = {
  readonly store: string;
  readonly currency: string;
  readonly cards: number;
  readonly outstanding: string;
};

export type SealReport =
  | {
      readonly kind: 'sealed';
      readonly bytes: number;
      readonly databaseBytes: number;
      readonly sha256: string;
    }
  /** The database itself is damaged. */
  | { readonly kind: 'damaged'; readonly problem: string };

export type OpenReport = {
  readonly kind: 'opened';
  /** `newer`: a later version of the program made it. */
  readonly problem: BackupProblem | 'mismatches' | 'unreadable' | 'newer' | null;
  /** When the backup was made, in ms; 0 if that is not known. */
  readonly at: number;
  readonly stores: readonly StoreInBackup[];
};

type Failure = { readonly kind: 'failed'; readonly code: string; readonly message: string };

export type ThreadReport = SealReport | OpenReport | Failure;

/** An error of the thread with the code of the system. */
export class BackupThreadError extends Error {
  override readonly name = 'BackupThreadError';
  readonly code: string;

  constructor({ code, message }: Omit<Failure, 'kind'>) {
    super(message);
    this.code = code;
  }
}

/** Runs an order in a thread. @throws BackupThreadError. @throws the reason of the signal. */
export async function runInThread<Order extends SealOrder | OpenOrder>(
  order: Order,
  signal: AbortSignal,
): Promise<Order['kind'] extends 'seal' ? SealReport : OpenReport> {
  signal.throwIfAborted();
  const worker = startThread('features/backups/start/thread-main', { name: 'backup', workerData: order });
  const { promise, resolve, reject } = Promise.withResolvers<ThreadReport>();
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', abort);
  worker.on('message', resolve);
  worker.on('error', reject);
  worker.on('exit', () =>
    reject(new BackupThreadError({ code: '', message: 'the thread of the backup ended' })),
  );
  try {
    const report = await promise;
    if (report.kind === 'failed') throw new BackupThreadError(report);
    // The thread reports what it was asked for.
    return report as Order['kind'] extends 'seal' ? SealReport : OpenReport;
  } finally {
    signal.removeEventListener('abort', abort);
    await worker.terminate();
  }
}

/** The identity of an order, which is sent to the thread as text. */
export function openOrder(
  order: Omit<OpenOrder, 'kind' | 'identity'> & { readonly identity: Secret },
): OpenOrder {
  return { ...order, kind: 'open', identity: order.identity.reveal() };
}
