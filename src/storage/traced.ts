/** A storage whose transactions have spans. */

import type { Tracing } from '../tracing.ts';
import type { Storage } from './storage.ts';

export function tracedStorage(storage: Storage, tracing: Tracing): Storage {
  return {
    ...storage,
    get queueDepth() {
      return storage.queueDepth;
    },
    read: (script) => tracing.transaction('read', () => storage.read(script)),
    write: (script, scope) => tracing.transaction('write', () => storage.write(script, scope)),
    dryRun: (script) => tracing.transaction('write', () => storage.dryRun(script)),
  };
}
