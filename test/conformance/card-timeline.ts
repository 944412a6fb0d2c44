/** The timeline and the check of a card, and lookups of staff, on every engine. */

import { exactly } from '../../src/core/cards/domain/given-code.ts';
import assert from 'node:assert/strict';
import test from 'node:test';
import { Fault } from '../../src/core/domain/fault.ts';
import { actorOf } from '../../src/core/staff/domain/staff.ts';
import { takenBackBy } from '../../src/features/till/domain/till-day.ts';
import { update } from '../../src/core/cards/service/card.ts';
import { checkCard } from '../../src/features/proofs/service/card-check.ts';
import {
  readTimeline,
  type CardTimeline,
  type TimelineItem,
} from '../../src/features/card-pages/service/timeline.ts';
import { addCheckpoint } from '../../src/features/proofs/service/checkpoint.ts';
import { capture, placeHold, voidOpenHold } from '../../src/core/money/service/hold.ts';
import { debit } from '../../src/core/money/service/spend.ts';
import * as redemptions from '../../src/features/till/service/redemption.ts';
import { cancelSale, sellCard } from '../../src/features/till/service/sale.ts';
import { inviteStaff, recordAction } from '../../src/core/staff/service/staff.ts';
import { findCardByCode } from '../../src/core/staff/service/lookup.ts';
import { execute, sql } from '../../src/database/sql/sql.ts';
import { untilAppended } from '../support/appended.ts';
import type { StorageFactory } from '../support/database.ts';
import { code, email, money, updateCommand } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';

const unlimited = { saleLimit: null, refundLimit: null, locationIds: null };

/** A member of staff at a till. */
async function addCashier({ storage, ctx, store }: OpenStore) {
  const fields = { name: 'Léa', email: email('lea@example.com'), role: 'manager' as const, ...unlimited };
  const { member } = await storage.write(() => inviteStaff(ctx, { store, by: null, ...fields }));
  await storage.write(() =>
    execute(sql`
      insert into tills (store_id, id, name, hash, created_by, created_at)
      values (${store.id}, 7, 'Counter', ${new Uint8Array(32)}, ${member.id}, ${ctx.clock.now()})`),
  );
  return { member, by: { staffId: member.id, tillId: 7 } };
}

/** Lets the clock advance with each reading, by 0 to 4 ms. */
function runClock({ ctx: { clock } }: OpenStore): void {
  const now = clock.now.bind(clock);
  let calls = 0;
  const read = (): number => {
    calls += 1;
    clock.advance(calls % 5);
    return now();
  };
  Object.assign(clock, { now: read, earliest: read, latest: read });
}

function lineOf(item: TimelineItem): string {
  const what = item.kind === 'action' ? item.action.action : item.kind;
  return `${what} ${item.staffAction?.till ?? '-'}`;
}

const movement = { reference: null, note: null, orderId: null, versions: null };

export function testCardTimeline(factory: StorageFactory): void {
  test('a timeline has each source in its order, with the till of each action, page by page', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { member, by } = await addCashier(opened);
    const actor = actorOf(member);
    const { card } = await opened.issue({ recipient: email('grace@example.com'), emails: { sendAt: null } });
    const other = await opened.issue();
    const acted = (
      action: 'card-redeemed' | 'hold-released' | 'card-changed' | 'code-sent' | 'card-issued',
      subjectId = card.id,
    ) => recordAction(ctx, by, { storeId: store.id, action, subjectId, details: {} });
    const key = { storeId: store.id, cardId: card.id };
    ctx.clock.advance(60_000);
    await storage.write(function* redeem() {
      yield* debit(ctx, { ...movement, store, cardId: card.id, actor, amount: money('1'), partial: false });
      yield* acted('card-redeemed');
      yield* acted('card-redeemed', other.card.id);
    });
    ctx.clock.advance(60_000);
    const { hold } = await storage.write(() =>
      placeHold(ctx, {
        ...movement,
        store,
        cardId: card.id,
        actor: 'api_client:1',
        amount: money('2'),
        seconds: 600,
      }),
    );
    ctx.clock.advance(60_000);
    await storage.write(function* release() {
      yield* voidOpenHold(ctx, { store, holdId: hold.id, versionsOf: () => null });
      yield* acted('hold-released');
    });
    ctx.clock.advance(60_000);
    await storage.write(function* change() {
      yield* update(ctx, { ...updateCommand(store, card.id, { note: 'new' }), actor });
      yield* acted('card-changed');
      yield* acted('card-issued');
    });
    for (const limit of [1, 2, 3, 50]) {
      const lines: string[] = [];
      for (let cursor: string | null = null; ;) {
        const from: string | null = cursor;
        const page: CardTimeline = await storage.read(() => readTimeline(ctx, key, { cursor: from, limit }));
        lines.push(...page.items.map(lineOf));
        if (page.older === null) break;
        cursor = page.older;
      }
      // An action without an entry has a line of its own.
      assert.deepEqual(
        lines.toSorted(),
        [
          'card-issued Counter',
          'change Counter',
          'email -',
          'hold Counter',
          'transfer -',
          'transfer Counter',
        ],
        String(limit),
      );
      assert.deepEqual(
        lines.filter((line) => !line.startsWith('card-issued')),
        ['change Counter', 'hold Counter', 'transfer Counter', ...lines.slice(-2)],
      );
    }
    const first = await storage.read(() => readTimeline(ctx, key, { cursor: null, limit: 2 }));
    const foreign = storage.read(() =>
      readTimeline(ctx, { storeId: store.id, cardId: other.card.id }, { cursor: first.older, limit: 2 }),
    );
    await assert.rejects(foreign, (error) => error instanceof Fault && error.code === 'invalid-query');
  });

  test('a timeline has each action without an entry once, however many items a page has', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { member, by } = await addCashier(opened);
    const actor = actorOf(member);
    const { card } = await opened.issue();
    const other = await opened.issue();
    const key = { storeId: store.id, cardId: card.id };
    const acted = (action: 'card-redeemed' | 'code-sent', how: string, subjectId = card.id) =>
      recordAction(ctx, by, { storeId: store.id, action, subjectId, details: { how } });
    const redeem = (how: string) =>
      storage.write(function* () {
        yield* debit(ctx, { ...movement, store, cardId: card.id, actor, amount: money('1'), partial: false });
        yield* acted('card-redeemed', how);
      });
    const expected: string[] = ['transfer -'];
    for (const how of ['print', 'link', 'email']) {
      ctx.clock.advance(60_000);
      await storage.write(() => acted('code-sent', how));
      ctx.clock.advance(60_000);
      await redeem(how);
      // In the same second as the entry.
      await storage.write(() => acted('code-sent', `${how} again`));
      await storage.write(() => acted('code-sent', 'not this card', other.card.id));
      expected.unshift(`code-sent ${how} again`, `transfer ${how}`, `code-sent ${how}`);
    }
    for (const limit of [1, 2, 3, 4, 50]) {
      const lines: string[] = [];
      for (let cursor: string | null = null; ;) {
        const from: string | null = cursor;
        const page: CardTimeline = await storage.read(() => readTimeline(ctx, key, { cursor: from, limit }));
        for (const item of page.items) {
          const what = item.kind === 'action' ? item.action.action : item.kind;
          lines.push(`${what} ${String(item.staffAction?.details['how'] ?? '-')}`);
        }
        if (page.older === null) break;
        cursor = page.older;
      }
      assert.deepEqual(lines.toSorted(), expected.toSorted(), String(limit));
      assert.deepEqual(
        lines.filter((line) => !line.endsWith('again')),
        expected.filter((line) => !line.endsWith('again')),
      );
    }
  });

  test('entries within milliseconds have their own actions, by the entry that an action names', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { member, by: acting } = await addCashier(opened);
    const by = { store, member, tillId: acting.tillId };
    // The action of an entry can be nearer to another entry.
    runClock(opened);
    const timelineOf = async (cardId: number) => {
      const { items } = await storage.read(() =>
        readTimeline(ctx, { storeId: store.id, cardId }, { cursor: null, limit: 20 }),
      );
      return items.map((item) => {
        const { action, details } = item.staffAction ?? {};
        const what = item.kind === 'transfer' ? item.transfer.kind : item.kind;
        return `${what}: ${action} ${details ? (takenBackBy({ action: action ?? '', details }) ?? '') : ''}`.trim();
      });
    };
    const sold = { value: money('50'), code: null, customer: null, recipient: null };
    const { card, transferId } = await storage.write(() => sellCard(ctx, by, sold));
    const redeemed = () =>
      storage.write(() =>
        redemptions.redeem(ctx, by, { cardId: card.id, amount: money('1'), reference: null, note: null }),
      );
    for (let count = 0; count < 5; count += 1) {
      const { transfer } = await redeemed();
      await storage.write(() => redemptions.undoRedemption(ctx, by, transfer.id));
    }
    await redeemed();
    const undone = ['reversal: card-refunded undone', 'debit: card-redeemed'];
    assert.deepEqual(await timelineOf(card.id), [
      'debit: card-redeemed',
      ...Array.from({ length: 5 }, () => undone).flat(),
      'issue: card-issued',
    ]);
    await assert.rejects(storage.write(() => cancelSale(ctx, by, transferId)));
    const other = await storage.write(() => sellCard(ctx, by, sold));
    await storage.write(() => cancelSale(ctx, by, other.transferId));
    assert.deepEqual(await timelineOf(other.card.id), [
      'change: card-disabled cancelled',
      'reversal: card-disabled cancelled',
      'issue: card-issued',
    ]);
  });

  test('a hold lasts its seconds from its creation and ends with its capture, however the clock advances', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { card } = await opened.issue({ value: money('50') });
    runClock(opened);
    const holding = { ...movement, store, cardId: card.id, actor: 'api_client:1', amount: money('1') };
    for (let count = 0; count < 5; count += 1) {
      const { hold } = await storage.write(() => placeHold(ctx, { ...holding, seconds: 60 }));
      assert.equal(hold.expiresAt - hold.createdAt, 60_000);
      const captured = await storage.write(() =>
        capture(ctx, { store, holdId: hold.id, versionsOf: () => null, amount: null, actor: 'api_client:1' }),
      );
      assert.equal(captured.transfer.createdAt, captured.hold.closedAt);
    }
  });

  test('the check proves each part of a chain, and the entry that the last checkpoint contains', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { card } = await opened.issue({ value: money('100') });
    const spend = (note: string) =>
      storage.write(() =>
        debit(ctx, {
          ...movement,
          store,
          cardId: card.id,
          actor: 'api_client:1',
          amount: money('0.10'),
          note,
          partial: false,
        }),
      );
    for (let count = 0; count < 120; count += 1) await spend(`no ${count}`);
    const key = { storeId: store.id, cardId: card.id };
    const check = (after: number | null) => storage.read(() => checkCard(ctx, key, { after }));
    assert.equal((await check(null)).proven, null);
    ctx.clock.advance(1_000);
    await untilAppended(opened);
    const checkpoint = await storage.write(() => addCheckpoint(ctx, store));
    ctx.clock.advance(1_000);
    await spend('later');
    const newest = await check(null);
    assert.deepEqual(
      [newest.before, newest.entries.length, newest.length, newest.isEnd],
      [22, 100, 122, true],
    );
    assert.deepEqual(
      [newest.proven?.sequence, newest.proven?.isValid, newest.proven?.checkpoint.id],
      [121, true, checkpoint.id],
    );
    const oldest = await check(0);
    assert.deepEqual(
      [oldest.before, oldest.entries.length, oldest.isEnd, oldest.proven?.sequence, oldest.proven?.isValid],
      [0, 100, null, 100, true],
    );
    for (const { entries } of [newest, oldest])
      assert.ok(entries.every(({ problems }) => problems.length === 0));
    assert.deepEqual(
      (await check(1_000_000_000)).entries.map(({ transfer }) => transfer.sequence),
      [122],
    );
  });

  test('failed lookups of staff use a budget, and found cards do not', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { member } = await addCashier(opened);
    const { card, code: known } = await opened.issue();
    const lookUp = (typed = code('0000000000000000')) =>
      storage.write(() => findCardByCode(ctx, { store, member, perHour: 3 }, exactly(typed)));
    for (let count = 0; count < 5; count += 1) {
      const found = await lookUp(known);
      assert.ok(found.kind === 'found' && found.result.card.id === card.id);
    }
    const kinds = await Promise.all([lookUp(), lookUp(), lookUp()]);
    assert.deepEqual(
      kinds.map(({ kind }) => kind),
      ['missed', 'missed', 'missed'],
    );
    for (const typed of [undefined, known]) {
      const throttled = await lookUp(typed);
      assert.ok(throttled.kind === 'throttled' && throttled.fault.code === 'too-many-misses');
    }
    ctx.clock.advance(20 * 60 * 1_000);
    assert.equal((await lookUp(known)).kind, 'found');
  });
}
