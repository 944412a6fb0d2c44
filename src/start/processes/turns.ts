/** The order in which the processes of a service write to its file, kept by the process that supervises. */

import type { ProcessOrder } from './messages.ts';

/** Processes write in turns until none has waited for this time. */
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
  /** Ends a turn that takes too long, or the order when no process waits. */
  #timer: NodeJS.Timeout | undefined;

  /** @param send sends to one process; `sendAll` to each. */
  constructor(send: (process: number, order: ProcessOrder) => void, sendAll: (order: ProcessOrder) => void) {
    this.#send = send;
    this.#sendAll = sendAll;
  }

  want(process: number): void {
    this.#waiting.add(process);
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
    clearTimeout(this.#timer);
    const [next] = this.#waiting;
    this.#holder = next;
    if (next === undefined) {
      this.#timer = setTimeout(() => this.#setOrdered(false), calmMs);
      return;
    }
    this.#waiting.delete(next);
    this.#timer = setTimeout(() => this.#next(), turnMaxMs);
    this.#send(next, { type: 'turn-begun' });
  }

  #setOrdered(areOrdered: boolean): void {
    if (this.#isOrdered === areOrdered) return;
    this.#isOrdered = areOrdered;
    this.#sendAll({ type: 'turns', areOrdered });
  }
}
