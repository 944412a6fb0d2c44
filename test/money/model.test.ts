/**
 * Every operation on money, in any order, matches the reference model: the same balances and holds, the same
 * errors, and no change after an error.
 *
 * `MODEL_RUNS` sets the number of runs, `MODEL_SEED` the seed.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { unheldOf } from '../../src/core/cards/domain/card.ts';
import { effectOf } from '../../src/core/money/domain/ledger.ts';
import { holdRecordOf } from '../../src/core/cards/domain/record.ts';
import { readActivity } from '../../src/features/books/service/reports.ts';
import { continueStock, showStock, stockKeyOf } from '../../src/features/stock/service/stock.ts';
import { listCardTransfers } from '../../src/core/money/service/movements.ts';
import { showHold } from '../../src/core/money/service/hold.ts';
import { presentCard, requireCard } from '../../src/core/cards/service/present-card.ts';
import type { Script } from '../../src/database/sql/sql.ts';
import { assertCovering } from '../support/covering.ts';
import { engine } from '../support/engine.ts';
import { apply, heldOf, statusOf, todayOf, type Action, type Model } from '../support/reference-model.ts';
import { addShop } from '../support/open-store.ts';
import { advance, locationCount, resolve, steps, type Naming, type Step } from './arbitrary.ts';
import { assertVerified, hoursAheadOfUtc, newStore, openBooks, type Books } from './open-books.ts';
import { perform, errorOf, type Done } from './service-under-test.ts';

const runs = Number(process.env['MODEL_RUNS'] ?? engine.rounds(60));
const seed = Number(process.env['MODEL_SEED'] ?? Date.now() % 2 ** 31);

/** The kinds of steps that every test run must execute at least once. */
const kinds = [
  'issue', 'update', 'debit', 'credit', 'top_up', 'hold', 'capture', 'void', 'reverse', 'undo', 'suspend', 'resume', 'print', 'activate', 'void_stock', 'advance',
]; // prettier-ignore

type Ids = {
  readonly cards: number[];
  readonly holds: number[];
  readonly transfers: number[];
  readonly locations: readonly number[];
  readonly stocks: number[];
  readonly stockOfCode: number[];
};

type Pair = { readonly model: Model; readonly books: Books; readonly ids: Ids };

async function newPair(books: Books): Promise<Pair> {
  const locations: number[] = [];
  for (let count = 0; count < locationCount; count += 1) locations.push(await addShop(books));
  const model: Model = {
    now: books.clock.now(),
    undoWindowMs: newStore.undoWindowMinutes * 60_000,
    limit: newStore.issueLimit?.minor ?? 0n,
    hoursAheadOfUtc,
    cards: [],
    holds: [],
    transfers: [],
    codes: [],
  };
  const none = { cards: [], holds: [], transfers: [], stocks: [], stockOfCode: [] };
  return { model, books, ids: { ...none, locations } };
}

/** The card's stored version; 0 if there is no such card. */
function* versionOf(books: Books, id: number | undefined): Script<number> {
  return id === undefined ? 0 : (yield* requireCard(books.store.id, id)).version;
}

/** The versions that a caller names, which can include the current one. */
function named(naming: Naming, version: number): readonly number[] | null {
  switch (naming) {
    case 'none':
      return null;
    case 'current':
      return [version];
    case 'outdated':
      return [version - 1];
    case 'several':
      return [version, version - 1];
    case 'nothing':
      return [];
  }
}

/** Executes one step on both sides and compares the results. @returns the result. */
async function take({ model, books, ids }: Pair, step: Step): Promise<string> {
  const { ctx, storage, store, clock } = books;
  if (step.kind === 'advance') {
    clock.advance(advance(model, step));
    model.now = clock.now();
    return 'advance';
  }
  const place = 'card' in step ? resolve(step.card, ids.cards.length) : undefined;
  const before = await storage.read(() => versionOf(books, ids.cards[place ?? -1]));
  const versions = 'naming' in step ? named(step.naming, before) : null;
  const action: Action = toAction(model, ids, step, versions && versions.includes(before));
  const description = JSON.stringify(action, (_key, value: unknown) => (typeof value === 'bigint' ? Number(value) : value));

  const expected = apply(model, action);
  const script = (): Script<Done> => perform({ ctx, store, places: ids }, action, versions);
  const outcome = await storage.write(script).then(
    (done) => ({ done }),
    (error: unknown) => ({ error: errorOf(error) }),
  );
  if (!('done' in outcome)) {
    assert.deepEqual(outcome.error, expected, description);
    const after = await storage.read(() => versionOf(books, ids.cards[place ?? -1]));
    assert.equal(after, before, `${description} was rejected, but changed the card`);
    return `${action.kind} ${outcome.error.code}`;
  }
  assert.equal(expected, undefined, `${description} should have been rejected`);
  const { card, hold, transfer, stock } = outcome.done;
  if (action.kind === 'print' && stock) {
    await continueStock(books, stockKeyOf(stock));
    for (let count = 0; count < action.codes; count += 1) ids.stockOfCode.push(ids.stocks.length);
    ids.stocks.push(stock.id);
  } else if ((action.kind === 'issue' || action.kind === 'activate') && card) {
    ids.cards.push(card.id);
    const page = { limit: 2, before: null, after: null };
    const { items } = await storage.read(() => listCardTransfers({ storeId: store.id, cardId: card.id }, page));
    ids.transfers.push(...items.map(({ id }) => id));
  } else if (transfer) ids.transfers.push(transfer.id);
  else if (action.kind === 'update' && card && model.transfers.length > ids.transfers.length) {
    const page = { limit: 1, before: null, after: null };
    const { items } = await storage.read(() => listCardTransfers({ storeId: store.id, cardId: card.id }, page));
    ids.transfers.push(...items.map(({ id }) => id));
  }
  if (action.kind === 'hold' && hold) ids.holds.push(hold.id);
  return action.kind;
} // prettier-ignore

/** Converts a step to an action with the targets and days of the model. */
function toAction(model: Model, ids: Ids, step: Exclude<Step, { kind: 'advance' }>, isCurrent: boolean | null): Action {
  switch (step.kind) {
    case 'expire':
    case 'print':
      return step;
    case 'activate':
    case 'void_stock':
      return { ...step, code: resolve(step.code, ids.stockOfCode.length) };
    case 'issue':
      return { ...step, expiresOn: step.expires === null ? null : todayOf(model, step.expires) };
    case 'capture':
    case 'void':
      return { ...step, hold: resolve(step.hold, ids.holds.length) };
    case 'reverse':
      return { ...step, transfer: resolve(step.transfer, ids.transfers.length) };
    case 'update': {
      const { expires, ...others } = step.changes;
      const day = expires === undefined ? {} : { expiresOn: expires === null ? null : todayOf(model, expires) };
      return { ...step, card: resolve(step.card, ids.cards.length), isCurrent, changes: { ...others, ...day } };
    }
    case 'top_up': {
      const expiresOn = step.expires === null ? null : todayOf(model, step.expires);
      return { ...step, card: resolve(step.card, ids.cards.length), isCurrent, expiresOn };
    }
    case 'debit':
    case 'credit':
    case 'hold':
    case 'undo':
    case 'suspend':
    case 'resume':
      return { ...step, card: resolve(step.card, ids.cards.length), isCurrent };
  }
} // prettier-ignore

/** Compares the complete state of both sides. */
async function compare({ model, books, ids }: Pair): Promise<void> {
  const { ctx, storage, store } = books;
  const seen = await storage.read(function* () {
    const cards = [];
    const holds = [];
    const stocks = [];
    for (const stockId of ids.stocks) stocks.push(yield* showStock({ storeId: store.id, stockId }));
    for (const id of ids.cards) cards.push(yield* presentCard(ctx, yield* requireCard(store.id, id)));
    for (const id of ids.holds) holds.push((yield* showHold(ctx, store.id, id)).hold);
    return { cards, holds, stocks };
  });
  assert.deepEqual(
    seen.cards.map((card) => ({
      balance: card.balance.minor,
      held: card.held.minor,
      available: unheldOf(card).minor,
      expiresOn: card.expiresOn,
      disabledAt: card.disabledAt,
      suspendedAt: card.suspendedAt,
      note: card.note,
    })),
    model.cards.map(({ balance, expiresOn, disabledAt, suspendedAt, note }, place) => {
      const held = heldOf(model, place);
      return { balance, held, available: balance - held, expiresOn, disabledAt, suspendedAt, note };
    }),
  );
  assert.deepEqual(
    seen.stocks.map(({ stock, counts }) => [stock.printed, stock.failed, counts.sold, counts.voided]),
    ids.stocks.map((_, place) => {
      const codes = model.codes.filter(({ stock }) => stock === place);
      const count = (state: string): number => codes.filter((code) => code.state === state).length;
      return [codes.length, 0, count('sold'), count('voided')];
    }),
  );
  assert.deepEqual(
    seen.holds.map((hold) => ({
      status: holdRecordOf(ctx.keys.publicIds, hold, ctx.clock.now()).status,
      amount: hold.amount.minor,
      captured: hold.captured.minor,
      expiresAt: hold.expiresAt,
    })),
    model.holds.map((hold) => ({
      status: statusOf(model, hold),
      amount: hold.amount,
      captured: hold.captured,
      expiresAt: hold.expiresAt,
    })),
  );
}

/** Asserts that the transfers of each card, oldest first, are those of the model. */
async function compareHistory({ model, books, ids }: Pair): Promise<void> {
  const { storage, store } = books;
  for (const [place, cardId] of ids.cards.entries()) {
    const page = { limit: 1_000, before: null, after: null };
    const { items } = await storage.read(() => listCardTransfers({ storeId: store.id, cardId }, page));
    assert.deepEqual(
      items.toReversed().map((transfer) => ({
        kind: transfer.kind,
        effect: effectOf(transfer),
        reverses: transfer.reverses,
        location: transfer.locationId,
      })),
      model.transfers
        .filter(({ card }) => card === place)
        .map(({ kind, effect, reverses, location }) => ({
          kind,
          effect,
          location: location === null ? null : ids.locations[location],
          reverses: reverses === null ? null : ids.transfers[reverses],
        })),
    );
  }
}

/** Asserts that the report of each location is that of the model, and that they add up to the report of the store. */
async function compareReports({ model, books, ids }: Pair, begun: string): Promise<void> {
  const { storage, store, clock } = books;
  const source = { storage, store, now: clock.now() };
  const period = { from: begun, to: todayOf(model) };
  const { rows } = await readActivity(source, { by: 'location', ...period });
  const places: readonly (number | null)[] = [...ids.locations.keys(), null];
  const expected = places.flatMap((place) => {
    const own = model.transfers.filter(({ location }) => location === place);
    const id = place === null ? null : String(ids.locations[place]);
    const change = own.reduce((sum, { effect }) => sum + effect, 0n);
    return own.length === 0 ? [] : [[id, own.length, change] as const];
  });
  assert.deepEqual(
    rows.map(({ group, transactions, change }) => [group, transactions, change]),
    expected,
  );
  const { rows: months } = await readActivity(source, { by: 'month', ...period });
  const total = (of: readonly { readonly change: bigint }[]): bigint =>
    of.reduce((sum, { change }) => sum + change, 0n);
  assert.equal(total(rows), total(months));
}

test(`every operation matches the reference model in ${runs} runs of up to 60 operations`, async (t) => {
  t.diagnostic(`seed ${seed} (MODEL_SEED)`);
  const taken = new Map<string, number>();
  const property = fc.asyncProperty(steps, async (sequence) => {
    await using books = await openBooks();
    const pair = await newPair(books);
    const begun = todayOf(pair.model);
    for (const step of sequence) {
      const outcome = await take(pair, step);
      await compare(pair);
      taken.set(outcome, (taken.get(outcome) ?? 0) + 1);
    }
    await compareHistory(pair);
    await compareReports(pair, begun);
    const outstanding = pair.model.cards.reduce((sum, { balance }) => sum + balance, 0n);
    assert.equal(await assertVerified(books.storage), outstanding);
  });
  await assertCovering(property, { numRuns: runs, seed }, { kinds, done: taken });
  t.diagnostic(
    `${[...taken.values()].reduce((sum, times) => sum + times, 0)} operations, outcomes: ${describeCounts(taken)}`,
  );
});

function describeCounts(taken: ReadonlyMap<string, number>): string {
  return [...taken]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([outcome, times]) => `${outcome} ${times}`)
    .join(', ');
}
