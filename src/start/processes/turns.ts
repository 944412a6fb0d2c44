/** The order in which the processes of a service write to its file, kept by the process that supervises. */

import type { ProcessOrder } from './messages.ts';

/** Processes write in turns until none has waited for another for this time. */
const calmMs = 50;

/** The longest turn: the process can be suspended. */
const turnMaxMs = 2_000;

export class TurnOrder {
  readonly #send: (process: number, order: ProcessOrder) => void;
  readonly #sendAll: (order: ProcessOrder) => void;
  /** The processes that wait, in the order of their turns. */
  readonly #waiting = new Set<number>();
  #holder: number | undefined;
  #isOrdered = false;
  /** Whether no process has waited for another for a while. */
  #isCalm = true;
  /** Ends a turn that takes too long. */
  #late: NodeJS.Timeout | undefined;
  #calming: NodeJS.Timeout | undefined;

  /** @param send sends to one process; `sendAll` to each. */
  constructor(send: (process: number, order: ProcessOrder) => void, sendAll: (order: ProcessOrder) => void) {
    this.#send = send;
    this.#sendAll = sendAll;
  }

  want(process: number): void {
    this.#waiting.add(process);
    // The first one has waited for the lock of the file.
    if (!this.#isOrdered || (this.#holder !== undefined && this.#holder !== process)) this.#disturb();
    this.#setOrdered(true);
    if (this.#holder === undefined) this.#next();
  }

  end(process: number): void {
    if (this.#holder === process) this.#next();
  }

  /** A process has started, which does not know whether there are turns. */
  joined(process: number): void {
    if (this.#isOrdered) this.#send(process, { type: 'turns', areOrdered: true });
  }

  /** A process has ended. */
  left(process: number): void {
    this.#waiting.delete(process);
    this.end(process);
  }

  #next(): void {
    clearTimeout(this.#late);
    const [next] = this.#waiting;
    this.#holder = next;
    if (next === undefined) return this.#endOrder();
    this.#waiting.delete(next);
    this.#late = setTimeout(() => this.#next(), turnMaxMs);
    this.#send(next, { type: 'turn-begun' });
  }

  #disturb(): void {
    this.#isCalm = false;
    clearTimeout(this.#calming);
    this.#calming = setTimeout(() => {
      this.#isCalm = true;
      this.#endOrder();
    }, calmMs);
  }

  #endOrder(): void {
    if (this.#isCalm && this.#holder === undefined) this.#setOrdered(false);
  }

  #setOrdered(areOrdered: boolean): void {
    if (this.#isOrdered === areOrdered) return;
    this.#isOrdered = areOrdered;
    this.#sendAll({ type: 'turns', areOrdered });
  }
}
