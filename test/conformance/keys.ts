/** A database knows the keys that it was written with. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { issue } from '../../src/core/cards/service/issue.ts';
import { checkKeys, hasKeys } from '../../src/features/proofs/service/key-check.ts';
import { findCardIdByCode } from '../../src/core/cards/storage/code.ts';
import type { MasterKey } from '../../src/platform/keys.ts';
import { listKeyChecks } from '../../src/features/proofs/storage/key-check.ts';
import { openMigrated, type StorageFactory } from '../support/database.ts';
import { code, issueCommand, manualClock, masterKey, testContext } from '../support/fixtures.ts';
import { openStore } from '../support/open-store.ts';

const old = masterKey('old', 1);
const young = masterKey('young', 2);

export function testKeys(factory: StorageFactory): void {
  test('a new database has no keys, and the first check records its keys', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    assert.equal(await storage.read(hasKeys), false);
    await storage.write(() => checkKeys(testContext({ masters: [old] })));
    assert.equal(await storage.read(hasKeys), true);
    await storage.write(() => checkKeys(testContext({ masters: [old] })));
    assert.equal((await storage.read(listKeyChecks)).length, 1);
  });

  test('a new first key is recorded, and both keys are required from then on', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    await storage.write(() => checkKeys(testContext({ masters: [old] })));
    await storage.write(() => checkKeys(testContext({ masters: [young, old] })));
    assert.deepEqual((await storage.read(listKeyChecks)).map(({ keyId }) => keyId).toSorted(), [
      'old',
      'young',
    ]);
    await storage.write(() => checkKeys(testContext({ masters: [old, young] })));
    await assert.rejects(
      storage.write(() => checkKeys(testContext({ masters: [young] }))),
      /lacks the key "old"/,
    );
  });

  test('the oldest key generates the public ids, at any position in the file', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    const check = (masters: readonly MasterKey[]) => storage.write(() => checkKeys(testContext({ masters })));
    assert.equal(await check([old]), 'old');
    for (const masters of [
      [young, old],
      [old, young],
      [masterKey('a', 3), old, young],
    ])
      assert.equal(await check(masters), 'old');
    const setBack = testContext({
      clock: manualClock(0),
      masters: [masterKey('b', 4), old, young, masterKey('a', 3)],
    });
    assert.equal(await storage.write(() => checkKeys(setBack)), 'old');
  });

  test('a missing or changed key is rejected, and nothing is recorded', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    await storage.write(() => checkKeys(testContext({ masters: [old] })));
    const wrong = [[young], [masterKey('old', 9)], [young, masterKey('old', 9)]];
    for (const masters of wrong) {
      await assert.rejects(
        storage.write(() => checkKeys(testContext({ masters }))),
        /key "old"/,
      );
    }
    assert.deepEqual(
      (await storage.read(listKeyChecks)).map(({ keyId }) => keyId),
      ['old'],
    );
  });

  test('a code written under an old key is found and stays taken under a new key', async () => {
    await using opened = await openStore(factory, { ctx: testContext({ masters: [old] }) });
    const { storage, store, database } = opened;
    const { card } = await opened.issue({ code: code('aaaaaaaa0001') });
    const rotated = testContext({ masters: [young, old] });
    assert.equal(
      await storage.read(() => findCardIdByCode(rotated, store.id, code('aaaaaaaa0001'))),
      card.id,
    );
    const forgotten = testContext({ masters: [young] });
    const found = await storage.read(() => findCardIdByCode(forgotten, store.id, code('aaaaaaaa0001')));
    assert.equal(found, undefined);

    const sameCode = issueCommand(store, { code: code('AAAA AAAA 0001') });
    await assert.rejects(
      database.open().write(() => issue(rotated, sameCode)),
      { code: 'invalid-parameter', errors: { code: ['is taken'] } },
    );
  });
}
