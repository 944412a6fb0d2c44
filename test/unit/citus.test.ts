/** Tests on a Citus cluster, which are started by hand. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
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

test('the documentation has the result of the tests on Citus for this version', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
  const text = readFileSync('docs/deployment.md', 'utf8');
  const row = text.split('\n').find((line) => line.startsWith('| [Citus]')) ?? '';
  const advice =
    'run test/citus, and record its result with the version and the date (CONTRIBUTING.md, Release)';
  assert.match(row, new RegExp(` on \\d{4}-\\d{2}-\\d{2} with version ${RegExp.escape(version)},`), advice);
});
