/** A storage whose transactions have spans. */

import type { RunStep, Tracing } from '../platform/tracing.ts';
import type { Script } from './sql/sql.ts';
import type { Storage } from './storage.ts';

export function tracedStorage(storage: Storage, tracing: Tracing): Storage {
  return {
    ...storage,
    get queueDepth() {
      return storage.queueDepth;
    },
    read: (script) => tracing.transaction('read', () => storage.read(script)),
    write: (script, scope) =>
      tracing.enqueuing((begin) => storage.write(() => inSteps(script(), begin()), scope)),
    // Its messages are rolled back.
    dryRun: (script) => tracing.transaction('write', () => storage.dryRun(script)),
  };
}

/** Scripts of several requests take turns, so each step is executed in the context of its own transaction. */
function* inSteps<T>(script: Script<T>, run: RunStep): Script<T> {
  let step = run(() => script.next([]));
  while (step.done !== true) {
    const rows = yield step.value;
    step = run(() => script.next(rows));
  }
  return step.value;
}
