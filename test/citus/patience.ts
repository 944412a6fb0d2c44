/**
 * Preloads the suites and the services that they start on a cluster (`node --import`) with longer time limits for the
 * database: all servers of the cluster share one machine, where an operation takes many times as long. Tests that
 * exceed a limit on purpose set their own.
 */

import { registerHooks } from 'node:module';

const limits = import.meta.resolve('../../src/platform/limits.ts');
const factor = 6;
const limit =
  /^  (connectTimeoutMs|connectionWaitMaxMs|scriptMaxMs|lockWaitMaxMs|idleTransactionMaxMs): ([\d_]+)/gm;
const limitsCount = 5;

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    const { source: bytes } = loaded;
    if (url !== limits || !bytes) return loaded;
    let changed = 0;
    const text = typeof bytes === 'string' ? bytes : new TextDecoder().decode(bytes);
    const source = text.replaceAll(limit, (_text, name: string, ms: string) => {
      changed += 1;
      return `  ${name}: ${Number(ms.replaceAll('_', '')) * factor}`;
    });
    if (changed !== limitsCount) throw new Error(`${changed} of ${limitsCount} limits are in ${limits}`);
    return { ...loaded, source };
  },
});
