/** Processes held to a share of a core by the kernel: smaller machines than the one at hand. */

import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Short, so that a process that has used up its share waits no longer than a request takes anyway. */
const periodMicros = 5_000;

/** Where control groups for the processor are, and the files that limit one: version 1, version 2. */
const hierarchies = [
  {
    root: '/sys/fs/cgroup/cpu',
    limits: (micros: number) => ({
      'cpu.cfs_period_us': `${periodMicros}`,
      'cpu.cfs_quota_us': `${micros}`,
    }),
  },
  { root: '/sys/fs/cgroup', limits: (micros: number) => ({ 'cpu.max': `${micros} ${periodMicros}` }) },
] as const;

/**
 * Holds each of the processes to a share of a core until it is disposed. They do not go back to the groups that they
 * came from, but to the outermost, since they end soon. Null where this user may not, or the system
 * has no control groups.
 */
export function holdToShare(pids: readonly number[], share: number): Disposable | null {
  for (const { root, limits } of hierarchies) {
    const stack = new DisposableStack();
    try {
      for (const pid of pids) {
        const group = join(root, `largesse-bench-${pid}`);
        mkdirSync(group);
        stack.defer(() => rmdirSync(group));
        for (const [file, value] of Object.entries(limits(share * periodMicros)))
          writeFileSync(join(group, file), value, { flag: 'r+' });
        writeFileSync(join(group, 'cgroup.procs'), `${pid}`, { flag: 'r+' });
        stack.defer(() => writeFileSync(join(root, 'cgroup.procs'), `${pid}`, { flag: 'r+' }));
      }
      return stack;
    } catch {
      // Not this hierarchy: the next, or none.
      stack.dispose();
    }
  }
  return null;
}
