/**
 * Runs of reports. A report is read in many small parts, so that a run can end between them: when all clients that wait
 * for it have left, or after `maxMs`. Equal reports that are requested at the same time share a run.
 */

import { ToolKey } from '../../../platform/tools.ts';
import type { Clock } from '../../../platform/clock.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { SumsSource } from './report-sums.ts';
import type { Storage } from '../../../database/storage.ts';
import type { Turns } from '../../../core/service/turns.ts';

/** A report that a client waits for. */
export type RequestedReport = {
  readonly store: Pick<Store, 'id' | 'domain' | 'timeZone' | 'accountNames'>;
  readonly name: string;
  /** The name of the function that makes it, and its parameters. */
  readonly made: readonly [by: 'operation' | 'page' | 'list', parameters: unknown];
  /** Whether it is of the past: what is committed from now on does not change it. */
  readonly isPast: boolean;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
};

/** The parts of a report, and the time at which its run began. */
export type ReportSource = Omit<SumsSource, 'store'>;

/** @throws Fault `overloaded` if the report takes too long or too many are running, and the errors of `make`. */
export type ReportRuns = <Made>(
  requested: RequestedReport,
  make: (source: ReportSource) => Promise<Made>,
) => Promise<Made>;

export const reportRunsTool = new ToolKey<ReportRuns>('reports');

type Run = {
  readonly isPast: boolean;
  readonly end: AbortController;
  readonly result: Promise<unknown>;
  hasBegun: boolean;
  waiting: number;
};

/** When the client of a report that took too long can try again. */
const retryAfterSeconds = 60;

type RunOptions = {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly storage: Pick<Storage, 'read'>;
  readonly turns: Turns;
  readonly maxMs: number;
  readonly runsMax: number;
  readonly tookTooLong: (report: Pick<RequestedReport, 'store' | 'name'>) => void;
};

class SharedRuns {
  readonly #options: RunOptions;
  /** The last run of each report. */
  readonly #lastOf = new Map<string, Run>();
  #running = 0;

  constructor(options: RunOptions) {
    this.#options = options;
  }

  async run<Made>(requested: RequestedReport, make: (source: ReportSource) => Promise<Made>): Promise<Made> {
    const { store, name, made, signal } = requested;
    if (signal.aborted) throw abandoned();
    const key = JSON.stringify([store.id, store.timeZone, store.accountNames, name, made]);
    const last = this.#lastOf.get(key);
    // A run that has begun may have missed what the client has written since, unless it is of the past.
    const run = last && (last.isPast || !last.hasBegun) ? last : this.#begin(key, requested, make);
    run.waiting += 1;
    const leave = (): void => {
      run.waiting -= 1;
      if (run.waiting > 0) return;
      run.end.abort();
      if (this.#lastOf.get(key) === run) this.#lastOf.delete(key);
    };
    signal.addEventListener('abort', leave, { once: true });
    try {
      // Only equal requests have the same key, so the result has the type of theirs.
      return (await run.result) as Made;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  /** Reads one part of a report per turn, as long as the run goes on. */
  #partsOf(
    { store, name }: Pick<RequestedReport, 'store' | 'name'>,
    signal: AbortSignal,
  ): Pick<Storage, 'read'> {
    const deadline = this.#options.clock.monotonic() + this.#options.maxMs;
    return {
      read: (script) =>
        this.#options.turns(async () => {
          if (signal.aborted) throw abandoned();
          if (this.#options.clock.monotonic() > deadline) {
            this.#options.tookTooLong({ store, name });
            throw new Fault('overloaded', { detail: tooLong, retryAfterSeconds });
          }
          return await this.#options.storage.read(script);
        }),
    };
  }

  #begin<Made>(key: string, requested: RequestedReport, make: (source: ReportSource) => Promise<Made>): Run {
    if (this.#running >= this.#options.runsMax) throw new Fault('overloaded', { retryAfterSeconds: 1 });
    this.#running += 1;
    const { isPast } = requested;
    const previous = this.#lastOf.get(key);
    const end = new AbortController();
    const work = async (): Promise<Made> => {
      // Equal requests that arrive before the first read still share the run.
      await previous?.result.catch(() => undefined);
      run.hasBegun = true;
      return await make({ storage: this.#partsOf(requested, end.signal), now: this.#options.clock.now() });
    };
    const result = Promise.resolve()
      .then(work)
      .finally(() => {
        this.#running -= 1;
        if (this.#lastOf.get(key) === run) this.#lastOf.delete(key);
      });
    const run: Run = { isPast, end, result, hasBegun: false, waiting: 0 };
    // No client receives the error of an abandoned run.
    result.catch(() => undefined);
    this.#lastOf.set(key, run);
    return run;
  }
}

/** @param options.tookTooLong is called for each run that ends after `maxMs`. */
export function reportRuns(options: RunOptions): ReportRuns {
  const runs = new SharedRuns(options);
  return (requested, make) => runs.run(requested, make);
}

const tooLong =
  'The report took too long, because many days are not summed yet. The service sums them in the background.';

/** Not sent, because the client has left. */
function abandoned(): Fault {
  return new Fault('overloaded', { retryAfterSeconds: 1 });
}
