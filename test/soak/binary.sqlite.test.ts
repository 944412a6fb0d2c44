/** The single executable: a build of it, and a tour in an empty folder without Node.js. */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempDisposableSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { tour } from '../support/installed.ts';

const builder = join(import.meta.dirname, '../../packaging/binary/build.ts');

test('the single executable serves in an empty folder without Node.js', { timeout: 280_000 }, async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'largesse-binary-'));
  const executable = join(folder.path, 'largesse');
  // Symbols are kept, because strip is not on every machine.
  execFileSync(process.execPath, [builder, '--no-strip', '--output', executable], { stdio: 'inherit' });
  const licences = readFileSync(`${executable}.licences.txt`, 'utf8');
  for (const name of ['Node.js', 'fastify', 'pg', 'zxing-wasm', 'nodemailer'])
    assert.match(licences, new RegExp(`^${name} v?\\d+\\.\\d+`, 'm'));
  assert.doesNotMatch(licences, /Licence: unknown/);
  const environment = { PATH: '/nonexistent', HOME: folder.path };
  const production = spawnSync(executable, ['serve'], {
    cwd: folder.path,
    env: { ...environment, NODE_ENV: 'production' },
    encoding: 'utf8',
  });
  assert.equal(production.status, 2, production.stderr);
  assert.match(production.stderr, /needs a store .*:\n {2}largesse store create/);
  await tour({ command: [executable], folder: join(folder.path, 'empty'), environment });
});
