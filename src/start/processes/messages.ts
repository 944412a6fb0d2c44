/** The messages between the process that supervises and those that serve. */

/** A message to the process that supervises. */
export type ProcessReport =
  /** The process serves. `isAlone`: until there is a store, because the steps before are in the memory of one process. */
  | { readonly type: 'serving'; readonly isAlone: boolean }
  /** The process ends for a reason that concerns all: the database cannot be trusted, or a backup is to be restored. */
  | { readonly type: 'ending'; readonly reason: EndReason }
  | { readonly type: 'turn-wanted' }
  | { readonly type: 'turn-ended' }
  | { readonly type: 'committed' }
  /** The response to `ping`. */
  | { readonly type: 'alive' }
  | { readonly type: 'metrics-wanted'; readonly id: number };

export type EndReason = 'failed' | 'restored';

/** A message to a process that serves. */
export type ProcessOrder =
  /** Whether processes write in turns from now on. */
  | { readonly type: 'turns'; readonly areOrdered: boolean }
  | { readonly type: 'turn-begun' }
  | { readonly type: 'ping' }
  /** Another process has committed. */
  | { readonly type: 'committed' }
  /** Null: a process did not report its own in time. */
  | { readonly type: 'metrics'; readonly id: number; readonly text: string | null };
