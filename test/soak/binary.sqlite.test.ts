/** The single executable: a build of it, and a tour in an empty folder without Node.js. */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposableSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { certificate, certificateKey } from '../support/certificate.ts';
import { tour } from '../support/installed.ts';
import { runProgram } from '../support/programs.ts';

const builder = join(import.meta.dirname, '../../packaging/binary/build.ts');
const signer = join(import.meta.dirname, '../../packaging/releases/sign.ts');

/** Publishes a signed list on this machine, and lets the executable replace itself. */
async function upgradeTo(
  version: string,
  { executable, folder }: { readonly executable: string; readonly folder: string },
): Promise<void> {
  const [key, file, list, ca] = ['key.pem', 'next', 'list.json', 'ca.pem'].map((name) =>
    join(folder, name),
  ) as [string, string, string, string];
  writeFileSync(file, `#!/bin/sh\necho ${version}\n`);
  writeFileSync(ca, certificate);
  await using server = createServer({ cert: certificate, key: certificateKey }, (request, response) => {
    response.end(readFileSync(request.url === '/list.json' ? list : file));
  });
  server.listen(0);
  await once(server, 'listening');
  const base = `https://localhost:${(server.address() as AddressInfo).port}`;
  const made = execFileSync(process.execPath, [signer, '--generate-key', key], { encoding: 'utf8' });
  const args = ['--key', key, '--version', version, '--base-url', base, '--output', list];
  execFileSync(process.execPath, [signer, ...args, `${process.platform}-${process.arch}=${file}`]);
  const environment = {
    RELEASES_URL: `${base}/list.json`,
    RELEASES_KEY: /^RELEASES_KEY=(\S+)$/m.exec(made)?.[1] ?? '',
    NODE_EXTRA_CA_CERTS: ca,
  };
  const upgraded = await runProgram(executable, ['upgrade'], { environment });
  assert.equal(upgraded.code, 0, upgraded.errors);
  assert.match(
    upgraded.output,
    /^Replaced .* by version 9\.9\.9\. The previous executable is .*\.previous\.$/m,
  );
  assert.equal(execFileSync(executable, { encoding: 'utf8' }), `${version}\n`);
  const previous = execFileSync(`${executable}.previous`, ['--version'], { encoding: 'utf8' });
  assert.match(previous, /^\d+\.\d+\.\d+/);
}

test('the single executable serves in an empty folder without Node.js', async () => {
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
  const mcp = spawnSync(executable, ['mcp'], { cwd: folder.path, env: environment, encoding: 'utf8' });
  assert.equal(mcp.status, 1);
  assert.match(mcp.stderr, /^largesse: the executable does not contain this command: use "npx largesse mcp"/);
  assert.doesNotMatch(licences, /modelcontextprotocol/);
  await tour({ command: [executable], folder: join(folder.path, 'empty'), environment });
  await upgradeTo('9.9.9', { executable, folder: folder.path });
});
