/** The npm package: `npm pack`, an installation of the tarball in an empty folder, and a tour of it. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import test from 'node:test';
import { manifest, tour } from '../support/installed.ts';

const root = join(import.meta.dirname, '../..');

type Packed = {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
};

/** Limits that a forgotten folder exceeds: the tarball has about 1.8 MB, and 6.3 MB unpacked. */
const tarballMax = 2_200_000;
const unpackedMax = 7_000_000;

const npm = (folder: string, ...args: readonly string[]): string =>
  execFileSync('npm', args, {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      npm_config_prefer_offline: 'true',
      npm_config_fund: 'false',
      npm_config_audit: 'false',
    },
  });

test('npm pack makes a package that serves in an empty folder', async (t) => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'largesse-package-'));
  npm(root, 'run', 'build');
  const [packed] = JSON.parse(
    npm(root, 'pack', '--json', '--ignore-scripts', '--pack-destination', folder.path),
  ) as readonly Packed[];
  assert.ok(packed);

  await t.test('it contains the JavaScript and the files that it reads, and no sources', () => {
    const paths = packed.files.map(({ path }) => path);
    const expected = globSync('src/**/*.ts', { cwd: root }).map((path) =>
      path.replace(/^src/, 'dist').replace(/ts$/, 'js'),
    );
    const missing = [
      ...expected,
      ...globSync('src/storage/migrations/*', { cwd: root }).map((path) => path.replace(/^src/, 'dist')),
      'README.md',
      'LICENSE',
      'CHANGELOG.md',
    ].filter((path) => !paths.includes(path));
    assert.deepEqual(missing, []);
    assert.deepEqual(
      paths.filter((path) => !/^(?:bin|dist)\/|^(?:[A-Z]+(?:\.md)?|package\.json)$/.test(path)),
      [],
    );
    assert.deepEqual(
      paths.filter((path) => path.endsWith('.ts')),
      [],
    );
    assert.ok(
      packed.size < tarballMax && packed.unpackedSize < unpackedMax,
      JSON.stringify({ ...packed, files: '' }),
    );
  });

  const installation = join(folder.path, 'installation');
  writeFileSync(join(folder.path, 'package.json'), '{}');
  npm(folder.path, 'install', '--ignore-scripts', join(folder.path, packed.filename));
  assert.ok(!existsSync(join(folder.path, 'node_modules/node')), 'it does not install a Node.js');
  const environment = {
    // The Node.js of this process comes first.
    PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
    HOME: folder.path,
  };
  const version = execFileSync('npx', ['--no-install', 'largesse', '--version'], {
    cwd: folder.path,
    encoding: 'utf8',
    env: environment,
  });
  assert.equal(version, `${manifest.version}\n`);
  const command = [join(folder.path, 'node_modules/.bin/largesse')] as const;

  await t.test('it contains the tools for agents, with the client library', () => {
    const initialize = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    };
    const output = execFileSync(command[0], ['mcp'], {
      env: environment,
      input: `${JSON.stringify(initialize)}\n`,
      encoding: 'utf8',
    });
    assert.match(output, /"serverInfo":\{"name":"largesse"/);
  });
  await tour({ command, folder: installation, environment });
});
