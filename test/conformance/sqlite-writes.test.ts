/** The bytes, pages and B-trees that an operation writes to SQLite, for a fixed sequence of operations. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { writeScripts } from '../../bench/scripts.ts';
import { measureWrites, scriptsPerTransaction, type WritesPerOperation } from '../../bench/writes.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { update } from '../../src/core/cards/service/card.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { debit } from '../../src/core/money/service/spend.ts';
import { withExternalId } from '../../src/core/requests/service/external-ids.ts';
import { connect } from '../../src/database/sqlite/connection.ts';
import {
  issueCommand,
  manualClock,
  money,
  newStore,
  testContext,
  updateCommand,
} from '../support/fixtures.ts';
import { idsAt } from '../../src/platform/random.ts';
import { seeded } from '../support/seeded.ts';
import { createSqliteDatabase, sqliteFactory } from '../support/sqlite.ts';

/**
 * Measured with Node.js 26.10 and SQLite 3.53. If a change writes less, lower the figure. If a change must write more,
 * its commit says why.
 */
const ofDebit = [
  'events',
  'gift_cards',
  'sqlite_autoindex_events_1',
  'sqlite_autoindex_transfers_1',
  'transfers',
];
const ofCreation = [
  ...ofDebit,
  'gift_card_codes',
  'sqlite_autoindex_gift_card_codes_1',
  'sqlite_autoindex_gift_cards_1',
];
/** The first change of most cards makes their rows larger. */
const ofUpdate = [
  'card_changes',
  'events',
  'gift_cards',
  'sqlite_autoindex_card_changes_1',
  'sqlite_autoindex_events_1',
];
const ofKey = ['idempotency_records', 'idempotency_records_by_age', 'sqlite_autoindex_idempotency_records_1'];
const recorded = {
  create: { logBytes: 3_606, pages: 0.876, trees: ofCreation },
  'create with a key': { logBytes: 5_472, pages: 1.329, trees: [...ofCreation, ...ofKey] },
  debit: { logBytes: 6_402, pages: 1.554, trees: ofDebit },
  'debit with a key': { logBytes: 9_390, pages: 2.28, trees: [...ofDebit, ...ofKey] },
  update: { logBytes: 7_496, pages: 1.82, trees: ofUpdate },
  // The others write none of these trees, so cards without a location and requests without an id do not pay for them.
  'create at a location': {
    logBytes: 4_032,
    pages: 0.979,
    trees: [...ofCreation, 'transfers_by_issue_location'],
  },
  'debit with an external id': {
    logBytes: 8_329,
    pages: 2.022,
    trees: [...ofDebit, 'external_ids', 'transfers_by_external_id'],
  },
} as const;
/** Its page has the number of changes of the file, so every transaction writes it. */
const firstTree = 'sqlite_schema';
const tolerance = 1.02;

/** Fills a database and measures each kind of operation, 1,024 times if there are 32 transactions. */
async function measure(given: {
  readonly cards: number;
  readonly transactions: number;
}): Promise<readonly WritesPerOperation[]> {
  const random = seeded(15);
  // Ids of the time of the clock: entries with others are recorded as late.
  let lastId = idsAt(manualClock().now());
  const ctx = testContext({
    random: {
      bytes: (length) => Uint8Array.from({ length }, () => random.between(0, 255)),
      id: () => (lastId += random.between(1, 32)),
    },
  });
  await using database = createSqliteDatabase();
  const storage = database.open();
  await storage.migrate(sqliteFactory.migrations);
  const store = await storage.write(() => createStore(ctx, newStore()));
  await storage[Symbol.asyncDispose]();
  const cardIds: number[] = [];
  const connection = connect(database.file, { readOnly: false });
  while (cardIds.length < given.cards) {
    connection.beginImmediate();
    for (let count = 0; count < scriptsPerTransaction; count += 1)
      cardIds.push(connection.drive(issue(ctx, issueCommand(store))).card.id);
    connection.commit();
  }
  connection.database.close();
  const anyCard = (): number => cardIds[random.between(0, cardIds.length - 1)] ?? 0;
  let notes = 0;
  const note = () => update(ctx, updateCommand(store, anyCard(), { note: `note ${(notes += 1)}` }));
  const plain = writeScripts(ctx, { store, anyCard });
  const placed = () => issue(ctx, issueCommand(store, { locationId: 7 }));
  let ids = 0;
  const asked = { storeId: store.id, kind: 'transaction', actor: 'test', asked: ['0.01'] } as const;
  const unnamed = {
    actor: 'test',
    reference: null,
    note: null,
    orderId: null,
    versions: null,
    partial: false,
  };
  const named = () => {
    const text = `pay-${(ids += 1)}`;
    const amount = money('0.01', store.currency.code);
    const paid = { ...unnamed, store, cardId: anyCard(), amount, externalId: text };
    return withExternalId(
      ctx,
      { ...asked, text },
      {
        run: () => debit(ctx, paid),
        idOf: ({ transfer }) => transfer.id,
        find: () => assert.fail('each id is another one'),
      },
    );
  };
  const scripts = {
    ...plain,
    update: note,
    'create at a location': placed,
    'debit with an external id': named,
  };
  return measureWrites(database.file, { scripts, transactions: given.transactions });
}

test('an operation writes no more bytes and pages than recorded, and only the recorded tables and indexes', async (t) => {
  const measured = await measure({ cards: 10_000, transactions: 32 });
  assert.deepEqual(measured.map(({ operation }) => operation).toSorted(), Object.keys(recorded).toSorted());
  for (const { operation, logBytes, pages, pagesByTree } of measured)
    await t.test(operation, () => {
      const limit = recorded[operation as keyof typeof recorded];
      const figures = JSON.stringify({ logBytes, pages, pagesByTree });
      assert.ok(logBytes <= limit.logBytes * tolerance, `${operation} writes ${figures}`);
      assert.ok(pages <= limit.pages * tolerance, `${operation} writes ${figures}`);
      const trees = Object.keys(pagesByTree).filter((name) => name !== firstTree);
      assert.deepEqual(new Set(trees), new Set(limit.trees));
    });
});

test('the figures are the same in every run', async () => {
  const few = { cards: 500, transactions: 4 };
  assert.deepEqual(await measure(few), await measure(few));
});
