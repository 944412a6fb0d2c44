/** The longer time limits of the suites that run on a Citus cluster. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import test from 'node:test';
import { limits } from '../../src/platform/limits.ts';

test('the suites on a cluster have six times the time for the database, and the other limits of the service', () => {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [
      `--import=${import.meta.resolve('../citus/patience.ts')}`,
      '--input-type=module',
      '--eval',
      `const { limits } = await import(${JSON.stringify(import.meta.resolve('../../src/platform/limits.ts'))});
       console.log(JSON.stringify(limits));`,
    ],
    { encoding: 'utf8' },
  );
  assert.equal(stderr, '');
  const { connectTimeoutMs, connectionWaitMaxMs, scriptMaxMs, lockWaitMaxMs, idleTransactionMaxMs } = limits;
  assert.deepEqual(JSON.parse(stdout), {
    ...limits,
    connectTimeoutMs: connectTimeoutMs * 6,
    connectionWaitMaxMs: connectionWaitMaxMs * 6,
    scriptMaxMs: scriptMaxMs * 6,
    lockWaitMaxMs: lockWaitMaxMs * 6,
    idleTransactionMaxMs: idleTransactionMaxMs * 6,
  });
});
