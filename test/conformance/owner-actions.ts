/** People and settings that owners change: each with its permission and its entry in the list of what staff do. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { settingTexts } from '../../src/features/shop-settings/domain/settings.ts';
import type { ByStaff } from '../../src/core/staff/service/as-staff.ts';
import {
  changePerson,
  invitationVersionOf,
  invitePerson,
  linkPerson,
  signOutPerson,
  unlockPerson,
} from '../../src/features/staff/service/member.ts';
import {
  changeLogo,
  changeSettings,
  recordSetupStep,
} from '../../src/features/shop-settings/service/settings.ts';
import { listPeople, showMember } from '../../src/features/staff/service/people.ts';
import { findSettings } from '../../src/features/shop-settings/service/settings-of-store.ts';
import type { Script } from '../../src/database/sql/sql.ts';
import { listSetupSteps } from '../../src/core/stores/storage/setup-step.ts';
import type { StorageFactory } from '../support/database.ts';
import { actionsOf, personOf } from '../support/acting.ts';
import { email } from '../support/fixtures.ts';
import { openStore } from '../support/open-store.ts';

const invited = {
  name: 'Bea',
  email: email('bea@example.com'),
  role: 'cashier',
  saleLimit: null,
  refundLimit: null,
  locationIds: null,
} as const;
const noChange = { changes: {}, emailChanges: {}, textChanges: [] };

export function testOwnerActions(factory: StorageFactory): void {
  test('an owner invites, changes and signs out a person, and each is listed once', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const owner = await personOf(opened, 'owner');
    const invite = (fields: object, replaces = '') =>
      storage.write(() => invitePerson(ctx, owner, { ...invited, ...fields, replaces }));
    const { member } = await invite({});
    const { id } = member;
    await assert.rejects(invite({ name: 'Bo' }), { code: 'invalid-parameter' });
    await invite({ name: 'Bo' }, invitationVersionOf(member));
    assert.equal((await storage.read(() => showMember(store, id))).name, 'Bo');
    await storage.write(() => linkPerson(ctx, owner, id));
    await storage.write(() => changePerson(ctx, owner, id, { role: 'manager' }));
    await storage.write(() => unlockPerson(ctx, owner, id));
    await storage.write(() => signOutPerson(ctx, owner, id, { except: null }));
    await storage.write(() => signOutPerson(ctx, owner, id, 1));
    await assert.rejects(
      storage.write(() => linkPerson(ctx, owner, 1)),
      { code: 'not-found' },
    );
    const people = await storage.read(() => listPeople(store));
    // By name.
    assert.deepEqual(
      people.map((person) => [person.member.name, person.passkeys, person.access?.hasPassword]),
      [
        ['Bo', 0, false],
        ['owner', 0, false],
      ],
    );
    const cashier = { email: 'bea@example.com', role: 'cashier' };
    assert.deepEqual(await actionsOf(opened, owner), [
      ['staff-invited', id, cashier],
      ['staff-invited', id, cashier],
      ['staff-invited', id, { link: true }],
      ['staff-changed', id, { role: 'manager' }],
      ['pin-unlocked', id, {}],
      ['session-ended', id, { all: true }],
    ]);
  });

  test('settings change unless another owner changed them, and only what changed is listed', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const owner = await personOf(opened, 'owner');
    const base = settingTexts(await storage.read(() => findSettings(store)));
    const renamed = (name: string) =>
      storage.write(() => changeSettings(ctx, owner, { ...noChange, base, changes: { name } }));
    assert.deepEqual(await renamed(store.name), []);
    assert.deepEqual(await renamed('Tulips'), ['name']);
    await assert.rejects(renamed('Roses'), { code: 'precondition-failed' });
    await storage.write(() => changeLogo(ctx, owner, null));
    await storage.write(() => recordSetupStep(ctx, owner, 'backup'));
    const steps = await storage.read(() => listSetupSteps(store.id));
    assert.deepEqual(
      steps.map(({ step, staffId }) => [step, staffId]),
      [['backup', owner.member.id]],
    );
    assert.deepEqual(await actionsOf(opened, owner), [
      ['settings-changed', null, { fields: 'name' }],
      ['settings-changed', null, { fields: 'logo' }],
      ['settings-changed', null, { done: 'backup' }],
    ]);
  });

  test('other roles change neither people nor settings', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { member } = await personOf(opened, 'cashier');
    const { id } = member;
    const base = settingTexts(await storage.read(() => findSettings(store)));
    const changes: readonly ((by: ByStaff) => Script<unknown>)[] = [
      (by) => invitePerson(ctx, by, { ...invited, replaces: '' }),
      (by) => linkPerson(ctx, by, id),
      (by) => changePerson(ctx, by, id, { role: 'owner' }),
      (by) => unlockPerson(ctx, by, id),
      (by) => signOutPerson(ctx, by, id, { except: null }),
      (by) => changeSettings(ctx, by, { ...noChange, base, changes: { name: 'Roses' } }),
      (by) => changeLogo(ctx, by, null),
      (by) => recordSetupStep(ctx, by, 'backup'),
    ];
    for (const role of ['manager', 'cashier', 'accountant'] as const) {
      const person = await personOf(opened, role);
      for (const change of changes)
        await assert.rejects(
          storage.write(() => change(person)),
          { code: 'insufficient-scope' },
        );
      assert.deepEqual(await actionsOf(opened, person), []);
    }
    assert.equal((await storage.read(() => findSettings(store))).store.name, store.name);
    assert.equal((await storage.read(() => showMember(store, id))).role, 'cashier');
  });
}
