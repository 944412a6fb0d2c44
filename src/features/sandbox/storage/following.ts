/** The storage of a sandbox: each transaction reads its clock first, so it follows one that another process moves. */

import type { TestClock } from '../../../platform/clock.ts';
import { findOffset } from './sandbox.ts';
import type { Script } from '../../../database/sql/sql.ts';
import type { Storage } from '../../../database/storage.ts';

export function followingStorage(storage: Storage, testClock: TestClock): Storage {
  const following = <T>(script: () => Script<T>) =>
    function* follow(): Script<T> {
      testClock.follow(yield* findOffset());
      return yield* script();
    };
  return {
    ...storage,
    get queueDepth() {
      return storage.queueDepth;
    },
    read: (script) => storage.read(following(script)),
    write: (script, scope) => storage.write(following(script), scope),
    dryRun: (script) => storage.dryRun(following(script)),
  };
}
