/** “I have a backup”: a fresh machine gets a shop back in the browser, and its owner confirms it. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test, { after } from 'node:test';
import { sliceBytes } from '../../src/features/backups/domain/restore.ts';
import { consoleDomain, staffPassword, submitForm } from '../support/console.ts';
import { textOfPage } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import { examined, freshMachine, isServing, sendSlice, upload } from '../support/fresh-machine.ts';
import { childrenOf, runningOf } from '../support/running-processes.ts';
import { sealedBackup, sealedShop } from '../support/sealed-shop.ts';
import { startService } from '../support/service.ts';
import { command, serve } from '../support/served.ts';

const { backup, key, keys, codes } = await sealedShop();

const machine = await freshMachine();
after(() => machine[Symbol.asyncDispose]());

test('the setup page leads to the restore, and without the link there is none', async () => {
  const { browser, setup } = machine;
  assert.match((await browser.get(setup)).text, new RegExp(`href="${setup}/restore">I have a backup`));
  assert.equal((await browser.get('/setup/lgf_00000000_x/restore')).status, 303);
  const stranger = await browser.request('/setup/lgf_00000000_x/restore/slices/0', {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream', 'sec-fetch-site': 'same-origin' },
    body: Buffer.alloc(sliceBytes),
  });
  assert.equal(stranger.status, 413, 'four MiB of a stranger are not read');
});

test('slices are stored in their order, and what cannot fit is rejected before it is sent', async () => {
  const { browser, setup } = machine;
  const huge = await browser.post(`${setup}/restore/begin`, { bytes: String(2 ** 49) });
  assert.match(JSON.stringify(huge.json), /not enough space/);
  assert.match(
    JSON.stringify((await browser.post(`${setup}/restore/begin`, { bytes: '0' })).json),
    /not an encrypted backup/,
  );
  assert.equal((await browser.post(`${setup}/restore/begin`, { bytes: 'many' })).status, 404);
  const file = Buffer.alloc(sliceBytes + 10, 1);
  assert.deepEqual((await browser.post(`${setup}/restore/begin`, { bytes: String(file.length) })).json, {
    next: 0,
  });
  assert.deepEqual(
    await sendSlice(machine, 1, file.subarray(sliceBytes)),
    { next: 0 },
    'the first one is missing',
  );
  assert.deepEqual(await sendSlice(machine, 0, file.subarray(0, 5)), { next: 0 }, 'it is too short');
  assert.deepEqual(await sendSlice(machine, 0, file.subarray(0, sliceBytes)), { next: 1 });
  assert.deepEqual(
    await sendSlice(machine, 0, file.subarray(0, sliceBytes)),
    { next: 1 },
    'it was sent twice',
  );
  assert.match((await browser.get(`${setup}/restore`)).text, /data-next="1"/);
  assert.deepEqual(await sendSlice(machine, 1, file.subarray(sliceBytes)), { next: 2 });
  assert.match(await examined(machine, key), /not an encrypted backup/);
});

test('a backup of a sandbox is rejected, and the machine stays as it was', async () => {
  const { backup: sealed, key: keyOf } = await sandboxBackup();
  await upload(machine, sealed);
  assert.match(await examined(machine, keyOf), /sandbox/);
  assert.doesNotMatch((await machine.browser.get(`${machine.setup}/restore`)).text, /sandbox\.example/);
});

test('a wrong key, another sheet and a damaged file are named, and nothing is restored', async () => {
  const damaged = Buffer.from(backup);
  damaged[damaged.length - 40] = (damaged[damaged.length - 40] ?? 0) ^ 1;
  await upload(machine, damaged);
  assert.match(await examined(machine, key), /incomplete or was changed/);
  await upload(machine, backup);
  assert.match(await examined(machine, 'AGE-SECRET-KEY-1QQ'), /compare each character/);
  assert.match(await examined(machine, 'x'.repeat(500)), /compare each character/);
  const { key: other } = await sealedShop();
  assert.match(await examined(machine, other), /another recovery sheet/);
  const page = textOfPage(await machine.browser.get(`${machine.setup}/restore`));
  assert.match(page, /The key of the recovery sheet/);
});

test('the sheet and the name of the shop restore it, and the service starts again by itself', async () => {
  const { browser, setup, url, database } = machine;
  const found = await examined(machine, key.toLowerCase().replaceAll(/(.{6})/g, '$1 '));
  assert.match(found, /This is in the backup Made .* Flowers 3 cards/);
  const wrong = await browser.post(`${setup}/restore/install`, { shop: 'Books' });
  assert.equal(wrong.status, 422);
  assert.match(textOfPage(wrong), /not the name of a shop/);
  const installed = await browser.post(`${setup}/restore/install`, { shop: ' flowers ' });
  assert.match(textOfPage(installed), /The service starts again/);
  await until(() => isServing(url));
  const folder = dirname(database.keysFile);
  assert.equal(readFileSync(database.keysFile, 'utf8'), keys);
  const left = readdirSync(folder).filter((name) => /restored|receiving|fresh/.test(name));
  assert.deepEqual(left, []);
  assert.equal((await browser.get(setup)).status, 303, 'the link has ended');
  const verified = await command(database.environment, 'verify');
  assert.equal(verified.code, 0, verified.errors);
});

test('the pages say what is missing until an owner confirms it, and what waited is not sent', async () => {
  const { browser, database } = machine;
  const signedIn = await browser.post('/sign-in', {
    email: `owner@${consoleDomain}`,
    password: staffPassword,
  });
  assert.equal(signedIn.status, 303, signedIn.text);
  for (const path of ['/today', '/cards', '/till', '/settings'])
    assert.match(
      textOfPage(await browser.get(path)),
      /this is the state of .* Cards sold since then are missing/,
      path,
    );
  const held = async (): Promise<readonly unknown[]> => [
    ...(await database.query('select state from email_deliveries where next_at > 1e14')),
    ...(await database.query('select status from webhook_deliveries where next_at > 1e14')),
  ];
  assert.equal((await held()).length, 4);
  const page = textOfPage(await browser.get('/restored'));
  assert.match(page, /1 email waited\. 3 events for webhooks waited\./);
  const unconfirmed = await browser.post('/restored', { held: 'drop' });
  assert.equal(unconfirmed.status, 422);
  const done = await submitForm(browser, '/restored', { fields: { off: 'yes', held: 'drop' } });
  assert.equal(done.headers.get('location'), '/today', done.text);
  assert.doesNotMatch(textOfPage(await browser.get('/today')), /restored from a backup/);
  assert.deepEqual(await held(), []);
  assert.deepEqual(await database.query('select state from email_deliveries'), [{ state: 'cancelled' }]);
  const audit = textOfPage(await browser.get('/audit'));
  assert.match(audit, /Confirmed the restore .*1 email waited, 3 events waited, dropped/);
  assert.match(audit, /Restored the shop from a backup/);
  assert.equal(codes.length, 3);
});

test('an interrupted upload is removed at the next start', async () => {
  await using other = await freshMachine();
  await other.browser.post(`${other.setup}/restore/begin`, { bytes: String(2 * sliceBytes) });
  await sendSlice(other, 0, Buffer.alloc(sliceBytes));
  other.served.kill('SIGKILL');
  await other.served.ended();
  const file = `${join(dirname(other.database.keysFile), 'largesse.db')}.receiving`;
  assert.ok(readdirSync(file).includes('upload'));
  await using again = await serve(other.database.environment);
  assert.ok(!readdirSync(dirname(file)).some((name) => name.endsWith('.receiving')));
  again.kill('SIGTERM');
});

test('one process restores a backup, and then several serve the shop', async () => {
  await using several = await freshMachine({ PROCESSES: '2' });
  const { browser, setup, served, url, database } = several;
  const first = await childrenOf(served.pid);
  assert.equal(first.length, 1);
  await upload(several, backup);
  assert.match(await examined(several, key), /Flowers 3 cards/);
  const installed = await browser.post(`${setup}/restore/install`, { shop: 'Flowers' });
  assert.match(textOfPage(installed), /The service starts again/);
  await until(async () => (await runningOf(first)).length === 0);
  await until(async () => (await childrenOf(served.pid)).length === 2);
  await until(() => isServing(url));
  await until(() => served.output().match(/"message":"largesse serves"/g)?.length === 3);
  const signIn = { email: `owner@${consoleDomain}`, password: staffPassword };
  assert.equal((await browser.post('/sign-in', signIn)).status, 303);
  // An owner confirms it in one process, and the others know it.
  const pages = async (): Promise<readonly boolean[]> =>
    Promise.all(
      Array.from({ length: 8 }, async () => {
        const page = await browser.request('/today', { headers: { connection: 'close' } });
        assert.equal(page.status, 200);
        return textOfPage(page).includes('Cards sold since then are missing');
      }),
    );
  assert.deepEqual(new Set(await pages()), new Set([true]));
  const done = await submitForm(browser, '/restored', { fields: { off: 'yes', held: 'drop' } });
  assert.equal(done.status, 303, done.text);
  await until(async () => (await pages()).every((isIncomplete) => !isIncomplete));
  const verified = await command(database.environment, 'verify');
  assert.equal(verified.code, 0, verified.errors);
});

async function sandboxBackup() {
  await using sandbox = await startService({ stores: [{ domain: 'sandbox.example' }], isSandbox: true });
  return await sealedBackup(sandbox);
}
