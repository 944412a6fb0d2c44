/**
 * Cached results of reads. A write to a table invalidates the results that were read from it, so a process that
 * is notified of every write can use the cache instead of the database.
 */

export type Tables = ReadonlySet<string>;

/** A cached result. */
export type CacheEntry<T> = {
  readonly result: T;
  /** Whether the commits that the result depends on are durable. */
  isDurable: boolean;
};

/** Cached results of one kind of read, by key. */
export type Cache<T> = {
  find(key: string): CacheEntry<T> | undefined;
  /** Adds the result of a read of these tables, and returns its entry. A full cache evicts its oldest entry. */
  add(key: string, result: T, tables: Tables): CacheEntry<T>;
};

export type Caches = {
  open<T>(limits: { readonly entriesMax: number }): Cache<T>;
  /** Invalidates all results that were read from any of these tables. */
  invalidate(written: Tables): void;
  invalidateAll(): void;
  /** Invalidates the results of each cache that has read another table than these. */
  invalidateOthers(unchanged: Tables): void;
};

export function openCaches(): Caches {
  const opened: { readonly tablesRead: Set<string>; readonly entries: { clear(): void } }[] = [];
  return {
    open<T>({ entriesMax }: { readonly entriesMax: number }): Cache<T> {
      const entries = new Map<string, CacheEntry<T>>();
      const tablesRead = new Set<string>();
      opened.push({ entries, tablesRead });
      return {
        find: (key) => entries.get(key),
        add(key, result, tables) {
          const entry = { result, isDurable: false };
          const [oldest] = entries.keys();
          if (oldest !== undefined && entries.size >= entriesMax) entries.delete(oldest);
          entries.set(key, entry);
          for (const table of tables) tablesRead.add(table);
          return entry;
        },
      };
    },
    invalidate(written) {
      for (const { entries, tablesRead } of opened) if (!tablesRead.isDisjointFrom(written)) entries.clear();
    },
    invalidateAll() {
      for (const { entries } of opened) entries.clear();
    },
    invalidateOthers(unchanged) {
      for (const { entries, tablesRead } of opened) if (!tablesRead.isSubsetOf(unchanged)) entries.clear();
    },
  };
}
