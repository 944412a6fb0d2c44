/** The log of a start about variables that may not do what they are meant to do. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { databaseToServe, startServing } from '../support/served.ts';

const mistaken = {
  DATABSE_URL: 'file:other.db',
  PUBLIC_ULR: 'https://cards.flowers.example',
  PROCESS: '2',
  KEYFILE: 'keys.json',
  TLS_CERT_FILE: '/etc/cert.pem',
};

const findings: readonly RegExp[] = [
  /"level":"warn".*DATABSE_URL is set, and there is no such setting: if you mean DATABASE_URL, correct the name"/,
  /"level":"warn".*PUBLIC_ULR is set, .*: if you mean PUBLIC_URL, correct the name"/,
  /"level":"warn".*PROCESS is set, .*: if you mean PROCESSES, correct the name"/,
  /"level":"warn".*KEYFILE is set, .*: if you mean KEYS_FILE, correct the name"/,
  /"level":"warn".*TLS_CERT_FILE is set and has no effect, because HTTPS is off: set HTTPS=files, or remove TLS_CERT_FILE"/,
];

test('a service logs unknown variables and settings without effect once, also with several processes', async () => {
  await using database = await databaseToServe();
  for (const processes of ['1', '2']) {
    await using service = startServing({ ...database.environment, ...mistaken, PROCESSES: processes });
    await service.written(/"message":"largesse serves"/, 60_000);
    service.kill('SIGTERM');
    await service.ended();
    for (const finding of findings)
      assert.equal(service.output().match(new RegExp(finding, 'g'))?.length, 1, String(finding));
  }
});

test('a service that cannot start logs them as well', async () => {
  await using database = await databaseToServe({ empty: true });
  const environment = { ...database.environment, ...mistaken, DATABASE_URL: `file:${database.folder}` };
  await using service = startServing(environment);
  assert.equal((await service.ended()).code, 1);
  for (const finding of findings) assert.match(service.output(), finding);
});
