/** The plans with which SQLite finds rows: by a selective index, never by reading all rows of a store. */

import { exactly } from '../../src/core/cards/domain/given-code.ts';
import assert from 'node:assert/strict';
import test from 'node:test';
import { update } from '../../src/core/cards/service/card.ts';
import { search, lookUp } from '../../src/core/cards/service/lookup.ts';
import { listCardEmails, sendGiftCard } from '../../src/core/emails/service/email.ts';
import { listCardHistory } from '../../src/core/cards/service/changes.ts';
import { cardAt, cardsAt } from '../../src/core/cards/service/past-card.ts';
import { listCardHolds, listCardTransfers } from '../../src/core/money/service/movements.ts';
import { placeHold, voidOpenHold } from '../../src/core/money/service/hold.ts';
import { recordFailedLookup, recordRetiredCodeUses } from '../../src/core/cards/service/lookup-throttle.ts';
import { verifyPage } from '../../src/features/proofs/service/ledger-check.ts';
import { credit, debit, reverse } from '../../src/core/money/service/spend.ts';
import { usualAmounts } from '../../src/features/till/service/usual-amounts.ts';
import { listNewestMovements } from '../../src/features/today/storage/today.ts';
import { listUsableCards } from '../../src/core/cards/storage/usable-cards.ts';
import { findRefilledAt } from '../../src/core/stores/storage/lookup-throttle.ts';
import { sqliteDialect } from '../../src/database/sqlite/connection.ts';
import type { Script, Statement } from '../../src/database/sql/sql.ts';
import { email, money, updateCommand } from '../support/fixtures.ts';
import { openStore } from '../support/open-store.ts';
import { createSqliteDatabase, sqliteFactory } from '../support/sqlite.ts';
import { claimEmails, eraseOutdated, expireHolds } from '../support/upkeep.ts';

const page = { limit: 5, before: null, after: null };
const scopes = ['read_gift_cards', 'write_gift_cards', 'redeem_gift_cards'] as const;

/** Runs a script and collects the statements that it sends. */
function* collected<T>(script: Script<T>, into: Set<Statement>): Script<T> {
  let step = script.next([]);
  while (step.done !== true) {
    for (const statement of step.value.statements) into.add(statement);
    step = script.next(yield step.value);
  }
  return step.value;
}

test('operations on a card read no more rows of a store than they need', async () => {
  await using opened = await openStore(sqliteFactory);
  const { storage, ctx, store } = opened;
  const ann = email('ann@example.com');
  const { card, code } = await opened.issue({ customer: ann, recipient: email('bea@example.com') });
  const movement = {
    store, cardId: card.id, actor: 'test', reference: null, note: null, orderId: null, versions: null,
  }; // prettier-ignore
  const key = { storeId: store.id, cardId: card.id };
  const statements = new Set<Statement>();
  const write = <T>(script: () => Script<T>): Promise<T> =>
    storage.write(() => collected(script(), statements));

  const { transfer } = await write(() => debit(ctx, { ...movement, amount: money('2'), partial: true }));
  await write(() => credit(ctx, { ...movement, amount: money('1') }));
  const { hold } = await write(() => placeHold(ctx, { ...movement, amount: money('1'), seconds: 60 }));
  await write(() => update(ctx, updateCommand(store, card.id, { balance: money('9') })));
  await write(() => voidOpenHold(ctx, { store, holdId: hold.id, versionsOf: () => null }));
  await write(() =>
    reverse(ctx, { store, transferId: transfer.id, amount: null, note: null, actor: 'test', scopes, versionsOf: () => null }),
  ); // prettier-ignore
  await write(() => expireHolds(ctx, 10));
  await write(() =>
    search(ctx, {
      store,
      address: ann,
      lastCharacters: [card.lastCharacters],
      onlyStorefrontCustomerId: null,
    }),
  );
  await write(() => lookUp(ctx, { store, readings: exactly(code), usableOnly: true }));
  const usable = { address: ann, today: '2026-03-15', now: ctx.clock.now(), limit: 5 };
  await write(() => listUsableCards(store.id, usable));
  await write(() => listCardTransfers(key, page));
  await write(() => listCardTransfers(key, { ...page, before: transfer.id }));
  await write(() => listCardTransfers(key, { ...page, after: transfer.id }));
  const of = { store, cardId: card.id };
  await write(() => update(ctx, updateCommand(store, card.id, { note: 'first' })));
  const { card: changed } = await write(() => cardAt(store, card.id, ctx.clock.now()));
  await write(() => cardsAt(store, [changed, { ...changed, id: changed.id + 1 }], ctx.clock.now()));
  const {
    items: [newest],
  } = await write(() => listCardHistory(ctx, of, page));
  const entry = newest?.id ?? 0;
  await write(() => listCardHistory(ctx, of, { ...page, before: entry }));
  await write(() => listCardHistory(ctx, of, { ...page, after: entry }));
  await write(() => verifyPage(store, 0));
  await write(() => listCardHolds(key, page));
  await write(() =>
    sendGiftCard(ctx, { store, cardId: card.id, actor: 'test', versions: null, canSend: true }),
  );
  await write(() => listCardEmails(key, page));
  await write(() => lookUp(ctx, { store, readings: exactly(code), usableOnly: true }));
  const caller = { storeId: store.id, caller: 'token:1' };
  await write(() => findRefilledAt(caller));
  await write(() => recordFailedLookup(caller, { now: ctx.clock.now(), perHour: 9 }));
  await write(() => recordRetiredCodeUses(ctx, [key]));
  await write(() => eraseOutdated(ctx, 5));
  await write(() =>
    claimEmails({
      lease: 1,
      now: ctx.clock.now(),
      firstAt: ctx.clock.now(),
      until: ctx.clock.now() + 1,
      limit: 5,
    }),
  );

  assert.ok(statements.size > 20);
  await using empty = createSqliteDatabase();
  await using engine = empty.open();
  await engine.migrate(sqliteFactory.migrations);
  const connection = empty.connect();
  for (const statement of statements) {
    const text = statement.text(sqliteDialect);
    for (const row of connection.prepare(`explain query plan ${text}`).all()) {
      const detail = String(row['detail']);
      // The index contains only the stores that are closed.
      if (/^SCAN stores USING (?:COVERING )?INDEX stores_not_open$/.test(detail)) continue;
      // A walk through a card's chain names its rows `l` or `w`.
      assert.doesNotMatch(
        detail,
        /^SCAN (?!\(|CONSTANT)(?:customers|gift_cards|holds|transfers|events|email_deliveries|webhook_deliveries|(?![lw](?: |$))[a-z]) ?/,
        text,
      );
      // A store has one row of settings.
      if (detail.startsWith('SEARCH email_settings ')) continue;
      // A person changes the time zone of a store, so a store has few such rows.
      if (detail.startsWith('SEARCH store_changes ')) continue;
      assert.doesNotMatch(detail, /USING (?:PRIMARY KEY|.*INDEX \w+) \(store_id=\?\)$/, text);
    }
  }
});

test('the usual amounts are read from the newest cards, without sorting the others', async () => {
  await using opened = await openStore(sqliteFactory);
  const statements = new Set<Statement>();
  await opened.storage.read(() => collected(usualAmounts(opened.store, null), statements));
  await using empty = createSqliteDatabase();
  await using engine = empty.open();
  await engine.migrate(sqliteFactory.migrations);
  const connection = empty.connect();
  assert.equal(statements.size, 1);
  for (const statement of statements) {
    const text = statement.text(sqliteDialect);
    assert.match(text, /limit \?$/);
    const plan = connection.prepare(`explain query plan ${text}`).all();
    assert.deepEqual(
      plan.map(({ detail }) => String(detail).replace(/INDEX \w+/, 'INDEX')),
      ['SEARCH gift_cards USING INDEX (store_id=?)'],
    );
  }
});

test('the rows of the newest movements are found by their ids', async () => {
  await using opened = await openStore(sqliteFactory);
  await using empty = createSqliteDatabase();
  await using engine = empty.open();
  await engine.migrate(sqliteFactory.migrations);
  const connection = empty.connect();
  for (const places of [null, [7, null]]) {
    const statements = new Set<Statement>();
    const newest = listNewestMovements(opened.store, { places, limit: 10 });
    await opened.storage.read(() => collected(newest, statements));
    const [statement] = statements;
    const plan = connection.prepare(`explain query plan ${statement?.text(sqliteDialect)}`).all();
    const ofTransfers = plan.map(({ detail }) => String(detail)).filter((detail) => / t /.test(detail));
    assert.equal(ofTransfers.length, 1);
    assert.match(ofTransfers[0] ?? '', /^SEARCH t USING INDEX \w+ \(store_id=\? AND id=\?\)$/);
  }
});

test('checks of a row that every movement writes use no temporary table', async () => {
  await using database = createSqliteDatabase();
  await using engine = database.open();
  await engine.migrate(sqliteFactory.migrations);
  const connection = database.connect();
  for (const table of [
    'gift_cards', 'gift_card_codes', 'transfers', 'holds', 'events', 'webhook_deliveries', 'idempotency_records', 'card_changes',
  ]) {
    const steps = connection.prepare(`explain insert into ${table} default values`).all();
    const names = new Set(steps.map(({ opcode }) => opcode));
    assert.ok(names.has('OpenWrite'), table);
    assert.ok(!names.has('OpenEphemeral'), table);
  }
}); // prettier-ignore
