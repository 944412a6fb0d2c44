/** A process loads a package when it needs it first. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { databaseToServe, serve } from '../support/served.ts';
import { startProgram } from '../support/programs.ts';
import { sourceCommandLine } from '../support/program.ts';

const listing = import.meta.resolve('../support/loaded-packages.ts');
const environment = { NODE_OPTIONS: `--import=${listing}` };

/** The packages that a process has written at its end. */
function packagesIn(output: string): ReadonlySet<string> {
  const [, names] = /^loaded packages: (.*)$/m.exec(output) ?? [];
  assert.ok(names !== undefined, output);
  return new Set(names.split(' '));
}

function assertNone(loaded: ReadonlySet<string>, packages: readonly string[]): void {
  assert.deepEqual(
    packages.filter((name) => loaded.has(name)),
    [],
  );
}

test('the help of the commands loads no database server, email or web server', async () => {
  await using help = startProgram(process.execPath, [sourceCommandLine, '--help'], { environment });
  assert.equal((await help.ended()).code, 0);
  const loaded = packagesIn(help.output());
  assert.ok(loaded.has('commander'));
  assertNone(loaded, ['pg', 'nodemailer', 'fastify', 'age-encryption', 'typebox']);
});

test('a service on a file without emails and backups loads no packages for them', async () => {
  await using database = await databaseToServe({ empty: true });
  const runner = { node: process.execPath, commandLine: sourceCommandLine };
  await using service = await serve({ ...database.environment, ...environment }, undefined, runner);
  service.kill('SIGTERM');
  await service.ended();
  const loaded = packagesIn(service.output());
  assert.ok(loaded.has('fastify'));
  assertNone(loaded, ['pg', 'nodemailer', 'age-encryption', '@simplewebauthn/server', 'acme-client']);
});
