/**
 * Runs of reports. A report is read in many small parts, so that a run can end between them: when all clients that wait
 * for it have left, or after `maxMs`. Equal reports that are requested at the same time share a run.
 */

import type { Clock } from '../../platform/clock.ts';
import { Fault } from '../../domain/fault.ts';
import type { Store } from '../../domain/stores/store.ts';
import type { SumsSource } from './report-sums.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Turns } from '../turns.ts';

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

type Run = {
  readonly isPast: boolean;
  readonly end: AbortController;
  readonly result: Promise<unknown>;
  hasBegun: boolean;
  waiting: number;
};

/** When the client of a report that took too long can try again. */
const retryAfterSeconds = 60;

/** @param tookTooLong is called for each run that ends after `maxMs`. */
export function reportRuns({
  clock,
  storage,
  turns,
  maxMs,
  runsMax,
  tookTooLong,
}: {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly storage: Pick<Storage, 'read'>;
  readonly turns: Turns;
  readonly maxMs: number;
  readonly runsMax: number;
  readonly tookTooLong: (report: Pick<RequestedReport, 'store' | 'name'>) => void;
}): ReportRuns {
  /** The last run of each report. */
  const lastOf = new Map<string, Run>();
  let running = 0;

  /** Reads one part of a report per turn, as long as the run goes on. */
  const partsOf = (
    { store, name }: Pick<RequestedReport, 'store' | 'name'>,
    signal: AbortSignal,
  ): Pick<Storage, 'read'> => {
    const deadline = clock.monotonic() + maxMs;
    return {
      read: (script) =>
        turns(async () => {
          if (signal.aborted) throw abandoned();
          if (clock.monotonic() > deadline) {
            tookTooLong({ store, name });
            throw new Fault('overloaded', { detail: tooLong, retryAfterSeconds });
          }
          return await storage.read(script);
        }),
    };
  };
  const begin = <Made>(
    key: string,
    requested: RequestedReport,
    make: (source: ReportSource) => Promise<Made>,
  ): Run => {
    if (running >= runsMax) throw new Fault('overloaded', { retryAfterSeconds: 1 });
    running += 1;
    const { isPast } = requested;
    const previous = lastOf.get(key);
    const end = new AbortController();
    const work = async (): Promise<Made> => {
      // Equal requests that arrive before the first read still share the run.
      await previous?.result.catch(() => undefined);
      run.hasBegun = true;
      return await make({ storage: partsOf(requested, end.signal), now: clock.now() });
    };
    const result = Promise.resolve()
      .then(work)
      .finally(() => {
        running -= 1;
        if (lastOf.get(key) === run) lastOf.delete(key);
      });
    const run: Run = { isPast, end, result, hasBegun: false, waiting: 0 };
    // No client receives the error of an abandoned run.
    result.catch(() => undefined);
    lastOf.set(key, run);
    return run;
  };

  return async <Made>(
    requested: RequestedReport,
    make: (source: ReportSource) => Promise<Made>,
  ): Promise<Made> => {
    const { store, name, made, signal } = requested;
    if (signal.aborted) throw abandoned();
    const key = JSON.stringify([store.id, store.timeZone, store.accountNames, name, made]);
    const last = lastOf.get(key);
    // A run that has begun may have missed what the client has written since, unless it is of the past.
    const run = last && (last.isPast || !last.hasBegun) ? last : begin(key, requested, make);
    run.waiting += 1;
    const leave = (): void => {
      run.waiting -= 1;
      if (run.waiting > 0) return;
      run.end.abort();
      if (lastOf.get(key) === run) lastOf.delete(key);
    };
    signal.addEventListener('abort', leave, { once: true });
    try {
      // Only equal requests have the same key, so the result has the type of theirs.
      return (await run.result) as Made;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  };
}

const tooLong =
  'The report took too long, because many days are not summed yet. The service sums them in the background.';

/** Not sent, because the client has left. */
function abandoned(): Fault {
  return new Fault('overloaded', { retryAfterSeconds: 1 });
}
