/** A storage whose process is killed. */

import type { Script } from '../../src/database/sql/sql.ts';
import type { Storage } from '../../src/database/storage.ts';

/** The storage of a process that is killed in the given write: before it, in it, or after its commit. */
export function dying(
  storage: Storage,
  { at, when }: { readonly at: number; readonly when: 'before' | 'inside' | 'after' },
): Storage {
  let writes = 0;
  return {
    ...storage,
    async write<T>(script: () => Script<T>) {
      writes += 1;
      if (writes !== at) return storage.write(script);
      if (when === 'before') throw new Error('killed');
      if (when === 'after') {
        await storage.write(script);
        throw new Error('killed');
      }
      return storage.write(function* stopped() {
        yield* script();
        throw new Error('killed');
      });
    },
  };
}
