/** Tills, sign-in with a PIN on them, and the figures of a day. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { versionTagOf } from '../../src/core/cards/service/version.ts';
import type { Card } from '../../src/core/cards/domain/card.ts';
import { noDetails } from '../../src/core/cards/domain/fields.ts';
import { addDays, dayOf, startOfDay } from '../../src/core/domain/day.ts';
import type { StaffMember } from '../../src/core/staff/domain/staff.ts';
import { figuresBy, figuresOf, tillParts, type TillPart } from '../../src/features/till/domain/till-day.ts';
import { refundToCard } from '../../src/features/till/service/refund.ts';
import { adjustBalance } from '../../src/features/card-pages/service/card.ts';
import { cancelSale, issueCard, sellCard, topUpCard } from '../../src/features/till/service/sale.ts';
import { enrollTill, revokeTill } from '../../src/features/till/service/staff-till.ts';
import type { ByStaff } from '../../src/core/staff/service/as-staff.ts';
import { reservePin, signInWithPin } from '../../src/features/till/service/pin-sign-in.ts';
import { loadCard } from '../../src/core/cards/service/present-card.ts';
import { debit, reverse } from '../../src/core/money/service/spend.ts';
import type { PresentedToken } from '../../src/core/stores/service/secret-token.ts';
import { findSignedIn, createSession, sessionTokens } from '../../src/core/staff/service/session.ts';
import {
  inviteStaff,
  linkTokens,
  recordAction,
  setPin,
  useLink,
} from '../../src/core/staff/service/staff.ts';
import { findPresentedTill, tillsMax, tillTokens } from '../../src/features/till/service/till.ts';
import { findReceipt, readTillDay } from '../../src/features/till/service/till-day.ts';
import { all, sql } from '../../src/database/sql/sql.ts';
import { listTills } from '../../src/core/staff/storage/till.ts';
import type { StorageFactory } from '../support/database.ts';
import { email, money } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';
import { seeded } from '../support/seeded.ts';

const hashed =
  '$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

async function join(opened: OpenStore, name: string, role: StaffMember['role']): Promise<StaffMember> {
  const { storage, ctx, store } = opened;
  const limits = { saleLimit: null, refundLimit: null, locationIds: null };
  const fields = { name, role, email: email(`${name}@example.com`), ...limits };
  const { token } = await storage.write(() => inviteStaff(ctx, { store, by: null, ...fields }));
  const presented = linkTokens.parse(token.reveal());
  assert.ok(presented);
  return (await storage.write(() => useLink(ctx, { token: presented, password: hashed }))).member;
}

async function enroll({ storage, ctx, store }: OpenStore, by: StaffMember, name = 'Counter') {
  const device = { name, replaced: null, session: null };
  const made = await storage.write(() => enrollTill(ctx, { store, member: by, tillId: null }, device));
  const token = tillTokens.parse(made.token.reveal());
  assert.ok(token);
  return { till: made.till, token };
}

export function testTills(factory: StorageFactory): void {
  test('a store enrolls at most 50 tills, and revoked ones do not count', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const ada = await join(opened, 'ada', 'owner');
    const { till } = await enroll(opened, ada);
    for (let count = 1; count < tillsMax; count += 1) await enroll(opened, ada, `Till ${count}`);
    await assert.rejects(enroll(opened, ada), { code: 'invalid-parameter' });
    const by = { store, member: ada, tillId: null };
    const revoke = () => storage.write(() => revokeTill(ctx, by, till.id));
    assert.deepEqual([await revoke(), await revoke()], [true, false]);
    await enroll(opened, ada, 'One more');
    const listed = await storage.read(() => listTills(store.id, 100));
    assert.equal(listed.length, tillsMax + 1);
    assert.equal(listed.at(-1)?.id, till.id, 'revoked ones are last');
  });

  test('a till of another store, or one that was revoked, is not found', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const ada = await join(opened, 'ada', 'owner');
    const { till, token } = await enroll(opened, ada);
    assert.equal((await storage.read(() => findPresentedTill(token)))?.till.id, till.id);
    const other: PresentedToken = { ...token, storeId: token.storeId + 1 };
    assert.equal(await storage.read(() => findPresentedTill(other)), undefined);
    await storage.write(() => revokeTill(ctx, { store, member: ada, tillId: null }, till.id));
    assert.equal(await storage.read(() => findPresentedTill(token)), undefined);
  });

  test('a till that is revoked while people sign in on it has no open session', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const ada = await join(opened, 'ada', 'owner');
    await storage.write(() => setPin(ctx, ada, hashed, null));
    for (let round = 0; round < 10; round += 1) {
      const { till, token } = await enroll(opened, ada, `Till ${round}`);
      const signIn = () =>
        storage
          .write(() => signInWithPin(ctx, { token, staffId: ada.id, hashed, ended: null, userAgent: 'Test' }))
          .catch((error: unknown) => error);
      const by = { store, member: ada, tillId: null };
      const revoke = () => storage.write(() => revokeTill(ctx, by, till.id));
      await Promise.all([signIn(), signIn(), revoke(), signIn(), signIn()]);
      const open = await storage.read(() =>
        all(sql<{ id: bigint }>`
          select id from staff_sessions where till_id = ${till.id} and ended_at is null`),
      );
      assert.equal(open.length, 0, `round ${round}`);
    }
  });

  test('a session with a PIN ends after five minutes, and its till is in the list with its last use', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const ada = await join(opened, 'ada', 'owner');
    const { till } = await enroll(opened, ada);
    const used = async () => (await storage.read(() => listTills(store.id, 1)))[0]?.lastUsedAt;
    assert.equal(await used(), null);
    const { token, session } = await storage.write(() =>
      createSession(ctx, ada, { method: 'pin', tillId: till.id, userAgent: '' }),
    );
    assert.equal(await used(), session.createdAt);
    const presented = sessionTokens.parse(token.reveal());
    assert.ok(presented);
    const isOpen = async () => (await storage.read(() => findSignedIn(ctx, presented))) !== undefined;
    ctx.clock.advance(5 * 60_000 - 1);
    assert.equal(await isOpen(), true);
    ctx.clock.advance(1);
    assert.equal(await isOpen(), false);
  });

  test('a PIN that was changed after it was compared does not open a session', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const ada = await join(opened, 'ada', 'owner');
    await storage.write(() => setPin(ctx, ada, hashed, null));
    const { till, token } = await enroll(opened, ada);
    const attempt = await storage.write(() => reservePin(ctx, { store, till, staffId: ada.id }));
    assert.equal(attempt.kind, 'reserved');
    await storage.write(() => setPin(ctx, ada, hashed.replace('AAAA', 'BBBB'), null));
    const signIn = { token, staffId: ada.id, hashed, ended: null, userAgent: '' };
    await assert.rejects(
      storage.write(() => signInWithPin(ctx, signIn)),
      { code: 'unauthenticated' },
    );
  });

  test('the figures of a day equal the ledger after random operations', async (t) => {
    await using opened = await openStore(factory, { timeZone: 'Europe/Paris' });
    const { storage, ctx, store } = opened;
    const seed = Number(process.env['TEST_SEED'] ?? Math.floor(performance.now() * 1_000) % 2 ** 31);
    t.diagnostic(`seed ${seed}`);
    const numbers = seeded(seed);
    const random = (below: number): number => numbers.between(0, below - 1);
    const ada = await join(opened, 'ada', 'owner');
    const ben = await join(opened, 'ben', 'cashier');
    const { till } = await enroll(opened, ada);
    const places: readonly ByStaff[] = [
      { store, member: ada, tillId: null },
      { store, member: ada, tillId: till.id },
      { store, member: ben, tillId: till.id },
      { store, member: ben, tillId: null },
    ];
    const { publicIds } = ctx.keys;
    const cards: Card[] = [];
    const redemptions: { id: number; left: bigint }[] = [];
    const expected = new Map<string, bigint>();
    const count = (part: TillPart, { member, tillId }: ByStaff, minor: bigint): void => {
      for (const key of [part, `${part} by ${member.id}`, `${part} on ${tillId}`])
        expected.set(key, (expected.get(key) ?? 0n) + minor);
    };
    const pick = <T>(list: readonly T[]): T => {
      const found = list[random(list.length)];
      assert.ok(found !== undefined);
      return found;
    };
    const usd = (minor: bigint) => ({ minor, currency: store.currency });
    const steps: Readonly<Record<string, () => Promise<void>>> = {
      async sell() {
        const at = pick(places);
        const value = usd(BigInt(random(9_000) + 1_000));
        const sale = { value, code: null, recipient: null };
        const { card, transferId } = await storage.write(() => sellCard(ctx, at, sale));
        count('sold', at, value.minor);
        if (random(4) > 0) cards.push(card);
        else {
          await storage.write(() => cancelSale(ctx, at, transferId));
          count('cancelled', at, value.minor);
        }
      },
      async topUp() {
        const at = { ...pick(places), member: ada };
        const amount = usd(BigInt(random(500) + 1));
        await storage.write(() => topUpCard(ctx, at, { cardId: pick(cards).id, amount }));
        count('toppedUp', at, amount.minor);
      },
      async issue() {
        const at = pick(places);
        const value = usd(BigInt(random(9_000) + 1_000));
        const fields = {
          details: noDetails,
          customer: null,
          recipient: null,
          isEmailed: false,
          sendAt: null,
        };
        cards.push((await storage.write(() => issueCard(ctx, at, { value, ...fields }))).card);
        count('sold', at, value.minor);
      },
      async adjust() {
        const at = { ...pick(places), member: ada };
        const { id: cardId } = pick(cards);
        const { card } = await storage.read(() => loadCard(ctx, { storeId: store.id, cardId }));
        const balance = usd(BigInt(random(9_000) + 1_000));
        const adjustment = { cardId, balance, reason: 'test', version: versionTagOf(card) };
        await storage.write(() => adjustBalance(ctx, at, adjustment));
        count('adjusted', at, balance.minor - card.balance.minor);
      },
      async redeem() {
        const at = pick(places);
        const amount = usd(BigInt(random(200) + 1));
        const { id: cardId } = pick(cards);
        const why = { reference: null, note: null, orderId: null, versions: null, partial: false };
        const by = { staffId: at.member.id, tillId: at.tillId };
        const actor = `staff:${at.member.id}`;
        const undone = random(4) === 0;
        await storage.write(function* redeem() {
          const { transfer } = yield* debit(ctx, { store, cardId, actor, amount, ...why });
          const entry = { storeId: store.id, subjectId: cardId };
          const details = { entry: publicIds.of(transfer.id) };
          yield* recordAction(ctx, by, { ...entry, action: 'card-redeemed', details });
          if (!undone) {
            redemptions.push({ id: transfer.id, left: amount.minor });
            return;
          }
          const reversal = yield* reverse(ctx, {
            store,
            transferId: transfer.id,
            amount: null,
            actor,
            note: null,
            scopes: ['redeem_gift_cards'],
            versionsOf: () => null,
          });
          const undo = { entry: publicIds.of(reversal.transfer.id), undoes: publicIds.of(transfer.id) };
          yield* recordAction(ctx, by, { ...entry, action: 'card-refunded', details: undo });
        });
        count('redeemed', at, amount.minor);
        if (undone) count('undone', at, amount.minor);
      },
      async refund() {
        const at = pick(places);
        const redeemed = redemptions.find(({ left }) => left > 0n);
        if (!redeemed) return;
        const amount = usd(BigInt(random(Number(redeemed.left)) + 1));
        redeemed.left -= amount.minor;
        await storage.write(() => refundToCard(ctx, at, { transferId: redeemed.id, amount, note: null }));
        count('refunded', at, amount.minor);
      },
      async api() {
        const { card } = await opened.issue();
        const why = { reference: null, note: null, orderId: null, versions: null, partial: false };
        const amount = money('0.01', store.currency.code);
        const actor = 'api_client:7';
        await storage.write(() => debit(ctx, { store, cardId: card.id, actor, amount, ...why }));
      },
    };
    while (cards.length < 3) await steps['sell']?.();
    for (let step = 0; step < 60; step += 1) {
      await pick(Object.values(steps))();
      ctx.clock.advance(random(1_000));
    }
    const day = dayOf(ctx.clock.now(), store.timeZone);
    const { entries, isCut } = await readTillDay({ ctx, storage }, { store, day, places: null });
    assert.equal(isCut, false);
    const figures = figuresOf(entries);
    const byPerson = figuresBy(entries, ({ staffId }) => staffId);
    const byTill = figuresBy(entries, ({ tillId }) => tillId);
    for (const part of tillParts) {
      const what = `${part}, seed ${seed}`;
      assert.equal(figures[part].minor, expected.get(part) ?? 0n, what);
      for (const { id } of [ada, ben])
        assert.equal(byPerson.get(id)?.[part].minor ?? 0n, expected.get(`${part} by ${id}`) ?? 0n, what);
      for (const id of [till.id, null])
        assert.equal(byTill.get(id)?.[part].minor ?? 0n, expected.get(`${part} on ${id}`) ?? 0n, what);
    }
    // Every movement of staff of the day is in the figures, and no other one.
    const stored = await storage.read(() =>
      all(sql<{ id: bigint }>`
        select id from transfers where actor like 'staff:%' and created_at >= ${startOfDay(day, store.timeZone)} order by id`),
    );
    assert.deepEqual(
      entries.map(({ id }) => id),
      stored.map(({ id }) => Number(id)),
    );
    for (const entry of entries.slice(0, 20)) {
      const receipt = await storage.read(() => findReceipt(ctx, { store, member: ada }, entry.id));
      assert.equal(receipt?.tillId, entry.tillId);
    }
    for (const other of [addDays(day, 1), addDays(day, -1)]) {
      const empty = await readTillDay({ ctx, storage }, { store, day: other, places: null });
      assert.deepEqual(empty.entries, []);
    }
  });
}
