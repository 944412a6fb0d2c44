/**
 * The service is killed at random moments while buyers order, pay and withdraw, and while its clock is advanced. After the
 * last restart, each payment has one card or went back, and everything that a page has said still holds.
 *
 * `CRASH_ROUNDS` sets the number of kills, `CRASH_SEED` the seed.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { buyTextsOf } from '../../src/features/recipient/pages/texts.ts';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import {
  paymentOfSandbox,
  sandboxPaymentAt,
} from '../../src/features/online-sales/domain/sandbox-payment.ts';
import { keyOfSale } from '../../src/features/online-sales/domain/sale.ts';
import { scopes } from '../../src/core/stores/domain/store.ts';
import { createStore, requireStore } from '../../src/core/stores/service/store.ts';
import { createToken } from '../../src/core/stores/service/token.ts';
import { readConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { listRefunds } from '../../src/features/online-sales/storage/refund.ts';
import { findSandboxPayment } from '../../src/features/online-sales/storage/sandbox-payment.ts';
import { findSaleOfForm } from '../../src/features/online-sales/storage/sale.ts';
import { buyDomain, openSandboxPage } from '../support/buy-page.ts';
import { until } from '../support/delivering.ts';
import type { EngineDatabase, Environment } from '../support/engine-database.ts';
import { engine } from '../support/engine.ts';
import { newStore } from '../support/fixtures.ts';
import { assertVerified } from '../support/kills.ts';
import { visitOrder, openBuying, type BuyerOrder, type Buying } from '../support/online-buyers.ts';
import { freePort } from '../support/postgres-port.ts';
import { publicIdsOf } from '../support/public-ids.ts';
import { assertSalesBalanced, type SaleAtEnd } from '../support/sale-balance.ts';
import { seeded } from '../support/seeded.ts';
import { databaseToServe, serve } from '../support/served.ts';

const rounds = Number(process.env['CRASH_ROUNDS'] ?? engine.rounds(4));
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);
const random = seeded(seed);
const buyers = 10;
const hourSeconds = 3_600;
const verifiedEvery = 10;
const texts = buyTextsOf('en');

async function openSelling(environment: Environment): Promise<string> {
  await using database = await openDatabase(readConfig(environment), { prepare: true, becomesSandbox: true });
  const { ctx, storage } = database;
  const wish = newStore({ domain: buyDomain, currency: currencyOf('EUR') });
  const store = await storage.write(() => createStore(ctx, wish));
  await openSandboxPage(database, { work: 'off', reviewHours: 6 });
  const { secret } = await storage.write(() => createToken(ctx, { store, name: 'test', scopes }));
  return secret.reveal();
}

/** Advances the clock of the sandbox. An advance that a kill interrupts continues after the restart. */
async function advance({ call }: Buying, hours: number): Promise<void> {
  const json = { advance_seconds: hours * hourSeconds };
  await until(async () => {
    const { status, text } = await call('/test_clock', { method: 'POST', json });
    assert(status === 200 || status === 409, text);
    return status === 200;
  }, 240_000);
}

/**
 * Lets the claims of a killed process end, as they do after some minutes without it. Until then, the clock of a sandbox
 * does not move.
 */
async function endClaims(database: EngineDatabase): Promise<void> {
  for (const table of ['online_sales', 'email_deliveries'])
    await database.meddle(`update ${table} set next_at = 1 where lease is not null`);
}

/** Kills the service repeatedly. At the end, buyers have ended their orders at a running service. */
async function killRepeatedly(
  buying: Buying,
  database: EngineDatabase,
  { environment, atEnd }: { readonly environment: Environment; readonly atEnd: () => Promise<void> },
): Promise<void> {
  const state = { failure: null as unknown, isAdvancing: false };
  const working = Promise.all(Array.from({ length: buyers }, buying.buy));
  working.catch((error: unknown) => (state.failure = error));
  try {
    for (let round = 1; round <= rounds && state.failure === null; round += 1) {
      const isAdvanced = random() < 0.4;
      if (isAdvanced || state.isAdvancing) await endClaims(database);
      await using service = await serve(environment);
      const target = buying.responses() + random.between(1, 120);
      if (isAdvanced && !state.isAdvancing) {
        state.isAdvancing = true;
        advance(buying, random.between(1, 5)).then(
          () => (state.isAdvancing = false),
          (error: unknown) => (state.failure = error),
        );
      }
      while (buying.responses() < target && state.failure === null) await wait(1);
      await wait(random.between(0, 40));
      service.kill('SIGKILL');
      await service.ended();
      assert.doesNotMatch(service.output(), /"level":"(?:error|fatal)"/);
      if (round % verifiedEvery === 0) await assertVerified(environment);
    }
    buying.stop();
    await endClaims(database);
    await using service = await serve(environment);
    await working;
    assert.ifError(state.failure);
    await atEnd();
    assert.doesNotMatch(service.output(), /"level":"(?:error|fatal)"/);
  } finally {
    buying.stop();
    buying.abandon();
  }
}

/** Lets everything become due, and waits until it is done: sessions end, transfers arrive, reviews and refunds are decided. */
async function settleAll(database: EngineDatabase, buying: Buying): Promise<void> {
  for (const hours of [30, 30, 80]) await advance(buying, hours);
  await until(async () => {
    const [row] = await database.query(`
      select (select count(*) from online_sales where state in ('new', 'open', 'waiting', 'review')) as sales,
        (select count(*) from online_sale_refunds where state in ('requested', 'pending')) as refunds`);
    return Number(row?.['sales']) + Number(row?.['refunds']) === 0;
  }, 60_000);
}

/** The sale and the payment of an order. Asserts that both agree with the responses that its buyer got. */
async function readSale(
  { ctx, storage }: Awaited<ReturnType<typeof openDatabase>>,
  order: BuyerOrder,
): Promise<SaleAtEnd> {
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

async function assertEnded(database: EngineDatabase, environment: Environment, buying: Buying) {
  await using opened = await openDatabase(readConfig(environment), { prepare: false });
  const { store } = await opened.storage.read(() => requireStore(buyDomain));
  const sales: SaleAtEnd[] = [];
  for (const order of buying.orders) sales.push(await readSale(opened, order));
  const [stored] = await database.query(`
    select (select count(*) from online_sales) as sales, (select count(*) from sandbox_payments) as payments,
      (select count(*) from gift_cards) as cards,
      (select count(*) from (select card_id from email_deliveries where kind = 'gift_card'
        group by card_id having count(*) > 1) twice) as twice`);
  const counts = await assertSalesBalanced({ ...opened, store }, sales);
  assert.deepEqual(
    Object.fromEntries(Object.entries(stored ?? {}).map(([name, value]) => [name, Number(value)])),
    { sales: sales.length, payments: sales.length, cards: counts.issued, twice: 0 },
  );
  return { sales: sales.length, ...counts };
}

test(`online sales have each one card or none when the service is killed ${rounds} times`, async (t) => {
  t.diagnostic(`seed ${seed} (CRASH_SEED)`);
  await using database = await databaseToServe();
  const port = String(await freePort());
  const environment = {
    ...database.environment,
    PORT: port,
    PUBLIC_URL: `http://localhost:${port}`,
    TRUSTED_PROXIES: '127.0.0.1',
  };
  const token = await openSelling(environment);
  const ids = publicIdsOf(database.keysFile);
  const buying = openBuying({
    url: `http://127.0.0.1:${port}`,
    token,
    random,
    async cardOf(sessionId) {
      const [row] = await database.query('select card_id from online_sales where session_id = ?', sessionId);
      return row && row['card_id'] !== null ? ids.of(Number(row['card_id'])) : undefined;
    },
  });
  const atEnd = async (): Promise<void> => {
    await settleAll(database, buying);
    for (const order of buying.orders) if (order.page !== null) await visitOrder(order);
  };
  await killRepeatedly(buying, database, { environment, atEnd });
  const { sales, paid, issued } = await assertEnded(database, environment, buying);
  await assertVerified(environment);
  assert(issued > rounds, `only ${issued} cards`);
  const sent = buying.orders.filter(({ facts }) => facts.has(texts.sent)).length;
  t.diagnostic(
    `${rounds} kills, ${sales} sales, ${paid} paid, ${issued} cards, ${sent} pages said that the card was sent; ` +
      `${buying.responses()} responses, ${buying.cut()} requests were cut`,
  );
});
