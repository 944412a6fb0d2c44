/** The channel of a process that serves to the one that supervises it. */

import cluster from 'node:cluster';
import { AggregatorRegistry } from 'prom-client';
import { Fault } from '../../core/domain/fault.ts';
import type { WriteTurns } from '../../database/sqlite/write-lock.ts';
import type { Environment } from '../settings-reader.ts';
import type { EndReason, ProcessOrder, ProcessReport } from './messages.ts';

export type Channel = {
  /** The number of this process, from 1; it has it again after another start. */
  readonly number: number;
  /** Turns to write to the file. */
  readonly turns: WriteTurns;
  /** Reports that this process serves, and whether it stays alone until the next such report. */
  readonly serving: (isAlone: boolean) => void;
  /** Whether this process is alone, as far as it has reported. */
  readonly isAlone: () => boolean;
  readonly ending: (reason: EndReason) => void;
  /** Reports a commit to the other processes, at most every 25 ms. */
  readonly committed: () => void;
  /** Calls the listener after commits of other processes. */
  readonly onCommitted: (listener: () => void) => void;
  /** The metrics of all processes in the text format of Prometheus. @throws Fault `unavailable`: one does not report its own. */
  readonly metrics: () => Promise<string>;
  /** Lets this process end although the channel is open: it did not start. */
  readonly unref: () => void;
};

/** The variable with the number of a process. */
export const numberVariable = '_LARGESSE_PROCESS';

const committedApartMs = 25;

const silent = 'A process of the service did not report its metrics.';

/** Null: this process is not supervised. */
export function openChannel(environment: Environment): Channel | null {
  return cluster.isWorker ? new ProcessChannel(Number(environment[numberVariable])) : null;
}

class ProcessChannel implements Channel {
  readonly number: number;
  readonly turns: WriteTurns;
  readonly #waiting = new Map<number, PromiseWithResolvers<string>>();
  #lastId = 0;
  #areOrdered = false;
  #isAlone = false;
  #turnBegun = (): void => undefined;
  #othersCommitted = (): void => undefined;
  #isReporting = false;

  constructor(number: number) {
    this.number = number;
    // It responds to requests for metrics from now on, although there are none yet.
    new AggregatorRegistry();
    process.on('message', (order: ProcessOrder) => this.#follow(order));
    this.turns = {
      areOrdered: () => this.#areOrdered,
      want: () => this.#report({ type: 'turn-wanted' }),
      end: () => this.#report({ type: 'turn-ended' }),
      onTurn: (begun) => void (this.#turnBegun = begun),
    };
  }

  serving(isAlone: boolean): void {
    this.#isAlone = isAlone;
    this.#report({ type: 'serving', isAlone });
  }

  isAlone(): boolean {
    return this.#isAlone;
  }

  ending(reason: EndReason): void {
    this.#report({ type: 'ending', reason });
  }

  committed(): void {
    if (this.#isReporting) return;
    this.#isReporting = true;
    const report = (): void => {
      this.#isReporting = false;
      this.#report({ type: 'committed' });
    };
    setTimeout(report, committedApartMs).unref();
  }

  onCommitted(listener: () => void): void {
    this.#othersCommitted = listener;
  }

  metrics(): Promise<string> {
    this.#lastId += 1;
    const waiting = Promise.withResolvers<string>();
    this.#waiting.set(this.#lastId, waiting);
    this.#report({ type: 'metrics-wanted', id: this.#lastId });
    return waiting.promise;
  }

  unref(): void {
    process.channel?.unref();
  }

  #report(report: ProcessReport): void {
    // When the process that supervises has ended, Node.js ends this one.
    process.send?.(report, undefined, undefined, () => undefined);
  }

  #follow(order: ProcessOrder): void {
    switch (order.type) {
      case 'turns':
        this.#areOrdered = order.areOrdered;
        break;
      case 'turn-begun':
        this.#turnBegun();
        break;
      case 'ping':
        this.#report({ type: 'alive' });
        break;
      case 'committed':
        this.#othersCommitted();
        break;
      case 'metrics':
        this.#take(order.id, order.text);
        break;
    }
  }

  #take(id: number, text: string | null): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (text === null) waiting?.reject(new Fault('unavailable', { retryAfterSeconds: 1, detail: silent }));
    else waiting?.resolve(text);
  }
}
