/**
 * Online sales end with as much on cards as was paid and did not go back, whatever is repeated, lost, reordered or interrupted.
 *
 * `SALES` sets the number of sales, `SALES_SEED` the seed.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { Fault } from '../../src/core/domain/fault.ts';
import type { DisputeState } from '../../src/features/online-sales/domain/payment.ts';
import { isPaid, keyOfSale, type SaleForm } from '../../src/features/online-sales/domain/sale.ts';
import { beginSale, type BuyPage } from '../../src/features/online-sales/service/begin.ts';
import { requestRefund } from '../../src/features/online-sales/service/refund.ts';
import { releaseSale, returnSale } from '../../src/features/online-sales/service/review.ts';
import { capture, placeHold, voidOpenHold } from '../../src/core/money/service/hold.ts';
import { debit } from '../../src/core/money/service/spend.ts';
import { findSaleOfForm, type StoredSale } from '../../src/features/online-sales/storage/sale.ts';
import { all, sql, toNumber, type Script } from '../../src/database/sql/sql.ts';
import { engine } from '../support/engine.ts';
import { email } from '../support/fixtures.ts';
import { lossyProvider, type HeldPayment, type LossyProvider } from '../support/lossy-provider.ts';
import { assertSalesBalanced, type SaleAtEnd } from '../support/sale-balance.ts';
import { amountIn, openBuyPage, processOf, type Fate, type Process } from '../support/sale-world.ts';
import { seeded, type Seeded } from '../support/seeded.ts';
import { assertVerified, openBooks, type Books } from './open-books.ts';

const salesCount = Number(process.env['SALES'] ?? engine.rounds(300));
const seed = Number(process.env['SALES_SEED'] ?? Date.now() % 2 ** 31);

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** Sales that happen at the same time. */
const groupSize = 25;
/** Probabilities of a lost request, of a lost response and of an end of a process at a transaction. */
const rates = { before: 0.12, after: 0.18, crash: 0.04 } as const;

type World = {
  readonly books: Books;
  readonly buy: BuyPage;
  readonly provider: LossyProvider;
  readonly processes: readonly [Process, Process];
  readonly random: Seeded;
  readonly fate: Fate;
  readonly taken: Map<string, number>;
};

/** A form, and what its buyer, the shop and the provider do with its sale. */
type Scenario = {
  readonly key: string;
  readonly form: SaleForm;
  /** Returns false: not yet. */
  readonly steps: (() => Promise<boolean>)[];
};

async function openWorld(books: Books): Promise<World> {
  const random = seeded(seed);
  const fate: Fate = { crashRate: rates.crash, crashes: 0, random, errors: [] };
  const provider = lossyProvider(() => books.clock.now());
  provider.lose = () => {
    const chance = random();
    if (chance < rates.before) return 'before';
    return chance < rates.before + rates.after ? 'after' : 'none';
  };
  const reviewAbove = amountIn(books.store, 4_000);
  const buy = await openBuyPage(books, { min: amountIn(books.store, 100), reviewAbove });
  const processes = [processOf(books, provider, fate), processOf(books, provider, fate)] as const;
  return { books, buy, provider, processes, random, fate, taken: new Map() };
}

function processIn({ processes, random }: World): Process {
  return processes[random.between(0, 1)] ?? processes[0];
}

function note({ taken }: World, what: string): void {
  taken.set(what, (taken.get(what) ?? 0) + 1);
}

async function saleOf({ books }: World, { key }: Pick<Scenario, 'key'>): Promise<StoredSale | undefined> {
  return await books.storage.read(() => findSaleOfForm(books.store.id, key));
}

function paymentOf({ provider }: World, { key }: Pick<Scenario, 'key'>): HeldPayment | undefined {
  return [...provider.payments.values()].find(({ saleKey }) => saleKey === key);
}

/** Runs a script of which the service expects that it can be rejected. */
async function attempt<T>(world: World, script: () => Script<T>): Promise<T | undefined> {
  try {
    return await processIn(world)(async (_, storage) => await storage.write(script));
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

async function submit(world: World, { key, form }: Scenario): Promise<void> {
  const { books, buy, random } = world;
  const request = { buy, form, key, network: '192.0.2.1', language: 'en', isTrial: false };
  const times = random.between(1, 3);
  note(world, times > 1 ? 'submitted repeatedly' : 'submitted');
  await Promise.all(
    Array.from({ length: times }, async () => {
      await processIn(world)(async (sales, storage) => {
        const { sale } = await storage.write(() => beginSale(books.ctx, request));
        if (random() < 0.9) await sales.openSession(keyOfSale(sale));
      });
    }),
  );
}

/** The buyer pays on the page of the provider, or does not. */
function pay(world: World, held: HeldPayment): void {
  const { random } = world;
  const chance = random();
  held.fingerprint = `card ${random.between(1, 40)}`;
  held.isRisky = random() < 0.05;
  if (chance < 0.1) note(world, 'abandoned');
  else if (chance < 0.2) {
    held.state = 'waiting';
    note(world, 'delayed');
  } else {
    if (chance < 0.24) {
      held.amount = { ...held.amount, minor: held.amount.minor - 1n };
      note(world, 'another amount');
    }
    held.state = 'paid';
    note(world, 'paid');
  }
}

function hint(world: World, held: HeldPayment): Promise<unknown> {
  const { books, provider, random } = world;
  const others = [...provider.payments.keys()];
  const forged = random() < 0.3 ? ` cs_0 pay_x ${others[random.between(0, others.length - 1)] ?? ''}` : '';
  const body = Buffer.from(`${held.id}${forged}`);
  const times = random.between(0, 3);
  note(world, `hints ${times}`);
  return Promise.all(
    Array.from({ length: times }, () =>
      processIn(world)(async (sales) => {
        const { id: storeId } = books.store;
        await sales.receiveHint({ storeId, kind: 'stripe', headers: {}, body, now: books.clock.now() });
      }),
    ),
  );
}

async function refund(world: World, scenario: Scenario): Promise<void> {
  const { books, random } = world;
  const sale = await saleOf(world, scenario);
  if (!sale || !isPaid(sale.state)) return;
  const by = random() < 0.5 ? 'buyer' : 'staff';
  const times = random.between(1, 2);
  note(world, `refund requested by ${by}`);
  await Promise.all(
    Array.from({ length: times }, async () => {
      const demand = { ...keyOfSale(sale), reason: null, by, actor: `${by}:1` } as const;
      const requested = await attempt(world, () => requestRefund(books.ctx, demand));
      if (requested && random() < 0.7)
        await processIn(world)(async (sales) => await sales.sendRefunds(keyOfSale(sale)));
    }),
  );
}

function dispute(world: World, held: HeldPayment, state: DisputeState): void {
  const at = held.dispute?.at ?? world.books.clock.now();
  held.dispute = { id: `dp_${held.id}`, state, amount: held.amount, at };
  note(world, `dispute ${state}`);
}

async function spend(world: World, scenario: Scenario): Promise<void> {
  const { books, random } = world;
  const sale = await saleOf(world, scenario);
  if (sale?.cardId === null || sale === undefined) return;
  const { cardId } = sale;
  const most = Number(sale.amount.minor);
  const amount = amountIn(books.store, random() < 0.3 ? most : random.between(1, most));
  const command = { store: books.store, cardId, actor: 'till', reference: null, note: null, orderId: null };
  const done = await attempt(world, () =>
    debit(books.ctx, { ...command, versions: null, amount, partial: true }),
  );
  if (done) note(world, 'spent');
}

/** Places a hold, which is captured or voided after the next steps of the sale. */
async function hold(world: World, scenario: Scenario): Promise<void> {
  const { books, random } = world;
  const { ctx, store } = books;
  const sale = await saleOf(world, scenario);
  if (sale?.cardId === null || sale === undefined) return;
  const amount = amountIn(store, random.between(1, Number(sale.amount.minor)));
  const command = { store, cardId: sale.cardId, actor: 'till', reference: null, note: null, orderId: null };
  const held = await attempt(world, () =>
    placeHold(ctx, { ...command, versions: null, amount, seconds: 3 * 86_400 }),
  );
  if (!held) return;
  note(world, 'held');
  const isCaptured = random() < 0.5;
  const ended = { store, holdId: held.hold.id, versionsOf: () => null, actor: 'till' };
  scenario.steps.push(async () => {
    await attempt(world, () =>
      isCaptured ? capture(ctx, { ...ended, amount: null }) : voidOpenHold(ctx, ended),
    );
    return true;
  });
}

/** Chooses what happens after the buyer was on the page of the provider. */
function after(world: World, scenario: Scenario): void {
  const { books, provider, random } = world;
  const { steps } = scenario;
  const withPayment = (act: (held: HeldPayment) => unknown) => async () => {
    const held = paymentOf(world, scenario);
    if (held) await act(held);
    return true;
  };
  const hinted = withPayment(async (held) => await hint(world, held));
  const withPaid = (act: (held: HeldPayment) => unknown) =>
    withPayment((held) => (held.state === 'paid' ? act(held) : undefined));
  const later = withPayment((held) => {
    if (held.state === 'waiting') held.state = random() < 0.7 ? 'paid' : 'failed';
  });
  const decide = async () => {
    const sale = await saleOf(world, scenario);
    if (sale?.state !== 'review' || random() < 0.3) return true;
    const isReleased = random() < 0.6;
    note(world, isReleased ? 'released' : 'returned');
    await attempt(world, () =>
      isReleased
        ? releaseSale(books.ctx, keyOfSale(sale))
        : returnSale(books.ctx, keyOfSale(sale), { actor: 'staff:1', reason: null }),
    );
    return true;
  };
  const choices: readonly (readonly (() => Promise<boolean>)[])[] = [
    [],
    [],
    [spendStep()],
    [refundStep()],
    [spendStep(), refundStep()],
    [holdStep(), refundStep()],
    [refundAtProvider(1), hinted],
    [refundAtProvider(0.5), hinted, refundStep()],
    [refundAtProvider(0.3), hinted, hinted],
    [disputeStep('open'), hinted],
    [disputeStep('warning'), hinted],
    [refundStep(), refundAtProvider(1)],
    [disputeStep('open'), hinted, spendStep(), disputeStep('won'), hinted],
    [disputeStep('open'), disputeStep('lost'), hinted],
    [spendStep(), disputeStep('open'), hinted, disputeStep('lost')],
    [disputeStep('warning'), hinted, refundStep()],
  ];
  function spendStep() {
    return async () => {
      await spend(world, scenario);
      return true;
    };
  }
  function holdStep() {
    return async () => {
      await hold(world, scenario);
      return true;
    };
  }
  function refundStep() {
    return async () => {
      await refund(world, scenario);
      return true;
    };
  }
  function refundAtProvider(part: number) {
    return withPaid((held) => {
      // A provider does not refund what a bank has taken.
      if (held.dispute && held.dispute.state !== 'warning' && held.dispute.state !== 'won') return;
      note(world, 'refunded at the provider');
      provider.refundAtProvider(held, BigInt(Math.ceil(Number(held.amount.minor) * part)));
    });
  }
  function disputeStep(state: DisputeState) {
    return withPaid((held) => {
      if (held.refunds.length === 0) dispute(world, held, state);
    });
  }
  const chosen = choices[random.between(0, choices.length - 1)] ?? [];
  // The service can read a refund or dispute before it has read the payment.
  steps.push(
    ...(random() < 0.3 ? [] : [hinted]),
    ...(random() < 0.8 ? [decide] : []),
    ...chosen,
    later,
    hinted,
  );
}

function scenarioOf(world: World, place: number): Scenario {
  const { books, random } = world;
  const isOwn = random() < 0.3;
  const scenario: Scenario = {
    key: Buffer.from(`sale ${place} of ${seed}`.padEnd(16, '-').slice(0, 16)).toString('base64url'),
    form: {
      amount: amountIn(books.store, random.between(100, 5_000)),
      design: 'birthday',
      buyerName: 'Ada',
      buyer: email(`buyer-${random.between(1, 50)}@example.com`),
      delivery: isOwn ? 'self' : 'email',
      recipientName: isOwn ? null : 'Grace',
      recipient: isOwn ? null : email(`recipient-${place}@example.com`),
      senderName: 'Ada',
      message: 'Happy birthday!',
      sendOn: null,
    },
    steps: [],
  };
  scenario.steps.push(
    async () => {
      await submit(world, scenario);
      return true;
    },
    async () => {
      const sale = await saleOf(world, scenario);
      if (!sale) await submit(world, scenario);
      const held = paymentOf(world, scenario);
      // A buyer is sent to the provider when the session is recorded.
      if (sale?.state === 'expired') return true;
      if (!held || !sale || sale.state === 'new') return false;
      if (held.state === 'open') pay(world, held);
      after(world, scenario);
      return true;
    },
  );
  return scenario;
}

/** Lets the sales of a group happen at the same time, in random steps, while two processes settle sales. */
async function play(world: World, scenarios: readonly Scenario[]): Promise<void> {
  const { books, provider, random, processes } = world;
  while (scenarios.some(({ steps }) => steps.length > 0)) {
    const acting = scenarios.filter(({ steps }) => steps.length > 0 && random() < 0.6);
    await Promise.all([
      ...acting.map(async ({ steps }) => {
        const [step] = steps;
        if (step && (await step())) steps.splice(steps.indexOf(step), 1);
      }),
      ...processes.map((process) => process(async (sales) => await sales.run())),
    ]);
    provider.expire();
    books.clock.advance(random.between(1, random() < 0.2 ? 6 * hourMs : 5 * minuteMs));
  }
}

/** Lets time pass without losses until no provider is expected to do anything. */
async function settle(world: World): Promise<void> {
  const { books, provider, processes, fate } = world;
  provider.lose = () => 'none';
  provider.failRefund = () => 'no';
  fate.crashRate = 0;
  const [process] = processes;
  for (let hours = 0; hours < 24 * 5; hours += 1) {
    while (((await process(async (sales) => await sales.run())) ?? 0) > 0);
    provider.expire();
    if (hours % 24 === 0) await process(async (sales) => await sales.compare());
    books.clock.advance(hourMs);
  }
  // Staff request again what a failed refund has left.
  const owed = await books.storage.read(function* () {
    return yield* all(sql<{ id: bigint }>`select id from online_sales where owed > 0`);
  });
  for (const { id } of owed) {
    const demand = {
      storeId: books.store.id,
      saleId: toNumber(id),
      reason: null,
      by: 'staff',
      actor: 'staff:1',
    } as const;
    await books.storage.write(() => requestRefund(books.ctx, demand));
  }
  for (let hours = 0; hours < 30; hours += 1) {
    while (((await process(async (sales) => await sales.run())) ?? 0) > 0);
    provider.expire();
    books.clock.advance(hourMs);
  }
  await process(async (sales) => await sales.compare());
}

/** The sales of all scenarios, with their payments. */
async function salesOf(world: World, scenarios: readonly Scenario[]): Promise<readonly SaleAtEnd[]> {
  const sales: SaleAtEnd[] = [];
  for (const scenario of scenarios) {
    const sale = await saleOf(world, scenario);
    assert(sale, 'the form was not submitted');
    sales.push({ sale, payment: paymentOf(world, scenario) });
  }
  return sales;
}

test(`${salesCount} sales with lost responses and crashes have each one card, or none`, async (t) => {
  t.diagnostic(`seed ${seed} (SALES_SEED)`);
  await using books = await openBooks();
  const world = await openWorld(books);
  const { provider, fate, random } = world;
  provider.failRefund = () => {
    const chance = random();
    if (chance < 0.05) return 'at once';
    return chance < 0.1 ? 'later' : 'no';
  };
  const scenarios: Scenario[] = [];
  for (let from = 0; from < salesCount; from += groupSize) {
    const group = Array.from({ length: Math.min(groupSize, salesCount - from) }, (_, place) =>
      scenarioOf(world, from + place),
    );
    await play(world, group);
    scenarios.push(...group);
  }
  await settle(world);
  assert.deepEqual(fate.errors, []);
  const counts = await assertSalesBalanced(books, await salesOf(world, scenarios));
  await assertVerified(books.storage);
  t.diagnostic(`${counts.paid} paid, ${counts.issued} cards, ${fate.crashes} crashes`);
  t.diagnostic(`requests ${JSON.stringify(provider.counts)}`);
  t.diagnostic([...world.taken].map(([what, times]) => `${what} ${times}`).join(', '));
});
