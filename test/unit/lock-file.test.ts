/** The lock files fix the content of every package on every platform. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

type Entry = {
  readonly version?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly integrity?: string;
  readonly engines?: { readonly node?: string };
};

function packagesIn(file: string): readonly (readonly [string, Entry])[] {
  const { packages } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly packages: Readonly<Record<string, Entry>>;
  };
  // A link and its target are a package of this repository.
  return Object.entries(packages).filter(
    ([path, { link }]) => path.startsWith('node_modules/') && link !== true,
  );
}

const installed = [
  'package-lock.json',
  'generators/package-lock.json',
  'integrations/vendure/package-lock.json',
].flatMap(packagesIn);

test('every package in a lock file has an integrity', () => {
  assert.ok(installed.length > 100, `only ${installed.length} packages`);
  const without = installed.filter(
    ([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''),
  );
  assert.deepEqual(
    without.map(([path]) => path),
    [],
  );
});

test('no package in a lock file names a registry', () => {
  assert.deepEqual(
    installed.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path),
    [],
  );
});

test('npm ci on Node.js 20, which the README asks for, warns of no package', () => {
  const lowestOf = (range: string): number => Number(/\d+/.exec(range)?.[0] ?? 0);
  const newer = packagesIn('package-lock.json').filter(
    ([, { engines }]) =>
      !(engines?.node ?? '*')
        .split('||')
        .map(lowestOf)
        .some((major) => major <= 20),
  );
  assert.deepEqual(
    newer.map(([path]) => path),
    [],
  );
});
