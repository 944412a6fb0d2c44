/**
 * Schedules checkpoints, which move pages from the log into the file.
 *
 * A checkpoint waits for the disk for up to several hundred milliseconds, so a thread with its own connection
 * runs it (`sqlite/checkpoint-thread.ts`), and the engine continues to append to the log.
 *
 * The log restarts only when all of it is in the file, which constant writes prevent. So the engine pauses
 * writes for a few milliseconds when the log is long and its rest is short. If the file's sync takes longer,
 * writes resume. The next pause is up to twice as long and has less to sync. On a disk that is too slow for
 * such pauses, the log restarts when it is so long that writes wait for the whole checkpoint.
 */

import type { DatabaseSync } from 'node:sqlite';
import { isFatal } from './connection.ts';

/** State of the log: its frames, one page each, and those that are in the file. */
export type WalState = { readonly frames: number; readonly moved: number };

/**
 * Returns a function that runs a checkpoint without waiting for other connections (`passive`), one that also empties
 * the log (`truncate`), or none (`noop`), and returns the state of the log.
 */
export function checkpointing(database: DatabaseSync, mode: 'passive' | 'truncate' | 'noop'): () => WalState {
  const statement = database.prepare(`pragma wal_checkpoint(${mode})`);
  return () => {
    const row = statement.get();
    return { frames: Number(row?.['log']), moved: Number(row?.['checkpointed']) };
  };
}

export type Checkpointer = AsyncDisposable & {
  /** @throws Error if the checkpoint fails or the thread has ended. */
  checkpoint(): Promise<WalState>;
  /** Whether it can no longer run checkpoints. */
  readonly hasEnded: boolean;
};

export type Checkpoints = AsyncDisposable & {
  /** Runs a checkpoint if one is due. Called after commits. */
  readonly consider: () => void;
  /** Whether writes must wait until `resume`. */
  readonly isHolding: boolean;
};

/** Frames between two checkpoints: 16 MB. */
const stepFrames = 4_000;

/**
 * Frames from which on the log should restart: 64 MB. A restart costs a sync of the file and a pause of writes.
 * Before the first one the log grows, and syncing a growing file takes one and a half times as long.
 */
const longFrames = 16_000;

/** Frames from which on writes wait for the whole checkpoint, because the disk cannot keep up: 256 MB. */
const tooLongFrames = 4 * longFrames;

/** Maximum number of frames that are copied within a pause. */
const restFrames = 1_000;

/** Duration of the first pause, and the maximum of those that follow. */
const holdMs = 10;
const holdMaxMs = 1_000;

export function checkpointsOf(
  writer: DatabaseSync,
  {
    startCheckpointer,
    resume,
    failed,
  }: {
    /** Called before the first checkpoint. */
    readonly startCheckpointer: () => Checkpointer;
    /** Writes can continue. */
    readonly resume: () => void;
    readonly failed: (cause: unknown) => void;
  },
): Checkpoints {
  const look = checkpointing(writer, 'noop');
  let mover: Checkpointer | undefined;
  let isMoving = false;
  let isHolding = false;
  let patience: NodeJS.Timeout | undefined;
  let nextHoldMs = holdMs;
  /** Length of the log in frames at the last check, and the length at which a checkpoint is due. */
  let frames = 0;
  let due = stepFrames;

  const holdFor = ({ frames: length, moved }: WalState): void => {
    isHolding = length >= tooLongFrames || (length >= longFrames && length - moved <= restFrames);
    if (!isHolding || length >= tooLongFrames) return;
    patience = setTimeout(endHold, nextHoldMs);
    nextHoldMs = Math.min(nextHoldMs * 2, holdMaxMs);
  };

  const endHold = (): void => {
    clearTimeout(patience);
    if (!isHolding) return;
    isHolding = false;
    resume();
  };

  const move = async (log: WalState): Promise<void> => {
    isMoving = true;
    due = log.frames + stepFrames;
    holdFor(log);
    try {
      const { moved } = await (mover ??= startCheckpointer()).checkpoint();
      // If no reader of another process has limited the checkpoint, the next one of a long log is due
      // immediately.
      if (log.frames >= longFrames && moved >= log.frames) due = log.frames;
    } catch (error) {
      report(error);
    } finally {
      if (mover?.hasEnded) mover = inPlace(writer);
      isMoving = false;
      endHold();
    }
  };

  /**
   * Ignores temporary errors, such as a full disk or a checkpoint of another process. The next checkpoint
   * retries.
   */
  const report = (error: unknown): void => {
    if (isFatal(error)) failed(error);
  };

  const considerLog = (log: WalState): void => {
    if (log.frames < frames) {
      // The log has restarted.
      due = stepFrames;
      nextHoldMs = holdMs;
    }
    ({ frames } = log);
    // A log that is completely moved restarts with the next write, unless a reader uses it.
    if (frames >= due && log.moved < frames) void move(log);
  };

  return {
    consider() {
      if (isMoving) return;
      try {
        considerLog(look());
      } catch (error) {
        report(error);
      }
    },
    get isHolding() {
      return isHolding;
    },
    async [Symbol.asyncDispose]() {
      await mover?.[Symbol.asyncDispose]();
    },
  };
}

/** Replaces a checkpoint thread that has ended. It uses the engine's connection and blocks the engine. */
function inPlace(writer: DatabaseSync): Checkpointer {
  const move = checkpointing(writer, 'passive');
  return { checkpoint: async () => move(), hasEnded: false, async [Symbol.asyncDispose]() {} };
}
