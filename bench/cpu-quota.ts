/** Processes limited to a share of a core by the kernel, to measure what a second process adds on a small machine. */

import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Short, so that a process that has used its share waits no longer than a request takes. */
const periodMicros = 5_000;

/** Control groups, version 1 and version 2: the folder, and the files that limit a group. */
const hierarchies = [
  {
    root: '/sys/fs/cgroup/cpu',
    limits: (micros: number) => ({ 'cpu.cfs_period_us': `${periodMicros}`, 'cpu.cfs_quota_us': `${micros}` }),
  },
  {
    root: '/sys/fs/cgroup',
    limits: (micros: number) => ({ 'cpu.max': `${micros} ${periodMicros}` }),
  },
] as const;

/** Limits each process until disposal, which moves it to the root group. Null if this user cannot do that. */
export function limitCpu(pids: readonly number[], share: number): Disposable | null {
  for (const { root, limits } of hierarchies) {
    const stack = new DisposableStack();
    const write = (path: string, text: string): void => writeFileSync(path, text, { flag: 'r+' });
    try {
      for (const pid of pids) {
        const group = join(root, `largesse-bench-${pid}`);
        mkdirSync(group);
        stack.defer(() => rmdirSync(group));
        for (const [file, value] of Object.entries(limits(share * periodMicros)))
          write(join(group, file), value);
        write(join(group, 'cgroup.procs'), `${pid}`);
        stack.defer(() => write(join(root, 'cgroup.procs'), `${pid}`));
      }
      return stack;
    } catch {
      // This hierarchy is missing or read-only: try the next.
      stack.dispose();
    }
  }
  return null;
}
