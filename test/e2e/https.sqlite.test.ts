/** `largesse serve --domain` with a certificate authority: from an empty folder to a page over HTTPS, and a restart. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { dnsOption, startAuthority } from '../support/authority.ts';
import { getSecurely } from '../support/secure-client.ts';
import { makeHome } from './largesse.ts';

test('a domain and one command lead to HTTPS, and a restart keeps the certificate', async () => {
  await using authority = await startAuthority();
  await using home = await makeHome();
  const { PUBLIC_URL: _url, HTTPS: _mode, ...others } = authority.environment;
  const environment = { ...others, NODE_OPTIONS: dnsOption(authority.dnsServer) };
  const domain = new URL(authority.origin).host;
  const program = home.start(['serve', '--domain', domain], environment);
  await program.written(/"message":"the certificate was issued"/);
  const ca = await authority.root();
  const { status, headers, serial } = await getSecurely(`${authority.origin}/sign-in`, { ca });
  assert.deepEqual([status, headers.location], [303, '/setup']);
  assert.equal(headers['strict-transport-security'], 'max-age=86400');
  const waited = await home.run(['certificate', '--wait'], authority.environment);
  assert.equal(waited.code, 0, waited.errors);
  assert.match(waited.output, /^DNS ✓ · port 80 ✓ · certificate ✓ \d+\.\d s\n$/);
  const redirect = await fetch(`http://127.0.0.1:${authority.httpPort}/till`, { redirect: 'manual' });
  assert.deepEqual([redirect.status, redirect.headers.get('location')], [308, `${authority.origin}/till`]);
  program.kill('SIGTERM');
  assert.equal((await program.ended()).code, 0);
  assert.doesNotMatch(program.output(), /PRIVATE KEY|lgf_/);

  const folder = join(home.keysFile, '../largesse.tls');
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  const files = readdirSync(folder).toSorted();
  const name = authority.domain;
  assert.deepEqual(files, ['account.json', `${name}.json`, `${name}.json.state`, 'lock']);
  for (const file of files) assert.equal(statSync(join(folder, file)).mode & 0o777, 0o600, file);

  const doctor = await home.run(['doctor'], authority.environment);
  assert.match(doctor.output, /^✓ certificate: valid until 20/m);
  const shown = await home.run(['certificate'], authority.environment);
  assert.equal(shown.code, 0);
  assert.match(shown.output, /^valid until 20\S+\n$/);
  const { ok } = JSON.parse((await home.run(['certificate', '--json'], authority.environment)).output) as {
    ok: boolean;
  };
  assert.equal(ok, true);
  const off = await home.run(['certificate'], { PUBLIC_URL: authority.origin });
  assert.deepEqual([off.code, off.errors], [1, 'largesse: HTTPS is off: set HTTPS to auto or files\n']);
  assert.equal((await home.run(['certificate', '--retry'], authority.environment)).code, 0);
  assert.deepEqual(readdirSync(folder).toSorted(), ['account.json', `${name}.json`, 'lock']);
  const backup = join(home.folder, 'backup.db');
  assert.equal((await home.run(['backup', backup])).code, 0);
  assert.doesNotMatch(readFileSync(backup, 'latin1'), /PRIVATE KEY/);

  const again = home.start(['serve'], { ...authority.environment, ...environment });
  await again.written(/"message":"largesse serves"/);
  assert.equal((await getSecurely(`${authority.origin}/healthz`, { ca })).serial, serial);
  again.kill('SIGTERM');
  await again.ended();
  assert.doesNotMatch(again.output(), /was issued|was renewed/);
});
