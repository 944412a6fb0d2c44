/** The free space of a disk. */

import { statfs } from 'node:fs/promises';

/** The time for which a result is cached. */
const cachedMs = 1_000;

export type FreeSpace = () => Promise<number | undefined>;

/**
 * Returns a function that reads how many bytes an unprivileged user can write to the disk of a folder; undefined if the
 * system does not report it.
 */
export function freeSpaceOf(folder: string): FreeSpace {
  let askedAt = Number.NEGATIVE_INFINITY;
  let last: Promise<number | undefined> = Promise.resolve(undefined);
  let isAsking = false;
  return () => {
    const now = performance.now();
    // While a call hangs, no second one is started.
    if (isAsking || now - askedAt < cachedMs) return last;
    askedAt = now;
    isAsking = true;
    last = statfs(folder)
      .then(
        ({ bavail, bsize }) => bavail * bsize,
        () => undefined,
      )
      .finally(() => (isAsking = false));
    return last;
  };
}
