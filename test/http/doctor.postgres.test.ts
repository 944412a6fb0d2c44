/** `largesse doctor` with a PostgreSQL server. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { checkDatabase } from '../../src/features/doctor/cli/database.ts';
import { readConfig } from '../../src/start/config.ts';
import { startService } from '../support/service.ts';

test('doctor examines a server without writing, and finds one that can lose changes or is unreachable', async () => {
  await using service = await startService();
  const config = readConfig(service.environment);
  const stateBefore = await service.state();
  const findings = await checkDatabase(config);
  assert.equal(await service.state(), stateBefore);
  const statuses = new Map(findings.map(({ check, status, message }) => [check, `${status}: ${message}`]));
  assert.match(statuses.get('key_file') ?? '', /^ok: /);
  assert.equal(statuses.get('clock'), 'ok: agrees with the clock of the server');
  assert.match(statuses.get('backup') ?? '', /^ok: the server is backed up with its own tools/);
  // The servers of tests run without fsync.
  const risks = findings.filter(({ check, status }) => check === 'durability' && status === 'warning');
  assert.ok(risks.some(({ message }) => message.startsWith('the server runs with fsync=off')));
  const inProduction = await checkDatabase({ ...config, isProduction: true });
  const durability = inProduction.find(({ check }) => check === 'durability');
  assert.deepEqual([durability?.status, /fsync=off/.test(durability?.message ?? '')], ['error', true]);

  const unreachable = readConfig({ DATABASE_URL: 'postgres://ann:hunter22@127.0.0.1:1/none' });
  const [finding, ...others] = await checkDatabase(unreachable);
  assert.deepEqual([finding?.check, finding?.status, others], ['database', 'error', []]);
  assert.ok(!JSON.stringify(finding).includes('hunter22'));
});
