/**
 * Another script in the middle of a script: what two transactions do to each other where the database lets one see what
 * the other has just committed. Guarded statements have to hold there, whatever the script has read before.
 */

import type { Script } from '../../src/storage/sql.ts';

/** Runs a script and, once its first `after` steps have got their rows, all of another one before it goes on. */
export function* interrupted<T>(
  script: Script<T>,
  { after, by }: { readonly after: number; readonly by: () => Script<unknown> },
): Script<T> {
  let step = script.next([]);
  for (let steps = 1; step.done !== true; steps += 1) {
    const rows = yield step.value;
    if (steps === after) yield* by();
    step = script.next(rows);
  }
  return step.value;
}
