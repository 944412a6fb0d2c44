/** Staff who are limited to locations: where they work, what they change, and what they see. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { dayOf } from '../../src/core/domain/day.ts';
import type { StaffMember } from '../../src/core/staff/domain/staff.ts';
import { findRecentActivity } from '../../src/features/today/service/activity.ts';
import { findReceipt, readTillDay, sumTakenBackAt } from '../../src/features/till/service/till-day.ts';
import { figuresReader } from '../../src/features/today/service/today.ts';
import { listCardsUndelivered } from '../../src/features/today/service/today-page.ts';
import { limitedFilter } from '../../src/core/cards/service/filter.ts';
import { listCards } from '../../src/core/cards/service/list.ts';
import type { ByStaff } from '../../src/core/staff/service/as-staff.ts';
import { closeLocationAs } from '../../src/features/shop-settings/service/location.ts';
import { adjustBalance, disableCard } from '../../src/features/card-pages/service/card.ts';
import { changePerson, invitePerson } from '../../src/features/staff/service/member.ts';
import { redeem, undoRedemption } from '../../src/features/till/service/redemption.ts';
import { refundToCard } from '../../src/features/till/service/refund.ts';
import { issueCard, sellCard, topUpCard } from '../../src/features/till/service/sale.ts';
import {
  moveTillAs,
  enrollTill,
  revokeTill,
  setTillPaperAs,
} from '../../src/features/till/service/staff-till.ts';
import { listPinPeople, reservePin, signInWithPin } from '../../src/features/till/service/pin-sign-in.ts';
import {
  chooseWorkplace,
  createSession,
  findSignedIn,
  sessionTokens,
} from '../../src/core/staff/service/session.ts';
import { changeStaff, inviteStaff, linkTokens, setPin, useLink } from '../../src/core/staff/service/staff.ts';
import { findPresentedTill, tillTokens } from '../../src/features/till/service/till.ts';
import { noDetails } from '../../src/core/cards/domain/fields.ts';
import { loadCard } from '../../src/core/cards/service/present-card.ts';
import { versionTagOf } from '../../src/core/cards/service/version.ts';
import { anyCard } from '../../src/core/cards/storage/filter.ts';
import { all, sql, type Script } from '../../src/database/sql/sql.ts';
import { until } from '../support/delivering.ts';
import type { StorageFactory } from '../support/database.ts';
import { actionsOf, personOf } from '../support/acting.ts';
import { email, money } from '../support/fixtures.ts';
import { addShop, openStore, type OpenStore } from '../support/open-store.ts';

const hashed =
  '$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

/** A store with three locations, an owner, and a manager who is limited to the first two. */
async function openShops(factory: StorageFactory) {
  const opened = await openStore(factory);
  const { storage, ctx, store } = opened;
  const [market, harbour, airport] = [await addShop(opened), await addShop(opened), await addShop(opened)];
  const owner = await personOf(opened, 'owner');
  const limited = async (
    role: 'manager' | 'cashier',
    locationIds: readonly number[],
  ): Promise<StaffMember> => {
    const address = email(`${role}-${ctx.random.id()}@example.com`);
    const limits = { saleLimit: null, refundLimit: null, locationIds };
    const fields = { name: role, email: address, role, ...limits };
    const { token } = await storage.write(() => inviteStaff(ctx, { store, by: null, ...fields }));
    const presented = linkTokens.parse(token.reveal()) ?? assert.fail();
    return (await storage.write(() => useLink(ctx, { token: presented, password: hashed }))).member;
  };
  const enroll = async (locationId: number | null) => {
    const device = { name: 'Counter', replaced: null, session: null };
    const { till, token } = await storage.write(() => enrollTill(ctx, owner, device));
    if (locationId !== null) await storage.write(() => moveTillAs(ctx, owner, till.id, locationId));
    return { id: till.id, token: tillTokens.parse(token.reveal()) ?? assert.fail() };
  };
  const manager = await limited('manager', [market, harbour]);
  return { ...opened, market, harbour, airport, owner, manager, limited, enroll };
}

type Shops = Awaited<ReturnType<typeof openShops>>;

async function placesOfEntries({ storage, store }: OpenStore): Promise<readonly (number | null)[]> {
  const rows = await storage.read(() =>
    all(sql<{ location_id: bigint | null }>`
      select location_id from transfers where store_id = ${store.id} order by id`),
  );
  return rows.map(({ location_id: id }) => (id === null ? null : Number(id)));
}

function sale(value: string) {
  return { value: money(value), code: null, recipient: null };
}

/** Moves money in every way in which staff do, once. */
async function moveInEveryWay({ storage, ctx, store }: Shops, by: ByStaff, cardId: number): Promise<void> {
  await storage.write(() => sellCard(ctx, by, sale('10')));
  const details = { details: noDetails, customer: null, recipient: null, isEmailed: false, sendAt: null };
  await storage.write(() => issueCard(ctx, by, { value: money('10'), ...details }));
  const spent = { cardId, amount: money('2'), reference: null, note: null };
  const first = await storage.write(() => redeem(ctx, by, spent));
  const second = await storage.write(() => redeem(ctx, by, spent));
  await storage.write(() => undoRedemption(ctx, by, first.transfer.id));
  const refund = { transferId: second.transfer.id, amount: money('1'), note: null };
  await storage.write(() => refundToCard(ctx, by, refund));
  await storage.write(() => topUpCard(ctx, by, { cardId, amount: money('5') }));
  const { card } = await storage.read(() => loadCard(ctx, { storeId: store.id, cardId }));
  const adjusted = { cardId, balance: money('40'), reason: 'test', version: versionTagOf(card) };
  await storage.write(() => adjustBalance(ctx, by, adjusted));
}

const ways = 8;

export function testLimitedStaff(factory: StorageFactory): void {
  test('a limit names 1 to 20 locations of the store, and never those of an owner', async () => {
    await using shops = await openShops(factory);
    const { storage, ctx, store, owner, manager, market, airport } = shops;
    const other = await openStore(factory);
    await using _ = other;
    const change = (id: number, changes: Parameters<typeof changePerson>[3]) =>
      storage.write(() => changePerson(ctx, owner, id, changes));
    const many = Array.from({ length: 21 }, (_each, place) => place + 1);
    for (const locationIds of [[], [7], [market, market], [market, 7], many])
      await assert.rejects(
        change(manager.id, { locationIds }),
        { code: 'invalid-parameter' },
        String(locationIds),
      );
    await assert.rejects(change(manager.id, { role: 'owner' }), ({ errors }: { errors: object }) =>
      Object.hasOwn(errors, 'locations'),
    );
    await assert.rejects(change(owner.member.id, { locationIds: [market] }), { code: 'invalid-parameter' });
    const invitation = { name: 'Eve', email: email('eve@example.com'), role: 'owner', replaces: '' } as const;
    const limits = { saleLimit: null, refundLimit: null, locationIds: [market] };
    await assert.rejects(
      storage.write(() => invitePerson(ctx, owner, { ...invitation, ...limits })),
      { code: 'invalid-parameter' },
    );
    const before = (await actionsOf(shops, owner)).length;
    const changed = await change(manager.id, { locationIds: [airport] });
    assert.deepEqual(changed.locationIds, [airport]);
    await change(manager.id, { locationIds: [airport] });
    const free = await change(manager.id, { locationIds: null });
    assert.equal(free.locationIds, null);
    assert.deepEqual((await actionsOf(shops, owner)).slice(before), [
      ['staff-changed', manager.id, { locations: 'Harbour' }],
      ['staff-changed', manager.id, {}],
      ['staff-changed', manager.id, { everywhere: true }],
    ]);
    assert.equal(store.id, manager.storeId);
  });

  test('a change of the limit signs the person out, and a till that moves the one who is on it', async () => {
    await using shops = await openShops(factory);
    const { storage, ctx, store, owner, manager, market, harbour, enroll } = shops;
    const open = async (method: 'password' | 'pin', tillId: number | null) => {
      const { token } = await storage.write(() =>
        createSession(ctx, manager, { method, tillId, userAgent: '' }),
      );
      const presented = sessionTokens.parse(token.reveal()) ?? assert.fail();
      return () => storage.read(() => findSignedIn(ctx, presented));
    };
    const till = await enroll(market);
    const [office, counter] = [await open('password', null), await open('pin', till.id)];
    assert.equal((await office())?.workplace?.id, market);
    assert.equal((await counter())?.workplace?.id, market);
    await storage.write(() => moveTillAs(ctx, owner, till.id, harbour));
    assert.equal(await counter(), undefined);
    const change = (locationIds: readonly number[] | null) =>
      storage.write(() =>
        changeStaff(ctx, { store, id: manager.id, changes: { name: 'Mia', locationIds }, by: null }),
      );
    await change([harbour, market]);
    assert.ok(await office(), 'the same locations');
    await change([harbour]);
    assert.equal(await office(), undefined);
  });

  test('a person signs in only at a till of an own location', async () => {
    await using shops = await openShops(factory);
    const { storage, ctx, store, market, airport, limited, enroll } = shops;
    const cashier = await limited('cashier', [market]);
    await storage.write(() => setPin(ctx, cashier, hashed, null));
    for (const [locationId, isOpen] of [
      [market, true],
      [airport, false],
      [null, false],
    ] as const) {
      const { token } = await enroll(locationId);
      const { till } = (await storage.read(() => findPresentedTill(token))) ?? assert.fail();
      const people = await storage.read(() => listPinPeople(store, till));
      assert.deepEqual(
        people.map(({ id }) => id),
        isOpen ? [cashier.id] : [],
      );
      const attempt = await storage.write(() => reservePin(ctx, { store, till, staffId: cashier.id }));
      assert.equal(attempt.kind, isOpen ? 'reserved' : 'unknown');
      const signedIn = storage.write(() =>
        signInWithPin(ctx, { token, staffId: cashier.id, hashed, ended: null, userAgent: '' }),
      );
      if (isOpen) assert.equal((await signedIn).session.tillId, till.id);
      else await assert.rejects(signedIn, { code: 'unauthenticated' });
    }
  });

  test('every movement is at the till of an own location, or at the place in the office', async () => {
    await using shops = await openShops(factory);
    const { storage, ctx, store, owner, manager, market, harbour, airport, enroll } = shops;
    const { card } = await shops.issue({ value: money('50') });
    const tills = [await enroll(harbour), await enroll(airport), await enroll(null)];
    const [first, ...others] = tills.map(({ id }): ByStaff => ({ store, member: manager, tillId: id }));
    const own = first ?? assert.fail();
    await moveInEveryWay(shops, own, card.id);
    assert.deepEqual((await placesOfEntries(shops)).slice(1), Array(ways).fill(harbour));
    const office = { store, member: manager, tillId: null };
    await moveInEveryWay(shops, office, card.id);
    await moveInEveryWay(shops, { ...office, locationId: harbour }, card.id);
    // Another location cannot be chosen.
    await moveInEveryWay(shops, { ...office, locationId: airport }, card.id);
    const places = [harbour, market, harbour, market].flatMap((at) => Array<number>(ways).fill(at));
    assert.deepEqual((await placesOfEntries(shops)).slice(1), places);
    for (const by of others)
      await assert.rejects(
        storage.write(() => sellCard(ctx, by, sale('10'))),
        ({ errors }: { errors: object }) => Object.hasOwn(errors, 'location_id'),
      );
    await storage.write(() => closeLocationAs(ctx, owner, market, true));
    await storage.write(() => sellCard(ctx, { ...office, locationId: market }, sale('10')));
    assert.equal((await placesOfEntries(shops)).at(-1), harbour, 'the other location is open');
    await storage.write(() => closeLocationAs(ctx, owner, harbour, true));
    for (const by of [office, own])
      await assert.rejects(
        storage.write(() => sellCard(ctx, by, sale('10'))),
        ({ errors }: { errors: object }) => Object.hasOwn(errors, 'location_id'),
      );
    // A change that moves no money needs no location.
    await storage.write(() => disableCard(ctx, office, { cardId: card.id, releaseHolds: false }));
    assert.equal((await placesOfEntries(shops)).length, 1 + 4 * ways + 1);
  });

  test('a person chooses one of the own locations for the office', async () => {
    await using shops = await openShops(factory);
    const { storage, ctx, manager, market, harbour, airport } = shops;
    const { token } = await storage.write(() =>
      createSession(ctx, manager, { method: 'password', tillId: null, userAgent: '' }),
    );
    const presented = sessionTokens.parse(token.reveal()) ?? assert.fail();
    const found = async () => (await storage.read(() => findSignedIn(ctx, presented))) ?? assert.fail();
    const signedIn = await found();
    assert.equal(signedIn.workplace?.id, market);
    await storage.write(() => chooseWorkplace(signedIn, harbour));
    assert.equal((await found()).workplace?.id, harbour);
    await assert.rejects(
      storage.write(() => chooseWorkplace(signedIn, airport)),
      { code: 'not-found' },
    );
  });

  test('a manager who is limited to locations changes neither tills nor locations nor people', async () => {
    await using shops = await openShops(factory);
    const { storage, ctx, store, manager, market, enroll } = shops;
    const by = { store, member: manager, tillId: null };
    const { id } = await enroll(market);
    const changes: readonly (() => Script<unknown>)[] = [
      () => enrollTill(ctx, by, { name: 'Mine', replaced: null, session: null }),
      () => moveTillAs(ctx, by, id, market),
      () => setTillPaperAs(ctx, by, id, 58),
      () => revokeTill(ctx, by, id),
      () => closeLocationAs(ctx, by, market, true),
      () => changePerson(ctx, by, manager.id, { locationIds: null }),
    ];
    for (const change of changes)
      await assert.rejects(storage.write(change), { code: 'insufficient-scope' }, String(change));
  });

  test('lists, figures, receipts and the activity are those of the own locations', async () => {
    await using shops = await openShops(factory);
    const { storage, ctx, store, owner, manager, market, airport, enroll } = shops;
    const far = { ...owner, tillId: (await enroll(airport)).id };
    const near = { store, member: manager, tillId: (await enroll(market)).id };
    const elsewhere = await storage.write(() => sellCard(ctx, far, sale('40')));
    const here = await storage.write(() => sellCard(ctx, near, sale('10')));
    const nowhere = await storage.write(() => sellCard(ctx, owner, sale('20')));
    // A card can be redeemed everywhere.
    const spent = { cardId: elsewhere.card.id, amount: money('4'), reference: null, note: null };
    const { transfer } = await storage.write(() => redeem(ctx, near, spent));
    await storage.write(() => undoRedemption(ctx, near, transfer.id));
    await storage.write(() => redeem(ctx, far, { ...spent, amount: money('7') }));

    const cardsOf = async (member: StaffMember, issuedAt: readonly number[] | null = null) => {
      const filter = limitedFilter(member, { ...anyCard, issuedAt });
      const sort = { by: 'created_at', isDescending: false } as const;
      const page = await storage.read(() => listCards(ctx, { store, filter, sort, after: null, limit: 50 }));
      return page.cards.map(({ card }) => card.id);
    };
    assert.deepEqual(await cardsOf(manager), [here.card.id]);
    assert.deepEqual(await cardsOf(manager, [airport]), []);
    assert.deepEqual(
      await cardsOf(owner.member),
      [elsewhere, here, nowhere].map(({ card }) => card.id),
    );
    assert.deepEqual(await cardsOf(owner.member, [airport]), [elsewhere.card.id]);
    assert.deepEqual(await storage.read(() => listCardsUndelivered(ctx, store, manager.locationIds)), []);

    const reader = figuresReader({ ctx, storage });
    const figures = async (places: Parameters<typeof reader.read>[1]) => {
      let found: Awaited<ReturnType<typeof reader.read>>;
      await until(async () => (found = await reader.read(store, places)) !== undefined);
      const { sold, redeemed } = (found ?? assert.fail()).today;
      return [sold.amount, redeemed.amount];
    };
    assert.deepEqual(await figures(manager.locationIds), [1_000n, 400n]);
    assert.deepEqual(await figures([airport]), [4_000n, 700n]);
    assert.deepEqual(await figures([null]), [2_000n, 0n]);
    assert.deepEqual(await figures(null), [7_000n, 1_100n]);

    const day = dayOf(ctx.clock.now(), store.timeZone);
    const read = { ctx, storage };
    const own = await readTillDay(read, { store, day, places: manager.locationIds });
    assert.deepEqual(
      own.entries.map(({ part }) => part),
      ['sold', 'redeemed', 'undone'],
    );
    assert.equal((await readTillDay(read, { store, day, places: null })).entries.length, 6);
    const taken = await sumTakenBackAt(read, { store, day, places: manager.locationIds });
    assert.deepEqual(taken.undone, { entries: 1, minor: 400n });

    const activity = async (places: Parameters<typeof reader.read>[1]) => {
      const { activities } = await storage.read(() => findRecentActivity(ctx, store, places));
      return activities.map(({ transfer: entry }) => entry?.effect);
    };
    assert.deepEqual(await activity(manager.locationIds), [400n, -400n, 1_000n]);
    assert.deepEqual(await activity([null]), [2_000n]);
    assert.equal((await activity(null)).length, 6);

    const receiptOf = (by: StaffMember, id: number) =>
      storage.read(() => findReceipt(ctx, { store, member: by }, id));
    assert.equal((await receiptOf(manager, here.transferId)).location?.id, market);
    for (const { transferId } of [elsewhere, nowhere]) {
      assert.equal((await receiptOf(owner.member, transferId)).transfer.id, transferId);
      await assert.rejects(receiptOf(manager, transferId), { code: 'not-found' });
    }
  });
}
