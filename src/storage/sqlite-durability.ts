/**
 * When what is committed may be told: after a sync of the log that began behind the commit.
 *
 * The engine's connections commit with `synchronous = normal`: a commit appends to the write-ahead log and is
 * seen by everybody from then on, but a power failure may still undo it. What makes it durable is a sync of the
 * log, which runs beside the event loop. While one runs, further groups are committed; the next sync, which
 * begins when it ends, covers all of them at once.
 *
 * Why that is as good as `synchronous = full`:
 * - SQLite still syncs by itself whatever keeps the file whole: the log before its pages are moved into the file,
 *   the file before the log is written from its start again, and the header that it then gets (and with the first
 *   one the log's entry in its folder). See https://www.sqlite.org/pragma.html#pragma_synchronous. So a commit
 *   that is no longer in the log is durable in the file, whoever moved it there.
 * - The frames of the log carry a running checksum: after a power failure there is a prefix of the commits, in
 *   their order, and never a later one without an earlier one.
 * - The log is not removed, and no other file takes its name, while any connection is open, so that one descriptor
 *   stays good for as long as the engine's connections do. SQLite has no locks on it, which closing a descriptor
 *   would drop (https://www.sqlite.org/howtocorrupt.html, 2.2): they are on the database and the shared memory.
 * - A sync covers the file and not a process: what another process has committed before it began is durable, too.
 *
 * A sync that fails is never tried again: the system may have dropped the pages that it could not write, and would
 * report success the next time. Nobody knows then what is on the disk.
 */

import { type FileHandle, open } from 'node:fs/promises';

/** Makes durable whatever was written to the log before it was called. @throws Error if nobody knows whether it did. */
export type Sync = () => Promise<void>;

/** A sync of the log of this database. It is opened with the first sync: then it is there. */
export function syncOfLog(file: string): Sync & AsyncDisposable {
  let log: FileHandle | undefined;
  const sync = async (): Promise<void> => {
    // Windows flushes only what is open for writing.
    log ??= await open(`${file}-wal`, 'r+');
    // On macOS only this one reaches the medium (F_FULLFSYNC).
    if (process.platform === 'darwin') await log.sync();
    else await log.datasync();
  };
  return Object.assign(sync, { [Symbol.asyncDispose]: async () => log?.close() });
}

/** Scripts that have run and whose callers are to be told of it. */
export type Answers = {
  readonly count: number;
  readonly give: () => void;
  /** Nobody knows whether what they tell is durable. */
  readonly refuse: (cause: unknown) => void;
};

export type Durability = {
  /** Gives answers after a sync that begins from now on. */
  readonly afterNextSync: (answers: Answers) => void;
  /** Gives answers as soon as everything that this engine has committed is durable; at once, if it is. */
  readonly afterOutstanding: (answers: Answers) => void;
  /** Refuses all that wait; whatever comes of the sync under way, nobody is told any more. */
  readonly stop: (cause: unknown) => void;
  readonly isSyncing: boolean;
  /** How many scripts wait for their answers to be given. */
  readonly waiting: number;
};

/** @param told of each sync that has ended, and of one that failed, once all who wait are refused. */
export function durabilityBy(
  sync: Sync,
  told: { readonly synced: () => void; readonly failed: (cause: unknown) => void },
): Durability {
  /** What the sync under way covers; undefined if there is none. */
  let covered: Answers[] | undefined;
  /** What was committed after it had begun. */
  let uncovered: Answers[] = [];
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
    for (const answers of durable) {
      waiting -= answers.count;
      answers.give();
    }
    told.synced();
  };

  const failed = (cause: unknown): void => {
    stop(cause);
    told.failed(cause);
  };

  const stop = (cause: unknown): void => {
    isStopped = true;
    waiting = 0;
    const refused = [...(covered ?? []), ...uncovered];
    [covered, uncovered] = [undefined, []];
    for (const answers of refused) answers.refuse(cause);
  };

  return {
    afterNextSync(answers) {
      waiting += answers.count;
      uncovered.push(answers);
      if (!covered) begin();
    },
    afterOutstanding(answers) {
      if (!covered) return answers.give();
      waiting += answers.count;
      (uncovered.length > 0 ? uncovered : covered).push(answers);
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
