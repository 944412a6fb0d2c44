/**
 * When the pages in the log are moved into the file, and by whom.
 *
 * A *checkpoint* syncs the log, copies pages into the file, and syncs the file if that was all of the log: from some
 * to some hundred milliseconds of waiting for the disk. So a thread with a connection of its own does it
 * (`sqlite-checkpoint-thread.ts`), while the engine goes on writing to the end of the log.
 *
 * The log is written from its start again once all of it is in the file, and under constant writes there is always
 * something new at its end. So when it has become long and little of it is left to move, writes are held for a few
 * milliseconds. The first time that is enough to copy the rest, but not to sync a file of which much has changed:
 * writes go on, the sync ends, and the next time there is little left to sync, too. Writes are held twice as long
 * each time, so that it comes to an end on any disk.
 */

import type { DatabaseSync } from 'node:sqlite';
import { isFatal } from './sqlite-connection.ts';

/** The log, in frames of a page each: how many it has, and how many of them are in the file. */
export type Log = { readonly frames: number; readonly moved: number };

/** Moves what can be moved without waiting for anybody (`passive`), or nothing (`noop`), and tells how far the log is. */
export function checkpointing(database: DatabaseSync, mode: 'passive' | 'noop'): () => Log {
  const statement = database.prepare(`pragma wal_checkpoint(${mode})`);
  return () => {
    const row = statement.get();
    return { frames: Number(row?.['log']), moved: Number(row?.['checkpointed']) };
  };
}

/** Who moves pages. */
export type Mover = AsyncDisposable & {
  /** @throws Error if SQLite could not, or the mover has ended. */
  checkpoint(): Promise<Log>;
  /** It moves nothing any more. */
  readonly hasEnded: boolean;
};

export type Checkpoints = AsyncDisposable & {
  /** To be called when something was committed: has pages moved if it is time to. */
  readonly consider: () => void;
  /** Whether writes are to wait for a moment, until `resume`. */
  readonly isHolding: boolean;
};

/** A checkpoint every so many frames: 16 MB. */
const stepFrames = 4_000;

/**
 * From then on the log is to start over: 64 MB. Each time costs a sync of the file, and a moment in which writes are
 * held; but until the first time the log grows, and syncing a file that grows takes one and a half times as long.
 */
const longFrames = 16_000;

/** From then on writes wait for as long as moving takes: the disk cannot keep up with them. 256 MB. */
const tooLongFrames = 4 * longFrames;

/** So few frames are copied in a moment. */
const restFrames = 1_000;

/** How long writes are held for the first time. */
const holdMs = 10;

export function checkpointsOf(
  writer: DatabaseSync,
  {
    startMover,
    resume,
    failed,
  }: {
    /** Called when there is something to move for the first time. */
    readonly startMover: () => Mover;
    /** Writes need not wait any more. */
    readonly resume: () => void;
    /** The state of the file is unknown. */
    readonly failed: (cause: unknown) => void;
  },
): Checkpoints {
  const look = checkpointing(writer, 'noop');
  let mover: Mover | undefined;
  let isMoving = false;
  let isHolding = false;
  let patience: NodeJS.Timeout | undefined;
  let nextHoldMs = holdMs;
  /** The length of the log when it was last looked at, and the one at which a checkpoint is due. */
  let frames = 0;
  let due = stepFrames;

  const holdFor = ({ frames: length, moved }: Log): void => {
    isHolding = length >= tooLongFrames || (length >= longFrames && length - moved <= restFrames);
    if (!isHolding || length >= tooLongFrames) return;
    patience = setTimeout(endHold, nextHoldMs);
    nextHoldMs *= 2;
  };

  const endHold = (): void => {
    clearTimeout(patience);
    if (!isHolding) return;
    isHolding = false;
    resume();
  };

  const move = async (log: Log): Promise<void> => {
    isMoving = true;
    due = log.frames + stepFrames;
    holdFor(log);
    try {
      const { moved } = await (mover ??= startMover()).checkpoint();
      // Unless a reader in another process keeps it from moving more, a long log is followed until it is finished.
      if (log.frames >= longFrames && moved >= log.frames) due = log.frames;
    } catch (error) {
      told(error);
    } finally {
      if (mover?.hasEnded) mover = inPlace(writer);
      isMoving = false;
      endHold();
    }
  };

  /** What else keeps pages from being moved (a full disk, a checkpoint of another process) may have passed next time. */
  const told = (error: unknown): void => {
    if (isFatal(error)) failed(error);
  };

  const considerLog = (log: Log): void => {
    if (log.frames < frames) {
      // It has been started over.
      due = stepFrames;
      nextHoldMs = holdMs;
    }
    ({ frames } = log);
    if (frames >= due) void move(log);
  };

  return {
    consider() {
      if (isMoving) return;
      try {
        considerLog(look());
      } catch (error) {
        told(error);
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

/** Stands in for a thread that has died: moves pages on the engine's own connection, which stands still meanwhile. */
function inPlace(writer: DatabaseSync): Mover {
  const move = checkpointing(writer, 'passive');
  return {
    checkpoint: async () => move(),
    hasEnded: false,
    async [Symbol.asyncDispose]() {},
  };
}
