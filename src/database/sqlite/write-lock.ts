/**
 * The write lock of a file, which one process has at a time. It is acquired without blocking the event loop.
 *
 * While no process waits long for another's transaction, each tries SQLite's lock at once. A process that finds it taken
 * several times asks for turns. From then on the processes of a service write one after another, so none of them polls and
 * each is served, until none has waited for a while. Turns only order the processes: SQLite's lock protects the file.
 */

import { performance } from 'node:perf_hooks';
import { isBusy, type Connection } from './connection.ts';

/** The order of the processes of a service, which another process keeps. */
export type WriteTurns = {
  /** Whether the processes write in turns now. */
  readonly areOrdered: () => boolean;
  /** Asks for a turn. */
  readonly want: () => void;
  /** Ends the turn of this process. */
  readonly end: () => void;
  /** Sets the function that is called when this process has its turn. */
  readonly onTurn: (begun: () => void) => void;
};

/** The period of attempts while another process has the lock: of one that is not part of this service, or of this one. */
const retryMs = { without: 10, with: 1 } as const;

/** The number of attempts without success after which a process asks for turns. */
const attemptsMax = 2;

/** The longest wait for a turn, because the process that has it, or the one that keeps the order, can be suspended. */
const turnMaxMs = 100;

export class WriteLock {
  readonly #writer: Pick<Connection, 'beginImmediate'>;
  readonly #turns: WriteTurns | null;
  readonly #waitMaxMs: number;
  readonly #retry: () => void;
  #timer: NodeJS.Timeout | undefined;
  /** When the first attempt failed (ms); undefined: the last one did not. */
  #since: number | undefined;
  #attempts = 0;
  #isWanted = false;
  #hasTurn = false;
  /** Whether a turn did not come in time, so the lock is tried without one. */
  #isLate = false;
  #turnBegun: (() => void) | undefined;

  /**
   * @param waitMaxMs the longest wait for the lock.
   * @param retry called when another attempt is due.
   */
  constructor(
    writer: Pick<Connection, 'beginImmediate'>,
    {
      turns,
      waitMaxMs,
      retry,
    }: { readonly turns: WriteTurns | null; readonly waitMaxMs: number; readonly retry: () => void },
  ) {
    this.#writer = writer;
    this.#turns = turns;
    this.#waitMaxMs = waitMaxMs;
    this.#retry = retry;
    turns?.onTurn(() => this.#beginTurn());
  }

  /** Whether `retry` will be called, so an attempt before that is useless. */
  get isWaiting(): boolean {
    return this.#timer !== undefined;
  }

  get hasTurn(): boolean {
    return this.#hasTurn;
  }

  /**
   * Begins a transaction with the lock. @returns false: `retry` is called later.
   * @throws the error of SQLite, or of a wait that took too long.
   */
  tryLock(): boolean {
    if (this.isWaiting) return false;
    if (this.#turns?.areOrdered() && !this.#hasTurn && !this.#isLate) {
      this.#want();
      this.#retryIn(turnMaxMs, () => (this.#isLate = true));
      return false;
    }
    try {
      this.#writer.beginImmediate();
    } catch (error) {
      this.#waitAfter(error);
      return false;
    }
    this.#since = undefined;
    return true;
  }

  /** Ends the turn of this process: after the transaction, or if there is nothing to write. */
  release(): void {
    this.#attempts = 0;
    this.#isLate = false;
    if (!this.#hasTurn) return;
    this.#hasTurn = false;
    this.#turns?.end();
  }

  /** Resolves when this process has a turn, which `release` ends, or has waited too long for one. */
  async takeTurn(): Promise<void> {
    if (!this.#turns || this.#hasTurn) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turnBegun = resolve;
    const late = setTimeout(resolve, turnMaxMs);
    this.#want();
    await promise;
    clearTimeout(late);
    this.#turnBegun = undefined;
  }

  /** @throws `error`, unless another process has the lock and this one has not waited too long. */
  #waitAfter(error: unknown): void {
    this.#since ??= performance.now();
    if (!isBusy(error) || performance.now() - this.#since >= this.#waitMaxMs) {
      this.#since = undefined;
      this.release();
      throw error;
    }
    this.#attempts += 1;
    if (this.#attempts > attemptsMax) this.#want();
    this.#retryIn(this.#turns ? retryMs.with : retryMs.without);
  }

  #want(): void {
    if (!this.#turns || this.#isWanted || this.#hasTurn) return;
    this.#isWanted = true;
    this.#turns.want();
  }

  #beginTurn(): void {
    this.#isWanted = false;
    this.#hasTurn = true;
    this.#turnBegun?.();
    this.#stopWaiting();
    this.#retry();
  }

  #retryIn(delayMs: number, before?: () => void): void {
    this.#timer = setTimeout(() => {
      this.#stopWaiting();
      before?.();
      this.#retry();
    }, delayMs);
  }

  #stopWaiting(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
