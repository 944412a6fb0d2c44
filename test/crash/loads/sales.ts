/**
 * Buyers who order, pay and withdraw in a sandbox, whose clock is advanced. At the end each payment has one card or went back,
 * and everything that a page has said still holds.
 */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { buyTextsOf } from '../../../src/features/recipient/pages/texts.ts';
import { currencyOf } from '../../../src/core/money/domain/currency.ts';
import {
  paymentOfSandbox,
  sandboxPaymentAt,
} from '../../../src/features/online-sales/domain/sandbox-payment.ts';
import { keyOfSale } from '../../../src/features/online-sales/domain/sale.ts';
import { scopes } from '../../../src/core/stores/domain/store.ts';
import { createStore, requireStore } from '../../../src/core/stores/service/store.ts';
import { createToken } from '../../../src/core/stores/service/token.ts';
import { readConfig } from '../../../src/start/config.ts';
import { openDatabase, type Database } from '../../../src/start/database.ts';
import { listRefunds } from '../../../src/features/online-sales/storage/refund.ts';
import { findSandboxPayment } from '../../../src/features/online-sales/storage/sandbox-payment.ts';
import { findSaleOfForm } from '../../../src/features/online-sales/storage/sale.ts';
import { buyDomain, openSandboxPage } from '../../support/buy-page.ts';
import { until } from '../../support/delivering.ts';
import type { Environment } from '../../support/engine-database.ts';
import { newStore } from '../../support/fixtures.ts';
import { visitOrder, openBuying, type BuyerOrder } from '../../support/online-buyers.ts';
import { publicIdsOf } from '../../support/public-ids.ts';
import { assertSalesBalanced, type SaleAtEnd } from '../../support/sale-balance.ts';
import type { Load, World } from '../killing.ts';

const buyers = 5;
const texts = buyTextsOf('en');

/** Creates the store that sells, in a sandbox. @returns its token. */
export async function openSelling(environment: Environment): Promise<string> {
  await using database = await openDatabase(readConfig(environment), { prepare: true, becomesSandbox: true });
  const { ctx, storage } = database;
  const wish = newStore({ domain: buyDomain, currency: currencyOf('EUR') });
  const store = await storage.write(() => createStore(ctx, wish));
  await openSandboxPage(database, { work: 'off', reviewHours: 6 });
  const { secret } = await storage.write(() => createToken(ctx, { store, name: 'test', scopes }));
  return secret.reveal();
}

/** The sale and the payment of an order. Asserts that both agree with the responses that its buyer got. */
async function readSale({ ctx, storage }: Database, order: BuyerOrder): Promise<SaleAtEnd> {
  const id = order.session.split('/').at(-1) ?? '';
  const { store } = await storage.read(() => requireStore(buyDomain));
  const found = await storage.read(() => findSandboxPayment({ storeId: store.id, id }));
  assert(found, `${id} is lost`);
  const payment = paymentOfSandbox(sandboxPaymentAt(found, ctx.clock.now()), store.currency);
  const sale = await storage.read(() => findSaleOfForm(store.id, found.saleKey));
  assert(sale, `the sale of ${id} is lost`);
  assert.equal(sale.sessionId, id);
  const { acted, facts } = order;
  const label = `${id}: ${[...acted].join(', ')}; ${[...facts].join(', ')}`;
  if (facts.has(texts.paid)) assert.equal(payment.state, 'paid', label);
  if (facts.has(texts.made)) assert.equal(sale.state, 'issued', label);
  if (payment.state === 'paid') {
    if (acted.has('refund')) assert(payment.refunds.length > 0, label);
    for (const [action, state] of [
      ['win', 'won'],
      ['lose', 'lost'],
    ] as const)
      if (acted.has(action)) assert.equal(payment.dispute?.state, state, label);
    if (acted.has('warn') || acted.has('dispute')) assert(payment.dispute, label);
  }
  if (order.isWithdrawn) {
    const refunds = await storage.read(() => listRefunds(keyOfSale(sale)));
    assert(
      refunds.some(({ by }) => by === 'buyer'),
      label,
    );
  }
  return { sale, payment };
}

/** @param token of `openSelling`. @param advance lets hours pass in the sandbox. */
export const openSales =
  (token: () => string, advance: (hours: number) => Promise<void>) =>
  async ({ database, environment, url, random, count }: World): Promise<Load> => {
    const storeId = await count('select id from stores where domain = ?', buyDomain);
    const ids = publicIdsOf(database.keysFile);
    const buying = openBuying({
      url,
      token: token(),
      random,
      async cardOf(sessionId) {
        const [row] = await database.query(
          'select card_id from online_sales where session_id = ?',
          sessionId,
        );
        return row && row['card_id'] !== null ? ids.of(Number(row['card_id'])) : undefined;
      },
    });
    let working: Promise<unknown> | undefined;
    let result = '';

    /** Waits until every session has ended, each transfer has arrived, and reviews and refunds are decided. */
    const settleAll = async (): Promise<void> => {
      for (const hours of [30, 30, 80]) await advance(hours);
      await until(async () => {
        const open = await count(
          `select (select count(*) from online_sales where state in ('new', 'open', 'waiting', 'review'))
             + (select count(*) from online_sale_refunds where state in ('requested', 'pending')) as open`,
        );
        return open === 0;
      }, 60_000);
    };
    const assertEnded = async (): Promise<string> => {
      await using opened = await openDatabase(readConfig(environment), { prepare: false });
      const { store } = await opened.storage.read(() => requireStore(buyDomain));
      const sales: SaleAtEnd[] = [];
      for (const order of buying.orders) sales.push(await readSale(opened, order));
      const counts = await assertSalesBalanced({ ...opened, store }, sales);
      const rows = (table: string) => count(`select count(*) from ${table} where store_id = ?`, storeId);
      const twice = await count(
        `select count(*) from (select card_id from email_deliveries where kind = 'gift_card'
           group by store_id, card_id having count(*) > 1) twice`,
      );
      assert.deepEqual(
        [await rows('online_sales'), await rows('sandbox_payments'), await rows('gift_cards'), twice],
        [sales.length, sales.length, counts.issued, 0],
      );
      return `${sales.length} sales, ${counts.paid} paid, ${counts.issued} cards; ${buying.cut()} requests were cut`;
    };

    return {
      name: 'online sales',
      count: buying.responses,
      async work(isOver) {
        // Buyers send a request until it has a response, also at the next service.
        working ??= Promise.all(Array.from({ length: buyers }, buying.buy));
        await Promise.race([
          working,
          (async () => {
            while (!isOver()) await wait(20);
          })(),
        ]);
      },
      async checkEnd() {
        buying.stop();
        await working;
        await settleAll();
        for (const order of buying.orders) if (order.page !== null) await visitOrder(order);
        result = await assertEnded();
      },
      summary: () => result,
      close() {
        buying.stop();
        buying.abandon();
        working?.catch(() => undefined);
      },
    };
  };
