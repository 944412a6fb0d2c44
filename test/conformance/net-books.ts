/** VAT that is due at the sale: what sales, redemptions, expiry and their undoing leave on each account. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { addDays, dayOf } from '../../src/core/domain/day.ts';
import { Fault } from '../../src/core/domain/fault.ts';
import { formatMoney, type Money } from '../../src/core/money/domain/money.ts';
import { scopes, type JournalAccount } from '../../src/core/stores/domain/store.ts';
import { checkBooks } from '../../src/features/proofs/service/books-check.ts';
import { rebuildSums } from '../../src/features/books/service/rebuild.ts';
import { reenableCard, update } from '../../src/core/cards/service/card.ts';
import type { Finding } from '../../src/features/proofs/service/row-check.ts';
import { loadCard } from '../../src/core/cards/service/present-card.ts';
import {
  readAging,
  readBreakage,
  readLiability,
  readJournal,
} from '../../src/features/books/service/reports.ts';
import { credit, debit, reverse, type MovementResult } from '../../src/core/money/service/spend.ts';
import { topUp } from '../../src/core/money/service/top-up.ts';
import { sql, type Script } from '../../src/database/sql/sql.ts';
import { closeAllDays } from '../support/closed-days.ts';
import type { StorageFactory } from '../support/database.ts';
import { money, updateCommand } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';
import { seeded } from '../support/seeded.ts';

const dayMs = 24 * 60 * 60_000;
const vat = { kind: 'single_purpose', rate: '19' } as const;

/** A store that sells single-purpose cards at 19 %, and the operations of the tests. */
async function openShop(factory: StorageFactory) {
  const opened = await openStore(factory, { vat, undoWindowMinutes: 60 });
  const { ctx, storage, store } = opened;
  const command = (cardId: number) => ({
    store,
    cardId,
    actor: 'test',
    reference: null,
    note: null,
    orderId: null,
    versions: null,
  });
  const write = async <T>(script: () => Script<T>): Promise<T> => await storage.write(script);
  const undo = async (transferId: number, amount: Money | null = null): Promise<MovementResult> =>
    await write(() =>
      reverse(ctx, {
        store,
        transferId,
        amount,
        actor: 'test',
        note: null,
        scopes,
        cancelsSale: true,
        versionsOf: () => null,
      }),
    );
  return {
    ...opened,
    async sell(value: Money, expiresOn: string | null = null) {
      const { card } = await opened.issue({ value, expiresOn });
      const { chainEnd } = await storage.read(() => loadCard(ctx, { storeId: store.id, cardId: card.id }));
      return { id: card.id, sale: chainEnd.transferId };
    },
    credit: (id: number, amount: Money) => write(() => credit(ctx, { ...command(id), amount })),
    topUp: (id: number, amount: Money, expiresOn: string | null = null) =>
      write(() => topUp(ctx, { ...command(id), amount, expiresOn, notify: false })),
    redeem: (id: number, amount: Money) =>
      write(() => debit(ctx, { ...command(id), amount, partial: false })),
    change: (id: number, changes: Parameters<typeof updateCommand>[2]) =>
      write(() => update(ctx, updateCommand(store, id, changes))),
    reenable: (id: number) => write(() => reenableCard(ctx, command(id))),
    undo,
  };
}

/** @returns undefined if the balance does not allow it. */
async function attempt<T>(done: Promise<T>): Promise<T | undefined> {
  try {
    return await done;
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

function sourceOf({ storage, ctx, store }: OpenStore) {
  return { storage, store, now: ctx.clock.now() };
}

/** The balances of accounts in the journal of a year, credits less debits, without those that are zero. */
async function accountsOf(opened: OpenStore): Promise<Partial<Record<JournalAccount, string>>> {
  const to = dayOf(opened.ctx.clock.now(), opened.store.timeZone);
  const { accounts } = await readJournal(sourceOf(opened), { from: addDays(to, -365), to });
  const { currency } = opened.store;
  return Object.fromEntries(
    accounts.flatMap(({ account, closing }) =>
      closing === 0n ? [] : [[account, formatMoney({ minor: closing, currency })]],
    ),
  );
}

export function testNetBooks(factory: StorageFactory): void {
  const seed = Number(process.env['BOOKS_SEED'] ?? Date.now() % 1_000_000);

  test('a sale of 119.00 owes 100.00 to the holder and 19.00 to the tax office', async () => {
    await using shop = await openShop(factory);
    await shop.sell(money('119'));
    assert.deepEqual(await accountsOf(shop), {
      liability_active: '100.00',
      sales: '-119.00',
      vat_payable: '19.00',
    });
    const source = sourceOf(shop);
    const liability = await readLiability(source);
    assert.deepEqual(
      [liability.outstanding, liability.outstanding_vat, liability.outstanding_net, liability.active_net],
      [11_900n, 1_900n, 10_000n, 10_000n],
    );
    const { rows } = await readAging(source);
    assert.deepEqual(
      rows.map((row) => [
        row.issued_to_date,
        row.issued_to_date_net,
        row.outstanding_net,
        row.redeemed_to_date,
      ]),
      [[11_900n, 10_000n, 10_000n, 0n]],
    );
  });

  test('119.00 and a top-up of 11.90, both cancelled and disabled, leave no VAT and no balance', async () => {
    await using shop = await openShop(factory);
    const { id, sale } = await shop.sell(money('119'));
    const added = await shop.topUp(id, money('11.90'));
    assert.deepEqual(await accountsOf(shop), {
      liability_active: '110.00',
      sales: '-119.00',
      top_ups: '-11.90',
      vat_payable: '20.90',
    });
    const before = await readLiability(sourceOf(shop));
    assert.deepEqual([before.issued, before.topped_up, before.outstanding_vat], [11_900n, 1_190n, 2_090n]);
    await shop.undo(added.transfer.id);
    await shop.undo(sale);
    await shop.change(id, { disable: true });
    assert.deepEqual(await accountsOf(shop), {});
    const today = dayOf(shop.ctx.clock.now(), shop.store.timeZone);
    const { rows } = await readJournal(sourceOf(shop), { from: today, to: today });
    assert.deepEqual(
      rows
        .filter(({ account }) => ['sales', 'top_ups', 'vat_payable'].includes(account))
        .map(({ kind, account, debit: left, credit: right }) => [kind, account, left, right]),
      [
        ['cancellation', 'sales', 0n, 11_900n],
        ['cancellation', 'vat_payable', 1_900n, 0n],
        ['issue', 'sales', 11_900n, 0n],
        ['issue', 'vat_payable', 0n, 1_900n],
        ['reversal', 'top_ups', 0n, 1_190n],
        ['reversal', 'vat_payable', 190n, 0n],
        ['top_up', 'top_ups', 1_190n, 0n],
        ['top_up', 'vat_payable', 0n, 190n],
      ],
    );
    const { issued, topped_up: toppedUp, adjusted } = await readLiability(sourceOf(shop));
    assert.deepEqual([issued, toppedUp, adjusted], [0n, 0n, 0n]);
  });

  test('a balance that staff set to 0 does not cancel the sale: its VAT stays due', async () => {
    await using shop = await openShop(factory);
    const { id } = await shop.sell(money('119'));
    await shop.credit(id, money('11.90'));
    await shop.change(id, { balance: money('0'), disable: true });
    assert.deepEqual(await accountsOf(shop), {
      sales: '-130.90',
      vat_payable: '20.90',
      adjustments: '110.00',
    });
  });

  test('redemptions and refunds are without VAT, and what was redeemed cannot be cancelled', async () => {
    await using shop = await openShop(factory);
    const { id, sale } = await shop.sell(money('119'));
    const redeemed = await shop.redeem(id, money('19'));
    assert.deepEqual(await accountsOf(shop), {
      liability_active: '84.03',
      sales: '-119.00',
      vat_payable: '19.00',
      redemptions: '15.97',
    });
    await assert.rejects(shop.undo(sale), (error) => {
      assert.ok(error instanceof Fault);
      return error.code === 'insufficient-balance';
    });
    await shop.undo(sale, money('100'));
    // The tax of the 19.00 that were redeemed.
    assert.deepEqual(await accountsOf(shop), {
      sales: '-19.00',
      vat_payable: '3.03',
      redemptions: '15.97',
    });
    await shop.undo(redeemed.transfer.id);
    await shop.undo(sale);
    assert.deepEqual(await accountsOf(shop), {});
  });

  test('a card that expires keeps its VAT due, and only the net balance is expired', async () => {
    await using shop = await openShop(factory);
    const today = dayOf(shop.ctx.clock.now(), shop.store.timeZone);
    const { id } = await shop.sell(money('119'), today);
    shop.ctx.clock.advance(dayMs);
    assert.deepEqual(await accountsOf(shop), {
      liability_expired: '100.00',
      sales: '-119.00',
      vat_payable: '19.00',
    });
    const days = { from: today, to: addDays(today, 1) };
    const { rows } = await readBreakage(sourceOf(shop), days);
    assert.deepEqual(
      rows.map(({ expired, expired_net: net, closing, closing_net: closingNet }) => [
        expired,
        net,
        closing,
        closingNet,
      ]),
      [[11_900n, 10_000n, 11_900n, 10_000n]],
    );
    await shop.change(id, { expiresOn: null });
    assert.equal((await accountsOf(shop)).liability_active, '100.00');
  });

  test('disabling and re-enabling move the net balance, and within a day they have no line', async () => {
    await using shop = await openShop(factory);
    const { id } = await shop.sell(money('119'));
    shop.ctx.clock.advance(dayMs);
    await shop.change(id, { disable: true });
    await shop.reenable(id);
    const today = dayOf(shop.ctx.clock.now(), shop.store.timeZone);
    assert.deepEqual((await readJournal(sourceOf(shop), { from: today, to: today })).rows, []);
    await shop.change(id, { disable: true });
    const { rows } = await readJournal(sourceOf(shop), { from: today, to: today });
    assert.deepEqual(
      rows.map((row) => [
        row.account,
        row.debit,
        row.credit,
        row.net_amount,
        row.vat_amount,
        row.gross_amount,
      ]),
      [
        ['liability_active', 10_000n, 0n, -10_000n, -1_900n, -11_900n],
        ['liability_disabled', 0n, 10_000n, 10_000n, 1_900n, 11_900n],
      ],
    );
  });

  test('random sales that are refunded and cancelled as a whole leave zero on every account', async (t) => {
    t.diagnostic(`BOOKS_SEED=${seed}`);
    await using shop = await openShop(factory);
    const random = seeded(seed);
    const amount = (max: number): Money => ({ ...money('1'), minor: BigInt(random.between(1, max)) });
    for (let card = 0; card < 12; card += 1) {
      const { id, sale } = await shop.sell(amount(400));
      const sales = [sale];
      const redemptions: number[] = [];
      for (let step = 0; step < 10; step += 1) {
        const isSale = random() < 0.4;
        const adds = random() < 0.5 ? shop.topUp : shop.credit;
        const done = await attempt(isSale ? adds(id, amount(90)) : shop.redeem(id, amount(60)));
        if (done) (isSale ? sales : redemptions).push(done.transfer.id);
        // Some are reversed in part, and later as a whole.
        const part = amount(60);
        if (done && random() < 0.3 && part.minor < done.transfer.amount.minor)
          await attempt(shop.undo(done.transfer.id, part));
        if (random() < 0.1) shop.ctx.clock.advance(dayMs);
      }
      for (const transfer of redemptions.toReversed()) await shop.undo(transfer);
      for (const transfer of sales) await shop.undo(transfer);
      assert.deepEqual(await accountsOf(shop), {}, `card ${card}`);
    }
    shop.ctx.clock.advance(2 * dayMs);
    await closeAllDays(shop, 7);
    assert.deepEqual(await accountsOf(shop), {});
  });

  test('stored sums without VAT are computed again', async () => {
    await using shop = await openShop(factory);
    const { storage, store, database } = shop;
    const { id } = await shop.sell(money('119'));
    await shop.redeem(id, money('19'));
    shop.ctx.clock.advance(2 * dayMs);
    await closeAllDays(shop, 10);
    const right = await accountsOf(shop);
    await database.tamper(
      sql`update store_days set raised_tax = null, lowered_tax = null where store_id = ${store.id}`,
      sql`update store_ages set tax = null, sold = null, sold_tax = null, redeemed = null, redeemed_tax = null
        where store_id = ${store.id}`,
    );
    assert.equal((await accountsOf(shop)).vat_payable, undefined);
    assert.ok(await rebuildSums(storage, store), 'no day was closed');
    assert.deepEqual(await accountsOf(shop), right);
    const problems: Finding[] = [];
    await storage.read(() => checkBooks(store, { found: (finding) => problems.push(finding) }));
    assert.deepEqual(problems, []);
  });
}
