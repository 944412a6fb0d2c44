/** A store whose first version did not record changes of cards: they are recorded from an instant on, and none is invented. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { update } from '../../src/core/cards/service/card.ts';
import { listCardHistory } from '../../src/core/cards/service/changes.ts';
import { cardAt } from '../../src/core/cards/service/past-card.ts';
import { debit } from '../../src/core/money/service/spend.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { sql } from '../../src/database/sql/sql.ts';
import type { StorageFactory } from '../support/database.ts';
import { money, updateCommand } from '../support/fixtures.ts';
import { openStore } from '../support/open-store.ts';

/** Opens a store with a card of 15.00, of which 4.00 were spent, before changes were recorded. */
async function openUnrecorded(factory: StorageFactory) {
  const opened = await openStore(factory);
  const { storage, ctx, store, database } = opened;
  const issuedAt = ctx.clock.now();
  const { card } = await opened.issue({ note: 'before' });
  ctx.clock.advance(60_000);
  const spentAt = ctx.clock.now();
  const spend = { actor: 'test', reference: null, note: null, orderId: null, versions: null, partial: false };
  await storage.write(() => debit(ctx, { ...spend, store, cardId: card.id, amount: money('4') }));
  ctx.clock.advance(60_000);
  const from = ctx.clock.now();
  await database.tamper(sql`update stores set changes_from = ${from}`);
  const at = (instant: number) => storage.read(() => cardAt(store, card.id, instant));
  return { ...opened, card, issuedAt, spentAt, from, at };
}

export function testUnrecordedPast(factory: StorageFactory): void {
  test('a card has its exact past since then, and its exact balance before', async () => {
    await using opened = await openUnrecorded(factory);
    const { storage, ctx, store, card, issuedAt, spentAt, from, at } = opened;
    ctx.clock.advance(10_000);
    const changes = { note: 'after', expiresOn: '2097-01-01', disable: true };
    const later = await storage.write(() => update(ctx, updateCommand(store, card.id, changes)));
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);

    const last = await at(from + 10_000);
    assert.equal(last.isComplete, true);
    assert.deepEqual({ ...last.card, version: 0 }, { ...later, version: 0 });
    for (const [instant, isComplete, balance] of [
      [from, true, 1_100n],
      [spentAt, false, 1_100n],
      [issuedAt, false, 1_500n],
    ] as const) {
      const past = await at(instant);
      assert.equal(past.isComplete, isComplete);
      assert.equal(past.card.balance.minor, balance);
      assert.deepEqual([past.card.note, past.card.expiresOn, past.card.disabledAt], ['before', null, null]);
    }

    const page = { limit: 10, before: null, after: null };
    const { items } = await storage.read(() => listCardHistory(ctx, { store, cardId: card.id }, page));
    assert.deepEqual(
      items.map(({ kind, at: instant }) => [kind, instant]),
      [
        ['changed', from + 10_000],
        ['recording_began', from],
        ['created', issuedAt],
      ],
    );
  });

  test('a disabling that was not recorded is not in the states before it', async () => {
    await using opened = await openUnrecorded(factory);
    const { database, issuedAt, spentAt, at } = opened;
    await database.tamper(sql`update gift_cards set disabled_at = ${spentAt}`);
    assert.equal((await at(spentAt)).card.disabledAt, spentAt);
    assert.equal((await at(issuedAt)).card.disabledAt, null);
  });
}
