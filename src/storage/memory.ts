/**
 * What reads found, kept for as long as it is true.
 *
 * A memory knows the tables that its reads looked at, and is emptied by whoever writes to one of them. So
 * nothing in it has to grow old: who is told of every write may ask it instead of the database.
 */

/** The names of tables. */
export type Tables = ReadonlySet<string>;

/** What reads of one kind found, by the key that tells them apart. */
export type Remembered<T> = {
  /** Undefined if it is to be read. */
  find(key: string): T | undefined;
  /** Keeps what a read found in these tables; where there is no room, what was kept first makes some. */
  keep(key: string, found: T, tables: Tables): void;
};

export type Memories = {
  open<T>(limits: { readonly entriesMax: number }): Remembered<T>;
  /** Forgets what was found in any of these tables. */
  forget(written: Tables): void;
  forgetAll(): void;
};

export function memories(): Memories {
  const opened: { readonly lookedAt: Set<string>; readonly entries: { clear(): void } }[] = [];
  return {
    open<T>({ entriesMax }: { readonly entriesMax: number }): Remembered<T> {
      const entries = new Map<string, T>();
      const lookedAt = new Set<string>();
      opened.push({ entries, lookedAt });
      return {
        find: (key) => entries.get(key),
        keep(key, found, tables) {
          const [oldest] = entries.keys();
          if (oldest !== undefined && entries.size >= entriesMax) entries.delete(oldest);
          entries.set(key, found);
          for (const table of tables) lookedAt.add(table);
        },
      };
    },
    forget(written) {
      for (const { entries, lookedAt } of opened) if (!lookedAt.isDisjointFrom(written)) entries.clear();
    },
    forgetAll() {
      for (const { entries } of opened) entries.clear();
    },
  };
}
