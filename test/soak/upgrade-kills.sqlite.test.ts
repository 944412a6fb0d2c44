/** An upgrade that is killed at any step leaves an executable that starts: the present one or the new one. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import test from 'node:test';
import { until } from '../support/delivering.ts';
import { startProgram } from '../support/programs.ts';
import { makeScratchFolder } from '../support/scratch.ts';

const upgrading = join(import.meta.dirname, '../../src/features/upgrade/cli/upgrading.ts');
const killedStep = join(import.meta.dirname, '../support/killed-step.ts');
const bytes = 2 ** 20;

/** A program of some size that says its version. */
function program(version: string): Buffer {
  const start = Buffer.from(`#!/bin/sh\necho ${version}\nexit 0\n`);
  return Buffer.concat([start, Buffer.alloc(bytes - start.length, '#\n')]);
}

test('a kill at each step of an upgrade leaves an executable that starts', async (t) => {
  const folder = makeScratchFolder('largesse-upgrades-');
  const path = join(folder, 'largesse');
  const next = program('2.0.0');
  let isStalled = true;
  const server = createServer((_request, response) => {
    if (isStalled) response.write(next.subarray(0, bytes / 2));
    else response.end(next);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/largesse`;
  const file = { url, bytes, sha256: createHash('sha256').update(next).digest('hex') };
  const code = `import { upgrade } from ${JSON.stringify(upgrading)};
    const list = { version: '2.0.0', publishedAt: 0, expiresAt: 0, files: new Map([['any', ${JSON.stringify(file)}]]) };
    await upgrade(list, { path: ${JSON.stringify(path)}, version: '1.0.0', platform: 'any' });`;
  /** Kills an upgrade before a step, or during its download. @returns whether it was killed, and the version that it leaves. */
  const killAt = async (step: number) => {
    writeFileSync(path, program('1.0.0'), { mode: 0o755 });
    const environment = { KILLED_STEP: String(step), KILLED_PATH: path };
    const args = ['--import', killedStep, '--input-type=module', '--eval', code];
    await using upgrade = startProgram(process.execPath, args, { environment });
    if (step === 0) {
      await until(() => (statSync(`${path}.next`, { throwIfNoEntry: false })?.size ?? 0) > 0);
      upgrade.kill('SIGKILL');
    }
    const { signal } = await upgrade.ended();
    return { isKilled: signal === 'SIGKILL', version: execFileSync(path, { encoding: 'utf8' }).trim() };
  };
  assert.deepEqual(await killAt(0), { isKilled: true, version: '1.0.0' });
  isStalled = false;
  const left: string[] = [];
  for (let step = 1; ; step += 1) {
    const { isKilled, version } = await killAt(step);
    left.push(version);
    if (!isKilled) break;
  }
  server.closeAllConnections();
  server.close();
  t.diagnostic(`after a kill before each step, and without one: ${left.join(', ')}`);
  // It removes what an earlier one has left, twice, links the present one, and renames both.
  assert.deepEqual(left, ['1.0.0', '1.0.0', '1.0.0', '1.0.0', '1.0.0', '2.0.0']);
});
