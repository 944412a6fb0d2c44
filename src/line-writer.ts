/**
 * Lines on their way to a file descriptor: gathered, and written many at a time, in the order in which they came
 * and each of them whole.
 *
 * The event loop writes none of them itself, so that a pipe whose reader is slow holds up no request. What cannot be
 * written is tried again until it can; meanwhile lines are kept up to a maximum, and counted beyond.
 */

import { write, writeSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';

export type LineWriter = {
  /** Takes a line, with the line feed that ends it. */
  write(line: string): void;
  /** Writes out what is in memory. Resolves when that is done, or takes too long. */
  flush(): Promise<void>;
  /** The same at once, for a process that is ending. */
  flushSync(): void;
};

export type LineLimits = {
  /** Written as soon as there are so many characters: each write costs as much as dozens of lines. */
  readonly batchLength: number;
  /** Kept at most, in characters. */
  readonly waitingLengthMax: number;
  /** Or written after so long. */
  readonly periodMs: number;
  readonly retryAfterMs: number;
  readonly flushMaxMs: number;
};

const usualLimits: LineLimits = {
  batchLength: 32_768,
  waitingLengthMax: 4_194_304,
  periodMs: 500,
  retryAfterMs: 100,
  flushMaxMs: 1_000,
};

/** How long a write that another thread has begun is given to end when the process does. */
const lastWriteMs = 50;

/** @param tellLost is told how many lines were lost, before the first line that is taken again. */
export function lineWriter(
  fd: number,
  tellLost: (lines: number) => void,
  limits: LineLimits = usualLimits,
): LineWriter {
  let waiting = '';
  let lost = 0;
  /** Settles when what is being written now is written. */
  let underWay: Promise<void> | undefined;

  const begin = (): void => {
    if (underWay || waiting === '') return;
    const bytes = Buffer.from(waiting);
    waiting = '';
    underWay = writeAll(fd, bytes, limits).then(() => {
      underWay = undefined;
      if (waiting.length >= limits.batchLength) begin();
    });
  };
  const drain = async (): Promise<void> => {
    for (begin(); underWay; begin()) await underWay;
  };
  setInterval(begin, limits.periodMs).unref();

  return {
    write(line) {
      if (waiting.length + line.length > limits.waitingLengthMax) {
        lost += 1;
        return;
      }
      if (lost > 0) {
        const lines = lost;
        lost = 0;
        tellLost(lines);
      }
      waiting += line;
      if (waiting.length >= limits.batchLength) begin();
    },
    async flush() {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, limits.flushMaxMs);
      await Promise.race([drain(), late]);
      clearTimeout(timer);
    },
    flushSync() {
      // What follows must not overtake it, and nobody can be told any more when it has ended.
      if (underWay) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lastWriteMs);
      writeAllSync(fd, Buffer.from(waiting));
      waiting = '';
    },
  };
}

const writeBytes = promisify(write);

/** Writes until all is written: whatever keeps it from being so (a full pipe or disk) may have passed the next time. */
async function writeAll(fd: number, bytes: Uint8Array, { retryAfterMs }: LineLimits): Promise<void> {
  let rest = bytes;
  while (rest.length > 0) {
    try {
      const { bytesWritten } = await writeBytes(fd, rest);
      rest = rest.subarray(bytesWritten);
    } catch {
      await wait(retryAfterMs, undefined, { ref: false });
    }
  }
}

function writeAllSync(fd: number, bytes: Uint8Array): void {
  let rest = bytes;
  try {
    while (rest.length > 0) rest = rest.subarray(writeSync(fd, rest));
  } catch {
    // The process ends, and has nobody else to tell.
  }
}
