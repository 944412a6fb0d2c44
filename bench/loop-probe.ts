/**
 * Loaded into a service with `--import`: measures the processor time of the turns of its event loop. On SIGUSR2, it writes the
 * longest turn since the last signal, in ms, to the file of LOOP_PROBE.
 */

import { renameSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const file = process.env['LOOP_PROBE'];
if (isMainThread && file !== undefined) {
  let before = process.threadCpuUsage();
  let longest = 0;
  setInterval(() => {
    const { user, system } = process.threadCpuUsage(before);
    before = process.threadCpuUsage();
    longest = Math.max(longest, (user + system) / 1_000);
  }, 1).unref();
  process.on('SIGUSR2', () => {
    writeFileSync(`${file}.new`, String(longest));
    renameSync(`${file}.new`, file);
    longest = 0;
  });
}
