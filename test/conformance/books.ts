/** The books: the sums of days, compared with a recomputation from everything that a test has done. */

import assert from 'node:assert/strict';
import test from 'node:test';
import {
  readAgesUntil,
  readSumsOfDays,
  readSumsUntil,
  type SumsSource,
} from '../../src/service/report-sums.ts';
import { closeDays } from '../../src/jobs/closing.ts';
import type { Context } from '../../src/context.ts';
import { cardStates, type CardState } from '../../src/domain/card.ts';
import { addDays, dayOf } from '../../src/domain/day.ts';
import { Fault } from '../../src/domain/fault.ts';
import { effectOf, type Transfer } from '../../src/domain/ledger.ts';
import { addMovement, balancesOf, journalOf, noMovements, outstandingOf } from '../../src/domain/reports.ts';
import type { Store } from '../../src/domain/store.ts';
import { issue, reenableCard, update } from '../../src/service/card.ts';
import type { Finding } from '../../src/service/check.ts';
import { checkBooks, replaceAges, replaceDay } from '../../src/service/books-audit.ts';
import { recompute } from '../../src/service/books.ts';
import { credit, debit, reverse } from '../../src/service/spend.ts';
import { changeStore } from '../../src/service/store.ts';
import { verify } from '../../src/service/verify.ts';
import { listClosedDays, listSums } from '../../src/storage/books.ts';
import { all, sql, type Script } from '../../src/storage/sql.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { listTransfers } from '../../src/storage/transfer.ts';
import { closeAllDays } from '../support/closed-days.ts';
import type { StorageFactory } from '../support/database.ts';
import { contextWithSlowClock, issueCommand, money, updateCommand } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';
import { seeded } from '../support/seeded.ts';

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;

type Terms = { readonly at: number; readonly expiresOn: string | null; readonly disabledAt: number | null };

/** What the test has done to a card. */
type ModelCard = {
  readonly id: number;
  readonly effects: { readonly at: number; readonly minor: bigint }[];
  readonly terms: Terms[];
};

type Naive = Readonly<Record<CardState, { readonly amount: bigint; readonly cards: number }>>;

/** The balances by state right before an instant. */
function naiveAt(cards: readonly ModelCard[], until: number, timeZone: string): Naive {
  const balances = {
    active: { amount: 0n, cards: 0 },
    expired: { amount: 0n, cards: 0 },
    disabled: { amount: 0n, cards: 0 },
  };
  for (const card of cards) {
    if (!card.effects.some(({ at }) => at < until)) continue;
    const amount = card.effects.reduce((sum, { at, minor }) => (at < until ? sum + minor : sum), 0n);
    const terms = card.terms.findLast(({ at }) => at < until) ?? card.terms[0];
    const isExpired = typeof terms?.expiresOn === 'string' && terms.expiresOn < dayOf(until - 1, timeZone);
    const enabled = isExpired ? 'expired' : 'active';
    const bucket = typeof terms?.disabledAt === 'number' ? 'disabled' : enabled;
    balances[bucket].amount += amount;
    balances[bucket].cards += 1;
  }
  return balances;
}

/** Does random operations on a store, and records them. */
function actor({ storage, ctx }: OpenStore, seed: number, getStore: () => Store) {
  const random = seeded(seed);
  const cards: ModelCard[] = [];
  const transfers: number[] = [];
  const expiry = (): string | null =>
    random() < 0.3 ? null : addDays(dayOf(ctx.clock.now(), getStore().timeZone), random.between(0, 6));
  const moved = (card: ModelCard, transfer: Transfer): void => {
    card.effects.push({ at: transfer.createdAt, minor: effectOf(transfer) });
    transfers.push(transfer.id);
  };
  const changed = (
    card: ModelCard,
    after: { readonly expiresOn: string | null; readonly disabledAt: number | null },
  ): void => {
    card.terms.push({ at: ctx.clock.now(), expiresOn: after.expiresOn, disabledAt: after.disabledAt });
  };
  const attempt = async <T>(script: () => Script<T>): Promise<T | undefined> => {
    try {
      return await storage.write(script);
    } catch (error) {
      // The state of the card, or its balance, does not allow it.
      if (error instanceof Fault) return undefined;
      throw error;
    }
  };
  return {
    cards,
    random,
    async act(): Promise<void> {
      const store = getStore();
      const card = cards[random.between(0, cards.length - 1)];
      const choice = random.between(0, 9);
      if (!card || choice < 2) {
        const expiresOn = expiry();
        const vat = random() < 0.5 ? null : ({ kind: 'single_purpose', rate: '19' } as const);
        const value = { ...money('20'), minor: BigInt(random.between(1, 3_000)) };
        const { card: made } = await storage.write(() =>
          issue(ctx, issueCommand(store, { value, expiresOn, vat })),
        );
        cards.push({
          id: made.id,
          effects: [{ at: made.createdAt, minor: value.minor }],
          terms: [{ at: made.createdAt, expiresOn, disabledAt: null }],
        });
        return;
      }
      const command = {
        store, cardId: card.id, actor: `till ${random.between(1, 2)}`, reference: null, note: null, orderId: null, versions: null,
      }; // prettier-ignore
      const amount = { ...money('1'), minor: BigInt(random.between(1, 800)) };
      if (choice < 4) {
        const done = await attempt(() => debit(ctx, { ...command, amount, partial: false }));
        if (done) moved(card, done.transfer);
      } else if (choice === 4) {
        const done = await attempt(() => credit(ctx, { ...command, amount }));
        if (done) moved(card, done.transfer);
      } else if (choice === 5) {
        const transferId = transfers[random.between(0, transfers.length - 1)];
        if (transferId === undefined) return;
        const done = await attempt(() =>
          reverse(ctx, {
            store,
            transferId,
            amount: null,
            actor: 'clerk',
            note: null,
            scopes: ['write_gift_cards'],
            versionsOf: () => null,
          }),
        );
        const owner = done && cards.find(({ id }) => id === done.card.id);
        if (owner && done) moved(owner, done.transfer);
      } else if (choice === 6) {
        const before = card.effects.reduce((sum, { minor }) => sum + minor, 0n);
        const done = await attempt(() => update(ctx, updateCommand(store, card.id, { balance: amount })));
        if (done && done.balance.minor !== before)
          card.effects.push({ at: ctx.clock.now(), minor: done.balance.minor - before });
      } else if (choice === 7) {
        const done = await attempt(() => update(ctx, updateCommand(store, card.id, { disable: true })));
        if (done) changed(card, done);
      } else if (choice === 8) {
        const done = await attempt(() =>
          reenableCard(ctx, { store, cardId: card.id, versions: null, actor: 'clerk' }),
        );
        if (done) changed(card, done);
      } else {
        const expiresOn = random() < 0.3 ? addDays(dayOf(ctx.clock.now(), store.timeZone), -1) : expiry();
        const done = await attempt(() => update(ctx, updateCommand(store, card.id, { expiresOn })));
        if (done) changed(card, done);
      }
    },
  };
}

function sourceOf(
  { storage, ctx }: { readonly storage: Storage; readonly ctx: Context },
  store: Store,
): SumsSource {
  return { storage, store, now: ctx.clock.now() };
}

async function assertBalances(source: SumsSource, until: number, expected: Naive): Promise<void> {
  const sums = await readSumsUntil(source, until);
  const found = balancesOf(sums);
  for (const state of cardStates)
    assert.deepEqual(found[state], expected[state], `${state} at ${new Date(until).toISOString()}`);
  const movements = noMovements();
  for (const sum of sums) addMovement(movements, sum);
  const total = cardStates.reduce((sum, state) => sum + expected[state].amount, 0n);
  assert.equal(outstandingOf(movements), total);
  const ages = balancesOf(await readAgesUntil(source, until));
  for (const state of cardStates) assert.deepEqual(ages[state], expected[state], `ages, ${state}`);
}

/** Opening plus movements are the closing of each bucket, moves sum to zero, and so do the lines of each day. */
async function assertTies(source: SumsSource): Promise<void> {
  const { timeZone } = source.store;
  const to = dayOf(source.now, timeZone);
  const { before, days } = await readSumsOfDays(source, { from: addDays(to, -4), to });
  const closing = balancesOf(await readSumsUntil(source, source.now + 1));
  const [opening, change] = [balancesOf(before), balancesOf(days)];
  for (const state of cardStates) {
    assert.equal(opening[state].amount + change[state].amount, closing[state].amount);
    assert.equal(opening[state].cards + change[state].cards, closing[state].cards);
  }
  const moves = days.filter(({ account }) => account === '');
  assert.equal(
    moves.reduce((sum, { raised, lowered }) => sum + raised - lowered, 0n),
    0n,
  );
  assert.equal(
    moves.reduce((sum, { cards }) => sum + cards, 0),
    0,
  );
  const lines = journalOf(days);
  for (const [day, own] of Map.groupBy(lines, (line) => line.day))
    assert.equal(
      own.reduce((sum, { debit: left, credit: right }) => sum + left - right, 0n),
      0n,
      day,
    );
  const liability = lines
    .filter(({ account }) => account.startsWith('liability_'))
    .reduce((sum, { debit: left, credit: right }) => sum + right - left, 0n);
  assert.equal(
    liability,
    cardStates.reduce((sum, state) => sum + change[state].amount, 0n),
  );
}

/** The sum of all balances in the cards' rows. */
function* sumBalances(): Script<bigint> {
  const [row] = yield* all(
    sql<{ sum: string | null }>`select cast(sum(balance) as text) as sum from gift_cards`,
  );
  return BigInt(row?.sum ?? 0);
}

/** A storage that runs every script of a read twice, as an engine does after a lost connection. */
function readingTwice(storage: Storage): Storage {
  return {
    ...storage,
    async read(script) {
      await storage.read(script);
      return await storage.read(script);
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

/** A storage whose process is killed before its n-th write commits. */
function dyingAfter(storage: Storage, writes: number): Storage {
  let left = writes;
  return {
    ...storage,
    read: (script) => storage.read(script),
    write: (script, scope) => {
      left -= 1;
      if (left >= 0) return storage.write(script, scope);
      return storage.write(function* () {
        yield* script();
        throw new Error('killed');
      });
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

/** What `verify` finds wrong in the sums of a store. */
function* problemsOf(store: Store): Script<readonly Finding[]> {
  const problems: Finding[] = [];
  yield* checkBooks(store, { found: (finding) => problems.push(finding) });
  return problems;
}

export function testBooks(factory: StorageFactory): void {
  const seedGiven = Number(process.env['BOOKS_SEED'] ?? Date.now() % 1_000_000);
  const zones = ['UTC', 'America/Havana', 'Australia/Lord_Howe', 'America/New_York'];

  test('random operations give the balances of a naive recomputation at any instant', async (t) => {
    t.diagnostic(`BOOKS_SEED=${seedGiven}`);
    for (const [round, timeZone] of zones.entries()) {
      await using opened = await openStore(factory, { timeZone, undoWindowMinutes: 60 });
      const { ctx, store, storage } = opened;
      const model = actor(opened, seedGiven + round, () => store);
      const started = ctx.clock.now();
      for (let step = 0; step < 90; step += 1) {
        await model.act();
        ctx.clock.advance(
          model.random() < 0.6 ? model.random.between(0, 20 * 60_000) : model.random.between(0, 20 * hourMs),
        );
        if (model.random() < 0.3) await closeDays(opened, model.random.between(2, 20));
      }
      const source = sourceOf(opened, store);
      const now = ctx.clock.now();
      for (let place = 0; place < 12; place += 1) {
        const until = place === 0 ? now + 1 : model.random.between(started + 1, now);
        await assertBalances(source, until, naiveAt(model.cards, until, timeZone));
      }
      const closed = await storage.read(() => listClosedDays(store.id, { from: '', limit: 99 }));
      assert.ok(closed.length > 3);
      for (const { untilAt } of closed)
        await assertBalances(source, untilAt, naiveAt(model.cards, untilAt, timeZone));
      await assertTies(source);
      assert.deepEqual(await storage.read(() => problemsOf(store)), []);
    }
  });

  test('a report whose reads run twice counts everything once', async () => {
    await using opened = await openStore(factory, { undoWindowMinutes: 60 });
    const { ctx, store, storage } = opened;
    const model = actor(opened, seedGiven, () => store);
    for (let step = 0; step < 40; step += 1) {
      await model.act();
      ctx.clock.advance(model.random.between(0, 5 * hourMs));
    }
    const source = sourceOf(opened, store);
    const again = { ...source, storage: readingTwice(storage) };
    const until = source.now + 1;
    assert.deepEqual(await readSumsUntil(again, until), await readSumsUntil(source, until));
    assert.deepEqual(await readAgesUntil(again, until), await readAgesUntil(source, until));
    await assertBalances(again, until, naiveAt(model.cards, until, store.timeZone));
  });

  test('the sums stay whole when the clock jumps and the time zone changes', async (t) => {
    t.diagnostic(`BOOKS_SEED=${seedGiven}`);
    await using opened = await openStore(factory, { undoWindowMinutes: 60 });
    const { ctx, storage } = opened;
    let { store } = opened;
    const model = actor(opened, seedGiven, () => store);
    let latest = ctx.clock.now();
    for (let step = 0; step < 120; step += 1) {
      await model.act();
      latest = Math.max(latest, ctx.clock.now());
      ctx.clock.advance(
        model.random() < 0.2 ? model.random.between(-50, 50) * hourMs : model.random.between(0, 4) * hourMs,
      );
      if (model.random() < 0.1) {
        const timeZone =
          model.random.chooseSome(['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'UTC'], 1)[0] ?? 'UTC';
        ({ store } = await storage.write(() => changeStore(ctx, store.domain, { timeZone })));
      }
      if (model.random() < 0.3) await closeDays(opened, model.random.between(2, 20));
    }
    const far = latest + 8 * dayMs;
    const source = { storage, store, now: far };
    const balances = balancesOf(await readSumsUntil(source, far));
    const total = cardStates.reduce((sum, state) => sum + balances[state].amount, 0n);
    assert.equal(total, await storage.read(sumBalances));
    assert.deepEqual(await storage.read(() => problemsOf(store)), []);
    ctx.clock.advance(far - ctx.clock.now());
    await closeAllDays(opened, 7);
    assert.deepEqual(await storage.read(() => problemsOf(store)), []);
    const closed = balancesOf(await readSumsUntil(source, far));
    assert.deepEqual(closed, balances);
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
  });

  test('a closing that is killed at any write continues where it ended', async () => {
    await using opened = await openStore(factory, {});
    const { ctx, storage, store } = opened;
    const model = actor(opened, 7, () => store);
    for (let step = 0; step < 60; step += 1) {
      await model.act();
      ctx.clock.advance(hourMs);
    }
    ctx.clock.advance(2 * dayMs);
    let kills = 0;
    for (let writes = 0; ; writes = (writes + 1) % 5) {
      const dying = { ...opened, storage: dyingAfter(storage, writes) };
      const error = await closeAllDays(dying, 3).catch((cause: unknown) => cause);
      if (error === undefined) break;
      assert.equal((error as Error).message, 'killed');
      kills += 1;
      const until = ctx.clock.now() + 1;
      await assertBalances(sourceOf(opened, store), until, naiveAt(model.cards, until, 'UTC'));
    }
    assert.ok(kills > 20, `${kills} kills`);
    assert.deepEqual(await storage.read(() => problemsOf(store)), []);
  });

  test('two processes close the same days once', async () => {
    await using opened = await openStore(factory, {});
    const { ctx, database, storage, store } = opened;
    const model = actor(opened, 11, () => store);
    for (let step = 0; step < 40; step += 1) {
      await model.act();
      ctx.clock.advance(2 * hourMs);
    }
    const other = database.open();
    await Promise.all([closeDays(opened, 2), closeDays({ ...opened, storage: other }, 3)]);
    await closeAllDays(opened, 5);
    assert.deepEqual(await storage.read(() => problemsOf(store)), []);
    const until = ctx.clock.now() + 1;
    await assertBalances(sourceOf(opened, store), until, naiveAt(model.cards, until, 'UTC'));
  });

  test('an entry that is committed after its day was closed counts on the first open day', async () => {
    await using opened = await openStore(factory, {});
    const { ctx, storage, store } = opened;
    const { card } = await opened.issue();
    ctx.clock.advance(dayMs);
    await closeAllDays(opened, 10);
    const [day] = await storage.read(() => listClosedDays(store.id, { from: '', limit: 9 }));
    assert.equal(day?.day, '2026-03-15');
    const range = { from: '2026-03-15', to: '2026-03-15' };
    const closed = await storage.read(() => listSums(store, range));
    const slow = contextWithSlowClock(ctx, dayMs);
    const command = {
      store, cardId: card.id, actor: 'test', reference: null, note: null, orderId: null, versions: null, amount: money('4'), partial: false,
    }; // prettier-ignore
    await storage.write(() => debit(slow, command));
    await storage.write(() => update(slow, updateCommand(store, card.id, { disable: true })));
    const source = sourceOf(opened, store);
    assert.deepEqual(await storage.read(() => listSums(store, range)), closed);
    assert.equal(balancesOf(await readSumsUntil(source, day.untilAt)).active.amount, 1_500n);
    assert.equal(balancesOf(await readSumsUntil(source, source.now + 1)).disabled.amount, 1_100n);
    ctx.clock.advance(dayMs);
    await closeAllDays(opened, 10);
    assert.deepEqual(await storage.read(() => listSums(store, range)), closed);
    const next = await storage.read(() => listSums(store, { from: '2026-03-16', to: '2026-03-16' }));
    assert.deepEqual(
      next.map(({ kind, bucket, raised, lowered }) => [kind, bucket, raised, lowered]),
      [
        // Both count at the start of the day, and what a card is then is what it is after the late changes.
        ['debit', 'disabled', 0n, 400n],
        ['disable', 'active', 0n, 1_500n],
        ['disable', 'disabled', 1_500n, 0n],
      ],
    );
    assert.deepEqual(await storage.read(() => problemsOf(store)), []);
  });

  test('verify names a day whose sums were changed, and a rebuild restores it', async () => {
    await using opened = await openStore(factory, {});
    const { ctx, database, storage, store } = opened;
    await opened.issue();
    ctx.clock.advance(2 * dayMs);
    await closeAllDays(opened, 10);
    await database.tamper(
      sql`update store_days set raised = raised + 1 where store_id = ${store.id}`,
      sql`update store_ages set cards = 9 where store_id = ${store.id}`,
    );
    const { mismatches } = await storage.read(() => verify(10));
    assert.deepEqual(
      mismatches.map(({ problem }) => problem),
      [
        'the sums of the closed day 2026-03-15 differ from its transfers',
        'the sums of cards issued in 2026-03 differ from their transfers',
      ],
    );
    const sums = await storage.read(() => recompute(store));
    await storage.write(() => replaceDay(store, '2026-03-15', sums.days));
    assert.equal(
      await storage.write(() => replaceAges(store, { lastDay: '2026-03-15', ages: sums.ages })),
      false,
    );
    assert.ok(await storage.write(() => replaceAges(store, { lastDay: '2026-03-16', ages: sums.ages })));
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
  });

  test('the VAT of a card is in its first entry, and cannot be changed', async () => {
    await using opened = await openStore(factory, { vat: { kind: 'multi_purpose' } });
    const { storage, store } = opened;
    const byDefault = await opened.issue();
    const own = await opened.issue({ vat: { kind: 'single_purpose', rate: '8.1' } });
    const none = await opened.issue({ vat: null });
    const chains = await storage.read(() =>
      listTransfers(store.id, { after: 0, upTo: Number.MAX_SAFE_INTEGER }),
    );
    const vatOf = (id: number): string | null | undefined =>
      chains.find(({ chainOf }) => chainOf === id)?.issuedVat;
    assert.deepEqual(
      [byDefault, own, none].map(({ card }) => vatOf(card.id)),
      ['multi_purpose', 'single_purpose 8.1', null],
    );
    await assert.rejects(
      storage.write(function* () {
        yield* all(sql`update gift_cards set vat = 'single_purpose 0' where id = ${own.card.id}`);
      }),
      /does not change/,
    );
    await opened.database.tamper(sql`update transfers set issued_vat = null where card_id = ${own.card.id}`);
    const { mismatches } = await storage.read(() => verify(10));
    assert.ok(
      mismatches.some(({ problem }) => problem.includes('hash')),
      JSON.stringify(mismatches),
    );
  });
}
