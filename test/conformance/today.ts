/** The figures and lists of the console's first page, compared with the reports. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { readSumsUntil } from '../../src/features/books/service/report-sums.ts';
import { addDays, dayOf, startOfDay } from '../../src/core/domain/day.ts';
import {
  addMovement,
  balancesOf,
  noMovements,
  outstandingOf,
} from '../../src/features/books/domain/reports.ts';
import { update } from '../../src/core/cards/service/card.ts';
import { loadDemo } from '../../src/features/sandbox/service/sample-data.ts';
import { placeHold } from '../../src/core/money/service/hold.ts';
import { credit, debit, reverse } from '../../src/core/money/service/spend.ts';
import { topUp } from '../../src/core/money/service/top-up.ts';
import {
  figuresReader,
  type FiguresReader,
  type TodayFigures,
} from '../../src/features/today/service/today.ts';
import { recordVerification } from '../../src/features/proofs/service/verification.ts';
import { enqueueEmail } from '../../src/core/emails/storage/email.ts';
import {
  countEmailsSince,
  countExpiring,
  listNewestMovements,
  sumHeld,
} from '../../src/features/today/storage/today.ts';
import { findVerification } from '../../src/features/proofs/storage/verification.ts';
import type { Storage } from '../../src/database/storage.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';
import { scopes } from '../../src/core/stores/domain/store.ts';
import { closeAllDays } from '../support/closed-days.ts';
import { until } from '../support/delivering.ts';
import { openMigrated, type StorageFactory } from '../support/database.ts';
import { money, testContext, updateCommand, type TestContext } from '../support/fixtures.ts';
import { openStore } from '../support/open-store.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** The figures, after the transfers that a request does not wait for are summed. */
async function readFigures(reader: FiguresReader, store: Store): Promise<TodayFigures> {
  let found: TodayFigures | undefined;
  await until(async () => (found = await reader.read(store, null)) !== undefined);
  assert.ok(found);
  return found;
}

async function liabilityAt(
  { storage, ctx, store }: { storage: Storage; ctx: TestContext; store: Store },
  instant: number,
) {
  const sums = await readSumsUntil({ storage, store, now: ctx.clock.now() }, instant);
  const movements = noMovements();
  for (const sum of sums) addMovement(movements, sum);
  const { active, expired, disabled } = balancesOf(sums);
  return { outstanding: outstandingOf(movements), cards: active.cards + expired.cards + disabled.cards };
}

export function testToday(factory: StorageFactory): void {
  test('a year of history has the balances of the liability report, before and after its days are closed', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    const ctx = testContext();
    const { store, from } = await storage.write(() => loadDemo(ctx, { cards: 300 }));
    const source = { storage, ctx, store };
    const reader = figuresReader(source);
    const compare = async (): Promise<TodayFigures> => {
      const { outstanding, cards, ...others } = await readFigures(reader, store);
      assert.deepEqual({ outstanding, cards }, await liabilityAt(source, ctx.clock.now() + 1));
      for (const { month, outstanding: owed } of others.months) {
        const next = Temporal.PlainYearMonth.from(month).add({ months: 1 }).toString();
        const end = startOfDay(`${next}-01`, store.timeZone);
        assert.equal(owed, (await liabilityAt(source, end)).outstanding, month);
      }
      return { outstanding, cards, ...others };
    };
    const open = await compare();
    assert.deepEqual([open.closedUpTo, open.from, open.months.length], [null, from, 0]);
    await closeAllDays({ ctx, storage }, 1_000);
    const closed = await compare();
    const today = dayOf(ctx.clock.now(), store.timeZone);
    assert.deepEqual([closed.closedUpTo, closed.from], [addDays(today, -1), null]);
    const first = Temporal.PlainYearMonth.from(from.slice(0, 7));
    const months = first.until(Temporal.PlainYearMonth.from(today.slice(0, 7))).months;
    const years = first.until(Temporal.PlainYearMonth.from(today.slice(0, 7))).years;
    assert.equal(closed.months.length, years * 12 + months);
    assert.ok(closed.months.some(({ outstanding }) => outstanding > 0n));
    // A month without an entry has the balance of the one before.
    ctx.clock.advance(70 * dayMs);
    await closeAllDays({ ctx, storage }, 1_000);
    const later = await compare();
    assert.ok(later.months.length >= closed.months.length + 2);
  });

  test('movements of today are summed by kind, once each, while sums are kept and days are closed', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    // Noon, so that the test does not pass midnight by itself.
    const start = startOfDay(addDays(dayOf(ctx.clock.now(), store.timeZone), 1), store.timeZone) + dayMs / 2;
    ctx.clock.advance(start - ctx.clock.now());
    const reader = figuresReader({ ctx, storage });
    const { card } = await opened.issue({ value: money('50.00') });
    const movement = {
      store,
      cardId: card.id,
      actor: 'test',
      note: null,
      orderId: null,
      versions: null,
      reference: null,
    };
    const reversal = { store, actor: 'test', amount: null, note: null, scopes, versionsOf: () => null };
    const spent = await storage.write(() =>
      debit(ctx, { ...movement, amount: money('20.00'), partial: false }),
    );
    await readFigures(reader, store);
    ctx.clock.advance(6 * minuteMs);
    await readFigures(reader, store);
    await storage.write(() =>
      reverse(ctx, { ...reversal, transferId: spent.transfer.id, amount: money('5.00') }),
    );
    const added = await storage.write(() => credit(ctx, { ...movement, amount: money('7.00') }));
    await storage.write(() => reverse(ctx, { ...reversal, transferId: added.transfer.id }));
    const sale = { ...movement, amount: money('9.00'), expiresOn: null, notify: false };
    const toppedUp = await storage.write(() => topUp(ctx, sale));
    const part = { ...reversal, transferId: toppedUp.transfer.id, amount: money('2.00') };
    await storage.write(() => reverse(ctx, part));
    await storage.write(() => update(ctx, updateCommand(store, card.id, { balance: money('30.00') })));
    const expected = {
      sold: { entries: 1, amount: 5_000n },
      redeemed: { entries: 1, amount: 2_000n },
      refunded: { entries: 1, amount: 500n },
      added: { entries: 4, amount: 700n },
      adjusted: { entries: 1, amount: -1_200n },
    };
    const { today, outstanding, cards } = await readFigures(reader, store);
    assert.deepEqual({ today, outstanding, cards }, { today: expected, outstanding: 3_000n, cards: 1 });
    ctx.clock.advance(6 * minuteMs);
    assert.deepEqual((await readFigures(reader, store)).today, expected);
    ctx.clock.advance(dayMs);
    const none = { entries: 0, amount: 0n };
    const nothing = { sold: none, redeemed: none, refunded: none, added: none, adjusted: none };
    assert.deepEqual((await readFigures(reader, store)).today, nothing);
    await closeAllDays({ ctx, storage }, 10);
    const next = await readFigures(reader, store);
    assert.deepEqual([next.today, next.outstanding, next.cards], [nothing, 3_000n, 1]);
    // A transfer of the closed day that is committed now is late, and no day contains it.
    ctx.clock.advance(-dayMs);
    await opened.issue({ value: money('11.00') });
    ctx.clock.advance(dayMs);
    const late = await readFigures(reader, store);
    assert.deepEqual([late.outstanding, late.cards, late.today], [4_100n, 2, nothing]);
  });

  test('cards that expire soon, held amounts, emails and movements are those of the store', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const today = dayOf(ctx.clock.now(), store.timeZone);
    const { card } = await opened.issue({ expiresOn: addDays(today, 30) });
    await opened.issue({ expiresOn: addDays(today, 31) });
    const { card: used } = await opened.issue({ expiresOn: today });
    await storage.write(() => update(ctx, updateCommand(store, used.id, { disable: true })));
    const days = { from: today, to: addDays(today, 30) };
    const expiring = (limit: number) => storage.read(() => countExpiring(store.id, { ...days, limit }));
    assert.deepEqual(await expiring(10), { count: 1, isExact: true });
    assert.deepEqual(await expiring(2), { count: 1, isExact: false });
    const hold = {
      store,
      cardId: card.id,
      actor: 'test',
      reference: null,
      note: null,
      orderId: null,
      versions: null,
    };
    await storage.write(() => placeHold(ctx, { ...hold, amount: money('3.00'), seconds: 600 }));
    const held = (now: number) => storage.read(() => sumHeld(store.id, { now, today, limit: 10 }));
    assert.deepEqual(await held(ctx.clock.now()), { amount: 300n, isExact: true });
    assert.deepEqual(await held(ctx.clock.now() + 11 * minuteMs), { amount: 0n, isExact: true });
    const email = {
      storeId: store.id,
      cardId: card.id,
      kind: 'receipt',
      address: 'a@example.com',
      code: null,
      occasion: null,
    } as const;
    await storage.write(() => enqueueEmail(ctx, { ...email, sendAt: null }));
    await storage.write(() => enqueueEmail(ctx, { ...email, sendAt: ctx.clock.now() + dayMs }));
    const since = startOfDay(today, store.timeZone);
    const emails = await storage.read(() => countEmailsSince(store.id, { since, limit: 10 }));
    assert.deepEqual(emails, { due: 1, sent: 0, kept: 0, isExact: true });
    const movements = await storage.read(() => listNewestMovements(store, { places: null, limit: 1 }));
    assert.deepEqual(
      movements.map(({ cardId, lastCharacters, transfer }) => [cardId, lastCharacters, transfer?.effect]),
      [[used.id, used.lastCharacters, 1_500n]],
    );
  });

  test('the last verification is recorded for each store with its own problems', async () => {
    await using opened = await openStore(factory, { domain: 'one.example' });
    const { storage, store } = opened;
    assert.equal(await storage.read(() => findVerification(store.id)), undefined);
    const record = (verifiedAt: number, mismatches: readonly { readonly store: string | null }[]) =>
      storage.write(() => recordVerification({ verifiedAt, rowsRead: 9, mismatches }));
    await record(2_000, [{ store: 'one.example' }, { store: 'other.example' }, { store: null }]);
    const expected = {
      storeId: store.id,
      verifiedAt: 2_000,
      rowsRead: 9,
      mismatches: 2,
      actor: 'command_line',
    };
    assert.deepEqual(await storage.read(() => findVerification(store.id)), expected);
    await record(1_000, []);
    assert.deepEqual(
      await storage.read(() => findVerification(store.id)),
      expected,
      'an earlier one ended later',
    );
    await record(3_000, []);
    assert.equal((await storage.read(() => findVerification(store.id)))?.mismatches, 0);
  });
}
