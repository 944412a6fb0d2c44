/**
 * Encrypted connections to the server, and the checks of its certificate that `sslmode` in the URL requires.
 */

import assert from 'node:assert/strict';
import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before, suite } from 'node:test';
import { Client } from 'pg';
import { Secret } from '../../src/platform/secret.ts';
import { loadMigrations } from '../../src/database/schema/migrate.ts';
import { certificate, certificateKey } from '../support/certificate.ts';
import { openPostgresEngine } from '../support/postgres.ts';
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts';
import { emptyFolder, type Folder } from '../support/postgres-service.ts';
import { addTo, insertRow } from '../support/row-counts.ts';

let server: PostgresServer;
let folder: Folder;

before(async () => {
  server = await startPostgres();
  folder = emptyFolder();
  writeFileSync(join(folder.path, 'authority.pem'), certificate);
  const { uid, gid } = server.parts.account;
  for (const [name, text] of [
    ['server.crt', certificate],
    ['server.key', certificateKey],
  ] as const) {
    const path = join(server.data, name);
    writeFileSync(path, text);
    chmodSync(path, 0o600);
    if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
  }
  server.configure({ ssl: 'on' });
  await server.stop();
  await server.start();
});
after(async () => {
  folder[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

/** The URL with a name of the host, and a query. */
function urlOf(host: string, query: string): string {
  const url = new URL(server.url());
  url.hostname = host;
  url.search = query;
  return url.href;
}

const encrypted = `select count(*)::int as count from pg_stat_ssl s join pg_stat_activity a using (pid)
  where a.application_name = 'largesse' and s.ssl`;

test('scripts run over an encrypted connection to a verified server, and a script beyond its time limit is ended', async () => {
  const root = `sslrootcert=${join(folder.path, 'authority.pem')}`;
  await using storage = openPostgresEngine('', {
    // The first host does not match its certificate.
    urls: [`127.0.0.1`, 'localhost'].map((host) => new Secret(urlOf(host, `sslmode=verify-full&${root}`))),
    scriptMaxMs: 1_000,
  });
  await storage.migrate(loadMigrations('postgres'));
  await storage.write(() => insertRow(1, 'first'));
  const added = await Promise.all(Array.from({ length: 40 }, () => storage.write(() => addTo('first', 1))));
  assert.equal(Math.max(...added), 40);
  const [row] = await server.query(encrypted);
  assert.ok(Number(row?.['count']) > 0);
  const locker = new Client({ connectionString: server.url() });
  await locker.connect();
  await locker.query('begin; lock table stores in access exclusive mode');
  await assert.rejects(
    storage.write(() => addTo('first', 1)),
    /unavailable/,
  );
  await locker.end();
  assert.equal(await storage.write(() => addTo('first', 1)), 41);
});

/** The URL of a connection, in which AUTHORITY is the file with the certificate of the authority. */
function urlTo(host: string, query: string): string {
  return urlOf(host, query.replace('AUTHORITY', join(folder.path, 'authority.pem')));
}

for (const query of ['uselibpqcompat=true&sslmode=require', 'sslmode=no-verify']) {
  test(`localhost with ${query} is accepted, encrypted`, async () => {
    await using storage = openPostgresEngine(urlTo('localhost', query));
    await storage.applied();
    const [row] = await server.query(encrypted);
    assert.equal(row?.['count'], 1);
  });
}

suite('a connection without a verified certificate', { concurrency: true }, () => {
  for (const { host = 'localhost', query, error: expected } of [
    { query: 'sslmode=verify-full', error: /self-signed certificate/ },
    // Until pg 9, these three check the certificate like verify-full.
    { query: 'sslmode=require', error: /self-signed certificate/ },
    { query: 'sslmode=prefer', error: /self-signed certificate/ },
    { query: 'sslmode=verify-ca', error: /self-signed certificate/ },
    {
      host: '127.0.0.1',
      query: 'sslmode=verify-full&sslrootcert=AUTHORITY',
      error: /does not match certificate's altnames/,
    },
    {
      query: 'sslmode=verify-full&sslrootcert=/nowhere/authority.pem',
      error: /ENOENT.*\/nowhere\/authority\.pem/,
    },
  ]) {
    test(`${host} with ${query} is rejected`, async () => {
      const url = urlTo(host, query);
      await using storage = openPostgresEngine(url, { waitMaxMs: 2_000 });
      await assert.rejects(storage.applied(), (error) => {
        assert.match(String((error as Error).cause), expected);
        assert.doesNotMatch(String((error as Error).cause), new RegExp(new URL(url).password));
        return true;
      });
    });
  }
});
