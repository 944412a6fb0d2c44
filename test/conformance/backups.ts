/** The records of the backups that the service makes: their settings, the sealed secret, and what counts as the last one. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { wallClockOf } from '../../src/platform/clock.ts';
import { isMachineOfOwners } from '../../src/core/stores/service/machine.ts';
import type { Backup, BackupPlace } from '../../src/features/backups/domain/backup.ts';
import { Secret } from '../../src/platform/secret.ts';
import { makeRecoveryKey, sheetIdOf } from '../../src/features/backups/platform/recovery-key.ts';
import {
  deleteBackup,
  findBackupConcern,
  readBackupState,
  recordSealedBackup,
  saveBackupFailure,
  saveBackupTrial,
  saveDownload,
} from '../../src/features/backups/service/backups.ts';
import {
  confirmSheet,
  draftSheet,
  removeBackups,
  seeSheet,
  setBackupPlace,
} from '../../src/features/backups/service/staff-backups.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { findNewestBackup, openBucketSecret } from '../../src/features/backups/storage/backup.ts';
import { findLastBackup } from '../../src/core/stores/storage/setup-step.ts';
import { personOf } from '../support/acting.ts';
import type { StorageFactory } from '../support/database.ts';
import { newStore } from '../support/fixtures.ts';
import { openStore } from '../support/open-store.ts';

const rule = 'owner';
const bucket: BackupPlace & { readonly kind: 's3' } = {
  kind: 's3',
  host: 's3.storage.example',
  port: 443,
  region: 'eu-test-1',
  bucket: 'shop-backups',
  keyId: 'AKIDTEST',
};
const disk: BackupPlace = { kind: 'disk', mount: '/media/usb' };
const secret = new Secret('hush-hush-hush');

const backupOf = (name: string, at: number): Backup => ({
  name,
  at,
  bytes: 1_000,
  databaseBytes: 9_000,
  verifiedAt: at + 5,
  downloadedAt: null,
});

export function testBackups(factory: StorageFactory): void {
  test('a sheet counts when its last characters were typed, and can be seen again', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx } = opened;
    const owner = await personOf(opened, 'owner');
    const { identity, recipient, macKey } = await makeRecoveryKey();
    const typed = identity.reveal().slice(-6);
    await storage.write(() => draftSheet(ctx, owner, { rule, recipient, identity, macKey }));
    const confirm = (text: string) =>
      storage.write(() => confirmSheet(ctx, owner, { rule, typed: text, sheetId: sheetIdOf }));
    assert.equal(await confirm('QQQQQQ'), null);
    assert.equal((await storage.read(() => readBackupState(null))).settings.recipient, null);
    assert.equal(await confirm(` ${typed.toLowerCase()} `), recipient);
    assert.equal(await confirm(typed), null, 'it is no longer new');
    const { settings } = await storage.read(() => readBackupState(null));
    assert.equal(settings.recipient, recipient);
    assert.ok(!JSON.stringify(settings).includes(identity.reveal()));
    assert.equal(await storage.write(() => seeSheet(ctx, owner, { rule, typed })), true);
    assert.equal(await storage.write(() => seeSheet(ctx, owner, { rule, typed: 'QQQQQQ' })), false);
  });

  test('a secret is sealed for its bucket, stays for the same one, and goes with another place', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx } = opened;
    const owner = await personOf(opened, 'owner');
    const set = (place: BackupPlace, given: Secret | null) =>
      storage.write(() =>
        setBackupPlace(ctx, owner, { rule, place, rhythm: 'hourly', secret: given, shown: 'x' }),
      );
    const sealed = async () => (await storage.read(() => readBackupState(null))).settings.sealedSecret;
    await assert.rejects(set(bucket, null), { code: 'invalid-parameter' });
    await set(bucket, secret);
    await set({ ...bucket, region: 'other' }, null);
    const stored = await sealed();
    assert.ok(stored);
    assert.ok(!Buffer.from(stored).includes(secret.reveal()));
    assert.equal(openBucketSecret(ctx, bucket, stored).reveal(), secret.reveal());
    for (const other of [{ host: 'x.example' }, { port: 444 }, { bucket: 'others' }, { keyId: 'OTHER' }]) {
      assert.throws(() => openBucketSecret(ctx, { ...bucket, ...other }, stored));
      await assert.rejects(set({ ...bucket, ...other }, null), { code: 'invalid-parameter' });
    }
    await set(disk, null);
    assert.equal(await sealed(), null);
    const { place, settings } = await storage.read(() => readBackupState(null));
    assert.deepEqual(place, disk);
    assert.equal(settings.rhythm, 'hourly');
    await storage.write(() => removeBackups(ctx, owner, rule));
    assert.equal((await storage.read(() => readBackupState(null))).place, null);
  });

  test('a verified backup ends the failures, is listed at its place, and is the last backup of the metrics', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx } = opened;
    assert.equal(await storage.read(findLastBackup), null);
    const failure = { trouble: 'full', response: 'no space', failedAt: 1, nextAt: 2 } as const;
    await storage.write(() => saveBackupFailure(failure));
    await storage.write(() => saveBackupFailure(failure));
    const state = () => storage.read(() => readBackupState(disk));
    assert.equal((await state()).settings.failures, 2);
    const now = ctx.clock.now();
    const record = (name: string, at: number, place = disk) =>
      storage.write(() => recordSealedBackup(ctx, { place, backup: backupOf(name, at), keptDays: 30 }));
    await record('b', now - 2_000);
    await record('c', now - 1_000);
    await record('a', now - 3_000);
    await record('a', now - 3_000);
    const { settings, backups } = await state();
    assert.deepEqual([settings.failures, settings.trouble, settings.nextAt], [0, null, null]);
    assert.deepEqual(
      backups.map(({ name }) => name),
      ['c', 'b', 'a'],
    );
    assert.equal((await storage.read(findNewestBackup)).madeAt, now - 1_000);
    assert.equal(await storage.read(findLastBackup), now);
    await storage.write(() => saveDownload('disk /media/usb', 'b', 77));
    await storage.write(() => deleteBackup('disk /media/usb', 'c'));
    assert.deepEqual(
      (await state()).backups.map(({ name, downloadedAt }) => [name, downloadedAt]),
      [
        ['b', 77],
        ['a', null],
      ],
    );
    await record('old', now - 31 * 24 * 60 * 60_000, bucket);
    assert.deepEqual((await storage.read(() => readBackupState(bucket))).backups.length, 1);
    await record('d', now);
    assert.deepEqual(
      (await storage.read(() => readBackupState(bucket))).backups,
      [],
      'forgotten after 30 days',
    );
  });

  test('a trial is stored as it was', async () => {
    await using opened = await openStore(factory);
    const { storage } = opened;
    const stores = [
      { store: 'flowers.example', currency: 'EUR', cards: 2, outstanding: '90071992547409930' },
    ];
    const trial = { triedAt: 5, name: 'x', problem: null, stores };
    await storage.write(() => saveBackupTrial(trial));
    assert.deepEqual((await storage.read(() => readBackupState(null))).settings.trial, trial);
  });

  test('a person is reminded of a download after a week, and of the sheet after half a year', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx } = opened;
    const owner = await personOf(opened, 'owner');
    const concernAt = (days: number) => {
      const clock = { ...ctx.clock, now: () => ctx.clock.now() + days * 24 * 60 * 60_000 };
      return storage.read(() => findBackupConcern({ wallClock: wallClockOf(clock) }, null));
    };
    assert.equal(await concernAt(400), null, 'nothing is set up');
    const { identity, recipient, macKey } = await makeRecoveryKey();
    await storage.write(() => draftSheet(ctx, owner, { rule, recipient, identity, macKey }));
    await storage.write(() =>
      confirmSheet(ctx, owner, { rule, typed: identity.reveal().slice(-6), sheetId: sheetIdOf }),
    );
    const place = { kind: 'download' } as const;
    await storage.write(() =>
      setBackupPlace(ctx, owner, { rule, place, rhythm: 'nightly', secret: null, shown: 'x' }),
    );
    assert.equal(await concernAt(6), null);
    assert.equal(await concernAt(8), 'download');
    assert.equal(await concernAt(184), 'sheet');
  });

  test('the owner of one of several stores neither sets backups up nor receives them', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx } = opened;
    const owner = await personOf(opened, 'owner');
    const set = (given: Parameters<typeof isMachineOfOwners>[0]) =>
      storage.write(() =>
        setBackupPlace(ctx, owner, { rule: given, place: disk, rhythm: 'nightly', secret: null, shown: 'x' }),
      );
    const one = 'owner-of-one-store';
    assert.equal(await storage.read(() => isMachineOfOwners(one)), true);
    await set(one);
    await storage.write(() => createStore(ctx, newStore({ domain: 'second.example' })));
    assert.equal(await storage.read(() => isMachineOfOwners(one)), false);
    await assert.rejects(set(one), { code: 'insufficient-scope' });
    await assert.rejects(set('operator'), { code: 'insufficient-scope' });
    assert.equal(await storage.read(() => isMachineOfOwners('operator')), false);
    assert.equal(await storage.read(() => isMachineOfOwners('owner')), true);
    await set('owner');
    for (const role of ['manager', 'accountant', 'cashier'] as const) {
      const other = await personOf(opened, role);
      await assert.rejects(
        storage.write(() => removeBackups(ctx, other, 'owner')),
        { code: 'insufficient-scope' },
      );
    }
  });
}
