/** A read whose result is cached. */

import type { Script } from '../sql/sql.ts';
import type { Connection } from './connection.ts';
import type { CacheEntry, Cache } from './cache.ts';

/** Runs a read and caches its result. */
export function readAgain<T>(
  { driveWatched }: Connection,
  {
    found,
    key,
    script,
  }: { readonly found: Cache<T>; readonly key: string; readonly script: () => Script<T | undefined> },
): CacheEntry<T> | undefined {
  const { result, tablesRead } = driveWatched(script());
  return result === undefined ? undefined : found.add(key, result, tablesRead);
}
