/** The npm package: `npm pack`, an installation of the tarball in an empty folder, and a tour of it. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  globSync,
  mkdirSync,
  mkdtempDisposableSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { manifest, tour } from '../support/installed.ts';
import { startProgram } from '../support/programs.ts';

const root = join(import.meta.dirname, '../..');

type Packed = {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
};

/** Limits that a forgotten folder exceeds: the tarball has about 4.3 MB, and 14.4 MB unpacked. */
const tarballMax = 4_900_000;
const unpackedMax = 16_500_000;

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
    npm(folder.path, 'pack', '--json', '--ignore-scripts', join(root, 'build/npm')),
  ) as readonly Packed[];
  assert.ok(packed);

  await t.test('it contains the program, the files that it reads, and no sources', () => {
    const paths = packed.files.map(({ path }) => path);
    const missing = [
      'dist/cli.js',
      'dist/licences.txt',
      ...globSync('src/database/migrations/*', { cwd: root }).map((path) => path.replace(/^src/, 'dist')),
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
  const guide = readFileSync(join(root, 'docs/install.md'), 'utf8');
  const [, install = ''] = /<!-- test: install -->\n+```sh\n([^]*?)```/.exec(guide) ?? [];
  const [documented = '', start] = install.trim().split('\n');
  assert.equal(start, 'npx largesse serve');
  assert.match(documented, /^npm install \.\/\S+$/);
  assert.ok(documented.includes(packed.filename), 'docs/install.md does not install the packed file');
  npm(folder.path, ...documented.split(' ').slice(1), '--ignore-scripts');
  assert.deepEqual(
    readdirSync(join(folder.path, 'node_modules')).filter((name) => !name.startsWith('.')),
    ['largesse'],
  );
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
  await t.test('the stack of an error names sources, of packages as well', async () => {
    const failing = join(folder.path, 'failing');
    mkdirSync(failing);
    execFileSync(command[0], ['migrate'], { cwd: failing, env: environment });
    {
      using database = new DatabaseSync(join(failing, 'data/largesse.db'));
      database.exec('create trigger broken before insert on gift_cards begin select json(1, 2); end');
    }
    await using service = startProgram(command[0], ['serve'], {
      folder: failing,
      environment: { ...environment, PORT: '0' },
    });
    const [, url] = await service.written(/"url":"([^"]+)".*"message":"largesse serves"/, 60_000);
    const { status } = await fetch(`${url}/gift_card`, {
      method: 'POST',
      body: new URLSearchParams('initial_value=5'),
    });
    assert.equal(status, 500);
    const [, stack = ''] = await service.written(/"stack":"([^"]+)"/);
    assert.match(stack, /^at src\/database\/sqlite\/connection\.ts:\d+:\d+\\n/);
    assert.doesNotMatch(stack, /chunk-/);
  });
  await tour({ command, folder: installation, environment });
});
