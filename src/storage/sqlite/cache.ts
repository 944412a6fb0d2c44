/**
 * Cached results of reads. A write to a table invalidates the results that were read from it, so a process that
 * is notified of every write can use the cache instead of the database.
 */

export type Tables = ReadonlySet<string>;

/** Cached results of one kind of read, by key. */
export type Remembered<T> = {
  find(key: string): T | undefined;
  /** Adds the result of a read of these tables. A full cache evicts its oldest entry. */
  keep(key: string, found: T, tables: Tables): void;
};

export type Memories = {
  open<T>(limits: { readonly entriesMax: number }): Remembered<T>;
  /** Invalidates all results that were read from any of these tables. */
  forget(written: Tables): void;
  forgetAll(): void;
};

export function memories(): Memories {
  const opened: { readonly tablesRead: Set<string>; readonly entries: { clear(): void } }[] = [];
  return {
    open<T>({ entriesMax }: { readonly entriesMax: number }): Remembered<T> {
      const entries = new Map<string, T>();
      const tablesRead = new Set<string>();
      opened.push({ entries, tablesRead });
      return {
        find: (key) => entries.get(key),
        keep(key, found, tables) {
          const [oldest] = entries.keys();
          if (oldest !== undefined && entries.size >= entriesMax) entries.delete(oldest);
          entries.set(key, found);
          for (const table of tables) tablesRead.add(table);
        },
      };
    },
    forget(written) {
      for (const { entries, tablesRead } of opened) if (!tablesRead.isDisjointFrom(written)) entries.clear();
    },
    forgetAll() {
      for (const { entries } of opened) entries.clear();
    },
  };
}
