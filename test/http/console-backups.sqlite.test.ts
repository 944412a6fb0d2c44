/** The backups that an owner sets up on the pages: the sheet, the places, a trial, downloads, failures, and who may do it. */

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { roles } from '../../src/core/staff/domain/staff.ts';
import { makeRecoveryKey, parseRecoveryKey } from '../../src/features/backups/platform/recovery-key.ts';
import { openBackup } from '../../src/features/backups/platform/open.ts';
import type { Secret } from '../../src/platform/secret.ts';
import type { Browser } from '../support/browser.ts';
import { bucketHost, openBucket } from '../support/bucket.ts';
import { formOf, openStaffedShop, textOfPage, type StaffedShop } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import { makeScratchFolder } from '../support/scratch.ts';
import type { TestResponse } from '../support/service.ts';

const path = '/settings/machine/backups';
const production = { MACHINE: 'owner', NODE_ENV: 'production' };

const bucket = await openBucket();
after(() => bucket[Symbol.asyncDispose]());
const scratch = makeScratchFolder('console-backups');
after(() => rmSync(scratch, { recursive: true, force: true }));
const disk = join(scratch, 'usb disk');
mkdirSync(disk);
let isMounted = true;

/** The root of this machine, and a disk in a folder. */
function readMounts(): string {
  const own = '25 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n';
  return isMounted
    ? `${own}40 25 8:17 / ${disk.replaceAll(' ', '\\040')} rw - ext4 /dev/sdb1 rw\n41 25 0:50 / ${scratch}/memory rw - tmpfs tmpfs rw\n`
    : own;
}

const shop = await openStaffedShop({
  environment: production,
  emailNetwork: bucket.network,
  readMounts,
  isDurable: true,
});
after(() => shop[Symbol.asyncDispose]());
const owner = await shop.as('owner');
await shop.issue();
await shop.issue();

async function send(action: string, changes: Readonly<Record<string, string>> = {}, browser = owner) {
  const page = await browser.get(path);
  const form = page.text.includes(`action="${action}"`) ? formOf(page, action) : {};
  return await browser.post(action, { ...form, ...changes });
}

function assertDone(response: TestResponse, done?: string): void {
  assert.equal(response.status, 303, textOfPage(response));
  assert.equal(response.headers.get('location'), `${path}${done === undefined ? '' : `?done=${done}`}`);
}

/** The text of the page without a running backup. */
async function pageText(browser: Browser = owner): Promise<string> {
  let text = '';
  await until(async () => !(text = textOfPage(await browser.get(path))).includes('Being made'));
  return text;
}

/** Makes a sheet and confirms it, as a person with a printer. */
async function makeSheet(opened: StaffedShop = shop): Promise<Secret> {
  const browser = await opened.as('owner');
  const made = await send(`${path}/sheet`, {}, browser);
  assert.equal(made.status, 200);
  const [typed = ''] = /AGE-SECRET-KEY-1 [0-9A-Z ]+/.exec(made.text) ?? [];
  const key = await parseRecoveryKey(typed);
  assert.ok(key.ok, typed);
  const stored = await opened.service.query('select recipient, draft_recipient from backup_settings');
  assert.ok(stored.some(({ draft_recipient: draft }) => draft === key.value.recipient));
  const wrong = await browser.post(`${path}/sheet/confirm`, { typed: 'QQQQQQ' });
  assert.equal(wrong.status, 422);
  assert.match(textOfPage(wrong), /These are not the last six characters/);
  assert.ok(!wrong.text.includes(typed), 'the key is shown once');
  const last = key.value.identity.reveal().slice(-6).toLowerCase();
  const confirmed = await browser.post(`${path}/sheet/confirm`, { typed: last });
  assert.equal(
    confirmed.status,
    303,
    opened.service
      .log()
      .split('\n')
      .filter((l) => l.includes('err'))
      .join('\n'),
  );
  return key.value.identity;
}

function filesIn(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder, { recursive: true }).map(String).toSorted() : [];
}

const s3 = {
  kind: 's3',
  address: `https://${bucketHost}`,
  region: 'eu-test-1',
  bucket: 'shop-backups',
  keyId: 'AKIDTEST',
  secret: 'hush-hush-hush',
  rhythm: 'hourly',
};

test('without a sheet, the page asks for one, and no backup is made', async () => {
  assertDone(await send(path, { kind: 'disk', disk, rhythm: 'nightly' }), 'savedUnnoticed');
  const text = await pageText();
  assert.match(text, /Not set up No backup was verified yet/);
  assert.match(text, /Make the recovery sheet first/);
  assert.deepEqual(filesIn(disk), []);
});

let identity: Secret;

test('a confirmed sheet starts a backup on the other disk, which opens with the key and lists as verified', async () => {
  identity = await makeSheet();
  await until(async () => /The last verified backup is from/.test(await pageText()));
  const [folder = '', file = ''] = filesIn(disk);
  assert.match(folder, /^largesse-[0-9a-f]{8}$/);
  assert.match(file, /^largesse-[0-9a-f]{8}\/largesse-\d{8}T\d{6}Z-[0-9A-F]{4}\.tar\.zst\.age$/);
  const target = join(scratch, 'opened.db');
  const content = [readFileSync(join(disk, file))];
  const opened = await openBackup(contentOf(content), {
    identity,
    database: target,
    databaseBytesMax: 2 ** 30,
  });
  assert.deepEqual(opened.keys, readFileSync(shop.service.database.keysFile));
  assert.equal(readFileSync(target).toString('latin1', 0, 15), 'SQLite format 3');
  const text = await pageText();
  assert.match(text, /Verified The last verified backup is from/);
  assert.match(text, /the disk .*usb disk · Every night/);
});

async function* contentOf(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

test('a trial opens the newest backup with the typed key, and leaves nothing', async () => {
  const key = identity.reveal();
  const changed = `${key.slice(0, -1)}${key.endsWith('Q') ? 'P' : 'Q'}`;
  for (const typed of ['', key.slice(1), changed])
    assert.match(textOfPage(await send(`${path}/try`, { key: typed })), /This is not a whole key/);
  assertDone(await send(`${path}/try`, { key: key.toLowerCase() }), 'tried');
  assert.match(
    await pageText(),
    /was opened on .*, and every balance was verified: .*flowers\.example: 2 cards, €100\.00/,
  );
  const otherKey = (await makeRecoveryKey()).identity.reveal();
  assertDone(await send(`${path}/try`, { key: otherKey }));
  assert.match(await pageText(), /could not be restored on .*It was made for another sheet/);
  const left = readdirSync(join(shop.service.database.keysFile, '..')).filter((name) =>
    name.includes('backup-'),
  );
  assert.deepEqual(
    left.filter((name) => !name.endsWith('.backup-lock')),
    [],
  );
});

test('a listed backup can be downloaded, which is recorded', async () => {
  const page = await owner.get(path);
  const { name = '' } = formOf(page, `${path}/download`);
  const response = await owner.post(`${path}/download`, { ...formOf(page, `${path}/download`) });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-disposition'), `attachment; filename="${name}"`);
  assert.match(response.text, /^age-encryption\.org\/v1\n/);
  await until(async () => (await pageText()).includes('downloaded'));
  assert.equal((await owner.post(`${path}/download`, { name: 'largesse.db' })).status, 404);
});

test('a disk that is not there is named, and the next attempt waits', async () => {
  isMounted = false;
  rmSync(disk, { recursive: true });
  await send(`${path}/now`);
  const text = await pageText();
  assert.match(text, /Failed The last verified backup/);
  assert.match(text, /The disk is not there: the disk .*usb disk/);
  assert.match(text, /The attempt of .* failed\. The next one is at/);
  assert.ok(!existsSync(disk), 'nothing is written to the disk below');
  assert.match(
    textOfPage(await send(path, { kind: 'disk', disk, rhythm: 'nightly' })),
    /Choose a disk of the list/,
  );
  isMounted = true;
  mkdirSync(disk);
  await send(`${path}/now`);
  assert.match(await pageText(), /Verified The last verified/);
});

test('only disks of the list are accepted, which has neither the own disk nor memory', async () => {
  const page = await owner.get(path);
  assert.ok(
    page.text.includes('/dev/sdb1') && !page.text.includes('tmpfs') && !page.text.includes('/dev/sda1'),
  );
  for (const typed of ['/', scratch, `${scratch}/memory`, '/etc', `${disk}/..`])
    assert.equal((await send(path, { kind: 'disk', disk: typed })).status, 422, typed);
});

test('S3 receives the backup, gives it back, and the secret never returns', async () => {
  assertDone(await send(path, s3), 'savedUnnoticed');
  await until(async () => (await pageText()).includes('the bucket shop-backups at s3.storage.example'));
  await until(() => Promise.resolve(bucket.objects.size === 1));
  const text = await pageText();
  assert.match(text, /Verified The last verified backup/);
  const page = await owner.get(path);
  assert.ok(!page.text.includes(s3.secret));
  assert.match(text, /•••• set/);
  const rows = await shop.service.query('select * from backup_settings');
  assert.ok(!JSON.stringify(rows).includes(s3.secret));
  assert.ok(!shop.service.log().includes(s3.secret) && !shop.service.log().includes(identity.reveal()));
  assertDone(await send(path, { ...s3, secret: '', rhythm: 'nightly' }), 'savedUnnoticed');
  assert.match(
    textOfPage(await send(path, { ...s3, secret: '', keyId: 'OTHER' })),
    /Enter the secret key for this address/,
  );
  assertDone(await send(`${path}/try`, { key: identity.reveal() }), 'tried');
});

test('each failure of S3 has its sentence, and an object that differs is removed', async () => {
  const faults = [
    ['forbidden', /does not accept the access key.*403 SignatureDoesNotMatch/],
    ['missing', /The bucket does not exist.*404 NoSuchBucket/],
    ['damages', /differs from what was sent/],
    ['closes', /There is no encrypted connection/],
  ] as const;
  for (const [fault, sentence] of faults) {
    const before = [...bucket.objects.keys()];
    bucket.fault = fault;
    shop.service.clock.advance(1_000);
    await send(`${path}/now`);
    assert.match(await pageText(), sentence, fault);
    bucket.fault = null;
    assert.deepEqual([...bucket.objects.keys()], before, fault);
  }
  for (const [address, sentence] of [
    ['https://inside.storage.example', /The storage is not on the internet/],
    ['https://unknown.storage.example', /The address of the storage is not known/],
  ] as const) {
    await send(path, { ...s3, address });
    assert.match(await pageText(), sentence, address);
  }
});

test('addresses and names of S3 that are not accepted are errors at their fields', async () => {
  const wrong = [
    { address: 'http://s3.storage.example' },
    { address: 'https://10.0.0.7' },
    { address: 'https://[::1]' },
    { address: 'https://localhost' },
    { address: 'https://user:password@s3.storage.example' },
    { address: 'https://s3.storage.example/path' },
    { address: `https://${'a'.repeat(400)}.example` },
    { bucket: '../other' },
    { bucket: 'UPPER' },
    { region: 'a b' },
    { keyId: '' },
    { secret: 's'.repeat(501) },
    { kind: 'other' },
  ];
  for (const change of wrong) {
    const response = await send(path, { ...s3, ...change });
    assert.equal(response.status, 422, JSON.stringify(change));
    assert.ok(!response.text.includes(s3.secret));
  }
});

test('download only keeps the newest backup on this machine', async () => {
  assertDone(await send(path, { kind: 'download', rhythm: 'nightly' }), 'savedUnnoticed');
  await pageText();
  shop.service.clock.advance(2_000);
  await send(`${path}/now`);
  const text = await pageText();
  assert.match(text, /this machine, to download/);
  const folder = join(shop.service.database.keysFile, '..', 'largesse.backups');
  assert.equal(filesIn(folder).length, 1);
});

test('the audit log lists each change without secrets', async () => {
  const rows = await shop.service.query(
    "select details from staff_actions where action = 'settings-changed' order by at, id",
  );
  const entries = rows.map(({ details }) => JSON.parse(String(details)) as Readonly<Record<string, unknown>>);
  assert.deepEqual(entries.at(0), { fields: 'backups', name: `the disk ${disk}` });
  assert.match(
    JSON.stringify(entries.at(1)),
    /"fields":"recovery_sheet","name":"[0-9A-F]{4}","verified":true/,
  );
  assert.ok(!JSON.stringify(entries).includes(s3.secret));
  const audit = textOfPage(await owner.get('/audit'));
  assert.match(audit, /Changed the settings .*backups/);
});

test('after half a year, a person is asked for the sheet', async () => {
  await shop.service.database.meddle(
    'update backup_settings set sheet_seen_at = sheet_seen_at - 200 * 24 * 60 * 60 * 1000',
  );
  assert.match(textOfPage(await owner.get('/today')), /do you still have the recovery sheet\?/);
  assert.match(await pageText(), /Half a year has passed/);
  assert.equal((await owner.post(`${path}/sheet/seen`, { typed: 'WRONGQ' })).status, 422);
  assertDone(await owner.post(`${path}/sheet/seen`, { typed: identity.reveal().slice(-6) }), 'seen');
  assert.doesNotMatch(textOfPage(await owner.get('/today')), /recovery sheet/);
});

test('a new sheet replaces the old one, and older backups keep theirs', async () => {
  const before = await shop.service.query('select recipient from backup_settings');
  const fresh = await makeSheet();
  await until(async () => (await pageText()).includes('Verified'));
  const after_ = await shop.service.query('select recipient from backup_settings');
  assert.notDeepEqual(after_, before);
  shop.service.clock.advance(2_000);
  await send(`${path}/now`);
  await pageText();
  assertDone(await send(`${path}/try`, { key: fresh.reveal() }), 'tried');
  assertDone(await send(`${path}/try`, { key: identity.reveal() }));
});

test('removing ends the backups, and keeps the files', async () => {
  assertDone(await send(`${path}/remove`), 'removed');
  assert.match(await pageText(), /Choose where the backups go/);
  await send(`${path}/now`);
  assert.match(await pageText(), /Not set up/);
});

test('people who are not owners do not see the page', async () => {
  for (const role of roles.filter((each) => each !== 'owner')) {
    const browser = await shop.as(role);
    for (const action of [path, `${path}/sheet`, `${path}/now`, `${path}/download`])
      assert.equal((await browser.post(action, {})).status, 403, `${role} ${action}`);
    assert.equal((await browser.get(path)).status, 403);
  }
});

test('where only the operator owns the machine, the page says it, and nothing can be changed', async () => {
  await using other = await openStaffedShop({ environment: { MACHINE: 'operator' }, readMounts });
  const browser = await other.as('owner');
  assert.match(textOfPage(await browser.get(path)), /Only the operator of this machine sets backups up/);
  for (const action of [
    path,
    `${path}/sheet`,
    `${path}/now`,
    `${path}/try`,
    `${path}/download`,
    `${path}/remove`,
  ]) {
    const response = await browser.post(action, s3);
    assert.match(textOfPage(response), /Only the operator of this machine/, action);
  }
  const [row] = await other.service.query('select place, draft_recipient from backup_settings');
  assert.deepEqual({ ...row }, { place: null, draft_recipient: null });
});

test('the folder of the operator wins, and is shown only to read', async () => {
  const folder = join(scratch, 'of operator');
  mkdirSync(folder);
  await using other = await openStaffedShop({
    environment: { MACHINE: 'owner', BACKUP_FOLDER: folder },
    readMounts,
  });
  const browser = await other.as('owner');
  const page = await browser.get(path);
  assert.match(textOfPage(page), /Set by the operator \(BACKUP_FOLDER\): the folder .*of operator/);
  assert.ok(!page.text.includes('name="kind"'));
  await makeSheet(other);
  await until(async () => /Verified The last/.test(await pageText(browser)));
  assert.equal(filesIn(folder).length, 2);
});
