/** An upgrade that is killed at any moment leaves an executable that starts: the present one or the new one. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { startProgram } from '../support/programs.ts';
import { makeScratchFolder } from '../support/scratch.ts';
import { seeded } from '../support/seeded.ts';

const rounds = Number(process.env['UPGRADE_KILLS'] ?? 40);
const seed = Number(process.env['UPGRADE_KILLS_SEED'] ?? Date.now() % 1_000_000);
const upgrading = join(import.meta.dirname, '../../src/features/upgrade/cli/upgrading.ts');
const bytes = 16 * 2 ** 20;

/** A program of some size that says its version. */
function program(version: string): Buffer {
  const start = Buffer.from(`#!/bin/sh\necho ${version}\nexit 0\n`);
  return Buffer.concat([start, Buffer.alloc(bytes - start.length, '#\n')]);
}

test(`${rounds} kills during an upgrade leave an executable that starts`, async (t) => {
  const random = seeded(seed);
  const folder = makeScratchFolder('largesse-upgrades-');
  const path = join(folder, 'largesse');
  const next = program('2.0.0');
  const server = createServer((_request, response) => void response.end(next));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/largesse`;
  const file = { url, bytes, sha256: createHash('sha256').update(next).digest('hex') };
  const code = `import { upgrade } from ${JSON.stringify(upgrading)};
    const list = { version: '2.0.0', publishedAt: 0, expiresAt: 0, files: new Map([['any', ${JSON.stringify(file)}]]) };
    console.log('begins');
    await upgrade(list, { path: ${JSON.stringify(path)}, version: '1.0.0', platform: 'any' });`;
  const outcomes = { '1.0.0': 0, '2.0.0': 0 };
  for (let round = 0; round < rounds; round += 1) {
    writeFileSync(path, program('1.0.0'), { mode: 0o755 });
    await using upgrade = startProgram(process.execPath, ['--input-type=module', '--eval', code], {});
    await upgrade.written(/begins/, 30_000);
    await wait(random.between(0, 1_200));
    upgrade.kill('SIGKILL');
    await upgrade.ended();
    const version = execFileSync(path, { encoding: 'utf8' }).trim();
    assert.ok(version === '1.0.0' || version === '2.0.0', version);
    outcomes[version] += 1;
  }
  server.close();
  t.diagnostic(`UPGRADE_KILLS_SEED=${seed}: present ${outcomes['1.0.0']}, new ${outcomes['2.0.0']}`);
});
