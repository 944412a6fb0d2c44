/** Migration 10 on a database with data: changes are recorded from then on, and nothing before it is invented. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { update } from '../../src/service/cards/card.ts';
import { listCardHistory } from '../../src/service/cards/changes.ts';
import { cardAt } from '../../src/service/cards/past-card.ts';
import { verify } from '../../src/service/proofs/verify.ts';
import { findCard } from '../../src/storage/cards/card.ts';
import { listChanges } from '../../src/storage/cards/change.ts';
import { listStores } from '../../src/storage/stores/store.ts';
import { findStorePast } from '../../src/storage/stores/change.ts';
import { fillOldDatabase } from '../support/before-chains.ts';
import type { StorageFactory } from '../support/database.ts';
import { manualClock, testContext, updateCommand } from '../support/fixtures.ts';

export function testChangeMigration(factory: StorageFactory): void {
  test('a card from before the migration has its exact past from then on, and its exact balance before', async () => {
    await using database = await factory.createDatabase();
    const old = await fillOldDatabase(factory, database);
    const storage = database.open();
    const before = Date.now();
    await storage.migrate(factory.migrations);
    const store = (await storage.read(listStores)).find((found) => found.store.domain === 'flowers.example')?.store;
    assert.ok(store);
    const { changesFrom: from } = await storage.read(() => findStorePast(store.id));
    // The clocks of the database and of this process can differ slightly.
    assert.ok(Math.abs(from - before) < 60_000);
    const present = await storage.read(() => findCard(store.id, old.withExpiry));
    assert.ok(present);
    assert.equal(present.expiresOn, '2098-06-30');

    const ctx = testContext({ masters: old.masters, clock: manualClock(from + 10_000) });
    const changes = { note: 'after', expiresOn: '2097-01-01', disable: true };
    const later = await storage.write(() =>
      update(ctx, updateCommand(store, present.id, changes, { releaseHolds: true })),
    );
    assert.equal((await storage.read(() => listChanges(store.id, { after: 0, upTo: present.id }))).length, 1);
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);

    const at = (instant: number) => storage.read(() => cardAt(store, present.id, instant));
    const last = await at(from + 10_000);
    assert.equal(last.isComplete, true);
    assert.deepEqual({ ...last.card, version: 0 }, { ...later, version: 0 });
    const complete = await at(from);
    assert.equal(complete.isComplete, true);
    assert.deepEqual([complete.card.note, complete.card.expiresOn, complete.card.disabledAt], [present.note, '2098-06-30', null]);
    // The card was issued with another expiry, which was changed without a record.
    const transfers = old.rows('transfers').filter((row) => row['card_id'] === present.id);
    for (const { created_at: created } of transfers) {
      const past = await at(Number(created));
      assert.equal(past.isComplete, false);
      const balances = transfers.filter((row) => Number(row['created_at']) <= Number(created));
      const { balance_after: balance } = balances.toSorted((left, right) => Number(left['sequence']) - Number(right['sequence'])).at(-1) ?? {};
      assert.equal(past.card.balance.minor, BigInt(Number(balance)));
      assert.deepEqual([past.card.note, past.card.expiresOn, past.card.disabledAt], [present.note, '2098-06-30', null]);
    }

    const page = { limit: 10, before: null, after: null };
    const { items } = await storage.read(() => listCardHistory(ctx, { store, cardId: present.id }, page));
    assert.deepEqual(items.map(({ kind, at: instant }) => [kind, instant]), [
      ['changed', from + 10_000],
      ['recording_began', from],
      ['created', present.createdAt],
    ]);
  });

  test('a disabling from before the migration is not in the states before it', async () => {
    await using database = await factory.createDatabase();
    const old = await fillOldDatabase(factory, database);
    const storage = database.open();
    await storage.migrate(factory.migrations);
    const disabled = old.rows('gift_cards').find((row) => row['disabled_at'] !== null);
    assert.ok(disabled);
    const store = (await storage.read(listStores)).find((found) => found.store.id === disabled['store_id'])?.store;
    assert.ok(store);
    const [cardId, disabledAt] = [Number(disabled['id']), Number(disabled['disabled_at'])];
    const stateAt = async (instant: number) => (await storage.read(() => cardAt(store, cardId, instant))).card.disabledAt;
    assert.equal(await stateAt(disabledAt), disabledAt);
    assert.equal(await stateAt(Number(disabled['created_at'])), null);
  });
} // prettier-ignore
