/** Online sales: limits, reviews, decisions of staff, personal data, and the time after a restore. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { dayOf } from '../../src/core/domain/day.ts';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { Fault } from '../../src/core/domain/fault.ts';
import type { SalePage } from '../../src/features/online-sales/domain/rules.ts';
import { keyOfSale, type OnlineSale, type SaleForm } from '../../src/features/online-sales/domain/sale.ts';
import { continueErasure, startErasure } from '../../src/features/privacy/service/erasure.ts';
import { recordFirstView } from '../../src/features/recipient/service/recipient-lookup.ts';
import { changeEmailSettings } from '../../src/core/emails/service/email.ts';
import { enqueueReminders, firstPlace, planReminders } from '../../src/features/emails/service/reminder.ts';
import { customerExport } from '../../src/features/privacy/service/export.ts';
import {
  beginSale,
  findBuyPage,
  openSale,
  saleToken,
  type BuyPage,
} from '../../src/features/online-sales/service/begin.ts';
import { refundableOf } from '../../src/features/online-sales/service/going-back.ts';
import { listDifferences } from '../../src/features/online-sales/service/compare.ts';
import { countSales, listSales, sumMonth } from '../../src/features/online-sales/service/list.ts';
import { listMonthSales } from '../../src/features/online-sales/service/month.ts';
import { changeDelivery, readOrder } from '../../src/features/online-sales/service/order.ts';
import { requestRefund } from '../../src/features/online-sales/service/refund.ts';
import { outdatedTraces, outdatedUnpaidSales } from '../../src/jobs/retention.ts';
import {
  refundSale,
  releaseReviewed,
  returnReviewed,
} from '../../src/features/online-sales/service/staff-online-sales.ts';
import { refundToCard } from '../../src/features/till/service/refund.ts';
import type { ByStaff } from '../../src/core/staff/service/as-staff.ts';
import { placeHold } from '../../src/core/money/service/hold.ts';
import { requireCard } from '../../src/core/cards/service/present-card.ts';
import { changeCard } from '../../src/features/card-pages/service/card.ts';
import { resumeCard, suspendCard } from '../../src/core/cards/service/suspension.ts';
import { debit } from '../../src/core/money/service/spend.ts';
import { topUp } from '../../src/core/money/service/top-up.ts';
import { confirmRestored, markRestored } from '../../src/features/backups/service/restored.ts';
import { listEmailsBefore } from '../../src/core/emails/storage/email.ts';
import { listUnknownPayments, recordMovement } from '../../src/features/online-sales/storage/movement.ts';
import { listProviders } from '../../src/features/online-sales/storage/provider.ts';
import { findStoredSale, type StoredSale } from '../../src/features/online-sales/storage/sale.ts';
import { all, execute, sql } from '../../src/database/sql/sql.ts';
import { listStaffActions } from '../../src/core/staff/storage/action.ts';
import { lockStaffMember } from '../../src/core/staff/storage/staff.ts';
import type { OnlineSales } from '../../src/features/online-sales/start/online-sales.ts';
import { personOf } from '../support/acting.ts';
import type { StorageFactory } from '../support/database.ts';
import { email } from '../support/fixtures.ts';
import { lossyProvider, type LossyProvider } from '../support/lossy-provider.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';
import { amountIn, openBuyPage, processOf } from '../support/sale-world.ts';

const dayMs = 86_400_000;

type Selling = OpenStore & {
  readonly buy: BuyPage;
  readonly provider: LossyProvider;
  readonly form: SaleForm;
  readonly run: <T>(task: (sales: OnlineSales) => Promise<T>) => Promise<T>;
  readonly begin: (given?: Partial<SaleForm> & { readonly network?: string }) => Promise<OnlineSale>;
  /** Begins a sale and pays it. */
  readonly sell: (given?: Parameters<Selling['begin']>[0]) => Promise<StoredSale>;
  readonly read: (sale: Pick<OnlineSale, 'storeId' | 'id'>) => Promise<StoredSale>;
};

async function openSelling(factory: StorageFactory, given: Partial<SalePage> = {}): Promise<Selling> {
  const opened = await openStore(factory);
  const { ctx, storage, store } = opened;
  const buy = await openBuyPage(opened, { min: amountIn(store, 100), ...given });
  const provider = lossyProvider(() => ctx.clock.now());
  const fate = { crashRate: 0, crashes: 0, random: () => 0.5, errors: [] };
  const process = processOf(opened, provider, fate);
  let serial = 0;
  const form: SaleForm = {
    amount: amountIn(store, 2_500),
    design: 'birthday',
    buyerName: 'Ada',
    buyer: email('ada@example.com'),
    delivery: 'email',
    recipientName: 'Grace',
    recipient: email('grace@example.com'),
    senderName: 'Ada',
    message: 'Happy birthday!',
    sendOn: null,
  };
  const run: Selling['run'] = async (task) => {
    const result = await process(async (sales) => ({ value: await task(sales) }));
    assert(result);
    assert.deepEqual(fate.errors, []);
    return result.value;
  };
  const read: Selling['read'] = async (sale) => {
    const found = await storage.read(() => findStoredSale(keyOfSale(sale)));
    assert(found);
    return found;
  };
  const begin: Selling['begin'] = async ({ network = '192.0.2.1', ...fields } = {}) => {
    serial += 1;
    const key = Buffer.from(String(serial).padStart(16, '0')).toString('base64url');
    const request = { buy, form: { ...form, ...fields }, key, network, language: 'en', isTrial: false };
    const { sale } = await storage.write(() => beginSale(ctx, request));
    return await run(async (sales) => await sales.openSession(keyOfSale(sale)));
  };
  const sell: Selling['sell'] = async (fields) => {
    const { sessionId, ...sale } = await begin(fields);
    const held = provider.payments.get(sessionId ?? '');
    assert(held);
    held.state = 'paid';
    await run(async (sales) => await sales.refresh(keyOfSale(sale)));
    return await read(sale);
  };
  return { ...opened, buy, provider, form, run, begin, sell, read };
}

export function testOnlineSales(factory: StorageFactory): void {
  test('the limits of a day reject more sales of one address, of one network, and of the store', async () => {
    const limits = { addressLimit: 5_000, networkLimit: 7_500, storeLimit: 10_000 } as const;
    await using plain = await openStore(factory);
    const limit = (minor: number) => amountIn(plain.store, minor);
    await using selling = await openSelling(factory, {
      addressLimit: limit(limits.addressLimit),
      networkLimit: limit(limits.networkLimit),
      storeLimit: limit(limits.storeLimit),
    });
    const { begin, sell, ctx } = selling;
    await sell();
    await sell();
    const rejected = (which: string) => ({ code: 'too-many-requests', extensions: { limit: which } });
    await assert.rejects(begin({ network: '192.0.2.9' }), rejected('address'));
    await sell({ buyer: email('bob@example.com') });
    await assert.rejects(begin({ buyer: email('carol@example.com') }), rejected('network'));
    await sell({ buyer: email('dan@example.com'), network: '192.0.2.2' });
    const another = { buyer: email('frank@example.com'), network: '192.0.2.4' };
    await assert.rejects(begin(another), rejected('store'));
    ctx.clock.advance(dayMs);
    assert.equal((await sell()).state, 'issued');
  });

  test('orders and payments at the same time, in two processes, pass no limit', async () => {
    await using plain = await openStore(factory);
    const limit = amountIn(plain.store, 5_000);
    const limits = { addressLimit: limit, networkLimit: amountIn(plain.store, 12_500), cardLimit: limit };
    await using selling = await openSelling(factory, limits);
    const { ctx, provider, read, buy, storage } = selling;
    const fate = { crashRate: 0, crashes: 0, random: () => 0.5, errors: [] };
    const processes = [storage, selling.database.open()].map((each) => ({
      storage: each,
      run: processOf({ ...selling, storage: each }, provider, fate),
    }));
    const processOfPlace = (place: number) => processes[place % 2] ?? assert.fail();
    // Writes of one turn can share a transaction.
    const order = async (name: string, place: number) => {
      for (let turn = 0; turn < 3 * place; turn += 1) await nextTurn();
      const process = processOfPlace(place);
      const form = { ...selling.form, buyer: email(`${name}@example.com`) };
      const key = Buffer.from(`${name} ${place}`.padStart(16, '0')).toString('base64url');
      const request = { buy, form, key, network: name.replace(/\d+$/, ''), language: 'en', isTrial: false };
      const { sale } = await process.storage.write(() => beginSale(ctx, request));
      return (await process.run((sales) => sales.openSession(keyOfSale(sale)))) ?? assert.fail();
    };
    const pay = async (orders: readonly OnlineSale[], fingerprint: string | null) => {
      for (const { sessionId } of orders) {
        const held = provider.payments.get(sessionId ?? '') ?? assert.fail();
        held.fingerprint = fingerprint;
        held.state = 'paid';
      }
      await Promise.all(orders.map((sale, place) => processOfPlace(place).run((sales) => sales.refresh(keyOfSale(sale)))));
      const paid = await Promise.all(orders.map(read));
      const reasons = new Set(paid.flatMap(({ reviewReasons }) => reviewReasons));
      return [paid.filter(({ state }) => state === 'issued').length, paid.filter(({ state }) => state === 'review').length, [...reasons]];
    };
    const attempts = await Promise.allSettled(Array.from({ length: 12 }, (_, place) => order('ada', place)));
    const accepted = attempts.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const rejected = attempts.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
    assert.deepEqual(rejected.map((reason) => reason instanceof Fault && reason.code), Array(7).fill('too-many-requests'));
    assert.deepEqual(await pay(accepted, null), [2, 3, ['address_limit']]);

    const inNetwork = await Promise.all(Array.from({ length: 8 }, (_, place) => order(`bob${place}`, place)));
    assert.deepEqual(await pay(inNetwork, null), [5, 3, ['network_limit']]);
    const withCard = await Promise.all(Array.from({ length: 8 }, (_, place) => order(`${String.fromCharCode(99 + place)}dan`, place)));
    assert.deepEqual(await pay(withCard, 'one payment card'), [2, 6, ['card_limit']]);
    assert.deepEqual(fate.errors, []);
  });

  test('unpaid forms count by number, for minutes, and stop no other address and no other network', async () => {
    await using plain = await openStore(factory);
    const limits = { addressLimit: amountIn(plain.store, 50_000), networkLimit: amountIn(plain.store, 100_000) };
    await using selling = await openSelling(factory, limits);
    const { begin, sell, ctx } = selling;
    const dear = { amount: amountIn(plain.store, 25_000) };
    const rejected = (which: string) => ({ code: 'too-many-requests', retryAfterSeconds: 600, extensions: { limit: which } });
    for (let count = 0; count < 5; count += 1) await begin(dear);
    await assert.rejects(begin(), rejected('address'));
    assert.equal((await sell({ ...dear, network: '192.0.2.2' })).paid.minor, 25_000n);
    await sell({ ...dear, buyer: email('bob@example.com') });
    for (let count = 0; count < 15; count += 1) await begin({ ...dear, buyer: email(`carol${count}@example.com`) });
    await assert.rejects(begin({ buyer: email('dan@example.com') }), rejected('network'));
    await sell({ buyer: email('dan@example.com'), network: '192.0.2.3' });
    ctx.clock.advance(10 * 60_000 + 1);
    await sell();
    await sell({ buyer: email('dan@example.com') });
  });

  test('a store without limits of addresses and networks accepts any number of forms', async () => {
    await using selling = await openSelling(factory);
    for (let count = 0; count < 21; count += 1) await selling.begin();
  });

  test('the addresses of one mailbox share the limit of an address', async () => {
    await using plain = await openStore(factory);
    await using selling = await openSelling(factory, { addressLimit: amountIn(plain.store, 5_000) });
    const { begin, sell, read, provider, run } = selling;
    const rejected = { code: 'too-many-requests', extensions: { limit: 'address' } };
    const late = await begin({ buyer: email('ada+late@example.com') });
    await sell({ buyer: email('ada+1@example.com') });
    await sell({ buyer: email('Ada+2+x@EXAMPLE.com'), network: '192.0.2.2' });
    await assert.rejects(begin({ network: '192.0.2.3' }), rejected);
    await sell({ buyer: email('ada+1@example.org') });
    const held = provider.payments.get(late.sessionId ?? '') ?? assert.fail();
    held.state = 'paid';
    await run(async (sales) => await sales.refresh(keyOfSale(late)));
    assert.deepEqual([(await read(late)).state, (await read(late)).reviewReasons], ['review', ['address_limit']]);

    await sell({ buyer: email('grace.hopper@gmail.com') });
    await sell({ buyer: email('GraceHopper+gift@googlemail.com') });
    await assert.rejects(begin({ buyer: email('g.r.a.c.e.hopper@gmail.com') }), rejected);
    await sell({ buyer: email('grace.hopper@example.com') });
    await sell({ buyer: email('gracehopper@example.com') });
    await sell({ buyer: email('gracehopper@example.com') });
  });

  test('payments that were cancelled and orders that are paid later pass no limit: the rest is reviewed', async () => {
    await using plain = await openStore(factory);
    const limits = { addressLimit: amountIn(plain.store, 50_000), networkLimit: amountIn(plain.store, 100_000) };
    await using selling = await openSelling(factory, limits);
    const { begin, read, provider, run, ctx, store } = selling;
    const orders: OnlineSale[] = [];
    const heldOf = ({ sessionId }: OnlineSale) => provider.payments.get(sessionId ?? '') ?? assert.fail();
    const refresh = async (sale: OnlineSale) => await run(async (sales) => await sales.refresh(keyOfSale(sale)));
    for (let count = 0; count < 12; count += 1) {
      const sale = await begin({ amount: amountIn(store, 10_000) });
      orders.push(sale);
      // Until it is paid after all.
      heldOf(sale).state = (['failed', 'expired', 'open'] as const)[count % 3] ?? 'open';
      await refresh(sale);
      ctx.clock.advance(3 * 60_000);
    }
    for (const sale of orders) {
      heldOf(sale).state = 'paid';
      await refresh(sale);
    }
    const paid = await Promise.all(orders.map(read));
    const texts = paid.map(({ state, reviewReasons }) => [state, ...reviewReasons].join(' '));
    assert.deepEqual(texts.slice(0, 5), Array(5).fill('issued'));
    assert.deepEqual(texts.slice(5, 10), Array(5).fill('review address_limit'));
    assert.deepEqual(texts.slice(10), Array(2).fill('review address_limit network_limit'));
  });

  test('a payment counts on its own day, so orders before midnight pass no limit after it', async () => {
    await using plain = await openStore(factory);
    const limit = amountIn(plain.store, 5_000);
    await using selling = await openSelling(factory, { cardLimit: limit });
    const { begin, provider, run, read, ctx } = selling;
    const orders = await Promise.all(Array.from({ length: 4 }, () => begin()));
    ctx.clock.advance(dayMs);
    for (const { sessionId, ...sale } of orders) {
      const held = provider.payments.get(sessionId ?? '') ?? assert.fail();
      held.fingerprint = 'one payment card';
      held.state = 'paid';
      await run(async (sales) => await sales.refresh(keyOfSale(sale)));
    }
    const states = await Promise.all(orders.map(async (sale) => (await read(sale)).state));
    assert.deepEqual(states, ['issued', 'issued', 'review', 'review']);
  });

  test('a form is one sale, and a repetition with other content changes nothing', async () => {
    await using selling = await openSelling(factory);
    const { storage, ctx, buy, store, begin } = selling;
    const sale = await begin();
    const form = { ...(await selling.read(sale)), buyer: email('eve@example.com'), recipient: email('eve@example.com') };
    const request = { buy, form, key: sale.key, network: '198.51.100.7', language: 'de', isTrial: false };
    const repeated = await storage.write(() => beginSale(ctx, { ...request, form: { ...form, amount: amountIn(store, 9_999) } }));
    assert.equal(repeated.isNew, false);
    assert.deepEqual([repeated.sale.id, repeated.sale.amount.minor, repeated.sale.buyerAddress], [sale.id, 2_500n, 'ada@example.com']);
  });

  test('a reviewed sale has no card until staff release it, and its money goes back at the deadline', async () => {
    await using selling = await openSelling(factory, { reviewsFirst: true, reviewHours: 2 });
    const { storage, ctx, sell, read, run, provider, store } = selling;
    const [manager, cashier] = [await personOf(selling, 'manager'), await personOf(selling, 'cashier')];
    const released = await sell();
    assert.deepEqual([released.state, released.reviewReasons, released.cardId], ['review', ['first'], null]);
    await assert.rejects(storage.write(() => releaseReviewed(ctx, cashier, released.id)), { code: 'insufficient-scope' });
    assert.equal((await storage.write(() => releaseReviewed(ctx, manager, released.id))).state, 'issued');
    // A second decision changes nothing, and is not listed.
    await storage.write(() => releaseReviewed(ctx, manager, released.id));
    await storage.write(() => returnReviewed(ctx, manager, { saleId: released.id, reason: null }));

    const returned = await sell({ buyer: email('bob@example.com') });
    await storage.write(() => returnReviewed(ctx, manager, { saleId: returned.id, reason: 'unknown' }));
    const late = await sell({ buyer: email('carol@example.com') });
    ctx.clock.advance(2 * 3_600_000);
    while ((await run(async (sales) => await sales.run())) > 0);
    for (const [sale, reason] of [[returned, 'staff'], [late, 'deadline']] as const) {
      const { state, returnReason, refunded, cardId } = await read(sale);
      assert.deepEqual([state, returnReason, refunded.minor, cardId], ['returned', reason, 2_500n, null]);
      const refunds = [...provider.payments.values()].find(({ saleKey }) => saleKey === sale.key)?.refunds;
      assert.deepEqual(refunds?.map(({ amount }) => amount.minor), [2_500n]);
    }
    const before = Number.MAX_SAFE_INTEGER;
    const actions = await storage.read(() => listStaffActions(store.id, { before, limit: 10 }));
    const names = actions.map(({ action }) => action).filter((name) => name.startsWith('sale-'));
    assert.deepEqual(names, ['sale-returned', 'sale-released']);
  });

  test('a refund stops the card first, returns its tax, and is requested once', async () => {
    await using selling = await openSelling(factory);
    const { storage, ctx, store, sell, read, run } = selling;
    const manager = await personOf(selling, 'manager');
    const sale = await sell();
    const refund = await storage.write(() => refundSale(ctx, manager, { saleId: sale.id, reason: 'asked' }));
    assert.deepEqual([refund.state, refund.amount.minor], ['requested', 2_500n]);
    const card = await storage.read(() => requireCard(store.id, sale.cardId ?? 0));
    assert.equal(card.balance.minor, 0n);
    assert.notEqual(card.disabledAt, null);
    await assert.rejects(storage.write(() => refundSale(ctx, manager, { saleId: sale.id, reason: null })), { code: 'not-reversible' });
    const entries = await storage.read(() =>
      all(sql<{ kind: string; debit: string; credit: string }>`
        select kind, debit_account as debit, credit_account as credit from transfers
        where store_id = ${store.id} and card_id = ${card.id} order by sequence`),
    );
    assert.deepEqual(entries.map((entry) => [entry.kind, entry.debit, entry.credit]), [
      ['issue', 'online_sales', 'card'],
      ['reversal', 'card', 'online_sales'],
    ]);
    await run(async (sales) => await sales.sendRefunds(keyOfSale(sale)));
    selling.provider.expire();
    await run(async (sales) => await sales.refresh(keyOfSale(sale)));
    await run(async (sales) => await sales.compare());
    assert.deepEqual([(await read(sale)).refunded.minor, await storage.read(() => listDifferences(ctx, store))], [2_500n, []]);
  });

  test('the page names the amount that a refund then requests, whatever happened to the card', async () => {
    await using selling = await openSelling(factory);
    const { storage, ctx, store, sell, read, run, provider } = selling;
    const manager = await personOf(selling, 'manager');
    const paid = (sale: StoredSale) => provider.payments.get(sale.sessionId ?? '') ?? assert.fail();
    const plain = { store, actor: 'test', versions: null, reference: null, note: null, orderId: null };
    const spend = (cardId: number, minor: number) =>
      storage.write(() => debit(ctx, { ...plain, cardId, amount: amountIn(store, minor), partial: false }));
    const hold = (cardId: number, minor: number) =>
      storage.write(() => placeHold(ctx, { ...plain, cardId, amount: amountIn(store, minor), seconds: 3_600 }));
    const cases: Readonly<Record<string, readonly [minor: bigint, change: (cardId: number, sale: StoredSale) => Promise<unknown>]>> = {
      untouched: [2_500n, async () => undefined],
      spent: [1_500n, async (cardId) => await spend(cardId, 1_000)],
      held: [1_800n, async (cardId) => await hold(cardId, 700)],
      // This payment did not pay for an amount that was added later.
      'topped up': [2_500n, async (cardId) =>
        await storage.write(() => topUp(ctx, { ...plain, cardId, amount: amountIn(store, 900), expiresOn: null, notify: false }))],
      'refunded in part at the provider': [2_000n, async (_card, sale) => {
        provider.refundAtProvider(paid(sale), 500n);
        await run(async (sales) => await sales.refresh(keyOfSale(sale)));
      }],
      'owed after a refund that failed': [1_900n, async (cardId, sale) => {
        await spend(cardId, 600);
        await storage.write(() => refundSale(ctx, manager, { saleId: sale.id, reason: null }));
        provider.failRefund = () => 'at once';
        await run(async (sales) => await sales.sendRefunds(keyOfSale(sale)));
        provider.failRefund = () => 'no';
      }],
    };
    for (const [name, [minor, change]] of Object.entries(cases)) {
      const { cardId, ...sold } = await sell({ buyer: email(`${name.replaceAll(' ', '.')}@example.com`) });
      await change(cardId ?? 0, { ...sold, cardId });
      const card = await storage.read(() => requireCard(store.id, cardId ?? 0));
      assert.equal(refundableOf(await read(sold), card).minor, minor, name);
      const made = await storage.write(() => refundSale(ctx, manager, { saleId: sold.id, reason: null }));
      assert.equal(made.amount.minor, minor, name);
      const after = await storage.read(() => requireCard(store.id, cardId ?? 0));
      assert.equal(refundableOf(await read(sold), after).minor, 0n, name);
    }
  });

  const limitTo = async ({ storage, store }: OpenStore, { member }: ByStaff, minor: number) =>
    await storage.write(() => execute(sql`update staff set refund_limit = ${minor} where store_id = ${store.id} and id = ${member.id}`));
  const aboveLimit = (left: string) => ({ code: 'invalid-parameter', extensions: { refund_limit: '50.00', refund_left: left } });

  test('a refund limit is one sum of a person’s day: online sales, decisions about reviewed ones, and redemptions', async () => {
    await using plain = await openStore(factory);
    await using selling = await openSelling(factory, { reviewAbove: amountIn(plain.store, 3_000) });
    const { storage, ctx, store, sell, read, provider, run } = selling;
    const [manager, other] = [await personOf(selling, 'manager'), await personOf(selling, 'manager')];
    await limitTo(selling, manager, 5_000);
    await limitTo(selling, other, 5_000);
    const debitCommand = { store, actor: 'test', versions: null, reference: null, note: null, orderId: null, partial: false };
    const spent = async (minor: number) => {
      const { card } = await selling.issue();
      return (await storage.write(() => debit(ctx, { ...debitCommand, cardId: card.id, amount: amountIn(store, minor) }))).transfer.id;
    };
    const refund = (by: ByStaff, { id: saleId }: OnlineSale) => storage.write(() => refundSale(ctx, by, { saleId, reason: null }));
    const giveBack = (by: ByStaff, { id: saleId }: OnlineSale) => storage.write(() => returnReviewed(ctx, by, { saleId, reason: null }));
    const toCard = (by: ByStaff, transferId: number, minor: number) =>
      storage.write(() => refundToCard(ctx, by, { transferId, amount: amountIn(store, minor), note: null }));
    const [first, second, third] = [await sell(), await sell(), await sell()];
    const [reviewed, small] = [await sell({ amount: amountIn(store, 4_000) }), await spent(1_000)];
    assert.equal(reviewed.state, 'review');

    await refund(manager, first);
    await assert.rejects(giveBack(manager, reviewed), aboveLimit('25.00'));
    assert.equal((await read(reviewed)).state, 'review');
    await refund(manager, second);
    await assert.rejects(refund(manager, third), aboveLimit('0.00'));
    assert.deepEqual([(await read(third)).refunded.minor, (await storage.read(() => requireCard(store.id, third.cardId ?? 0))).balance.minor], [0n, 2_500n]);
    await assert.rejects(toCard(manager, small, 1), aboveLimit('0.00'));

    await giveBack(other, reviewed);
    await toCard(other, small, 900);
    await assert.rejects(refund(other, third), aboveLimit('1.00'));
    ctx.clock.advance(dayMs);
    // A refund that the provider has rejected returned no money.
    provider.failRefund = () => 'at once';
    await refund(other, third);
    await run(async (sales) => await sales.sendRefunds(keyOfSale(third)));
    provider.failRefund = () => 'no';
    assert.equal((await read(third)).owed.minor, 2_500n);
    const fourth = await sell();
    await refund(other, fourth);
    await refund(other, third);
    await assert.rejects(toCard(other, small, 1), aboveLimit('0.00'));
  });

  test('refunds of one person at the same time do not exceed the limit, of online sales and redemptions', async () => {
    await using selling = await openSelling(factory);
    const { storage, ctx, store, sell } = selling;
    const manager = await personOf(selling, 'manager');
    await limitTo(selling, manager, 5_000);
    const command = { store, actor: 'test', versions: null, reference: null, note: null, orderId: null, partial: false };
    const requests = await Promise.all(
      Array.from({ length: 6 }, async (_, place) => {
        const { id: saleId } = await sell({ buyer: email(`bob${place}@example.com`) });
        const { card } = await selling.issue({ value: amountIn(store, 2_500) });
        const { transfer } = await storage.write(() => debit(ctx, { ...command, cardId: card.id, amount: amountIn(store, 2_500) }));
        return [
          () => storage.write(() => refundSale(ctx, manager, { saleId, reason: null })),
          () => storage.write(() => refundToCard(ctx, manager, { transferId: transfer.id, amount: amountIn(store, 2_500), note: null })),
        ];
      }),
    );
    const outcomes = await Promise.allSettled(requests.flat().map((request) => request()));
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 2);
  });

  test('a refund that waits for another one across midnight counts on the day on which it is made', async () => {
    await using selling = await openSelling(factory);
    const { storage, ctx, store, sell, database } = selling;
    const manager = await personOf(selling, 'manager');
    await limitTo(selling, manager, 5_000);
    const sales = [await sell(), await sell(), await sell(), await sell()];
    const refund = ({ id: saleId }: OnlineSale) => storage.write(() => refundSale(ctx, manager, { saleId, reason: null }));
    const [first, second, third, fourth] = sales;
    assert(first && second && third && fourth);
    await refund(first);
    await refund(second);
    // The limit of the day is reached, and the third refund is requested on it.
    const other = database.open();
    const waiting = await other.write(function* () {
      yield* lockStaffMember(store.id, manager.member.id);
      const requested = refund(third);
      requested.catch(() => undefined);
      while (factory.isServer && (yield* all(sql`
        select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)).length === 0);
      ctx.clock.advance(dayMs);
      return { requested };
    });
    assert.equal((await waiting.requested).amount.minor, 2_500n);
    await refund(fourth);
    const fifth = await sell();
    await assert.rejects(refund(fifth), aboveLimit('0.00'));
  });

  test('a buyer can withdraw for 14 days, and no longer', async () => {
    await using selling = await openSelling(factory);
    const { storage, ctx, sell } = selling;
    const [early, late] = [await sell(), await sell()];
    const demand = (sale: OnlineSale) => ({ ...keyOfSale(sale), reason: null, by: 'buyer', actor: 'online_sale' }) as const;
    ctx.clock.advance(14 * dayMs);
    await storage.write(() => requestRefund(ctx, demand(early)));
    ctx.clock.advance(dayMs);
    await assert.rejects(storage.write(() => requestRefund(ctx, demand(late))), { code: 'undo-window-closed' });
  });

  test('three orders of one payment card, or of one mailbox without one, can be withdrawn from on a day', async () => {
    await using selling = await openSelling(factory);
    const { storage, ctx, begin, read, provider, run } = selling;
    const manager = await personOf(selling, 'manager');
    const bought = async (address: string, fingerprint: string | null) => {
      const sale = await begin({ buyer: email(address) });
      Object.assign(provider.payments.get(sale.sessionId ?? '') ?? assert.fail(), { state: 'paid', fingerprint });
      await run(async (sales) => await sales.refresh(keyOfSale(sale)));
      return await read(sale);
    };
    const withdraw = (sale: OnlineSale) =>
      storage.write(() => requestRefund(ctx, { ...keyOfSale(sale), reason: null, by: 'buyer', actor: 'online_sale' }));
    const rejected = { code: 'too-many-requests', extensions: { limit: 'withdrawals' } };
    for (const [fingerprint, others] of [['one card', 'another card'], [null, null]] as const) {
      const addresses = fingerprint === null ? ['eve@example.com', 'eve+1@example.com'] : ['ada@example.com', 'bob@example.com'];
      const sales = await Promise.all(Array.from({ length: 6 }, (_, place) => bought(addresses[place % 2] ?? '', fingerprint)));
      const outcomes = await Promise.allSettled(sales.map(withdraw));
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 3);
      const left = sales.filter((_, place) => outcomes[place]?.status === 'rejected');
      const [first, second, third] = left;
      assert(first && second && third);
      await assert.rejects(withdraw(first), rejected);
      assert.deepEqual([(await read(first)).refunded.minor, (await storage.read(() => requireCard(first.storeId, first.cardId ?? 0))).balance.minor], [0n, 2_500n]);
      await withdraw(await bought('carol@example.com', others));
      // Staff can refund the others on the same day.
      await storage.write(() => refundSale(ctx, manager, { saleId: second.id, reason: null }));
      ctx.clock.advance(dayMs);
      await withdraw(third);
    }
  });

  test('the link of an order shows a code for oneself for 30 days, and never one for another person', async () => {
    await using selling = await openSelling(factory);
    const { storage, ctx, store, sell } = selling;
    const [own, gift] = [await sell({ delivery: 'self', recipient: null, recipientName: null }), await sell()];
    const shown = async (sale: OnlineSale) =>
      (await storage.read(() => openSale(ctx, store.domain, saleToken(ctx, sale))))?.code?.reveal() ?? null;
    assert.match(String(await shown(own)), /^[a-z0-9]{16}$/);
    assert.equal(await shown(gift), null);
    const token = saleToken(ctx, own);
    assert.equal(await storage.read(() => openSale(ctx, store.domain, `${token.slice(0, -1)}!`)), undefined);
    assert.equal(await storage.read(() => openSale(ctx, store.domain, token.replace(/_.*/, `_${'A'.repeat(22)}`))), undefined);
    ctx.clock.advance(30 * dayMs);
    assert.equal(await shown(own), null);
    const { find, erase } = outdatedTraces(ctx);
    ctx.clock.advance(1);
    const found = await storage.read(() => outdatedTraces(ctx).find(10));
    assert.equal(await storage.write(() => erase(found)), 2);
    assert.deepEqual(await storage.read(() => find(10)), []);
    const { sealedCode, network } = await selling.read(own);
    assert.deepEqual([sealedCode, network], [null, null]);
  });

  test('sales that were not paid are deleted after 30 days, in parts, and none with a payment', async () => {
    await using plain = await openStore(factory);
    await using selling = await openSelling(factory, { reviewAbove: amountIn(plain.store, 3_000) });
    const { storage, ctx, store, sell, begin, provider, run } = selling;
    const manager = await personOf(selling, 'manager');
    const heldOf = ({ sessionId }: OnlineSale) => provider.payments.get(sessionId ?? '') ?? assert.fail();
    const bring = async (sale: OnlineSale, state: 'failed' | 'expired' | 'waiting' | 'paid') => {
      heldOf(sale).state = state;
      await run(async (sales) => await sales.refresh(keyOfSale(sale)));
      return sale;
    };
    const statesOf = async () =>
      (await storage.read(() => all(sql<{ state: string }>`select state from online_sales where store_id = ${store.id} order by state`))).map(({ state }) => state);
    const erase = async (limit = 2) => {
      for (;;) {
        const { find, erase: remove } = outdatedUnpaidSales(ctx);
        const found = await storage.read(() => find(limit));
        assert.ok(found.length <= limit);
        if (found.length === 0 || (await storage.write(() => remove(found))) === 0) return;
      }
    };
    const large = { amount: amountIn(store, 4_000) };
    for (let count = 0; count < 3; count += 1) await begin();
    await bring(await begin(), 'failed');
    await bring(await begin(), 'expired');
    const late = await bring(await begin(), 'waiting');
    const listed = await begin();
    const [place] = await storage.read(() => listProviders(store.id));
    const movement = { id: 'm_1', kind: 'payment', amount: listed.amount, fee: listed.amount, at: ctx.clock.now(), saleKey: listed.key, paymentId: 'p', payoutId: null } as const;
    await storage.write(() => recordMovement(place ?? assert.fail(), movement));
    await sell();
    const refunded = await sell();
    await storage.write(() => refundSale(ctx, manager, { saleId: refunded.id, reason: null }));
    const returned = await sell(large);
    await storage.write(() => returnReviewed(ctx, manager, { saleId: returned.id, reason: null }));
    await sell(large);
    assert.equal((await statesOf()).length, 11);
    ctx.clock.advance(30 * dayMs);
    await erase();
    assert.equal((await statesOf()).length, 11);
    ctx.clock.advance(1);
    await begin();
    await storage.write(() => execute(sql`update online_sales set notice_at = null where store_id = ${store.id}`));
    await erase();
    // A payment can still arrive for the one that waits, and has arrived for the one with a movement.
    const kept = ['issued', 'issued', 'open', 'open', 'returned', 'review', 'waiting'];
    assert.deepEqual(await statesOf(), kept);
    assert.deepEqual([(await selling.read(late)).buyerAddress, (await selling.read(listed)).mailbox], [null, null]);
    await bring(late, 'failed');
    // The buyer gets an email about it first.
    await erase();
    assert.deepEqual((await statesOf()).length, 7);
    await storage.write(() => execute(sql`update online_sales set notice_at = null where store_id = ${store.id}`));
    await erase();
    assert.deepEqual(await statesOf(), kept.filter((state) => state !== 'waiting'));
  });

  test('the data of a person in online sales is exported, and erased with the person', async () => {
    await using selling = await openSelling(factory);
    const { storage, ctx, store, sell, read } = selling;
    const paid = await sell();
    assert.equal((await read(paid)).buyerAddress, 'ada@example.com');

    const card = await storage.read(() => requireCard(store.id, paid.cardId ?? 0));
    const customerId = card.customer?.id ?? 0;
    let text = '';
    for await (const part of customerExport({ ctx, storage, store }, customerId)) text += part;
    const { online_sales: exported } = JSON.parse(text) as { online_sales: readonly { buyer_email: string }[] };
    assert.deepEqual(exported.map((each) => each.buyer_email), ['ada@example.com']);
    const key = { storeId: store.id, customerId };
    await storage.write(() => startErasure(ctx, { ...key, eraseNotes: false, actor: 'test' }));
    while (!(await storage.write(() => continueErasure(ctx, key))));
    const erased = await read(paid);
    assert.deepEqual([erased.buyerAddress, erased.buyerName, erased.message, erased.amount.minor], [null, null, null, 2_500n]);
    assert.equal(erased.recipientAddress, 'grace@example.com');
  });

  test('the reason of a refund is erased with the buyer or the recipient, and is not in the audit log', async () => {
    await using selling = await openSelling(factory);
    const { storage, ctx, store, sell } = selling;
    const manager = await personOf(selling, 'manager');
    const [bought, received, other] = [
      await sell(),
      await sell({ buyer: email('bob@example.com'), recipient: email('ada@example.com') }),
      await sell({ buyer: email('bob@example.com') }),
    ];
    for (const { id: saleId } of [bought, received, other])
      await storage.write(() => refundSale(ctx, manager, { saleId, reason: 'Ada Lovelace called' }));
    const reasonsOf = async () =>
      await Promise.all([bought, received, other].map(async (sale) => (await storage.read(() => readOrder(ctx, sale))).refunds[0]?.reason));
    assert.deepEqual(await reasonsOf(), Array(3).fill('Ada Lovelace called'));
    const { customer } = await storage.read(() => requireCard(store.id, bought.cardId ?? 0));
    const key = { storeId: store.id, customerId: customer?.id ?? 0 };
    await storage.write(() => startErasure(ctx, { ...key, eraseNotes: false, actor: 'test' }));
    while (!(await storage.write(() => continueErasure(ctx, key))));
    assert.deepEqual(await reasonsOf(), [null, null, 'Ada Lovelace called']);
    const actions = await storage.read(() => listStaffActions(store.id, { before: Number.MAX_SAFE_INTEGER, limit: 10 }));
    const refunds = actions.filter(({ action }) => action === 'sale-refunded');
    assert.equal(refunds.length, 3);
    assert.doesNotMatch(JSON.stringify(refunds), /Lovelace/);
  });

  test('the recipient of a card has the address that the buyer changed, and is erased with it', async () => {
    await using selling = await openSelling(factory);
    const { storage, ctx, store, sell, read } = selling;
    const sendOn = dayOf(ctx.clock.now() + 10 * dayMs, store.timeZone);
    const sale = await sell({ sendOn });
    const cardOf = () => storage.read(() => requireCard(store.id, sale.cardId ?? 0));
    const changeTo = async (address: string) => {
      const facts = await storage.read(() => readOrder(ctx, sale));
      const change = { address: email(address), sendOn };
      return await storage.write(() => changeDelivery(ctx, store, { facts, change, canSend: true }));
    };
    assert.equal((await cardOf()).recipient?.email, 'grace@example.com');
    assert.equal((await changeTo('hopper@example.com')).address, 'hopper@example.com');
    const { recipient, customer } = await cardOf();
    assert.deepEqual([recipient?.email, customer?.email], ['hopper@example.com', 'ada@example.com']);
    assert.equal((await read(sale)).recipientAddress, 'hopper@example.com');
    const events = await storage.read(() =>
      all(sql<{ data: string }>`select data from events where store_id = ${store.id} and type = 'gift_card.updated'`),
    );
    assert.deepEqual(events.map(({ data }) => (JSON.parse(data) as { changed: unknown }).changed), [['recipient_id', 'recipient_email']]);

    const key = { storeId: store.id, customerId: recipient?.id ?? 0 };
    await storage.write(() => startErasure(ctx, { ...key, eraseNotes: false, actor: 'test' }));
    while (!(await storage.write(() => continueErasure(ctx, key))));
    assert.equal((await cardOf()).recipient, null);
    const { recipientAddress, recipientName } = await read(sale);
    assert.deepEqual([recipientAddress, recipientName], [null, null]);
  });

  test('a notification makes a sale due without a request, also while its payment is being read', async () => {
    await using selling = await openSelling(factory);
    const { ctx, store, begin, read, run, provider } = selling;
    const [sale, other] = [await begin(), await begin()];
    const held = provider.payments.get(sale.sessionId ?? '');
    assert(held);
    const requests = () => Object.values(provider.counts).reduce((sum, count) => sum + count, 0);
    const hint = async (id: string) => {
      const body = Buffer.from(id);
      const before = requests();
      const due = await run(async (sales) => await sales.receiveHint({ storeId: store.id, kind: 'stripe', headers: {}, body, now: ctx.clock.now() }));
      assert.equal(requests(), before);
      return due.map(({ saleId }) => saleId);
    };
    assert.deepEqual(await hint('cs_unknown'), []);
    assert.deepEqual(await hint(held.id), [sale.id]);
    const { readPayment } = provider;
    let reads = 0;
    // The buyer pays after the provider has read the payment, and before the service has the response.
    const paying: LossyProvider['readPayment'] = async (...request) => {
      const outcome = await readPayment(...request);
      reads += 1;
      if (reads > 1) return outcome;
      held.state = 'paid';
      await hint(held.id);
      return outcome;
    };
    Object.assign(provider, { readPayment: paying });
    assert.equal(await run(async (sales) => await sales.run()), 2);
    assert.equal((await read(sale)).state, 'issued');
    assert.equal(await run(async (sales) => await sales.run()), 0);
    assert.deepEqual([reads, (await read(other)).state], [2, 'open']);
  });

  test('the page of an order reads its payment at most once in three seconds, however often it is requested', async () => {
    await using selling = await openSelling(factory);
    const { ctx, begin, read, run, provider } = selling;
    const [sale, other] = [await begin(), await begin()];
    const requests = () => Object.values(provider.counts).reduce((sum, count) => sum + count, 0);
    const follow = async (times: number, followed = sale): Promise<number> => {
      const before = requests();
      const views = Array.from({ length: times }, () => run(async (sales) => await sales.follow(keyOfSale(followed))));
      await Promise.all(views);
      return requests() - before;
    };
    assert.equal(await follow(50), 1);
    const held = provider.payments.get(sale.sessionId ?? '');
    assert(held);
    held.state = 'paid';
    assert.equal(await follow(50), 0);
    assert.equal(await follow(2, other), 1);
    ctx.clock.advance(2_900);
    assert.equal(await follow(1), 0);
    ctx.clock.advance(100);
    provider.lose = () => 'after';
    assert.equal(await follow(1), 1);
    assert.equal((await read(sale)).state, 'open');
    provider.lose = () => 'none';
    ctx.clock.advance(3_000);
    assert.equal(await follow(50), 1);
    assert.equal((await read(sale)).state, 'issued');
    // Staff read it whenever they want.
    const before = requests();
    await run(async (sales) => await sales.refresh(keyOfSale(sale)));
    assert.equal(requests(), before + 1);
  });

  test('reminders of cards that were sold online go only to people who have opened them', async () => {
    await using selling = await openSelling(factory, { validityMonths: 2 });
    const { storage, ctx, store, sell } = selling;
    await storage.write(() =>
      changeEmailSettings(ctx, store.id, { enabled: true, expiryReminderDays: [7], balanceReminderDays: [30] }),
    );
    const self = { delivery: 'self', recipient: null, recipientName: null } as const;
    const cards: number[] = [];
    for (const fields of [{}, {}, self, self]) cards.push((await sell(fields)).cardId ?? 0);
    const [opened = 0, unopened = 0, ownOpened = 0, own = 0] = cards;
    const expiresOn = (await storage.read(() => requireCard(store.id, opened))).expiresOn;
    const issued = await selling.issue({ recipient: email('hopper@example.com'), expiresOn });
    for (const id of [opened, ownOpened]) await storage.write(() => recordFirstView(ctx, { storeId: store.id, id }));
    const remind = async () => {
      const plan = await storage.read(() => planReminders(ctx, store));
      assert(plan);
      for (const task of plan.tasks)
        for (let from: typeof firstPlace | undefined = firstPlace; from;) {
          const place: typeof firstPlace = from;
          from = await storage.write(() => enqueueReminders(ctx, { store, task, from: place, limit: 3 }));
        }
    };
    const remindersOf = async (cardId: number) => {
      const page = { before: Number.MAX_SAFE_INTEGER, limit: 20 };
      const emails = await storage.read(() => listEmailsBefore({ storeId: store.id, cardId }, page));
      return emails.map(({ kind }) => kind).filter((kind) => kind.endsWith('_reminder')).toSorted();
    };
    for (let days = 0; days < 62; days += 1) {
      await remind();
      // A recipient who opens the card late gets the reminders from then on.
      if (days === 40) await storage.write(() => recordFirstView(ctx, { storeId: store.id, id: unopened }));
      ctx.clock.advance(dayMs);
    }
    const both = ['balance_reminder', 'expiry_reminder'];
    assert.deepEqual(await Promise.all([opened, ownOpened, issued.card.id].map(remindersOf)), [both, both, both]);
    assert.deepEqual(await Promise.all([unopened, own].map(remindersOf)), [['expiry_reminder'], []]);
  });

  test('after a restore nothing is sold until the payments since the backup were compared', async () => {
    await using selling = await openSelling(factory);
    const { storage, ctx, store, sell, begin, read, run, provider } = selling;
    const owner = await personOf(selling, 'owner');
    const [open, issued] = [await begin(), await sell()];
    const isOpen = async () => (await storage.read(() => findBuyPage(ctx, store.domain)))?.isOpen;
    assert.equal(await isOpen(), true);
    await storage.write(() => markRestored(ctx, ctx.clock.now()));
    // On the other machine, one sale was paid and the other refunded.
    ctx.clock.advance(60_000);
    const heldOf = ({ key }: OnlineSale) => [...provider.payments.values()].find(({ saleKey }) => saleKey === key);
    const [paid, refunded] = [heldOf(open), heldOf(issued)];
    assert(paid && refunded);
    paid.state = 'paid';
    provider.refundAtProvider(refunded, 2_500n);
    assert.equal(await run(async (sales) => await sales.run()), 0);
    await run(async (sales) => await sales.compare());
    assert.deepEqual([await isOpen(), (await read(open)).state], [false, 'open']);
    await storage.write(() => confirmRestored(ctx, owner, { isSent: true }));
    assert.equal(await isOpen(), false);
    await run(async (sales) => await sales.compare());
    assert.deepEqual([await isOpen(), (await read(open)).state], [true, 'issued']);
    const card = await storage.read(() => requireCard(store.id, issued.cardId ?? 0));
    assert.deepEqual([card.balance.minor, card.disabledAt !== null], [0n, true]);
  });

  test('a refund after the comparison is not a difference, and a refund that the provider did not make is one', async () => {
    await using selling = await openSelling(factory);
    const { storage, ctx, store, sell, run, provider } = selling;
    const paid = (sale: StoredSale) => provider.payments.get(sale.sessionId ?? '') ?? assert.fail();
    const kinds = async () => (await storage.read(() => listDifferences(ctx, store))).map(({ kind }) => kind);
    const compareTomorrow = async () => {
      ctx.clock.advance(dayMs + 1);
      await run(async (sales) => await sales.compare());
    };
    const [refunded, disputed] = [await sell(), await sell({ buyer: email('eve@example.com') })];
    await compareTomorrow();
    ctx.clock.advance(1);
    provider.refundAtProvider(paid(refunded), 2_500n);
    const dispute = { id: 'dp_1', amount: paid(disputed).amount, at: ctx.clock.now() };
    paid(disputed).dispute = { ...dispute, state: 'open' };
    for (const sale of [refunded, disputed]) await run(async (sales) => await sales.refresh(keyOfSale(sale)));
    assert.deepEqual(await kinds(), []);
    await compareTomorrow();
    assert.deepEqual(await kinds(), []);
    const remove = (kind: string) =>
      storage.write(() => execute(sql`delete from payment_movements where store_id = ${store.id} and kind = ${kind}`));
    await remove('dispute');
    assert.deepEqual(await kinds(), ['refunds']);
    await remove('refund');
    assert.deepEqual(await kinds(), ['refunds', 'refunds']);
    await compareTomorrow();
    assert.deepEqual(await kinds(), []);
    paid(disputed).dispute = { ...dispute, state: 'won' };
    await run(async (sales) => await sales.refresh(keyOfSale(disputed)));
    assert.deepEqual(await kinds(), []);
  });

  test('a payment that the provider moved for no sale, and a card without a payment, are named', async () => {
    await using selling = await openSelling(factory);
    const { storage, ctx, store, sell, begin, provider, run } = selling;
    const [lost, unlisted] = [await begin(), await sell()];
    const heldOf = ({ key }: OnlineSale) => [...provider.payments.values()].find(({ saleKey }) => saleKey === key);
    const [unknown, hidden] = [heldOf(lost), heldOf(unlisted)];
    assert(unknown && hidden);
    unknown.state = 'paid';
    const { listMovements } = provider;
    const altered: LossyProvider['listMovements'] = async (...request) => {
      const outcome = await listMovements(...request);
      if (outcome.kind !== 'done') return outcome;
      const movements = outcome.value.movements
        .filter(({ saleKey }) => saleKey !== hidden.saleKey)
        .map((each) => ({ ...each, saleKey: 'A'.repeat(22), paymentId: 'pay_of_no_sale' }));
      return { ...outcome, value: { ...outcome.value, movements } };
    };
    Object.assign(provider, { listMovements: altered });
    ctx.clock.advance(3 * dayMs);
    await run(async (sales) => await sales.compare());
    const found = await storage.read(() => listDifferences(ctx, store));
    assert.deepEqual(found.map(({ kind }) => kind), ['unknown-payment', 'unlisted']);
    // Providers have times in whole seconds, so payments often have the same one.
    const [place] = await storage.read(() => listProviders(store.id));
    assert(place);
    const at = ctx.clock.now() + 1;
    const common = { kind: 'payment', amount: unknown.amount, fee: unknown.amount, at, saleKey: 'A'.repeat(22) } as const;
    for (const id of ['b', 'd', 'a', 'c'])
      await storage.write(() => recordMovement(place, { ...common, id, paymentId: id, payoutId: null }));
    const period = { from: at, to: at + 1 };
    const payments = await storage.read(() => listUnknownPayments(store.id, period));
    assert.deepEqual(payments.map(({ paymentId }) => paymentId), ['d', 'c', 'b', 'a']);
  });

  test('a dispute that takes the money before a refund was sent leaves nothing to refund', async () => {
    await using selling = await openSelling(factory);
    const { storage, ctx, store, sell, read, provider, run } = selling;
    const manager = await personOf(selling, 'manager');
    const sale = await sell();
    const held = provider.payments.get(sale.sessionId ?? '') ?? assert.fail();
    await storage.write(() => refundSale(ctx, manager, { saleId: sale.id, reason: null }));
    const dispute = { id: 'dp_1', amount: held.amount, at: ctx.clock.now() } as const;
    const requests: string[] = [];
    provider.lose = (method) => {
      requests.push(method);
      return 'none';
    };
    const follow = async (state: 'open' | 'won') => {
      held.dispute = { ...dispute, state };
      await run(async (sales) => await sales.refresh(keyOfSale(sale)));
      await run(async (sales) => await sales.sendRefunds(keyOfSale(sale)));
      const { refunded, owed, disputed } = await read(sale);
      return [held.refunds.length, refunded.minor, owed.minor, disputed.minor];
    };
    assert.deepEqual(await follow('open'), [0, 0n, 0n, 2_500n]);
    // A provider could carry it out in addition to the dispute.
    assert.deepEqual(requests, ['readPayment']);
    // The card was taken back, so the money is the buyer's again.
    assert.deepEqual(await follow('won'), [0, 0n, 2_500n, 0n]);
    assert.equal((await storage.read(() => countSales(store.id))).owed, 1);
    await storage.write(() => refundSale(ctx, manager, { saleId: sale.id, reason: null }));
    await run(async (sales) => await sales.sendRefunds(keyOfSale(sale)));
    await run(async (sales) => await sales.refresh(keyOfSale(sale)));
    assert.deepEqual([held.refunds.length, (await read(sale)).refunded.minor], [1, 2_500n]);
  });

  test('a warning needs staff until they refund the sale or resume its card', async () => {
    await using selling = await openSelling(factory);
    const { storage, ctx, store, sell, read, provider, run } = selling;
    const manager = await personOf(selling, 'manager');
    const sales = [await sell(), await sell({ buyer: email('eve@example.com') })];
    for (const sale of sales) {
      const held = provider.payments.get(sale.sessionId ?? '') ?? assert.fail();
      held.dispute = { id: `w_${sale.id}`, amount: held.amount, at: ctx.clock.now(), state: 'warning' };
      await run(async (process) => await process.refresh(keyOfSale(sale)));
    }
    const disputed = async () => (await storage.read(() => countSales(store.id))).disputed;
    assert.equal(await disputed(), 2);
    const [refunded, kept] = sales;
    assert(refunded && kept);
    await storage.write(() => refundSale(ctx, manager, { saleId: refunded.id, reason: null }));
    assert.equal(await disputed(), 1);
    const filter = { states: null, search: null, needsStaff: true };
    const named = await storage.read(() => listSales(ctx, store, { filter, before: null, limit: 10 }));
    assert.deepEqual(named.map(({ id }) => id), [kept.id]);
    await storage.write(() => resumeCard(ctx, { store, cardId: kept.cardId ?? 0, actor: 'test', versions: null }));
    assert.equal(await disputed(), 0);
    ctx.clock.advance(121 * dayMs);
    while ((await run(async (process) => await process.run())) > 0);
    assert.equal((await read(kept)).nextAt, null);
  });

  test('what goes back is taken off a card in any state', async () => {
    await using selling = await openSelling(factory);
    const { storage, ctx, store, sell, read, provider, run } = selling;
    const manager = await personOf(selling, 'manager');
    const heldOf = (sale: OnlineSale) => provider.payments.get(sale.sessionId ?? '') ?? assert.fail();
    const plain = { store, actor: 'test', versions: null } as const;
    const states: Readonly<Record<string, (cardId: number) => Promise<unknown>>> = {
      disabled: (cardId) => storage.write(() => changeCard(ctx, { store, cardId, actor: 'test', changes: { disable: true } })),
      suspended: (cardId) => storage.write(() => suspendCard(ctx, { ...plain, cardId, reason: null })),
      expired: (cardId) =>
        storage.write(() => execute(sql`update gift_cards set expires_on = '2020-01-01' where store_id = ${store.id} and id = ${cardId}`)),
      'with a lower balance': (cardId) =>
        storage.write(() => changeCard(ctx, { store, cardId, actor: 'test', changes: { balance: amountIn(store, 900) } })),
    };
    const buyerOf = (name: string) => ({ buyer: email(`${name.replaceAll(' ', '.')}@example.com`) });
    for (const [name, change] of Object.entries(states)) {
      const [byStaff, atProvider, lost] = [await sell(buyerOf(name)), await sell(buyerOf(name)), await sell(buyerOf(name))];
      for (const { cardId } of [byStaff, atProvider, lost]) await change(cardId ?? 0);
      await storage.write(() => refundSale(ctx, manager, { saleId: byStaff.id, reason: null }));
      provider.refundAtProvider(heldOf(atProvider), 2_500n);
      heldOf(lost).dispute = { id: `dp_${name}`, amount: heldOf(lost).amount, at: ctx.clock.now(), state: 'lost' };
      for (const sale of [byStaff, atProvider, lost]) {
        await run(async (sales) => await sales.refresh(keyOfSale(sale)));
        const { cardId, loss, refunded, disputed } = await read(sale);
        const card = await storage.read(() => requireCard(store.id, cardId ?? 0));
        assert.equal(card.balance.minor, 0n, name);
        assert.ok(refunded.minor + disputed.minor - loss.minor > 0n, name);
      }
    }
  });

  test('a failed refund of a payment in another currency is owed, and can be requested again', async () => {
    await using selling = await openSelling(factory);
    const { storage, ctx, store, begin, read, provider, run } = selling;
    const sale = await begin();
    const held = provider.payments.get(sale.sessionId ?? '') ?? assert.fail();
    const euros = currencyOf('EUR');
    held.amount = { minor: 3_000n, currency: euros };
    held.state = 'paid';
    provider.failRefund = () => 'at once';
    await run(async (sales) => await sales.refresh(keyOfSale(sale)));
    await run(async (sales) => await sales.sendRefunds(keyOfSale(sale)));
    const failed = await read(sale);
    assert.deepEqual([failed.state, failed.returnReason], ['returned', 'mismatch']);
    assert.deepEqual([failed.paid, failed.owed, failed.refunded.minor], [held.amount, held.amount, 0n]);
    const needed = { states: null, search: null, needsStaff: true };
    const named = await storage.read(() => listSales(ctx, store, { filter: needed, before: null, limit: 10 }));
    assert.deepEqual(named.map(({ id }) => id), [sale.id]);
    // The sum is in the currency of the store.
    const { owed, withoutCard } = await storage.read(() => countSales(store.id));
    assert.deepEqual([owed, withoutCard], [1, 0n]);
    const month = dayOf(ctx.clock.now(), store.timeZone).slice(0, 7);
    const { rows } = await storage.read(() => listMonthSales(ctx, store, { month, after: 0, limit: 10 }));
    assert.deepEqual(rows.map((row) => [row.currency, row.no_card, row.paid, row.open_amount]), [
      ['EUR', 'mismatch', { decimal: '30.00' }, { decimal: '30.00' }],
    ]);
    assert.deepEqual((await storage.read(() => sumMonth(store, month))).map(({ paid }) => paid.minor), [0n]);

    // The limit of a person is in the currency of the store.
    const manager = await personOf(selling, 'manager');
    const limited = await personOf(selling, 'manager');
    await storage.write(() =>
      execute(sql`update staff set refund_limit = 100000 where store_id = ${store.id} and id = ${limited.member.id}`),
    );
    const again = { saleId: sale.id, reason: null };
    await assert.rejects(storage.write(() => refundSale(ctx, limited, again)), { code: 'invalid-parameter' });
    provider.failRefund = () => 'no';
    const refund = await storage.write(() => refundSale(ctx, manager, again));
    assert.deepEqual(refund.amount, held.amount);
    await run(async (sales) => await sales.sendRefunds(keyOfSale(sale)));
    await run(async (sales) => await sales.refresh(keyOfSale(sale)));
    const { refunded, owed: left } = await read(sale);
    assert.deepEqual([refunded, left.minor], [held.amount, 0n]);
    await run(async (sales) => await sales.compare());
    assert.deepEqual(await storage.read(() => listDifferences(ctx, store)), []);
  });

  test('the table of a month has each amount once, and each payment without a card with its reason', async () => {
    await using plain = await openStore(factory);
    await using selling = await openSelling(factory, { reviewAbove: amountIn(plain.store, 3_000) });
    const { storage, ctx, store, sell, begin, read, provider, run } = selling;
    const manager = await personOf(selling, 'manager');
    const monthNow = () => dayOf(ctx.clock.now(), store.timeZone).slice(0, 7);
    const amounts = ['paid', 'fee', 'refunded', 'disputed', 'open_amount'] as const;
    const rowsOf = async (month: string) => {
      const rows = [];
      for (let after: number | null = 0; after !== null;) {
        const part = await storage.read(() => listMonthSales(ctx, store, { month, after: after ?? 0, limit: 2 }));
        rows.push(...part.rows);
        after = part.next;
      }
      return rows;
    };
    const textsOf = async (month: string) =>
      (await rowsOf(month)).map((row) => {
        const shown = amounts.map((name) => {
          const cell = row[name];
          return cell !== null && typeof cell === 'object' ? cell.decimal : '-';
        });
        return [String(row.no_card ?? (row.gift_card === null ? null : 'sold')), ...shown].join(' ');
      });
    const heldOf = (sale: OnlineSale) => provider.payments.get(sale.sessionId ?? '') ?? assert.fail();
    const large = { amount: amountIn(store, 4_000) };
    const [kept, refunded, reviewed, differing] = [await sell(), await sell(), await sell(large), await begin()];
    heldOf(differing).amount = amountIn(store, 1_000);
    heldOf(differing).state = 'paid';
    provider.failRefund = () => 'at once';
    await run(async (sales) => await sales.refresh(keyOfSale(differing)));
    await run(async (sales) => await sales.sendRefunds(keyOfSale(differing)));
    provider.failRefund = () => 'no';
    const first = monthNow();
    const { listMovements } = provider;
    const paidOut: LossyProvider['listMovements'] = async (...request) => {
      const outcome = await listMovements(...request);
      if (outcome.kind !== 'done') return outcome;
      const movements = outcome.value.movements.map((each) => ({ ...each, payoutId: 'po_1' }));
      return { ...outcome, value: { ...outcome.value, movements } };
    };
    Object.assign(provider, { listMovements: paidOut });
    ctx.clock.advance(2 * dayMs);
    await run(async (sales) => await sales.compare());
    assert.equal(monthNow(), first);
    // A later list can lack the payout.
    Object.assign(provider, { listMovements });
    ctx.clock.advance(dayMs + 1);
    await run(async (sales) => await sales.compare());
    const single = 'sold 25.00 0.30 0.00 0.00 -';
    const held = ['review 40.00 0.30 0.00 0.00 40.00', 'mismatch 10.00 0.30 0.00 0.00 10.00'];
    assert.deepEqual(await textsOf(first), [single, single, ...held]);
    const [row] = await rowsOf(first);
    assert.deepEqual(
      [row?.sale, row?.payment_id, row?.gift_card, row?.currency, row?.vat_kind, row?.payout],
      [String(ctx.keys.publicIds.of(kept.id)), `pay_${kept.sessionId}`, String(ctx.keys.publicIds.of(kept.cardId ?? 0)), store.currency.code, 'single_purpose', 'po_1'],
    );
    const secrets = ['ada@example.com', 'grace@example.com', 'Grace', 'Happy birthday'];
    assert.deepEqual(secrets.filter((each) => JSON.stringify(row).includes(each)), []);

    ctx.clock.advance(31 * dayMs);
    await storage.write(() => refundSale(ctx, manager, { saleId: refunded.id, reason: null }));
    heldOf(kept).dispute = { id: 'dp_1', amount: heldOf(kept).amount, at: ctx.clock.now(), state: 'open' };
    await run(async (sales) => await sales.refresh(keyOfSale(kept)));
    await storage.write(() => returnReviewed(ctx, manager, { saleId: reviewed.id, reason: null }));
    assert.equal((await read(reviewed)).state, 'returned');
    assert.deepEqual(await textsOf(monthNow()), [
      'sold 0.00 - 0.00 25.00 -',
      'sold 0.00 - 25.00 0.00 -',
      'staff 0.00 - 40.00 0.00 0.00',
      // Its refund has failed, so it is in each month until the money is back.
      'mismatch 0.00 - 0.00 0.00 10.00',
    ]);
    assert.deepEqual((await textsOf(first)).slice(0, 2), [single, single]);
  });

  test('sales are found by their number and by the addresses of both people', async () => {
    await using selling = await openSelling(factory);
    const { storage, ctx, store, sell } = selling;
    const sale = await sell();
    await sell({ buyer: email('bob@example.com'), recipient: email('carol@example.com') });
    const found = async (search: string | null, needsStaff = false) => {
      const filter = { states: null, search, needsStaff };
      return (await storage.read(() => listSales(ctx, store, { filter, before: null, limit: 10 }))).length;
    };
    const number = String(ctx.keys.publicIds.of(sale.id));
    const numbers = [await found(number), await found('ADA@example.com'), await found('carol@example.com'), await found('ada'), await found(null)];
    assert.deepEqual([...numbers, await found(null, true)], [1, 1, 1, 0, 2, 0]);
    const counts = await storage.read(() => countSales(store.id));
    assert.deepEqual(counts, { review: 0, waiting: 0, disputed: 0, owed: 0, withoutCard: 0n });
  });
} // prettier-ignore
