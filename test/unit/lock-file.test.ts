/** The lock file fixes the content of every package on every platform. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

type Entry = { readonly version?: string; readonly resolved?: string; readonly integrity?: string };

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  readonly packages: Readonly<Record<string, Entry>>;
};
const installed = Object.entries(packages).filter(([path]) => path !== '');

test('every package in the lock file has an integrity', () => {
  assert.ok(installed.length > 100, `only ${installed.length} packages`);
  const without = installed.filter(
    ([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''),
  );
  assert.deepEqual(
    without.map(([path]) => path),
    [],
  );
});

test('no package in the lock file names a registry', () => {
  assert.deepEqual(
    installed.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path),
    [],
  );
});
