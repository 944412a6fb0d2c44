/** Commits of other processes to the same file, which caches do not know of. */

import { performance } from 'node:perf_hooks';
import type { Caches } from './cache.ts';
import type { Connection } from './connection.ts';

export type ForeignChanges = {
  /** Whether another process can have committed since the last call. If so, it empties the caches. */
  readonly found: () => boolean;
  /**
   * Whether no other process had committed since the last call of `found` when this turn of the event loop began. A
   * turn first asks the kernel which sockets have data, so one check, which takes 1 µs, covers all requests that it
   * then reads.
   */
  readonly noneInTurn: () => boolean;
};

/** @param writer the writing connection, whose `data_version` ignores its own commits. */
export function foreignChanges(
  writer: Pick<Connection, 'foreignVersion'>,
  caches: Pick<Caches, 'invalidateAll'>,
): ForeignChanges {
  /** `data_version` at the last check; undefined: not checked, so the first read waits for a sync. */
  let version: unknown;
  /** The turn in which `noneInTurn` last found no other version. */
  let checkedTurn = -1;
  return {
    found() {
      const before = version;
      version = writer.foreignVersion();
      if (version === before) return false;
      caches.invalidateAll();
      return true;
    },
    noneInTurn() {
      const turn = performance.nodeTiming.uvMetricsInfo.loopCount;
      if (turn === checkedTurn) return true;
      try {
        if (writer.foreignVersion() !== version) return false;
        checkedTurn = turn;
        return true;
      } catch {
        // The next read fails with the same error, and reports it.
        return false;
      }
    },
  };
}
