/** Properties whose random steps must include every kind of step. */

import assert from 'node:assert/strict';
import fc from 'fast-check';

const roundsMax = 6;

/**
 * Asserts a property, and repeats it with the next seeds until every kind of step was executed: a few runs can leave one
 * out.
 * @param done the kinds that the property has executed so far.
 */
export async function assertCovering<Inputs extends [unknown, ...unknown[]]>(
  property: fc.IAsyncProperty<Inputs> | fc.IAsyncPropertyWithHooks<Inputs>,
  { seed, numRuns }: { readonly seed: number; readonly numRuns: number },
  { kinds, done }: { readonly kinds: readonly string[]; readonly done: { has(kind: string): boolean } },
): Promise<void> {
  const missing = (): readonly string[] => kinds.filter((kind) => !done.has(kind));
  for (let round = 0; round === 0 || (missing().length > 0 && round < roundsMax); round += 1)
    await fc.assert(property, { numRuns, seed: seed + round });
  assert.deepEqual(missing(), [], 'kinds of steps that were never executed');
}
