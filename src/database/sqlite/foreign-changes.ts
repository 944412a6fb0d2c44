/** Commits of other processes to the same file, which caches do not know of. */

import { performance } from 'node:perf_hooks';
import type { Caches } from './cache.ts';
import { countedTables, type Connection } from './connection.ts';

export type ForeignChanges = {
  /** Whether another process can have committed since the last call. */
  readonly found: () => boolean;
  /**
   * Removes from the caches what other processes had changed when this turn of the event loop began. A turn first asks the
   * kernel which sockets have data, so one check, which takes 1 µs, covers all requests that it then reads.
   * @returns false if it is not known what they have changed.
   */
  readonly refreshed: () => boolean;
};

/**
 * The longest time for which caches are kept although another process has committed to other tables only. A program that is
 * not Largesse does not count its commits, so its changes are found after this time.
 */
const keptMaxMs = 1_000;

/** @param writer the writing connection, whose `data_version` ignores its own commits. */
export function foreignChanges(
  writer: Pick<Connection, 'foreignVersion' | 'countedVersion'>,
  caches: Pick<Caches, 'invalidateAll' | 'invalidateOthers'>,
): ForeignChanges {
  /** `data_version` at the last call of `found`; undefined: not checked, so the first read waits for a sync. */
  let version: unknown;
  /** `data_version` and `user_version` at the last refresh of the caches. */
  let cachedVersion: unknown;
  let countedVersion: unknown;
  /** When all caches were last emptied (ms), and whether some have been kept after a commit since. */
  let emptiedAt = Number.NEGATIVE_INFINITY;
  let isKept = false;
  /** The turn in which `refreshed` has last checked. */
  let checkedTurn = -1;

  const refresh = (now: unknown): void => {
    if (now === cachedVersion && !isKept) return;
    const isLate = performance.now() - emptiedAt >= keptMaxMs;
    if (now === cachedVersion && !isLate) return;
    const counted = writer.countedVersion();
    isKept = counted === countedVersion && !isLate;
    if (isKept) caches.invalidateOthers(countedTables);
    else {
      caches.invalidateAll();
      emptiedAt = performance.now();
    }
    [cachedVersion, countedVersion] = [now, counted];
  };
  return {
    found() {
      const before = version;
      version = writer.foreignVersion();
      refresh(version);
      return version !== before;
    },
    refreshed() {
      const turn = performance.nodeTiming.uvMetricsInfo.loopCount;
      if (turn === checkedTurn) return true;
      try {
        refresh(writer.foreignVersion());
        checkedTurn = turn;
        return true;
      } catch {
        // The next read fails with the same error, and reports it.
        return false;
      }
    },
  };
}
