/**
 * Writes lines to a file descriptor in order and in batches, without blocking the event loop. A failed write (no reader,
 * full disk) is retried until it succeeds. At most twice `waitingLengthMax` characters are kept in memory; further lines
 * are dropped and counted.
 */

// pino's own destination (sonic-boom) is not used, because it has no place for `beforeWrite`: with a reader that stops, a
// pipe that another process made blocking would stop the event loop (test/unit/log.test.ts).

import { fstatSync, write, writeSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';

export type LineWriter = {
  /** Appends a line, which ends with a line feed. */
  write(line: string): void;
  /** Writes the buffered lines. Resolves when they are written, or after `flushMaxMs`. */
  flush(): Promise<void>;
  /** Writes the buffered lines before the process exits. Blocks for at most `flushMaxMs`. */
  flushSync(): void;
};

export type LineLimits = {
  /** The number of buffered characters that starts a write. One write costs as much as dozens of lines. */
  readonly batchLength: number;
  /** Maximum number of bytes of one write, except for a longer line. */
  readonly writeBytesMax: number;
  /** Maximum number of characters that wait during a write. */
  readonly waitingLengthMax: number;
  /** The period of writes of batches that are not full. */
  readonly periodMs: number;
  /** The wait after a failed write starts at 1 ms and doubles up to this. */
  readonly retryMaxMs: number;
  readonly flushMaxMs: number;
  /** Called before each write to a pipe or socket, because another process can have made it blocking. */
  readonly beforeWrite: () => void;
};

export const lineLimits: LineLimits = {
  batchLength: 32_768,
  writeBytesMax: Number.POSITIVE_INFINITY,
  waitingLengthMax: 4_194_304,
  periodMs: 500,
  retryMaxMs: 100,
  flushMaxMs: 1_000,
  beforeWrite: () => undefined,
};

/** `flushSync` waits at most this time for the thread's write to end. */
const writeEndsWithinMs = 50;
const retrySyncMs = 5;

class BatchedLines implements LineWriter {
  readonly #fd: number;
  readonly #onDropped: (lines: number) => void;
  readonly #limits: LineLimits;
  readonly #usesThread: boolean;
  #waiting = '';
  #dropped = 0;
  /** The rest of the current write. */
  #rest: Uint8Array = Buffer.alloc(0);
  /** Resolves when the current write ends. */
  #writing: Promise<void> | undefined;

  constructor(fd: number, onDropped: (lines: number) => void, limits: LineLimits) {
    this.#fd = fd;
    this.#onDropped = onDropped;
    this.#limits = limits;
    const type = fstatSync(fd);
    // libuv's threads write to files and terminals; pipes and sockets are non-blocking.
    this.#usesThread = !type.isFIFO() && !type.isSocket();
    setInterval(() => this.#writeWaiting(), limits.periodMs).unref();
  }

  write(line: string): void {
    if (this.#waiting.length + line.length > this.#limits.waitingLengthMax) {
      this.#dropped += 1;
      return;
    }
    if (this.#dropped > 0) {
      const lines = this.#dropped;
      this.#dropped = 0;
      this.#onDropped(lines);
    }
    this.#waiting += line;
    if (this.#waiting.length >= this.#limits.batchLength) this.#writeWaiting();
  }

  async flush(): Promise<void> {
    const late = new AbortController();
    const timeout = wait(this.#limits.flushMaxMs, undefined, { signal: late.signal }).catch(() => undefined);
    await Promise.race([this.#drain(), timeout]);
    late.abort();
  }

  flushSync(): void {
    // The thread writes its batch completely or not at all, and cannot report the result to a process that exits.
    if (this.#writing && this.#usesThread) sleepSync(writeEndsWithinMs);
    const before = this.#usesThread ? Buffer.alloc(0) : this.#rest;
    writeAllSync(this.#fd, Buffer.concat([before, Buffer.from(this.#waiting)]), this.#limits);
    this.#rest = Buffer.alloc(0);
    this.#waiting = '';
  }

  async #writeRest(): Promise<void> {
    let retryMs = 1;
    while (this.#rest.length > 0) {
      try {
        const lines = firstLines(this.#rest, this.#limits);
        const count = this.#usesThread
          ? (await writeBytes(this.#fd, lines)).bytesWritten
          : writeNow(this.#fd, lines, this.#limits);
        this.#rest = this.#rest.subarray(count);
        retryMs = 1;
      } catch {
        await wait(retryMs, undefined, { ref: false });
        retryMs = Math.min(retryMs * 2, this.#limits.retryMaxMs);
      }
    }
  }

  #writeWaiting(): void {
    if (this.#writing || this.#waiting === '') return;
    this.#rest = Buffer.from(this.#waiting);
    this.#waiting = '';
    this.#writing = this.#writeRest().then(() => {
      this.#writing = undefined;
      if (this.#waiting.length >= this.#limits.batchLength) this.#writeWaiting();
    });
  }

  async #drain(): Promise<void> {
    for (this.#writeWaiting(); this.#writing; this.#writeWaiting()) await this.#writing;
  }
}

/**
 * @param fd a file, a terminal, or a non-blocking pipe or socket.
 * @param onDropped called with the number of dropped lines before the next line is accepted.
 */
export function lineWriter(
  fd: number,
  onDropped: (lines: number) => void,
  limits: LineLimits = lineLimits,
): LineWriter {
  return new BatchedLines(fd, onDropped, limits);
}

const writeBytes = promisify(write);

function writeNow(fd: number, bytes: Uint8Array, { beforeWrite }: LineLimits): number {
  beforeWrite();
  return writeSync(fd, bytes);
}

const lineFeed = 10;

/** The whole lines that one write can contain, or the first line. */
function firstLines(bytes: Uint8Array, { writeBytesMax }: LineLimits): Uint8Array {
  if (bytes.length <= writeBytesMax) return bytes;
  const last = bytes.lastIndexOf(lineFeed, writeBytesMax - 1);
  const end = last === -1 ? bytes.indexOf(lineFeed, writeBytesMax) : last;
  return end === -1 ? bytes : bytes.subarray(0, end + 1);
}

/** Retries while the reader is slow (EAGAIN), and returns on any other error. */
function writeAllSync(fd: number, bytes: Uint8Array, limits: LineLimits): void {
  const deadline = performance.now() + limits.flushMaxMs;
  let rest = bytes;
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeNow(fd, firstLines(rest, limits), limits));
    } catch (error) {
      const isFull = error instanceof Error && 'code' in error && error.code === 'EAGAIN';
      if (!isFull || performance.now() >= deadline) return;
      sleepSync(retrySyncMs);
    }
  }
}

function sleepSync(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
