/** Search for a card, and the budget of failed searches. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { update } from '../../src/core/cards/service/card.ts';
import { search, type SearchCommand } from '../../src/core/cards/service/lookup.ts';
import {
  failuresLeft,
  recordFailedLookup,
  tooManyLookups,
} from '../../src/core/cards/service/lookup-throttle.ts';
import { findRefilledAt } from '../../src/core/stores/storage/lookup-throttle.ts';
import { linkCustomer, showCustomer } from '../../src/core/customers/service/customer.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import type { StorageFactory } from '../support/database.ts';
import { code, email, newStore, updateCommand } from '../support/fixtures.ts';
import { all, sql } from '../../src/database/sql/sql.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';
import { eraseOutdated } from '../support/upkeep.ts';

const ann = email('ann@example.com');
const bea = email('bea@example.com');

async function searched(
  { storage, ctx, store }: OpenStore,
  given: Partial<Omit<SearchCommand, 'store'>> = {},
): Promise<number | undefined> {
  const command = { store, address: ann, lastCharacters: ['0001'], onlyStorefrontCustomerId: null, ...given };
  return (await storage.read(() => search(ctx, command)))?.id;
}

export function testSearch(factory: StorageFactory): void {
  test('a card is found by the end of its code and the email address of its customer or recipient', async () => {
    await using opened = await openStore(factory);
    const { card } = await opened.issue({ customer: ann, recipient: bea, code: code('aaaaaaaa0001') });
    await opened.issue({ customer: ann, code: code('aaaaaaaa0002') });
    await opened.issue({ code: code('bbbbbbbb0001') });
    assert.equal(await searched(opened), card.id);
    assert.equal(await searched(opened, { address: bea }), card.id);
    assert.equal(await searched(opened, { address: email('ANN@Example.COM') }), card.id);
    assert.equal(await searched(opened, { lastCharacters: ['0003'] }), undefined);
    assert.equal(await searched(opened, { address: bea, lastCharacters: ['0002'] }), undefined);
    assert.equal(await searched(opened, { address: email('unknown@example.com') }), undefined);
  });

  test('a card whose customer and recipient are the same person is found once', async () => {
    await using opened = await openStore(factory);
    const { card } = await opened.issue({ customer: ann, recipient: ann, code: code('aaaaaaaa0001') });
    assert.equal(await searched(opened), card.id);
  });

  test('a search for one storefront customer finds only cards of their own address', async () => {
    await using opened = await openStore(factory);
    const { card } = await opened.issue({ customer: ann, recipient: bea, code: code('aaaaaaaa0001') });
    assert.ok(card.customer && card.recipient);
    const { storage, store } = opened;
    const { customer } = card;
    await storage.write(function* () {
      return yield* linkCustomer(store.id, yield* showCustomer(store.id, customer.id), 1001);
    });
    assert.equal(await searched(opened, { onlyStorefrontCustomerId: 1001 }), card.id);
    assert.equal(await searched(opened, { onlyStorefrontCustomerId: 1001, address: bea }), undefined);
    assert.equal(await searched(opened, { onlyStorefrontCustomerId: card.recipient.id }), undefined);
    // The id that the service generates is not the id in the storefront.
    assert.equal(await searched(opened, { onlyStorefrontCustomerId: customer.id }), undefined);
  });

  test('a usable card is found before a newer disabled or expired one, then the newest', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const ids: number[] = [];
    for (const start of ['aaaaaaaa', 'bbbbbbbb', 'cccccccc', 'dddddddd']) {
      const who = ids.length % 2 === 0 ? { customer: ann } : { recipient: ann };
      const { card } = await opened.issue({ ...who, code: code(`${start}0001`) });
      ids.push(card.id);
      ctx.clock.advance(1_000);
    }
    const [first, second, third, fourth] = ids;
    const change = (id: number | undefined, changes: Parameters<typeof updateCommand>[2]) =>
      storage.write(() => update(ctx, updateCommand(store, id ?? 0, changes)));
    assert.equal(await searched(opened), fourth);
    await change(fourth, { disable: true });
    assert.equal(await searched(opened), third);
    await change(third, { expiresOn: '2026-03-14' });
    assert.equal(await searched(opened), second);
    await change(second, { expiresOn: '2026-03-15' });
    assert.equal(await searched(opened), second, 'a card is valid through its last day');
    ctx.clock.advance(12 * 60 * 60 * 1_000);
    assert.equal(await searched(opened), first, 'the day has ended');
    await change(first, { disable: true });
    assert.equal(await searched(opened), fourth, 'no card is usable, and the newest is found');
    await change(third, { expiresOn: null });
    assert.equal(await searched(opened), third, 'a later expiry date makes a card usable');
  });

  test("the last day ends at midnight in the store's time zone", async () => {
    // 2026-03-15T12:00Z is already the 16th on Kiritimati, and still the 15th on Niue.
    for (const [timeZone, isExpired] of [
      ['Pacific/Kiritimati', true],
      ['Pacific/Niue', false],
    ] as const) {
      await using opened = await openStore(factory, { timeZone });
      const older = await opened.issue({ customer: ann, code: code('aaaaaaaa0001') });
      opened.ctx.clock.advance(1_000);
      const newer = await opened.issue({
        customer: ann,
        code: code('bbbbbbbb0001'),
        expiresOn: '2026-03-15',
      });
      assert.equal(await searched(opened), isExpired ? older.card.id : newer.card.id, timeZone);
    }
  });

  const minute = 60_000;
  const perHour = 3;
  const callerOf = ({ store }: Pick<OpenStore, 'store'>) => ({ storeId: store.id, caller: 'token:1' });
  const fail = ({ storage, ctx }: OpenStore, caller: ReturnType<typeof callerOf>) =>
    storage.write(() => recordFailedLookup(caller, { now: ctx.clock.now(), perHour }));
  /** Returns how many failures the caller has left, and the seconds until the next one is available. */
  const left = async ({ storage, ctx }: OpenStore, caller: ReturnType<typeof callerOf>) => {
    const refilledAt = (await storage.read(() => findRefilledAt(caller))) ?? 0;
    const budget = { now: ctx.clock.now(), perHour };
    const failures = failuresLeft(refilledAt, budget);
    return failures > 0
      ? failures
      : { retryAfterSeconds: tooManyLookups(refilledAt, budget).retryAfterSeconds };
  };

  test('a caller has a number of failed lookups an hour, which refill one by one', async () => {
    await using opened = await openStore(factory);
    const { ctx } = opened;
    const caller = callerOf(opened);
    assert.equal(await left(opened, caller), 3);
    for (const after of [2, 1, { retryAfterSeconds: 20 * 60 }]) {
      assert.ok(await fail(opened, caller));
      assert.deepEqual(await left(opened, caller), after);
    }
    assert.equal(await fail(opened, caller), undefined, 'the budget is exhausted');
    ctx.clock.advance(20 * minute - 1);
    assert.deepEqual(await left(opened, caller), { retryAfterSeconds: 1 });
    assert.equal(await fail(opened, caller), undefined);
    ctx.clock.advance(1);
    assert.equal(await left(opened, caller), 1);
    ctx.clock.advance(20 * minute);
    assert.equal(await left(opened, caller), 2);
    ctx.clock.advance(24 * 60 * minute);
    assert.equal(await left(opened, caller), 3, 'at most the budget of one hour');
    assert.equal(await opened.storage.write(() => eraseOutdated(ctx, 10)), false);
    assert.equal(await opened.storage.read(() => findRefilledAt(caller)), undefined, 'the row is deleted');
  });

  test('failed lookups count only for their caller and store, in one row per caller', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx } = opened;
    const other = await storage.write(() => createStore(ctx, newStore({ domain: 'other.example' })));
    const own = callerOf(opened);
    for (let round = 0; round < 5; round += 1) await fail(opened, own);
    for (const caller of [
      { ...own, caller: 'token:2' },
      { ...own, storeId: other.id },
    ])
      assert.equal(await left(opened, caller), 3);
    const rows = await storage.read(() => all(sql<{ caller: string }>`select caller from lookup_throttle`));
    assert.equal(rows.length, 1);
  });

  test('concurrent failed lookups never record more than the budget', async () => {
    await using opened = await openStore(factory);
    const recorded = await Promise.all(Array.from({ length: 30 }, () => fail(opened, callerOf(opened))));
    assert.equal(recorded.filter((refilledAt) => refilledAt !== undefined).length, 3);
  });
}
