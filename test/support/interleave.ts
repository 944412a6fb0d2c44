/**
 * Runs another script in the middle of a script: the effect of two transactions on a database where one sees
 * the commits of the other. Guarded statements must stay correct, whatever the script has read before.
 */

import type { Script } from '../../src/database/sql/sql.ts';

/** Runs a script, and all of another one after its first `after` steps have their rows. */
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
