/** The files in bin/ select the Node.js and the code that run as the command line, and report an error without one. */

import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { Script } from 'node:vm';
import { parseSync } from 'oxc-parser';
import { runProgram, startProgram } from '../support/programs.ts';

const bin = join(import.meta.dirname, '../../bin');

/** Makes Node.js report an old version. */
const reporting = (version: string): string =>
  `data:text/javascript,${encodeURIComponent(
    `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });`,
  )}`;
const asOld = reporting('20.11.1');

/** A folder with the launcher, and a command line in `file` that prints its arguments. */
function makeInstallation(
  file = 'src/cli.ts',
): Disposable & { readonly folder: string; readonly file: string } {
  const folder = mkdtempSync(join(tmpdir(), 'largesse-launcher-'));
  mkdirSync(dirname(join(folder, file)));
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  cpSync(bin, join(folder, 'bin'), { recursive: true });
  const prints = "console.log('runs', process.versions.node, process.argv.slice(2).join(' '));";
  const waits = "process.on('SIGTERM', () => process.exit(7)); setTimeout(() => {}, 60_000);";
  writeFileSync(
    join(folder, file),
    `if (process.argv.includes('wait')) { ${waits} }\nelse process.exitCode = 3;\n${prints}\n`,
  );
  return {
    folder,
    file: join(folder, 'bin/largesse.js'),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

test('without a newer Node.js, an old one prints one sentence with both versions', async () => {
  using made = makeInstallation();
  const { code, output, errors } = await runProgram(process.execPath, [
    '--import',
    asOld,
    made.file,
    'serve',
  ]);
  assert.deepEqual({ code, output }, { code: 1, output: '' });
  assert.match(errors, /^largesse: Node\.js 26 or later is required, and this is 20\.11\.1: [^\n]+\n$/);
});

test('versions without npm ci do not look for another Node.js', async () => {
  using made = makeInstallation();
  const { code, errors } = await runProgram(process.execPath, ['--import', reporting('18.20.8'), made.file]);
  assert.equal(code, 1);
  assert.match(errors, /^largesse: Node\.js 26 or later is required, and this is 18\.20\.8: [^\n]+\n$/);
});

test('old versions can parse the launcher: as a script and a module, without later syntax', () => {
  const text = readFileSync(join(bin, 'largesse.js'), 'utf8');
  assert.ok(new Script(text), 'a script has no import statement and no await at its top level');
  for (const sourceType of ['script', 'module'] as const) {
    const { errors } = parseSync('largesse.js', text, { sourceType });
    assert.deepEqual(errors, [], sourceType);
  }
  // Also object spread, catch without a variable, and bigint literals came after ES2015.
  assert.doesNotMatch(text, /\?\?|\?\.|\*\*|\basync\b|\bawait\b|\{\s*\.\.\.|catch \{|\d+n\b|import\.meta/);
});

test('without sources, the launcher runs the JavaScript of the npm package', async () => {
  using made = makeInstallation('dist/cli.js');
  const { code, output } = await runProgram(process.execPath, [made.file, 'status']);
  assert.deepEqual({ code, output }, { code: 3, output: `runs ${process.versions.node} status\n` });
});

test('an old Node.js starts the one that npm ci installed, with arguments, signals and exit code', async () => {
  using made = makeInstallation();
  mkdirSync(join(made.folder, 'node_modules/node/bin'), { recursive: true });
  symlinkSync(process.execPath, join(made.folder, 'node_modules/node/bin/node'));
  const args = ['--import', asOld, made.file];
  const ran = await runProgram(process.execPath, [...args, 'serve', '--x']);
  assert.deepEqual(
    { code: ran.code, output: ran.output },
    { code: 3, output: `runs ${process.versions.node} serve --x\n` },
  );
  await using waiting = startProgram(process.execPath, [...args, 'wait']);
  await waiting.written(/^runs/);
  waiting.kill('SIGTERM');
  assert.deepEqual(await waiting.ended(), { code: 7, signal: null });
});

test('a new Node.js runs the command line itself', async () => {
  using made = makeInstallation();
  const { code, output } = await runProgram(process.execPath, [made.file, 'status']);
  assert.deepEqual({ code, output }, { code: 3, output: `runs ${process.versions.node} status\n` });
});

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

test('npm start runs the launcher, and a SIGTERM to npm reaches the service', async () => {
  using made = makeInstallation();
  const start = `${scripts['start']} wait`;
  assert.match(start, /node bin\/largesse\.js serve wait$/);
  writeFileSync(join(made.folder, 'package.json'), JSON.stringify({ type: 'module', scripts: { start } }));
  await using npm = startProgram('npm', ['start'], { folder: made.folder });
  await npm.written(/^runs/m);
  npm.kill('SIGTERM');
  assert.equal((await npm.ended()).code, 7, npm.errors());
});

test('the installation of packages runs no script', () => {
  for (const name of ['preinstall', 'install', 'postinstall', 'prepare'])
    assert.equal(scripts[name], undefined, name);
});
