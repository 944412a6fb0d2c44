/**
 * Delays responses until their data is durable: after a sync of the log that started after the commit.
 *
 * Connections use `synchronous = normal`, so a commit only appends to the write-ahead log. It is visible at
 * once, but a power failure can undo it. The sync runs outside the event loop. The next one covers all groups
 * committed during it.
 *
 * This is as safe as `synchronous = full`:
 * - SQLite itself syncs the log before a checkpoint, the file before the log restarts, and the log's new header
 *   (https://www.sqlite.org/pragma.html#pragma_synchronous). A commit that has left the log is durable in the
 *   file.
 * - The frames have a running checksum, so a power failure leaves a prefix of the commits.
 * - The log is not replaced while a connection is open, so its descriptor stays valid. SQLite has no locks on
 *   the log that closing a descriptor would drop (https://www.sqlite.org/howtocorrupt.html, 2.2).
 * - A sync covers the whole file, including earlier commits of other processes.
 *
 * A failed sync is not retried: the system may have dropped the pages that it could not write, and would report
 * success.
 */

import { close, fdatasync, fsync, open } from 'node:fs';
import { promisify } from 'node:util';

/**
 * Makes everything durable that was written to the log before the call.
 * @throws Error if the outcome is unknown.
 */
export type Sync = () => Promise<void>;

const openFile = promisify(open);
const closeFile = promisify(close);
// On macOS only `fsync` flushes the disk's cache (F_FULLFSYNC).
const syncData = promisify(process.platform === 'darwin' ? fsync : fdatasync);

/**
 * Syncs the log of a database. It opens the log at the first sync, because the log exists by then. Callbacks cost less
 * than a `FileHandle`.
 */
export function syncOfLog(file: string): Sync & AsyncDisposable {
  let log: number | undefined;
  const sync = async (): Promise<void> => {
    // Windows can only sync files that are open for writing.
    log ??= await openFile(`${file}-wal`, 'r+');
    await syncData(log);
  };
  const dispose = async (): Promise<void> => {
    if (log !== undefined) await closeFile(log);
  };
  return Object.assign(sync, { [Symbol.asyncDispose]: dispose });
}

/** Responses of scripts that have run. */
export type Callbacks = {
  readonly count: number;
  readonly give: () => void;
  /** Rejects the scripts, because their durability is unknown. */
  readonly reject: (cause: unknown) => void;
};

export type Durability = {
  /** Sends responses after a sync that starts from now on. */
  readonly afterNextSync: (responses: Callbacks) => void;
  /** Sends responses when everything that this engine has committed is durable; immediately if it is. */
  readonly afterOutstanding: (responses: Callbacks) => void;
  /** Rejects all waiting scripts and ignores the result of the current sync. */
  readonly stop: (cause: unknown) => void;
  readonly isSyncing: boolean;
  /** Number of scripts that wait for a sync. */
  readonly waiting: number;
};

/** @param observer called after each sync, and after a failed one, once all waiting scripts are rejected. */
export function durabilityBy(
  sync: Sync,
  observer: { readonly synced: () => void; readonly failed: (cause: unknown) => void },
): Durability {
  /** Responses that the current sync covers; undefined if none runs. */
  let covered: Callbacks[] | undefined;
  /** Responses of commits after the start of the current sync. */
  let uncovered: Callbacks[] = [];
  let waiting = 0;
  let isStopped = false;

  const begin = (): void => {
    covered = uncovered;
    uncovered = [];
    sync().then(ended, failed);
  };

  const ended = (): void => {
    if (isStopped) return;
    const durable = covered ?? [];
    covered = undefined;
    if (uncovered.length > 0) begin();
    for (const responses of durable) {
      waiting -= responses.count;
      responses.give();
    }
    observer.synced();
  };

  const failed = (cause: unknown): void => {
    stop(cause);
    observer.failed(cause);
  };

  const stop = (cause: unknown): void => {
    isStopped = true;
    waiting = 0;
    const rejected = [...(covered ?? []), ...uncovered];
    [covered, uncovered] = [undefined, []];
    for (const responses of rejected) responses.reject(cause);
  };

  return {
    afterNextSync(responses) {
      waiting += responses.count;
      uncovered.push(responses);
      if (!covered) begin();
    },
    afterOutstanding(responses) {
      if (!covered) return responses.give();
      waiting += responses.count;
      (uncovered.length > 0 ? uncovered : covered).push(responses);
    },
    stop,
    get isSyncing() {
      return covered !== undefined;
    },
    get waiting() {
      return waiting;
    },
  };
}
