/**
 * One script of a group: the scripts that share a transaction of the embedded engine.
 *
 * What a script throws is its own answer and leaves the rest of the group alone, so what it has written is undone. A
 * savepoint for each script would do that, but hardly any script throws once it has written: those that are refused
 * by a guard have not. So scripts run without one. Where one is missed the group is spoiled: it is undone as a whole,
 * and run again with savepoints.
 */

import { Fault } from '../domain/fault.ts';
import { Rerun, rerunsMax } from './sql.ts';
import { isKeyTaken, isStorageFailure, type Connection } from './sqlite-connection.ts';

/** A queued script. */
export type Job = {
  /** Runs it, and returns what answers its caller once the group is durable. */
  readonly attempt: (connection: Connection) => () => void;
  readonly refuse: (cause: unknown) => void;
  /** Whether it undoes itself, for which it needs a savepoint. */
  readonly isRehearsal: boolean;
};

/** A script threw after it had written, and had no savepoint. */
export class Spoiled extends Error {
  override readonly name = 'Spoiled';
}

/**
 * Runs one job, in the transaction of its group.
 * @returns what answers its caller, whatever the script came to.
 * @throws Spoiled, or the error of a database that could not do its work: then nothing of the group may be kept.
 */
export function attempt(
  job: Job,
  connection: Connection,
  { withSavepoint, reruns = 0 }: { readonly withSavepoint: boolean; readonly reruns?: number },
): () => void {
  if (withSavepoint) connection.savepoint();
  try {
    const settle = job.attempt(connection);
    if (withSavepoint) connection.release();
    return settle;
  } catch (error) {
    // SQLite gives up the whole transaction on some errors: then there is no group left to save.
    if (isStorageFailure(error) || !connection.database.isTransaction) throw error;
    if (withSavepoint) {
      connection.undoToSavepoint();
      connection.release();
    } else if (connection.hasWritten) throw new Spoiled('undone with its group', { cause: error });
    const isRerun = error instanceof Rerun || isKeyTaken(error);
    if (isRerun && reruns < rerunsMax) return attempt(job, connection, { withSavepoint, reruns: reruns + 1 });
    // The script was undone every time, so nothing of it was kept.
    const refusal = isRerun ? new Fault('overloaded', { retryAfterSeconds: 1, cause: error }) : error;
    return () => job.refuse(refusal);
  }
}
