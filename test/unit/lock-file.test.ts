/** The lock file fixes the content of every package on every platform. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

type Entry = { readonly resolved?: string; readonly integrity?: string; readonly link?: boolean };

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  readonly packages: Readonly<Record<string, Entry>>;
};
const { workspaces } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly workspaces: readonly string[];
};
/** The packages that are installed: not this one, its workspaces and the links to them. */
const installed = Object.entries(packages).filter(
  ([path, { link, resolved = '' }]) => ![path, link ? resolved : path].some(isOwn),
);

function isOwn(path: string): boolean {
  return path === '' || workspaces.includes(path);
}

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
