/** The Debian package, with a small program in the place of the executable: files, modes, settings and the unit. */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempDisposableSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { settings, type Setting } from '../../src/start/settings.ts';
import { manifest } from '../support/installed.ts';

const builder = join(import.meta.dirname, '../../packaging/deb/build');
/** In tenths, as in the option of systemd-analyze. */
const exposureMax = 25;

const output = (command: string, ...args: readonly string[]): string =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

test('packaging/deb/build makes a package with an account, private settings and hardened units', async (t) => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'largesse-deb-'));
  const executable = join(folder.path, 'largesse');
  writeFileSync(executable, `#!/bin/sh\necho ${manifest.version}\n`);
  chmodSync(executable, 0o755);
  writeFileSync(`${executable}.licences.txt`, 'licences\n');
  output(builder, '--fast', '--executable', executable, '--output', folder.path);
  const architecture = output('dpkg', '--print-architecture').trim();
  const file = join(folder.path, `largesse_${manifest.version}_${architecture}.deb`);
  const tree = join(folder.path, 'tree');
  output('dpkg-deb', '--raw-extract', file, tree);

  await t.test('its version is that of the program', () => {
    assert.equal(output('dpkg-deb', '--field', file, 'Version').trim(), manifest.version);
  });

  await t.test('files belong to root, and other accounts cannot read the settings', () => {
    const lines = output('dpkg-deb', '--contents', file).trimEnd().split('\n');
    assert.deepEqual(
      lines.filter((line) => !line.includes(' root/root ')),
      [],
    );
    const others = lines.filter((line) => !/^(?:-rwxr-xr-x|-rw-r--r--|drwxr-xr-x) /.test(line));
    assert.deepEqual(
      others.map((line) => `${line.slice(0, 10)} ${line.split(' ').at(-1)}`),
      ['-rw-r----- ./etc/largesse/largesse.env'],
    );
    assert.equal(readFileSync(join(tree, 'DEBIAN/conffiles'), 'utf8'), '/etc/largesse/largesse.env\n');
  });

  await t.test('its scripts are valid, and a purge removes no database', () => {
    for (const script of ['postinst', 'prerm', 'postrm']) {
      output('sh', '-n', join(tree, 'DEBIAN', script));
      assert.equal(statSync(join(tree, 'DEBIAN', script)).mode & 0o777, 0o755);
      assert.doesNotMatch(readFileSync(join(tree, 'DEBIAN', script), 'utf8'), /\brm\b|deluser|userdel/);
    }
  });

  await t.test('its settings exist, and a shell reads them', () => {
    const path = join(tree, 'etc/largesse/largesse.env');
    const rows = Object.values<Readonly<Record<string, Setting<unknown>>>>(settings).flatMap((group) =>
      Object.values(group),
    );
    const known = new Set(rows.flatMap(({ variable }) => [variable, `${variable}_FILE`]));
    const names = Array.from(readFileSync(path, 'utf8').matchAll(/^#?([A-Z_]+)=/gm), ([, name = '']) => name);
    assert.ok(names.length > 5);
    assert.deepEqual(
      names.filter((name) => !known.has(name)),
      [],
    );
    output('sh', '-euc', '. "$0"', path);
  });

  await t.test('"largesse start" sets the domain, opens the ports and prints the link', () => {
    const started = join(folder.path, 'started');
    mkdirSync(started);
    const settingsFile = join(started, 'largesse.env');
    copyFileSync(join(tree, 'etc/largesse/largesse.env'), settingsFile);
    chmodSync(settingsFile, 0o640);
    // The commands that it runs, in their order.
    const calls = join(started, 'calls');
    for (const [name, body] of [
      ['systemctl', `echo "systemctl $*" >> ${calls}`],
      ['setpriv', 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"'],
      ['id', 'echo 0'],
      [
        'program',
        `echo "program $* $PUBLIC_URL $HTTPS" >> ${calls}; echo "https://cards.flowers.example/setup/x"`,
      ],
    ] as const) {
      writeFileSync(join(started, name), `#!/bin/sh\n${body}\n`);
      chmodSync(join(started, name), 0o755);
    }
    const wrapper = join(started, 'largesse');
    const text = readFileSync(join(tree, 'usr/bin/largesse'), 'utf8')
      .replace('/etc/largesse/largesse.env', settingsFile)
      .replace('/usr/lib/largesse/largesse', join(started, 'program'));
    writeFileSync(wrapper, text);
    const run = (...args: readonly string[]) =>
      spawnSync('sh', [wrapper, ...args], {
        encoding: 'utf8',
        env: { PATH: `${started}:${process.env['PATH'] ?? ''}` },
      });
    for (const wrong of [
      'https://cards.flowers.example',
      'cards',
      'Cards.flowers.example',
      'a..b',
      '-a.b',
      'a b.c',
    ]) {
      const { status, stderr } = run('start', wrong);
      assert.equal(status, 2, wrong);
      assert.match(stderr, /^largesse: the domain must be a name such as cards\.flowers\.example, not /);
    }
    assert.equal(run('start').status, 2);
    for (const domain of ['shop.example', 'cards.flowers.example']) {
      rmSync(calls, { force: true });
      const { status, stdout, stderr } = run('start', domain);
      assert.deepEqual([status, stderr], [0, '']);
      assert.match(stdout, /https:\/\/cards\.flowers\.example\/setup\/x\n$/);
      assert.deepEqual(readFileSync(calls, 'utf8').trimEnd().split('\n'), [
        `program certificate --retry https://${domain} auto`,
        'systemctl stop largesse.socket largesse.service',
        'systemctl start largesse.socket',
        'systemctl enable --quiet largesse.socket largesse.service',
        'systemctl restart largesse.service',
        `program certificate --wait https://${domain} auto`,
        `program setup link https://${domain} auto`,
      ]);
    }
    const lines = readFileSync(settingsFile, 'utf8').split('\n');
    assert.deepEqual(
      lines.filter((line) => /^(?:PUBLIC_URL|HTTPS)=/.test(line)),
      ['PUBLIC_URL=https://cards.flowers.example', 'HTTPS=auto'],
    );
    assert.ok(lines.includes('NODE_ENV=production'));
    assert.equal(statSync(settingsFile).mode & 0o777, 0o640);
  });

  await t.test(`systemd accepts the units, and rates its exposure at most ${exposureMax / 10}`, () => {
    const unit = join(tree, 'lib/systemd/system/largesse.service');
    // In place of the path of an installed package.
    writeFileSync(unit, readFileSync(unit, 'utf8').replace(/^ExecStart=\S+/m, `ExecStart=${executable}`));
    const socket = join(tree, 'lib/systemd/system/largesse.socket');
    assert.equal(output('systemd-analyze', 'verify', '--man=no', unit, socket), '');
    const rating = output(
      'systemd-analyze',
      'security',
      '--offline=true',
      `--threshold=${exposureMax}`,
      unit,
    );
    assert.match(rating, /Overall exposure level for largesse\.service: \d/);
  });
});
