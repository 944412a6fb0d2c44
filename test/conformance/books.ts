/** The books: the sums of days, compared with a recomputation from everything that a test has done. */

import assert from 'node:assert/strict';
import test from 'node:test';
import {
  findBooksMoment,
  readAgesUntil,
  readSumsOfDays,
  readSumsUntil,
  type SumsSource,
} from '../../src/features/books/service/report-sums.ts';
import { readSuspendedAt } from '../../src/features/books/service/suspended.ts';
import { reportRuns } from '../../src/features/books/service/report-runs.ts';
import { closeDays } from '../../src/features/books/service/closing.ts';
import type { Context } from '../../src/core/storage/context.ts';
import { type DaySum, buckets, type Bucket } from '../../src/features/books/domain/books.ts';
import { Sums } from '../../src/features/books/domain/sums.ts';
import { addDays, dayOf } from '../../src/core/domain/day.ts';
import { Fault } from '../../src/core/domain/fault.ts';
import { effectOf, type Transfer } from '../../src/core/money/domain/ledger.ts';
import {
  addMovement,
  balancesOf,
  cohortsOf,
  journalOf,
  noMovements,
  outstandingOf,
  type Balance,
} from '../../src/features/books/domain/reports.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';
import type { Secret } from '../../src/platform/secret.ts';
import { taxIn } from '../../src/core/money/domain/vat.ts';
import { reenableCard, update } from '../../src/core/cards/service/card.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { resumeCard, suspendCard } from '../../src/core/cards/service/suspension.ts';
import { exactCount } from '../../src/features/books/service/card-count.ts';
import { countCards, type CardCount } from '../../src/core/cards/service/list.ts';
import type { Finding } from '../../src/features/proofs/service/row-check.ts';
import { checkBooks } from '../../src/features/proofs/service/books-check.ts';
import { replaceAges, replaceDay } from '../../src/features/books/service/replace.ts';
import {
  findBooksState,
  listAllClosedDays,
  sumLateTransfers,
  sumMoves,
  sumTransfers,
  type Period,
} from '../../src/features/books/service/books.ts';
import { recompute } from '../../src/features/books/service/recompute.ts';
import { loadCard } from '../../src/core/cards/service/present-card.ts';
import {
  readActivity,
  readLiability,
  type ActivityReport,
  readJournal,
  type JournalReport,
} from '../../src/features/books/service/reports.ts';
import { credit, debit, reverse } from '../../src/core/money/service/spend.ts';
import { listLeftCodes } from '../../src/features/stock/service/codes.ts';
import { continueStock, startStock, stockKeyOf } from '../../src/features/stock/service/stock.ts';
import { topUp } from '../../src/core/money/service/top-up.ts';
import { changeStore } from '../../src/core/stores/service/store.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { findLastClosings, listClosedDays } from '../../src/features/books/storage/books.ts';
import { listSums } from '../../src/features/books/storage/stored-sums.ts';
import { type CardFilter, anyCard } from '../../src/core/cards/storage/filter.ts';
import { all, sql, type Script } from '../../src/database/sql/sql.ts';
import type { Storage } from '../../src/database/storage.ts';
import { listTransfers } from '../../src/core/money/storage/transfer.ts';
import { createTurns } from '../../src/core/service/turns.ts';
import { untilAppended } from '../support/appended.ts';
import { longTest } from '../support/long-test.ts';
import { closeAllDays } from '../support/closed-days.ts';
import type { StorageFactory } from '../support/database.ts';
import { contextWithSlowClock, issueCommand, money, updateCommand } from '../support/fixtures.ts';
import { appendEntries } from '../../src/features/proofs/service/log.ts';
import { addShop, openStore, type OpenStore } from '../support/open-store.ts';
import { seeded } from '../support/seeded.ts';

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;

type Terms = {
  readonly at: number;
  readonly expiresOn: string | null;
  readonly disabledAt: number | null;
  readonly suspendedAt: number | null;
};

/** The changes of a card by the test. */
type ModelCard = {
  readonly id: number;
  /** The rate of a single-purpose card; null: another card. */
  readonly rate: string | null;
  readonly effects: {
    readonly at: number;
    readonly minor: bigint;
    readonly isSale: boolean;
    readonly locationId: number | null;
  }[];
  readonly terms: Terms[];
};

/** `suspended` is a part of `active`. */
type Naive = Readonly<Record<Bucket | 'suspended', Balance>>;

/** The VAT of a card's sales, and that of all its other entries: each sum is rounded on its own. */
function taxOf(
  { rate, effects }: ModelCard,
  until: number,
): { readonly due: bigint; readonly other: bigint } {
  if (rate === null) return { due: 0n, other: 0n };
  const sum = (isWanted: boolean): bigint =>
    effects.reduce(
      (total, { at, minor, isSale }) => (at < until && isSale === isWanted ? total + minor : total),
      0n,
    );
  return { due: taxIn(sum(true), rate), other: taxIn(sum(false), rate) };
}

/** The VAT that is due for the sales before an instant. */
function vatDueAt(cards: readonly ModelCard[], until: number): bigint {
  return cards.reduce((sum, card) => sum + taxOf(card, until).due, 0n);
}

/** The balances by state right before an instant. */
function naiveAt(cards: readonly ModelCard[], until: number, timeZone: string): Naive {
  const balances = {
    active: { amount: 0n, tax: 0n, cards: 0 },
    expired: { amount: 0n, tax: 0n, cards: 0 },
    disabled: { amount: 0n, tax: 0n, cards: 0 },
    suspended: { amount: 0n, tax: 0n, cards: 0 },
  };
  for (const card of cards) {
    if (!card.effects.some(({ at }) => at < until)) continue;
    const amount = card.effects.reduce((sum, { at, minor }) => (at < until ? sum + minor : sum), 0n);
    const terms = card.terms.findLast(({ at }) => at < until) ?? card.terms[0];
    const isExpired = typeof terms?.expiresOn === 'string' && terms.expiresOn < dayOf(until - 1, timeZone);
    const enabled = isExpired ? 'expired' : 'active';
    const bucket = typeof terms?.disabledAt === 'number' ? 'disabled' : enabled;
    const { due, other } = taxOf(card, until);
    assert.ok(due + other >= 0n && due + other <= amount, 'the tax is a part of the balance');
    balances[bucket].amount += amount;
    balances[bucket].tax += due + other;
    balances[bucket].cards += 1;
    if (bucket !== 'active' || typeof terms?.suspendedAt !== 'number') continue;
    balances.suspended.amount += amount;
    balances.suspended.cards += 1;
  }
  return balances;
}

/** Codes of a stock that is printed for a store. */
async function printCodes({ storage, ctx, store }: OpenStore, count: number): Promise<readonly Secret[]> {
  const terms = {
    fixedValue: null,
    minimumValue: money('0.01'),
    maximumValue: money('30'),
    validMonths: null,
  };
  const named = { store, name: 'Counter', actor: 'test', apiClientId: null };
  const stock = await storage.write(() => startStock(ctx, { ...named, terms, codes: count }));
  await continueStock({ ctx, storage }, stockKeyOf(stock));
  const { codes } = await storage.read(() => listLeftCodes(ctx, stock, { from: 0, limit: count }));
  return codes.map(({ code }) => code);
}

/**
 * Does random operations on a store, and records them.
 * @param places where they take place; null: at no location.
 * @param stock codes in stock, of which some cards are activated.
 */
function actor(
  { storage, ctx }: OpenStore,
  seed: number,
  {
    getStore,
    places = [null],
    stock = [],
  }: {
    readonly getStore: () => Store;
    readonly places?: readonly (number | null)[];
    readonly stock?: readonly Secret[];
  },
) {
  const random = seeded(seed);
  const left = [...stock];
  const somewhere = (): number | null => random.chooseSome(places, 1)[0] ?? null;
  const cards: ModelCard[] = [];
  const transfers: number[] = [];
  const expiry = (): string | null =>
    random() < 0.3 ? null : addDays(dayOf(ctx.clock.now(), getStore().timeZone), random.between(0, 6));
  const moved = (card: ModelCard, transfer: Transfer): void => {
    const isSale = ['sales', 'top_ups'].some((name) => name === transfer.debit || name === transfer.credit);
    const { createdAt: at, locationId } = transfer;
    card.effects.push({ at, minor: effectOf(transfer), isSale, locationId });
    transfers.push(transfer.id);
  };
  const changed = (card: ModelCard, { expiresOn, disabledAt, suspendedAt }: Omit<Terms, 'at'>): void => {
    card.terms.push({ at: ctx.clock.now(), expiresOn, disabledAt, suspendedAt });
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
      const choice = random.between(0, 11);
      if (!card || choice < 2) {
        const expiresOn = expiry();
        const [rate = null] = random.chooseSome(['19', '7.7', null, null], 1);
        const vat = rate === null ? null : ({ kind: 'single_purpose', rate } as const);
        const value = { ...money('20'), minor: BigInt(random.between(1, 3_000)) };
        const locationId = somewhere();
        const code = random() < 0.5 ? (left.pop() ?? null) : null;
        const command = issueCommand(store, { value, expiresOn, vat, code, stock: 'optional', locationId });
        const isSuspended = random() < 0.2;
        const { card: made } = await storage.write(() => issue(ctx, { ...command, isSuspended }));
        const issued = await storage.read(() => loadCard(ctx, { storeId: store.id, cardId: made.id }));
        transfers.push(issued.chainEnd.transferId);
        cards.push({
          id: made.id,
          rate,
          effects: [
            {
              at: made.createdAt,
              minor: value.minor,
              isSale: true,
              locationId,
            },
          ],
          terms: [
            {
              at: made.createdAt,
              expiresOn,
              disabledAt: null,
              suspendedAt: made.suspendedAt,
            },
          ],
        });
        return;
      }
      const command = {
        store, cardId: card.id, actor: `till ${random.between(1, 2)}`, reference: null, note: null, orderId: null, versions: null,
        locationId: somewhere(),
      }; // prettier-ignore
      const amount = { ...money('1'), minor: BigInt(random.between(1, 800)) };
      if (choice < 4) {
        const done = await attempt(() => debit(ctx, { ...command, amount, partial: false }));
        if (done) moved(card, done.transfer);
      } else if (choice === 4) {
        const expiresOn = random() < 0.3 ? expiry() : null;
        const done = await attempt(() =>
          random() < 0.5
            ? credit(ctx, { ...command, amount })
            : topUp(ctx, { ...command, amount, expiresOn, notify: false }),
        );
        if (!done) return;
        moved(card, done.transfer);
        if (done.card.expiresOn !== card.terms.at(-1)?.expiresOn) changed(card, done.card);
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
            scopes: ['write_gift_cards', 'redeem_gift_cards'],
            versionsOf: () => null,
            cancelsSale: true,
            locationId: somewhere(),
          }),
        );
        const owner = done && cards.find(({ id }) => id === done.card.id);
        if (owner && done) moved(owner, done.transfer);
      } else if (choice === 6) {
        const before = card.effects.reduce((sum, { minor }) => sum + minor, 0n);
        const done = await attempt(() =>
          update(ctx, updateCommand(store, card.id, { balance: amount }, { locationId: command.locationId })),
        );
        if (done && done.balance.minor !== before)
          card.effects.push({
            at: ctx.clock.now(),
            minor: done.balance.minor - before,
            isSale: false,
            locationId: command.locationId,
          });
      } else if (choice === 7) {
        const done = await attempt(() => update(ctx, updateCommand(store, card.id, { disable: true })));
        if (done) changed(card, done);
      } else if (choice === 8) {
        const done = await attempt(() =>
          reenableCard(ctx, { store, cardId: card.id, versions: null, actor: 'clerk' }),
        );
        if (done) changed(card, done);
      } else if (choice < 11) {
        const suspension = { store, cardId: card.id, versions: null, actor: 'clerk' };
        const done = await attempt(() =>
          random() < 0.5 ? suspendCard(ctx, { ...suspension, reason: null }) : resumeCard(ctx, suspension),
        );
        if (done) changed(card, done.card);
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
  for (const state of buckets)
    assert.deepEqual(found[state], expected[state], `${state} at ${new Date(until).toISOString()}`);
  const moment = await findBooksMoment(source, until - 1);
  const suspended = moment ? await readSuspendedAt(source, moment) : { amount: 0n, cards: 0 };
  assert.deepEqual(
    { ...suspended, tax: 0n },
    expected.suspended,
    `suspended at ${new Date(until).toISOString()}`,
  );
  const movements = noMovements();
  for (const sum of sums) addMovement(movements, sum);
  const total = buckets.reduce((sum, state) => sum + expected[state].amount, 0n);
  assert.equal(outstandingOf(movements), total);
  const cohorts = [...cohortsOf(await readAgesUntil(source, until)).values()];
  for (const state of buckets) {
    const own = cohorts.map(({ balances }) => balances[state]);
    const summed = {
      amount: own.reduce((sum, { amount }) => sum + amount, 0n),
      tax: own.reduce((sum, { tax }) => sum + tax, 0n),
      cards: own.reduce((sum, { cards }) => sum + cards, 0),
    };
    assert.deepEqual(summed, expected[state], `ages, ${state}`);
  }
  const { issued, toppedUp, redeemed, refunded } = movements;
  assert.equal(
    cohorts.reduce((sum, { sold }) => sum + sold, 0n),
    issued + toppedUp,
  );
  assert.equal(
    cohorts.reduce((sum, cohort) => sum + cohort.redeemed, 0n),
    redeemed - refunded,
  );
}

/** Opening plus movements are the closing of each bucket, moves sum to zero, and so do the lines of each day. */
async function assertTies(source: SumsSource): Promise<void> {
  const { timeZone } = source.store;
  const to = dayOf(source.now, timeZone);
  const { before, days } = await readSumsOfDays(source, { from: addDays(to, -4), to });
  const closing = balancesOf(await readSumsUntil(source, source.now + 1));
  const [opening, change] = [balancesOf(before), balancesOf(days)];
  for (const state of buckets) {
    assert.equal(opening[state].amount + change[state].amount, closing[state].amount);
    assert.equal(opening[state].tax + change[state].tax, closing[state].tax);
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
    buckets.reduce((sum, state) => sum + change[state].amount - change[state].tax, 0n),
  );
}

/** The journal of the last year ties to the balances, and its VAT is that of the sales. */
async function assertJournal(source: SumsSource, vatDue: bigint): Promise<void> {
  const to = dayOf(source.now, source.store.timeZone);
  const { rows, accounts, summary } = await readJournal(source, { from: addDays(to, -365), to });
  for (const row of rows) {
    assert.equal(row.net_amount + (row.vat_amount ?? 0n), row.gross_amount);
    assert.ok((row.debit === 0n) !== (row.credit === 0n), JSON.stringify(row.account));
    assert.ok(row.debit >= 0n && row.credit >= 0n);
  }
  assert.equal(
    accounts.reduce((sum, { closing }) => sum + closing, 0n),
    0n,
  );
  const closingOf = (name: string): bigint =>
    accounts.reduce((sum, { account, closing }) => (account.startsWith(name) ? sum + closing : sum), 0n);
  assert.equal(closingOf('vat_payable'), vatDue);
  assert.equal(closingOf('liability_'), summary.closing);
  const liability = await readLiability(source);
  assert.equal(liability.outstanding_net, summary.closing);
  assert.equal(liability.outstanding, summary.closing_gross);
  for (const state of buckets) assert.equal(closingOf(`liability_${state}`), liability[`${state}_net`]);
}

/** The movements at each location add up to those of the store, and are those that took place at it. */
async function assertLocations(source: SumsSource, cards: readonly ModelCard[]): Promise<void> {
  const to = dayOf(source.now, source.store.timeZone);
  const days = { from: addDays(to, -365), to };
  const { rows } = await readActivity(source, { ...days, by: 'location' });
  const changes = new Map<string | null, bigint>();
  for (const { minor, locationId } of cards.flatMap(({ effects }) => effects)) {
    const name = locationId === null ? null : String(locationId);
    changes.set(name, (changes.get(name) ?? 0n) + minor);
  }
  assert.deepEqual(new Map(rows.map(({ group, change }) => [group, change])), changes);
  const sumsOf = (report: ActivityReport): object =>
    Object.fromEntries(
      (['issued', 'topped_up', 'redeemed', 'refunded', 'adjusted', 'change'] as const).map((name) => [
        name,
        report.rows.reduce((sum, row) => sum + row[name], 0n),
      ]),
    );
  const whole = await readActivity(source, { ...days, by: 'day' });
  assert.deepEqual(sumsOf({ ...whole, rows }), sumsOf(whole));
  for (const row of rows) {
    const locations = [row.group === null ? null : Number(row.group)];
    const ofOne = await readActivity(source, { ...days, by: 'actor', locations });
    assert.deepEqual(sumsOf(ofOne), sumsOf({ ...whole, rows: [row] }));
  }
  const [split, together] = [
    await readJournal(source, { ...days, by: 'location' }),
    await readJournal(source, days),
  ];
  assert.deepEqual([split.summary, split.accounts], [together.summary, together.accounts]);
  for (const [place, lines] of Map.groupBy(split.lines, ({ day, locationId }) => `${day} ${locationId}`))
    assert.equal(
      lines.reduce((sum, { debit: left, credit: right }) => sum + left - right, 0n),
      0n,
      place,
    );
  for (const account of new Set(split.lines.map((line) => line.account))) {
    const netOf = ({ lines }: JournalReport): bigint =>
      lines.reduce((sum, line) => (line.account === account ? sum + line.debit - line.credit : sum), 0n);
    assert.equal(netOf(split), netOf(together), account);
  }
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

/** The days of the books up to an instant as one period, whose sums are all computed. */
function* periodUntil({ store, now }: SumsSource, until: number): Script<Period> {
  const closed = yield* listAllClosedDays(store.id);
  const state = yield* findBooksState(store, Math.max(now, until));
  const days = [...closed, ...(state?.open ?? [])]
    .filter(({ fromAt }) => fromAt < until)
    .map((day) => ({ ...day, untilAt: Math.min(day.untilAt, until) }));
  return { days, before: null, openFrom: closed.length + (state?.closing ? 1 : 0) };
}

/** Sums everything up to an instant: without stored sums, and with the moves of all cards. */
async function sumEverything(source: SumsSource, until: number): Promise<Sums> {
  const { storage, store } = source;
  return await storage.read(function* () {
    const period = yield* periodUntil(source, until);
    const months = Map.groupBy(period.days, ({ day }) => day.slice(0, 7));
    const starts = Array.from(months, ([month, [first]]) => ({ month, fromAt: first?.fromAt ?? 0 }));
    const books = { store, period, months: starts };
    const sums = new Sums(period.days);
    const page = { after: 0, limit: 1_000_000 };
    yield* sumTransfers(books, sums, page);
    for (const { day } of period.days) yield* sumLateTransfers(books, sums, { ...page, day });
    yield* sumLateTransfers(books, sums, { ...page, day: null });
    const cards = yield* all(sql<{ id: bigint }>`select id from gift_cards where store_id = ${store.id}`);
    yield* sumMoves(
      books,
      sums,
      cards.map(({ id }) => Number(id)),
    );
    return sums;
  });
}

/** The figures of sums by everything but their day, which stored sums do not have. */
function figuresOf(sums: readonly DaySum[]): readonly string[] {
  const groups = Map.groupBy(sums, ({ kind, bucket, account }) => `${kind} ${bucket} ${account}`);
  return Array.from(groups, ([name, own]) => {
    const total = (valueOf: (sum: DaySum) => number | bigint): bigint =>
      own.reduce((amount, sum) => amount + BigInt(valueOf(sum)), 0n);
    const raised = total((sum) => sum.raised);
    const lowered = total((sum) => sum.lowered);
    const [entries, cards] = [total((sum) => sum.entries), total((sum) => sum.cards)];
    return raised === 0n && lowered === 0n && entries === 0n && cards === 0n
      ? ''
      : `${name}: ${entries} ${raised} ${lowered} ${cards}`;
  })
    .filter((text) => text !== '')
    .toSorted();
}

/** Compares the sums up to an instant, of which a part is stored, with those of everything. */
async function assertFiguresOfEverything(source: SumsSource, until: number): Promise<void> {
  const at = new Date(until).toISOString();
  const everything = await sumEverything(source, until);
  assert.deepEqual(figuresOf(await readSumsUntil(source, until)), figuresOf(everything.days), at);
  const [found, expected] = [await readAgesUntil(source, until), everything.ages].map((ages) =>
    [...cohortsOf(ages)].filter(
      ([, { sold, redeemed, balances }]) =>
        sold !== 0n ||
        redeemed !== 0n ||
        Object.values(balances).some(({ amount, cards }) => amount !== 0n || cards !== 0),
    ),
  );
  assert.deepEqual(found, expected, `ages at ${at}`);
}

/** Returns the findings of `verify` in the sums of a store. */
function* problemsOf(store: Store): Script<readonly Finding[]> {
  const problems: Finding[] = [];
  yield* checkBooks(store, { found: (finding) => problems.push(finding) });
  return problems;
}

async function closeSomeDays(opened: OpenStore, rowsMax: number): Promise<void> {
  // The first entry of a store makes its closing due when the log appends it.
  await appendEntries(opened);
  await closeDays(opened, rowsMax);
}

export function testBooks(factory: StorageFactory): void {
  const seedGiven = Number(process.env['BOOKS_SEED'] ?? Date.now() % 1_000_000);
  const zones = ['UTC', 'America/Havana', 'Australia/Lord_Howe', 'America/New_York'];

  longTest(
    factory,
    'random operations give the balances of a naive recomputation at any instant',
    async (t) => {
      t.diagnostic(`BOOKS_SEED=${seedGiven}`);
      for (const [round, timeZone] of zones.entries()) {
        await using opened = await openStore(factory, { timeZone, undoWindowMinutes: 60 });
        const { ctx, store, storage } = opened;
        const places = [await addShop(opened), await addShop(opened), null];
        const stock = await printCodes(opened, 10);
        const model = actor(opened, seedGiven + round, { getStore: () => store, places, stock });
        const started = ctx.clock.now();
        for (let step = 0; step < 90; step += 1) {
          await model.act();
          ctx.clock.advance(
            model.random() < 0.6
              ? model.random.between(0, 20 * 60_000)
              : model.random.between(0, 20 * hourMs),
          );
          if (model.random() < 0.3) await closeSomeDays(opened, model.random.between(2, 20));
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
        await assertLocations(source, model.cards);
        await assertJournal(source, vatDueAt(model.cards, now + 1));
        assert.deepEqual(await storage.read(() => problemsOf(store)), []);
      }
    },
  );

  test('a report whose reads run twice counts everything once', async () => {
    await using opened = await openStore(factory, { undoWindowMinutes: 60 });
    const { ctx, store, storage } = opened;
    const model = actor(opened, seedGiven, { getStore: () => store });
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

  longTest(factory, 'the sums stay whole when the clock jumps and the time zone changes', async (t) => {
    t.diagnostic(`BOOKS_SEED=${seedGiven}`);
    await using opened = await openStore(factory, { undoWindowMinutes: 60 });
    const { ctx, storage } = opened;
    let { store } = opened;
    const model = actor(opened, seedGiven, { getStore: () => store });
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
      if (model.random() < 0.3) await closeSomeDays(opened, model.random.between(2, 20));
    }
    const far = latest + 8 * dayMs;
    const source = { storage, store, now: far };
    const assertAllDays = async (): Promise<number> => {
      const days = await storage.read(() => listAllClosedDays(store.id));
      for (const { fromAt, untilAt } of days)
        for (const until of [fromAt + 1, model.random.between(fromAt + 1, untilAt - 1), untilAt, untilAt + 1])
          await assertFiguresOfEverything(source, until);
      return days.length;
    };
    await assertAllDays();
    await assertFiguresOfEverything(source, far);
    const balances = balancesOf(await readSumsUntil(source, far));
    const total = buckets.reduce((sum, state) => sum + balances[state].amount, 0n);
    assert.equal(total, await storage.read(sumBalances));
    assert.deepEqual(await storage.read(() => problemsOf(store)), []);
    ctx.clock.advance(far - ctx.clock.now());
    await closeAllDays(opened, 7);
    assert.deepEqual(await storage.read(() => problemsOf(store)), []);
    const closed = balancesOf(await readSumsUntil(source, far));
    assert.deepEqual(closed, balances);
    assert.ok((await assertAllDays()) > 3);
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
  });

  test('a report of the past does not read later changes of cards', async () => {
    await using opened = await openStore(factory, {});
    const { ctx, storage, store } = opened;
    const expiring = await opened.issue({ expiresOn: '2026-03-15' });
    const disabled = await opened.issue();
    ctx.clock.advance(dayMs);
    await opened.issue();
    await storage.write(() => update(ctx, updateCommand(store, disabled.card.id, { disable: true })));
    ctx.clock.advance(2 * dayMs);
    await closeAllDays(opened, 250);
    const reads = { count: 0 };
    const counting: Storage = {
      ...storage,
      read: async (script) => {
        reads.count += 1;
        return await storage.read(script);
      },
      [Symbol.asyncDispose]: async () => {},
    };
    const source = { ...sourceOf(opened, store), storage: counting };
    const noon = Date.UTC(2026, 2, 16, 12);
    const before = await readSumsUntil(source, noon);
    const readsBefore = reads.count;
    // These are terms that the cards no longer have, and more changes than one read returns.
    await storage.write(() => update(ctx, updateCommand(store, expiring.card.id, { expiresOn: null })));
    for (let change = 0; change < 520; change += 1)
      await storage.write(() => update(ctx, updateCommand(store, disabled.card.id, { note: `${change}` })));
    reads.count = 0;
    assert.deepEqual(await readSumsUntil(source, noon), before);
    assert.equal(reads.count, readsBefore);
    assert.equal(balancesOf(before).expired.cards, 1);
    assert.equal(balancesOf(before).disabled.cards, 0);
  });

  test('sums by the month of issue are right where an earlier version stored only those of months', async () => {
    await using opened = await openStore(factory, { undoWindowMinutes: 60 });
    const { ctx, database, storage, store } = opened;
    const model = actor(opened, seedGiven, { getStore: () => store });
    const act = async (): Promise<void> => {
      for (let step = 0; step < 30; step += 1) {
        await model.act();
        ctx.clock.advance(model.random.between(0, 12 * hourMs));
      }
    };
    await act();
    await closeAllDays(opened, 20);
    await database.tamper(sql`delete from store_ages where store_id = ${store.id} and length(month) = 10`);
    await act();
    await closeAllDays(opened, 20);
    const source = sourceOf(opened, store);
    const assertAllDays = async (): Promise<void> => {
      for (const { fromAt, untilAt } of await storage.read(() => listAllClosedDays(store.id)))
        for (const until of [fromAt + 7 * hourMs, untilAt])
          await assertBalances(source, until, naiveAt(model.cards, until, store.timeZone));
    };
    await assertAllDays();
    assert.deepEqual(await storage.read(() => problemsOf(store)), []);
    const sums = await storage.read(() => recompute(store));
    const [last] = await storage.read(() => findLastClosings(store.id));
    await storage.write(() => replaceAges(store, { lastDay: last?.day ?? '', ages: sums.ages }));
    await assertAllDays();
    assert.deepEqual(await storage.read(() => problemsOf(store)), []);
  });

  test('days are closed only up to the time at which the clock was trusted', async () => {
    await using opened = await openStore(factory, {});
    const { ctx, storage, store } = opened;
    await opened.issue();
    ctx.clock.advance(3 * dayMs);
    const trusted = ctx.clock.now();
    // The clock goes ahead.
    ctx.clock.advance(100 * dayMs);
    const closedDays = async (): Promise<readonly string[]> =>
      (await storage.read(() => listAllClosedDays(store.id))).map(({ day }) => day);
    await untilAppended(opened);
    await closeDays(opened, 10, 0);
    assert.deepEqual(await closedDays(), []);
    await closeDays(opened, 10, trusted);
    assert.deepEqual(await closedDays(), ['2026-03-15', '2026-03-16', '2026-03-17']);
  });

  test('a closing that is killed at any write continues where it ended', async () => {
    await using opened = await openStore(factory, {});
    const { ctx, storage, store } = opened;
    const model = actor(opened, 7, { getStore: () => store });
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
    const model = actor(opened, 11, { getStore: () => store });
    for (let step = 0; step < 40; step += 1) {
      await model.act();
      ctx.clock.advance(2 * hourMs);
    }
    const other = database.open();
    await appendEntries(opened);
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

  test('a change of a card that is committed at any time while its day is closed counts once', async () => {
    for (let place = 0; place < 6; place += 1) {
      await using opened = await openStore(factory, {});
      const { ctx, storage, store } = opened;
      const { card } = await opened.issue();
      ctx.clock.advance(dayMs);
      let writes = 0;
      const interrupted: Storage = {
        ...storage,
        async write(script, scope) {
          const slow = contextWithSlowClock(ctx, dayMs);
          if (writes === place)
            await storage.write(() => update(slow, updateCommand(store, card.id, { disable: true })));
          writes += 1;
          return await storage.write(script, scope);
        },
        [Symbol.asyncDispose]: async () => {},
      };
      await closeAllDays({ ...opened, storage: interrupted }, 10);
      ctx.clock.advance(dayMs);
      await closeAllDays({ ...opened, storage: interrupted }, 10);
      assert.ok(writes > place, `${writes} writes`);
      assert.deepEqual(await storage.read(() => problemsOf(store)), [], `before write ${place}`);
      const now = balancesOf(await readSumsUntil(sourceOf(opened, store), ctx.clock.now()));
      assert.equal(now.disabled.cards, 1, `before write ${place}`);
    }
  });

  test('a count of expired or disabled cards that reads too few cards is that of the books', async () => {
    await using opened = await openStore(factory, { undoWindowMinutes: 60 });
    const { ctx, storage, store } = opened;
    const model = actor(opened, seedGiven, { getStore: () => store });
    for (let step = 0; step < 60; step += 1) {
      await model.act();
      ctx.clock.advance(model.random.between(0, 8 * hourMs));
    }
    const reports = reportRuns({
      clock: ctx.clock,
      storage,
      turns: createTurns(10),
      maxMs: 60_000,
      runsMax: 1,
      tookTooLong: () => assert.fail('the count took too long'),
    });
    const { signal } = new AbortController();
    const countOf = async (filter: Partial<CardFilter>): Promise<CardCount> => {
      const wanted = { ...anyCard, ...filter };
      const rowsMax = { found: 0, walk: 2, slowWalk: 2 };
      const counted = await storage.read(() => countCards(ctx, { store, filter: wanted }, rowsMax));
      assert.ok(!counted.isExact);
      return await exactCount(reports, { store, signal }, { filter: wanted, counted });
    };
    assert.equal((await countOf({ state: 'expired' })).isExact, false, 'the last days are open');
    await closeAllDays(opened, 100);
    const expected = naiveAt(model.cards, ctx.clock.now() + 1, store.timeZone);
    assert.deepEqual(await countOf({ state: 'expired' }), { count: expected.expired.cards, isExact: true });
    assert.deepEqual(await countOf({ state: 'disabled' }), { count: expected.disabled.cards, isExact: true });
    assert.equal((await countOf({ state: 'active' })).isExact, false);
    assert.equal((await countOf({ state: 'expired', tag: 'x' })).isExact, false);
  });

  test('verify names a day whose sums were changed, and a rebuild restores it', async () => {
    await using opened = await openStore(factory, {});
    const { ctx, database, storage, store } = opened;
    await opened.issue();
    ctx.clock.advance(2 * dayMs);
    await closeAllDays(opened, 10);
    await database.tamper(sql`update store_days set location_id = 7`);
    const [moved, ...others] = (await storage.read(() => verify(10))).mismatches;
    assert.match(moved?.problem ?? '', /^the sums of the closed day 2026-03-15 differ/);
    assert.deepEqual(others, []);
    await database.tamper(
      sql`update store_days set location_id = 0`,
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
