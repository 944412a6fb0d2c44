/** The tasks of a verification, which its threads share. */

import type { Words } from '../../../platform/chaskey.ts';
import type { Plan } from '../service/verify.ts';

/** Numbers that the threads of a verification share. */
export type SharedProgress = {
  /** One number: the place of the next task. */
  readonly next: Int32Array;
  /** By thread: the rows that it has read. Shared, because a thread reads no messages while it verifies. */
  readonly rowsRead: BigInt64Array;
};

export type ThreadData = {
  readonly file: string;
  readonly plan: Plan;
  readonly publicIdKey: Words;
  readonly externalIdKeys: readonly Uint8Array[];
  readonly mismatchesMax: number;
  /** Its place in `rowsRead`. */
  readonly thread: number;
  readonly progress: SharedProgress;
};

/** Returns the places of the tasks that no thread has begun, one at each call. */
export function nextTask({ tasks }: Plan, { next }: SharedProgress): () => number | undefined {
  return () => {
    const place = Atomics.add(next, 0, 1);
    return place < tasks.length ? place : undefined;
  };
}
