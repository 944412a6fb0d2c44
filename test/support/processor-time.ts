/**
 * Writes the processor time of a process of `test/run.ts`, with that of the processes that it started, into the file that
 * `TEST_PROCESSOR_TIME` names. The runner loads it before the test files.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** Linux counts in hundredths of a second, and includes the processes that have ended. */
function processorSeconds(): number {
  if (process.platform === 'linux') {
    const fields = readFileSync('/proc/self/stat', 'utf8').replace(/^.*\) /s, '').split(' ').slice(11, 15); // prettier-ignore
    return fields.reduce((sum, field) => sum + Number(field), 0) / 100;
  }
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

const { TEST_PROCESSOR_TIME: file, TEST_RUNNER: runner } = process.env;
// Processes that a test starts inherit the variables.
if (isMainThread && file !== undefined && Number(runner) === process.ppid)
  process.once('exit', () => writeFileSync(file, String(processorSeconds())));
