/**
 * Runs one script of a group, whose scripts share a transaction (docs/decisions/embedded-engine.md).
 *
 * If a script throws, only its own changes must be undone. Scripts rarely throw after they have written, so
 * they run without savepoints. If one does, the whole group is rolled back and runs again with savepoints.
 */

import { Fault } from '../../core/domain/fault.ts';
import { RetryTransaction, rerunsMax } from '../sql/sql.ts';
import { type Connection, isKeyTaken, isStorageFailure, isOfClosedStore } from './connection.ts';
import { storeClosed } from '../../core/stores/storage/store.ts';

export type GroupedScript = {
  /** Runs the script. The returned function resolves the caller's promise after the sync. */
  readonly attempt: (connection: Connection) => () => void;
  readonly reject: (cause: unknown) => void;
  /** Whether it rolls itself back, which requires a savepoint. */
  readonly isDryRun: boolean;
};

/** A script without a savepoint threw after it had written. */
export class GroupAborted extends Error {
  override readonly name = 'GroupAborted';
}

/** The caller's error. */
function faultOf(error: unknown): unknown {
  return isOfClosedStore(error) ? storeClosed(error) : error;
}

/**
 * Runs one job in its group's transaction.
 * @returns a function that settles the caller's promise.
 * @throws GroupAborted, or the error of a failed database: the group must be rolled back.
 */
export function attempt(
  job: GroupedScript,
  connection: Connection,
  { withSavepoint, reruns = 0 }: { readonly withSavepoint: boolean; readonly reruns?: number },
): () => void {
  if (withSavepoint) connection.savepoint();
  try {
    const settle = job.attempt(connection);
    if (withSavepoint) connection.release();
    return settle;
  } catch (error) {
    // SQLite rolls back the whole transaction on some errors.
    if (isStorageFailure(error) || !connection.database.isTransaction) throw error;
    if (withSavepoint) {
      connection.undoToSavepoint();
      connection.release();
    } else if (connection.hasWritten) throw new GroupAborted('undone with its group', { cause: error });
    const isRerun = error instanceof RetryTransaction || isKeyTaken(error);
    if (isRerun && reruns < rerunsMax) return attempt(job, connection, { withSavepoint, reruns: reruns + 1 });
    // Every attempt was undone, so the script has not changed anything.
    return () =>
      job.reject(isRerun ? new Fault('overloaded', { retryAfterSeconds: 1, cause: error }) : faultOf(error));
  }
}

/** Rejects a group whose durability is unknown, with `unavailable` for every disk error. */
export function rejectUnknown(group: readonly GroupedScript[], cause: unknown): void {
  const fault = unavailable(cause);
  for (const job of group) job.reject(fault);
}

export function unavailable(cause: unknown): Fault {
  return new Fault('unavailable', { retryAfterSeconds: 1, cause });
}
