/** “I have a backup”: the service fetches the newest one of a bucket itself. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { backupNameOf } from '../../src/features/backups/domain/backup.ts';
import { parseRecoveryKey, sheetIdOf } from '../../src/features/backups/platform/recovery-key.ts';
import { bucketHost, openBucket } from '../support/bucket.ts';
import { openBrowser } from '../support/browser.ts';
import { textOfPage } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import { sealedShop } from '../support/sealed-shop.ts';
import { command } from '../support/served.ts';
import { startService } from '../support/service.ts';

const bucket = await openBucket();
after(() => bucket[Symbol.asyncDispose]());
const service = await startService({ emailNetwork: bucket.network });
after(() => service[Symbol.asyncDispose]());
const { backup, forgery, madeAt, key } = await sealedShop();
const parsed = await parseRecoveryKey(key);
assert.ok(parsed.ok);
const sheet = sheetIdOf(parsed.value.recipient);
const otherSheet = sheet === '0000' ? '0001' : '0000';

const linked = await command(service.environment, 'setup', 'link', '--json');
const setup = new URL((JSON.parse(linked.output) as { readonly link: string }).link).pathname;
const browser = openBrowser(service);

const typed = {
  address: `https://${bucketHost}`,
  region: 'eu-test-1',
  bucket: 'shop-backups',
  keyId: 'AKIDTEST',
  secret: 'hush-hush-hush',
  key,
};

/** The page once the backup was fetched. */
async function fetched(changes: Partial<typeof typed> = {}): Promise<string> {
  const sent = await browser.post(`${setup}/restore/fetch`, { ...typed, ...changes });
  assert.equal(sent.status, 303, textOfPage(sent));
  let text = '';
  await until(async () => {
    // Requests without a session are limited to ten a second.
    await wait(150);
    text = textOfPage(await browser.get(`${setup}/restore`));
    return !text.includes('is being fetched');
  });
  return text;
}

function put(at: number, id: string, content: Uint8Array): void {
  bucket.objects.set(`largesse-0123abcd/${backupNameOf(at, id)}`, Buffer.from(content));
}

test('the fields are checked, and a secret is required', async () => {
  const wrong = { address: 'http://10.0.0.1', bucket: 'X', keyId: '', secret: '', key: 'xyz' };
  const rejected = await browser.post(`${setup}/restore/fetch`, { ...typed, ...wrong });
  assert.equal(rejected.status, 422);
  const text = textOfPage(rejected);
  assert.match(text, /Enter the address of the storage/);
  assert.match(text, /A bucket has 3 to 63 small letters/);
  assert.match(text, /Enter the id of the access key/);
  assert.match(text, /Enter the secret key/);
  assert.match(text, /This is not the key of a recovery sheet/);
  const long = await browser.post(`${setup}/restore/fetch`, { ...typed, secret: 'x'.repeat(501) });
  assert.match(textOfPage(long), /The secret key is too long/);
  assert.deepEqual(bucket.requests, []);
});

test('a bucket without a backup, one that rejects the key, and a private address are named', async () => {
  bucket.objects.set('largesse-0123abcd/readme.txt', Buffer.from('hello'));
  bucket.objects.set('other/largesse-20261123T180005Z-7F3A.tar.zst.age', Buffer.from('hello'));
  assert.match(await fetched(), /The storage has no backup of Largesse/);
  bucket.fault = 'forbidden';
  assert.match(await fetched(), /The storage does not accept the access key .*SignatureDoesNotMatch/);
  const { text: again } = await browser.get(`${setup}/restore`);
  for (const value of [typed.address, typed.region, typed.bucket, typed.keyId])
    assert.ok(again.includes(`value="${value}"`), `${value} can be corrected`);
  assert.ok(!again.includes(typed.secret) && !again.includes(key));
  bucket.fault = null;
  assert.match(await fetched({ address: 'https://inside.storage.example' }), /The storage is not on the internet/);
  assert.match(await fetched({ address: 'https://none.storage.example' }), /The address of the storage is not known/);
}); // prettier-ignore

/** The page once the backup was fetched and examined. */
async function examined(): Promise<string> {
  let text = await fetched();
  await until(async () => {
    await wait(150);
    text = textOfPage(await browser.get(`${setup}/restore`));
    return !text.includes('is being opened');
  });
  return text;
}

test('the newest backup of the sheet is fetched, opened, and can be restored', async () => {
  put(madeAt, sheet, backup);
  put(madeAt - 60_000, sheet, Buffer.from('an older one'));
  put(madeAt + 60_000, otherSheet, Buffer.from('a newer one of another sheet'));
  const text = await examined();
  assert.match(text, /This is in the backup Made .* Flowers 3 cards/);
  assert.doesNotMatch(text, /left out/);
  assert.equal((await browser.post(`${setup}/restore/drop`, {})).status, 303);
  assert.ok(!service.log().includes(typed.secret) && !service.log().includes(key));
});

test('newer objects that the service did not make are left out, and named with the reason', async () => {
  const changed = Buffer.from(backup);
  changed[300] = (changed[300] ?? 0) ^ 1;
  const strange = [
    [1, forgery, 'not made by the service that has this sheet'],
    [2, backup, 'made at another time than its name says'],
    [3, changed, 'incomplete or changed'],
    [4, backup.subarray(0, 5_000), 'incomplete or changed'],
    [5, Buffer.from('something else'), 'not an encrypted backup'],
  ] as const;
  for (const [minutes, content] of strange) put(madeAt + minutes * 60_000, sheet, content);
  const text = await examined();
  assert.match(text, /5 newer files were left out/);
  for (const [minutes, , reason] of strange)
    assert.ok(text.includes(`${backupNameOf(madeAt + minutes * 60_000, sheet)} : ${reason}`), reason);
  assert.match(text, /This is in the backup Made .* Flowers 3 cards/, 'the older one is offered');
  for (const name of bucket.objects.keys())
    if (name.includes(backupNameOf(madeAt, sheet))) bucket.objects.delete(name);
  assert.equal((await browser.post(`${setup}/restore/drop`, {})).status, 303);
  assert.match(
    await fetched(),
    /The storage has no backup of Largesse for this sheet.*newer files were left out/,
  );
});

test('a fetch that takes long shows its progress, and can be ended', async () => {
  bucket.fault = 'silent';
  assert.equal((await browser.post(`${setup}/restore/fetch`, typed)).status, 303);
  const page = await browser.get(`${setup}/restore`);
  assert.match(textOfPage(page), /The backup is being fetched 0 MB so far/);
  assert.match(page.text, /http-equiv="refresh"/);
  const begun = await browser.post(`${setup}/restore/begin`, { bytes: '10' });
  assert.match(JSON.stringify(begun.json), /problem/, 'one backup at a time');
  assert.equal((await browser.post(`${setup}/restore/drop`, {})).status, 303);
  bucket.fault = null;
  assert.match(textOfPage(await browser.get(`${setup}/restore`)), /in a storage on the internet/);
});
