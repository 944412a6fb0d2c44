/** Members of staff, their links and their sessions. */

import assert from 'node:assert/strict';
import test from 'node:test';
import type { StaffMember } from '../../src/core/staff/domain/staff.ts';
import {
  changeStaff,
  createLink,
  inviteStaff,
  linkTokens,
  openLink,
  setPin,
  useLink,
  type NewMember,
} from '../../src/core/staff/service/staff.ts';
import {
  extend,
  findSignedIn,
  isExtensionDue,
  isRecentlyAuthenticated,
  createSession,
  reauthenticate,
  sessionTokens,
  signOut,
  type SignInMethod,
} from '../../src/core/staff/service/session.ts';
import type { PresentedToken } from '../../src/core/stores/service/secret-token.ts';
import { recordFailedSignIn } from '../../src/features/staff/service/failed-sign-in.ts';
import { showStaffActions } from '../../src/features/staff/service/people.ts';
import { reserveSignIn } from '../../src/features/staff/service/sign-in-throttle.ts';
import type { Secret } from '../../src/platform/secret.ts';
import { listStaffActions } from '../../src/core/staff/storage/action.ts';
import { listOpenSessions } from '../../src/core/staff/storage/session.ts';
import {
  findAccount,
  findAccountByEmail,
  hasOwner,
  listStaff,
  reservePinAttempt,
} from '../../src/core/staff/storage/staff.ts';
import { all, execute, sql } from '../../src/database/sql/sql.ts';
import type { StorageFactory } from '../support/database.ts';
import { email, money } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';

const hashed =
  '$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
const hourMs = 60 * 60 * 1_000;
const unlimited = { saleLimit: null, refundLimit: null, locationIds: null };

function presented(kind: typeof linkTokens, token: Secret): PresentedToken {
  const parsed = kind.parse(token.reveal());
  assert.ok(parsed);
  return parsed;
}

async function invite({ storage, ctx, store }: OpenStore, fields: Partial<NewMember> = {}) {
  const member = {
    name: 'Ada',
    email: email('ada@example.com'),
    role: 'owner',
    ...unlimited,
    ...fields,
  } as const;
  return storage.write(() => inviteStaff(ctx, { store, by: null, ...member }));
}

async function join(opened: OpenStore, fields: Partial<NewMember> = {}): Promise<StaffMember> {
  const { storage, ctx } = opened;
  const { token } = await invite(opened, fields);
  const used = await storage.write(() =>
    useLink(ctx, { token: presented(linkTokens, token), password: hashed }),
  );
  return used.member;
}

async function signIn({ storage, ctx }: OpenStore, member: StaffMember, method: SignInMethod = 'password') {
  const opened = await storage.write(() =>
    createSession(ctx, member, { method, tillId: null, userAgent: `Browser ${'x'.repeat(300)}` }),
  );
  return { ...opened, token: presented(sessionTokens, opened.token) };
}

async function actionsOf({ storage, store }: OpenStore): Promise<readonly string[]> {
  const actions = await storage.read(() =>
    listStaffActions(store.id, { before: Number.MAX_SAFE_INTEGER, limit: 100 }),
  );
  return actions.map(({ action }) => action).toReversed();
}

export function testStaff(factory: StorageFactory): void {
  test('failed attempts with unknown addresses are one entry for each address and day, and at most 101 entries', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const fail = (address: string | null) =>
      storage.write(() =>
        recordFailedSignIn(ctx, { store, address: address === null ? null : email(address), staffId: null }),
      );
    const entries = async () => {
      const page = { before: Number.MAX_SAFE_INTEGER, filter: {}, ofCards: new Set<never>() };
      const { actions, unknown } = await storage.read(() => showStaffActions(ctx, store, page));
      return actions.map(({ id }) => {
        const { name = '', attempts = 0 } = unknown.get(id) ?? {};
        return [name === null ? null : name.length, attempts];
      });
    };
    await Promise.all(Array.from({ length: 20 }, () => fail('eve@example.com')));
    assert.deepEqual(await entries(), [[6, 20]]);
    await fail('mallory@example.com');
    await fail(null);
    await fail(null);
    assert.deepEqual(await entries(), [
      [null, 2],
      [6, 1],
      [6, 20],
    ]);
    ctx.clock.advance(24 * hourMs);
    await fail('eve@example.com');
    assert.deepEqual((await entries()).slice(0, 2), [
      [6, 1],
      [null, 2],
    ]);
    for (let place = 0; place < 110; place += 1) await fail(`eve${place}@example.com`);
    await fail('eve@example.com');
    assert.deepEqual((await entries())[0], [null, 11]);
    const [counted] = await storage.read(() =>
      all(sql<{ count: bigint }>`select count(*) as count from staff_actions where store_id = ${store.id}`),
    );
    assert.equal(Number(counted?.count), 3 + 101);

    const member = await join(opened);
    for (let count = 0; count < 3; count += 1)
      await storage.write(() =>
        recordFailedSignIn(ctx, { store, address: email('ada@example.com'), staffId: member.id }),
      );
    assert.deepEqual(
      (await entries()).slice(0, 3),
      Array.from({ length: 3 }, () => [0, 0]),
    );
  });

  test('a person joins with a link, which works once', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    assert.equal(await storage.read(hasOwner), false);
    const limits = { saleLimit: money('100.00', 'USD'), refundLimit: money('0.00', 'USD') };
    const { member, token } = await invite(opened, limits);
    assert.equal(await storage.read(hasOwner), false, 'the person has not joined yet');
    const open = await storage.read(() => openLink(ctx, presented(linkTokens, token)));
    assert.deepEqual(open?.member, member);
    ctx.clock.advance(1_000);
    const use = () =>
      storage.write(() => useLink(ctx, { token: presented(linkTokens, token), password: hashed }));
    const { member: joined } = await use();
    assert.deepEqual(joined, { ...member, ...limits, joinedAt: ctx.clock.now() });
    assert.equal(await storage.read(hasOwner), true);
    assert.deepEqual(await storage.read(() => listStaff(store)), [joined]);
    const account = await storage.read(() => findAccountByEmail(store, email('ADA@example.com')));
    assert.deepEqual(account, { member: joined, password: hashed, pin: null, pinFailures: 0 });
    await assert.rejects(use(), { code: 'not-found' });
    assert.equal(await storage.read(() => openLink(ctx, presented(linkTokens, token))), undefined);
    assert.deepEqual(await actionsOf(opened), ['staff-invited', 'staff-joined']);
  });

  test('a new invitation ends the earlier link, and changes the role', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const first = await invite(opened, { role: 'cashier' });
    const second = await invite(opened, { role: 'manager', name: 'Ada L.' });
    assert.equal(second.member.id, first.member.id);
    assert.equal(await storage.read(() => openLink(ctx, presented(linkTokens, first.token))), undefined);
    const open = await storage.read(() => openLink(ctx, presented(linkTokens, second.token)));
    assert.deepEqual([open?.member.role, open?.member.name], ['manager', 'Ada L.']);
    assert.equal((await storage.read(() => listStaff(store))).length, 1);
  });

  test('a link ends after seven days', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx } = opened;
    const { token } = await invite(opened);
    ctx.clock.advance(7 * 24 * hourMs - 1);
    assert.ok(await storage.read(() => openLink(ctx, presented(linkTokens, token))));
    ctx.clock.advance(1);
    assert.equal(await storage.read(() => openLink(ctx, presented(linkTokens, token))), undefined);
  });

  test('the address of a member who has joined is taken, also after the member was disabled', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    await join(opened);
    const grace = await join(opened, { email: email('grace@example.com'), role: 'cashier' });
    await storage.write(() =>
      changeStaff(ctx, { store, id: grace.id, changes: { disabled: true }, by: null }),
    );
    const taken = { code: 'invalid-parameter', errors: { email: ['is taken by a member of staff'] } };
    await assert.rejects(invite(opened, { email: email('Ada@Example.com') }), taken);
    await assert.rejects(invite(opened, { email: email('grace@example.com') }), taken);
  });

  test('a store keeps an owner who can sign in', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const ada = await join(opened);
    await invite(opened, { email: email('grace@example.com') });
    const change = (id: number, changes: Parameters<typeof changeStaff>[1]['changes']) =>
      storage.write(() => changeStaff(ctx, { store, id, changes, by: null }));
    const kept = { code: 'invalid-parameter' };
    await assert.rejects(change(ada.id, { role: 'manager' }), kept);
    await assert.rejects(change(ada.id, { disabled: true }), kept);
    const grace = await join(opened, { email: email('grace@example.com') });
    await change(ada.id, { role: 'manager' });
    await assert.rejects(change(grace.id, { disabled: true }), kept);
    await assert.rejects(change(1, {}), { code: 'not-found' });
  });

  test('of two owners who remove each other at once, one remains', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const owners = [await join(opened), await join(opened, { email: email('grace@example.com') })];
    const results = await Promise.allSettled(
      owners.map(({ id }) =>
        storage.write(() => changeStaff(ctx, { store, id, changes: { disabled: true }, by: null })),
      ),
    );
    assert.deepEqual(results.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
    assert.equal(await storage.read(hasOwner), true);
  });

  test('a session ends 12 hours after its last use, at sign-out, and when its member is disabled', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    await join(opened);
    const grace = await join(opened, { email: email('grace@example.com'), role: 'cashier' });
    const find = (token: PresentedToken) => storage.read(() => findSignedIn(ctx, token));
    const one = await signIn(opened, grace);
    assert.equal((await find(one.token))?.member.id, grace.id);
    assert.equal(one.session.userAgent.length, 200);
    assert.equal(isExtensionDue(ctx, one.session), false);
    ctx.clock.advance(11 * hourMs);
    assert.equal(isExtensionDue(ctx, one.session), true);
    const extended = await storage.write(() => extend(ctx, one.session));
    assert.equal(extended.expiresAt, ctx.clock.now() + 12 * hourMs);
    assert.deepEqual((await find(one.token))?.session, extended);
    ctx.clock.advance(12 * hourMs - 1);
    assert.ok(await find(one.token));
    ctx.clock.advance(1);
    assert.equal(await find(one.token), undefined);

    const two = await signIn(opened, grace);
    const three = await signIn(opened, grace);
    const now = ctx.clock.now();
    const open = await storage.read(() => listOpenSessions(store.id, { staffId: grace.id, now }));
    assert.deepEqual(
      open.map(({ id }) => id),
      [three.session.id, two.session.id],
    );
    await storage.write(() => signOut(ctx, two.session));
    assert.equal(await find(two.token), undefined);
    await storage.write(() =>
      changeStaff(ctx, { store, id: grace.id, changes: { disabled: true }, by: null }),
    );
    assert.equal(await find(three.token), undefined);
    await storage.write(() =>
      changeStaff(ctx, { store, id: grace.id, changes: { disabled: false }, by: null }),
    );
    assert.equal(await find(three.token), undefined, 'an enabled member signs in again');
  });

  test('a session that is used ends 30 days after the sign-in, and is not written more often until then', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx } = opened;
    const { token, session: first } = await signIn(opened, await join(opened));
    let session = first;
    const endsAt = session.createdAt + 30 * 24 * hourMs;
    let extensions = 0;
    while (ctx.clock.now() + 2 * hourMs < endsAt) {
      ctx.clock.advance(2 * hourMs);
      assert.equal(isExtensionDue(ctx, session), true);
      session = await storage.write(() => extend(ctx, session));
      extensions += 1;
    }
    assert.equal(extensions, 30 * 12 - 1);
    assert.equal(session.expiresAt, endsAt);
    assert.equal(session.lastUsedAt, endsAt - 2 * hourMs);
    ctx.clock.advance(4 * 60_000);
    assert.equal(isExtensionDue(ctx, session), false, 'although it ends in less than 12 hours');
    ctx.clock.advance(2 * hourMs - 4 * 60_000 - 1);
    assert.ok(await storage.read(() => findSignedIn(ctx, token)));
    ctx.clock.advance(1);
    assert.equal(await storage.read(() => findSignedIn(ctx, token)), undefined);
  });

  test('of two requests that extend a session, the later use counts', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx } = opened;
    const { token, session } = await signIn(opened, await join(opened));
    ctx.clock.advance(hourMs);
    const later = await storage.write(() => extend(ctx, session));
    ctx.clock.advance(-60_000);
    await storage.write(() => extend(ctx, session));
    assert.deepEqual((await storage.read(() => findSignedIn(ctx, token)))?.session, later);
  });

  test('a new password ends all sessions of its member', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx } = opened;
    const ada = await join(opened);
    const { token } = await signIn(opened, ada);
    const link = await storage.write(() => createLink(ctx, ada, null));
    await storage.write(() => useLink(ctx, { token: presented(linkTokens, link), password: hashed }));
    assert.equal(await storage.read(() => findSignedIn(ctx, token)), undefined);
  });

  test('a password counts as recent for ten minutes, and a PIN never', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx } = opened;
    const ada = await join(opened);
    const isRecent = async (token: PresentedToken) => {
      const found = await storage.read(() => findSignedIn(ctx, token));
      assert.ok(found);
      return isRecentlyAuthenticated(ctx, found.session);
    };
    const { token, session } = await signIn(opened, ada);
    const withPin = await signIn(opened, ada, 'pin');
    assert.deepEqual([await isRecent(token), await isRecent(withPin.token)], [true, false]);
    ctx.clock.advance(10 * 60 * 1_000);
    assert.equal(await isRecent(token), false);
    await storage.write(() => reauthenticate(ctx, session));
    assert.equal(await isRecent(token), true);
  });

  test('concurrent attempts with a PIN are counted before it is compared', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const ada = await join(opened);
    const attempt = () => storage.write(() => reservePinAttempt(ada, 5));
    assert.equal(await attempt(), undefined, 'there is no PIN');
    await storage.write(() => setPin(ctx, ada, hashed, null));
    const attempts = await Promise.all(Array.from({ length: 20 }, attempt));
    assert.deepEqual(
      attempts.filter((count) => count !== undefined).toSorted((left, right) => left - right),
      [1, 2, 3, 4, 5],
    );
    await signIn(opened, ada);
    assert.equal((await storage.read(() => findAccount(store, ada.id)))?.pinFailures, 0);
  });

  test('an attempt that one budget rejects uses no other budget', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const attempt = (client: string) =>
      storage.write(() =>
        reserveSignIn(ctx, { storeId: store.id, email: 'ada@example.com', client, browser: null }),
      );
    // Ten clients use up the budget of the account.
    for (let client = 0; client < 10; client += 1)
      for (let count = 0; count < 10; count += 1)
        assert.equal((await attempt(`192.0.2.${client}`)).isAllowed, true);
    for (let count = 0; count < 20; count += 1)
      assert.equal((await attempt('198.51.100.1')).isAllowed, false);
    const used = await storage.read(() =>
      all(sql<{ caller: string }>`select caller from lookup_throttle where refilled_at > ${ctx.clock.now()}`),
    );
    // The budgets of each client for the account and for all accounts, and the budget of the account.
    assert.equal(used.length, 21);
  });

  test('a session and a link of another store are not found', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx } = opened;
    const ada = await join(opened);
    const { token } = await signIn(opened, ada);
    const other: PresentedToken = { ...token, storeId: token.storeId + 1 };
    assert.equal(await storage.read(() => findSignedIn(ctx, other)), undefined);
    assert.equal(await storage.read(() => openLink(ctx, other)), undefined);
  });

  test('the audit log is append-only', async () => {
    await using opened = await openStore(factory);
    const { storage, store } = opened;
    await join(opened);
    const changes = [
      sql`update staff_actions set details = '{}' where store_id = ${store.id}`,
      sql`delete from staff_actions where store_id = ${store.id}`,
    ];
    for (const change of changes) await assert.rejects(storage.write(() => execute(change)));
    const rows = await storage.read(() => all(sql<{ action: string }>`select action from staff_actions`));
    assert.equal(rows.length, 2);
  });
}
