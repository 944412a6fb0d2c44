/** Redemptions at the counter, their undoing, and searches for cards within a budget. */

import { exactly, type Readings } from '../../src/core/cards/domain/given-code.ts';
import assert from 'node:assert/strict';
import test from 'node:test';
import { Secret } from '../../src/platform/secret.ts';
import { actorOf, type Role, type StaffMember } from '../../src/core/staff/domain/staff.ts';
import { formatMoney } from '../../src/core/money/domain/money.ts';
import { refundToCard } from '../../src/features/till/service/refund.ts';
import { redeem, undoRedemption } from '../../src/features/till/service/redemption.ts';
import { findCardByCode, findCardsByEmail, type Searcher } from '../../src/core/staff/service/lookup.ts';
import { update } from '../../src/core/cards/service/card.ts';
import { placeHold } from '../../src/core/money/service/hold.ts';
import { inviteStaff } from '../../src/core/staff/service/staff.ts';
import { listStaffActions } from '../../src/core/staff/storage/action.ts';
import { execute, sql } from '../../src/database/sql/sql.ts';
import type { StorageFactory } from '../support/database.ts';
import { email, money, updateCommand } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';

async function memberOf(
  { storage, ctx, store }: OpenStore,
  role: Role,
  limits: Partial<Pick<StaffMember, 'refundLimit'>> = {},
): Promise<StaffMember> {
  const address = email(`${role}-${ctx.random.id()}@example.com`);
  const fields = {
    name: role,
    email: address,
    role,
    saleLimit: null,
    refundLimit: null,
    locationIds: null,
    ...limits,
  };
  return (await storage.write(() => inviteStaff(ctx, { store, by: null, ...fields }))).member;
}

function redeemed({ storage, ctx, store }: OpenStore, member: StaffMember, cardId: number, amount = '4') {
  const by = { store, member, tillId: null };
  return storage.write(() => redeem(ctx, by, { cardId, amount: money(amount), reference: null, note: null }));
}

function undone({ storage, ctx, store }: OpenStore, member: StaffMember, transferId: number) {
  return storage.write(() => undoRedemption(ctx, { store, member, tillId: null }, transferId));
}

function refunded({ storage, ctx, store }: OpenStore, member: StaffMember, transferId: number, amount = '4') {
  const by = { store, member, tillId: null };
  return storage.write(() => refundToCard(ctx, by, { transferId, amount: money(amount), note: null }));
}

/** Above the limit of a person, of which so much is left. */
function aboveLimit(limit: string, left: string) {
  return { code: 'invalid-parameter', extensions: { refund_limit: limit, refund_left: left } };
}

export function testRedemptions(factory: StorageFactory): void {
  test('a redemption has the person in the ledger and in the audit log', async () => {
    await using opened = await openStore(factory);
    const { card } = await opened.issue();
    const cashier = await memberOf(opened, 'cashier');
    const { transfer } = await redeemed(opened, cashier, card.id);
    assert.deepEqual([transfer.actor, formatMoney(transfer.amount)], [actorOf(cashier), '4.00']);
    const [action] = await opened.storage.read(() =>
      listStaffActions(opened.store.id, { before: Number.MAX_SAFE_INTEGER, limit: 1 }),
    );
    assert.deepEqual(
      [action?.action, action?.staffId, action?.subjectId],
      ['card-redeemed', cashier.id, card.id],
    );
    assert.deepEqual(action?.details, { amount: '4.00', entry: opened.ctx.keys.publicIds.of(transfer.id) });
  });

  test('an accountant and a disabled person cannot redeem or undo', async () => {
    await using opened = await openStore(factory);
    const { card } = await opened.issue();
    const accountant = await memberOf(opened, 'accountant');
    await assert.rejects(redeemed(opened, accountant, card.id), { code: 'insufficient-scope' });
    const cashier = await memberOf(opened, 'cashier');
    const { transfer } = await redeemed(opened, cashier, card.id);
    await opened.storage.write(() => execute(sql`update staff set disabled_at = 1 where id = ${cashier.id}`));
    await assert.rejects(redeemed(opened, cashier, card.id), { code: 'unauthenticated' });
    await assert.rejects(undone(opened, cashier, transfer.id), { code: 'unauthenticated' });
    await assert.rejects(undone(opened, accountant, transfer.id), { code: 'insufficient-scope' });
  });

  test('a redemption is undone once, by the person or a manager', async () => {
    await using opened = await openStore(factory);
    const { card } = await opened.issue();
    const [cashier, other, manager] = [
      await memberOf(opened, 'cashier', { refundLimit: money('0') }),
      await memberOf(opened, 'cashier'),
      await memberOf(opened, 'manager'),
    ];
    const [first, second] = [
      await redeemed(opened, cashier, card.id),
      await redeemed(opened, cashier, card.id),
    ];
    await assert.rejects(undone(opened, other, first.transfer.id), { code: 'insufficient-scope' });
    const { transfer } = await undone(opened, cashier, first.transfer.id);
    assert.deepEqual([transfer.kind, transfer.reverses], ['reversal', first.transfer.id]);
    const again = { code: 'reversal-exceeds-transaction' };
    await assert.rejects(undone(opened, cashier, first.transfer.id), again);
    await assert.rejects(undone(opened, manager, first.transfer.id), again);
    assert.equal((await undone(opened, manager, second.transfer.id)).card.balance.minor, card.balance.minor);
    await assert.rejects(undone(opened, manager, transfer.id), { code: 'not-found' });
    await assert.rejects(undone(opened, manager, 1), { code: 'not-found' });
  });

  test('after 15 minutes, undoing an own redemption is a refund with its limit', async () => {
    await using opened = await openStore(factory);
    const { card } = await opened.issue();
    const limited = await memberOf(opened, 'cashier', { refundLimit: money('3.99') });
    const allowed = await memberOf(opened, 'cashier', { refundLimit: money('4.00') });
    const [one, two] = [await redeemed(opened, limited, card.id), await redeemed(opened, allowed, card.id)];
    opened.ctx.clock.advance(15 * 60_000);
    await assert.rejects(undone(opened, limited, one.transfer.id), { code: 'invalid-parameter' });
    await undone(opened, allowed, two.transfer.id);
  });

  test('a refund limit is for the sum of a person’s refunds of one redemption', async () => {
    await using opened = await openStore(factory);
    const { card } = await opened.issue({ value: money('20') });
    const [limited, other, free] = [
      await memberOf(opened, 'cashier', { refundLimit: money('5') }),
      await memberOf(opened, 'cashier', { refundLimit: money('5') }),
      await memberOf(opened, 'manager'),
    ];
    const { transfer } = await redeemed(opened, free, card.id, '20');
    await refunded(opened, limited, transfer.id, '4');
    await assert.rejects(refunded(opened, limited, transfer.id, '1.01'), aboveLimit('5.00', '1.00'));
    // Another day, on which nothing was refunded yet.
    opened.ctx.clock.advance(24 * 60 * 60_000);
    await assert.rejects(refunded(opened, limited, transfer.id, '1.01'), aboveLimit('5.00', '1.00'));
    await refunded(opened, limited, transfer.id, '1');
    await assert.rejects(refunded(opened, limited, transfer.id, '0.01'), aboveLimit('5.00', '0.00'));
    await refunded(opened, other, transfer.id, '5');
    await refunded(opened, free, transfer.id, '10');
  });

  test('a refund limit is for the sum of a person’s refunds of a day in the store’s time zone', async () => {
    await using opened = await openStore(factory, { timeZone: 'Pacific/Auckland' });
    const { ctx } = opened;
    const { card } = await opened.issue({ value: money('20') });
    const limited = await memberOf(opened, 'cashier', { refundLimit: money('5') });
    const free = await memberOf(opened, 'manager');
    const ids: number[] = [];
    for (let count = 0; count < 4; count += 1)
      ids.push((await redeemed(opened, free, card.id, '4')).transfer.id);
    const [first = 0, second = 0, third = 0, fourth = 0] = ids;
    // The last minute of a day in Auckland, whose next one has no sum yet.
    const { minute, hour } = Temporal.Instant.fromEpochMilliseconds(ctx.clock.now()).toZonedDateTimeISO('Pacific/Auckland'); // prettier-ignore
    ctx.clock.advance((23 - hour) * 3_600_000 + (59 - minute) * 60_000);
    await refunded(opened, limited, first);
    await assert.rejects(refunded(opened, limited, second), aboveLimit('5.00', '1.00'));
    await refunded(opened, limited, second, '1');
    ctx.clock.advance(60_000);
    await refunded(opened, limited, third);
    await assert.rejects(refunded(opened, limited, fourth), aboveLimit('5.00', '1.00'));
    await assert.rejects(undone(opened, limited, fourth), { code: 'insufficient-scope' });
  });

  test('undoing an own redemption within 15 minutes counts toward no limit, and later it does', async () => {
    await using opened = await openStore(factory);
    const { card } = await opened.issue();
    const limited = await memberOf(opened, 'cashier', { refundLimit: money('4') });
    const [first, second, third] = [
      await redeemed(opened, limited, card.id),
      await redeemed(opened, limited, card.id),
      await redeemed(opened, limited, card.id),
    ];
    await undone(opened, limited, first.transfer.id);
    opened.ctx.clock.advance(15 * 60_000);
    await undone(opened, limited, second.transfer.id);
    await assert.rejects(undone(opened, limited, third.transfer.id), aboveLimit('4.00', '0.00'));
  });

  test('refunds of one person at the same time do not exceed the limit', async () => {
    await using opened = await openStore(factory);
    const free = await memberOf(opened, 'manager');
    // The first round opens the connections.
    for (let round = 0; round < 4; round += 1) {
      const limited = await memberOf(opened, 'cashier', { refundLimit: money('4') });
      const ids: number[] = [];
      for (let count = 0; count < 6; count += 1) {
        const { card } = await opened.issue();
        ids.push((await redeemed(opened, free, card.id)).transfer.id);
      }
      const outcomes = await Promise.allSettled(ids.map((id) => refunded(opened, limited, id)));
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1, `round ${round}`);
    }
  });

  test('the cards of an address are those that can be spent, with expired holds released', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const ada = email('ada@example.com');
    const own = await opened.issue({ customer: ada, recipient: ada });
    const received = await opened.issue({ recipient: ada });
    const disabled = await opened.issue({ customer: ada });
    await storage.write(() => update(ctx, updateCommand(store, disabled.card.id, { disable: true })));
    const expired = await opened.issue({ customer: ada });
    await storage.write(() =>
      update(ctx, updateCommand(store, expired.card.id, { expiresOn: '2020-01-01' })),
    );
    await opened.issue({ customer: email('bea@example.com') });
    const movement = { store, cardId: own.card.id, actor: 'test', reference: null, note: null, orderId: null, versions: null }; // prettier-ignore
    await storage.write(() => placeHold(ctx, { ...movement, amount: money('1'), seconds: 60 }));
    const cashier = await memberOf(opened, 'cashier');
    const searcher: Searcher = { store, member: cashier, perHour: 1 };
    const find = (address: string, limit = 10) =>
      storage.write(() => findCardsByEmail(ctx, searcher, { address: email(address), limit }));
    const found = await find('ADA@example.com');
    assert.ok(found.kind === 'found');
    assert.deepEqual(
      found.result.map(({ id }) => id),
      [received.card.id, own.card.id],
    );
    assert.equal(found.result[1]?.held.minor, money('1').minor);
    ctx.clock.advance(61_000);
    const later = await find('ada@example.com');
    assert.ok(later.kind === 'found');
    assert.equal(later.result[1]?.held.minor, 0n);
    const limitedTo = await find('ada@example.com', 1);
    assert.ok(limitedTo.kind === 'found');
    assert.equal(limitedTo.result.length, 1);
    assert.equal((await find('unknown@example.com')).kind, 'missed');
    assert.equal((await find('ada@example.com')).kind, 'throttled');
  });

  test('a store’s own limit of failed searches counts', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { code } = await opened.issue();
    const cashier = await memberOf(opened, 'cashier');
    const limited = { ...store, lookupFailuresPerHour: 2 };
    const searcher: Searcher = { store: limited, member: cashier, perHour: 1_000 };
    const unknown = new Secret('zzzzzzzzzzzzzzzz');
    const find = (readings: Readings) => storage.write(() => findCardByCode(ctx, searcher, readings));
    assert.equal((await find(exactly(unknown))).kind, 'missed');
    const readings = [
      { code: unknown, way: 'exact' },
      { code, way: 'similar' },
    ] as const;
    assert.equal((await find(readings)).kind, 'found', 'a second reading is tried');
    assert.equal((await find(exactly(unknown))).kind, 'missed');
    assert.equal((await find(exactly(code))).kind, 'throttled');
    ctx.clock.advance(30 * 60_000);
    assert.equal((await find(exactly(code))).kind, 'found');
  });
}
