/** The listeners that are called after every commit of this process. */

export type CommitListeners = {
  /** Calls `listener` after each commit. Returns the function that ends this. */
  readonly add: (listener: () => void) => () => void;
  readonly notify: () => void;
};

export function commitListeners(): CommitListeners {
  const listeners = new Set<() => void>();
  return {
    add(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    notify() {
      for (const listener of listeners) listener();
    },
  };
}
