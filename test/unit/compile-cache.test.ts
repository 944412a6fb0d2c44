/**
 * The compile cache of Node.js is stored for the next start, only its owner can read it, and it is optional.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';

const root = join(import.meta.dirname, '../..');
const cache = join(root, 'node_modules/.cache/largesse');

function version(environment: Readonly<Record<string, string>>): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, ['src/cli.ts', '--version'], {
    cwd: root,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], ...environment },
  });
  assert.equal(status, 0, stderr);
  assert.equal(stderr, '');
  return stdout;
}

test('a command stores the cache in node_modules, with access for its owner only', () => {
  const first = version({});
  const files = readdirSync(cache, { recursive: true, encoding: 'utf8' });
  assert.ok(files.length > 100, `${files.length} files`);
  for (const path of [cache, ...files.map((file) => join(cache, file))]) {
    assert.equal((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077, 0, path);
  }
  assert.equal(version({}), first);
});

test('a command works the same without the cache', () => {
  assert.equal(version({ NODE_DISABLE_COMPILE_CACHE: '1' }), version({}));
});
