/** A backup of a process that serves requests, and the program age that opens it. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createReadStream, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join as joined } from 'node:path';
import test, { after } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { isWithin } from '../support/deadline.ts';
import { openBackup } from '../../src/features/backups/platform/open.ts';
import { parseRecoveryKey } from '../../src/features/backups/platform/recovery-key.ts';
import type { Secret } from '../../src/platform/secret.ts';
import type { Browser } from '../support/browser.ts';
import { consoleDomain, join } from '../support/console.ts';
import { until } from '../support/delivering.ts';
import { send } from '../support/http-client.ts';
import { makeScratchFolder } from '../support/scratch.ts';
import { databaseToServe, openShop, serve } from '../support/served.ts';

const path = '/settings/machine/backups';

const folder = makeScratchFolder('backup-kills-');
mkdirSync(folder, { recursive: true });
const disk = joined(folder, 'disk');
mkdirSync(disk);
const database = await databaseToServe({ empty: true });
after(() => database[Symbol.asyncDispose]());
const environment = { ...database.environment, MACHINE: 'owner', BACKUP_FOLDER: disk };
const token = await openShop(environment, consoleDomain);

const serviceOf = (url: string) => ({
  url,
  environment,
  request: (to: string, request?: Parameters<typeof send>[1]) => send(`${url}${to}`, request),
});

/** The backups at the place, without what is not complete. */
function backups(): readonly string[] {
  return readdirSync(disk, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.age'))
    .toSorted();
}

async function listed(browser: Browser): Promise<readonly string[]> {
  const { text } = await browser.get(path);
  return Array.from(text.matchAll(/name="name" value="([^"]+)"/g), ([, name = '']) => name);
}

async function assertOpens(name: string, identity: Secret): Promise<void> {
  const target = joined(folder, 'opened.db');
  rmSync(target, { force: true });
  const source = createReadStream(joined(disk, name)) as AsyncIterable<Uint8Array>;
  const { keys } = await openBackup(source, { identity, database: target, databaseBytesMax: 2 ** 30 });
  assert.deepEqual(keys, readFileSync(database.keysFile));
}

test('a service of some thousand cards responds while it makes a backup, which age opens', async (t) => {
  await using served = await serve(environment);
  const browser = await join(serviceOf(served.url), 'owner');
  for (let part = 0; part < 20; part += 1)
    await Promise.all(
      Array.from({ length: 100 }, () =>
        send(`${served.url}/gift_card`, { method: 'POST', token, json: { initial_value: '50.00' } }),
      ),
    );
  const made = await browser.post(`${path}/sheet`);
  const [typed = ''] = /AGE-SECRET-KEY-1 [0-9A-Z ]+/.exec(made.text) ?? [];
  const key = await parseRecoveryKey(typed);
  assert.ok(key.ok, made.text);
  const { identity } = key.value;
  let isDone = false;
  const delays: number[] = [];
  const watching = (async () => {
    while (!isDone) {
      const startedAt = performance.now();
      assert.equal((await send(`${served.url}/healthz`)).status, 200);
      delays.push(performance.now() - startedAt);
      await wait(5);
    }
  })();
  await browser.post(`${path}/sheet/confirm`, { typed: identity.reveal().slice(-6) });
  await until(async () => (await listed(browser)).length === 1, 60_000);
  isDone = true;
  await watching;
  const worst = Math.max(...delays);
  t.diagnostic(`${delays.length} requests for /healthz, the longest ${Math.round(worst)} ms`);
  assert.ok(isWithin(worst, 1_000), `a request took ${worst} ms`);
  const [name = ''] = backups();
  await assertOpens(name, identity);
  const sheet = joined(folder, 'sheet.txt');
  writeFileSync(sheet, `${identity.reveal()}\n`);
  const script =
    'age --decrypt --identity "$1" "$2" | zstd --decompress --quiet | tar --extract --directory "$3"';
  const opened = joined(folder, 'by-age');
  mkdirSync(opened);
  execFileSync('bash', ['-euo', 'pipefail', '-c', script, 'open', sheet, joined(disk, name), opened]);
  assert.deepEqual(readdirSync(opened).toSorted(), [
    'largesse.db',
    'largesse.keys.json',
    'largesse.manifest',
  ]);
  assert.deepEqual(readFileSync(joined(opened, 'largesse.db')), readFileSync(joined(folder, 'opened.db')));
  served.kill('SIGTERM');
  await served.ended();
});
