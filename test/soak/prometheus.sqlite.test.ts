/** Prometheus accepts the rules and the queries of the dashboard, and the rules fire when they must. */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { dashboardQueries, rulesFile, rulesTestFile } from '../support/monitoring.ts';
import { runProgram } from '../support/programs.ts';
import { makeScratchFolder } from '../support/scratch.ts';

async function promtool(...args: readonly string[]): Promise<string> {
  const { code, output, errors } = await runProgram('promtool', args);
  assert.equal(code, 0, `${output}\n${errors}`);
  return `${output}\n${errors}`;
}

test('promtool accepts the rules, and their tests pass', async () => {
  assert.match(await promtool('check', 'rules', rulesFile), /SUCCESS: \d\d rules found/);
  assert.match(await promtool('test', 'rules', rulesTestFile), /SUCCESS/);
});

test('promtool accepts every query of the dashboard, and rejects another one', async () => {
  const folder = makeScratchFolder('largesse-promtool-');
  try {
    const file = join(folder, 'queries.yml');
    const write = (queries: readonly string[]): void => {
      const rules = queries.map((expr, place) => ({ record: `query_${place}`, expr }));
      // JSON is YAML.
      writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
    };
    const queries = dashboardQueries();
    write(queries);
    const checked = await promtool('check', 'rules', file);
    assert.ok(checked.includes(`SUCCESS: ${queries.length} rules found`), checked);
    write([...queries, 'sum(rate(x[5m])']);
    await assert.rejects(promtool('check', 'rules', file));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
