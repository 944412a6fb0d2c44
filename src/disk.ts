/** How much space is left on a disk. */

import { statfs } from 'node:fs/promises';

/** Asked often, the system is asked once in this time. */
const cachedMs = 1_000;

export type FreeSpace = () => Promise<number | undefined>;

/**
 * The free bytes of the disk that a folder is on, as an ordinary account may use them; undefined where the system does
 * not say.
 */
export function freeSpaceOf(folder: string): FreeSpace {
  let askedAt = Number.NEGATIVE_INFINITY;
  let last: Promise<number | undefined> = Promise.resolve(undefined);
  let isAsking = false;
  return () => {
    const now = performance.now();
    // A disk that hangs is not asked a second time.
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
