/** Searching for a card, and the budget of searches that find nothing. */

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fault } from '../../src/domain/fault.ts';
import { search, update, type SearchCommand } from '../../src/service/card.ts';
import { checkMissBudgets, countMiss, type MissBudget } from '../../src/service/miss-budget.ts';
import { createStore } from '../../src/service/store.ts';
import type { StorageFactory } from '../harness/database.ts';
import { code, email, newStore, updateCommand } from '../harness/fixtures.ts';
import { openStore, type OpenStore } from '../harness/open-store.ts';

const ann = email('ann@example.com');
const bea = email('bea@example.com');

async function searched(
  { storage, ctx, store }: OpenStore,
  given: Partial<Omit<SearchCommand, 'store'>> = {},
): Promise<number | undefined> {
  const command = { store, address: ann, lastCharacters: '0001', onlyCustomerId: null, ...given };
  return (await storage.read(() => search(ctx, command)))?.id;
}

export function testSearch(factory: StorageFactory): void {
  test('a card is found by the end of its code and the address of its customer or its recipient', async () => {
    await using opened = await openStore(factory);
    const { card } = await opened.issue({ customer: ann, recipient: bea, code: code('aaaaaaaa0001') });
    await opened.issue({ customer: ann, code: code('aaaaaaaa0002') });
    await opened.issue({ code: code('bbbbbbbb0001') });
    assert.equal(await searched(opened), card.id);
    assert.equal(await searched(opened, { address: bea }), card.id);
    assert.equal(await searched(opened, { address: email('ANN@Example.COM') }), card.id);
    assert.equal(await searched(opened, { lastCharacters: '0003' }), undefined);
    assert.equal(await searched(opened, { address: bea, lastCharacters: '0002' }), undefined);
    assert.equal(await searched(opened, { address: email('nobody@example.com') }), undefined);
  });

  test('a card whose customer and recipient are one is found once', async () => {
    await using opened = await openStore(factory);
    const { card } = await opened.issue({ customer: ann, recipient: ann, code: code('aaaaaaaa0001') });
    assert.equal(await searched(opened), card.id);
  });

  test('only cards of the named customer are found where the search is for one', async () => {
    await using opened = await openStore(factory);
    const { card } = await opened.issue({ customer: ann, recipient: bea, code: code('aaaaaaaa0001') });
    assert.ok(card.customer && card.recipient);
    assert.equal(await searched(opened, { onlyCustomerId: card.customer.id }), card.id);
    assert.equal(await searched(opened, { onlyCustomerId: card.recipient.id }), undefined);
  });

  test('a usable card comes before a newer one that is disabled or expired, then the newest', async () => {
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
    assert.equal(await searched(opened), second, 'a card is good through the whole of its last day');
    ctx.clock.advance(12 * 60 * 60 * 1_000);
    assert.equal(await searched(opened), first, 'the day is over');
    await change(first, { disable: true });
    assert.equal(await searched(opened), fourth, 'none is usable: the newest');
    await change(third, { expiresOn: null });
    assert.equal(await searched(opened), third, 'moving the date revives a card');
  });

  test("the last day ends when it ends in the store's time zone", async () => {
    // 2026-03-15T12:00Z is the 16th already on Kiritimati, and the 15th still on Niue.
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
  const budgets = (address = ann): readonly MissBudget[] => [
    { subject: `search ${address.key}`, missesMax: 3 },
  ];

  test('an address has so many misses in an hour, and gets them back one by one', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const miss = (address = ann) => storage.write(() => countMiss(ctx, store.id, budgets(address)));
    const may = (address = ann) => storage.read(() => checkMissBudgets(ctx, store.id, budgets(address)));
    for (let round = 0; round < 3; round += 1) {
      await may();
      await miss();
      ctx.clock.advance(10 * minute);
    }
    // Misses at 0, 10 and 20 minutes; it is 30 minutes now.
    await assert.rejects(may(), { code: 'too-many-misses', retryAfterSeconds: 30 * 60 });
    await assert.rejects(miss(), { code: 'too-many-misses', retryAfterSeconds: 30 * 60 });
    await assert.rejects(may(email('Ann@EXAMPLE.com')), { code: 'too-many-misses' });
    await may(bea);

    ctx.clock.advance(30 * minute - 1);
    await assert.rejects(may(), { retryAfterSeconds: 1 });
    ctx.clock.advance(1);
    await may();
    await miss();
    await assert.rejects(miss(), { retryAfterSeconds: 10 * 60 });
  });

  test('the misses in one store do not count in another', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const other = await storage.write(() => createStore(ctx, newStore({ domain: 'other.example' })));
    const miss = (where: typeof store) => storage.write(() => countMiss(ctx, where.id, budgets()));
    for (let round = 0; round < 3; round += 1) await miss(store);
    await assert.rejects(miss(store), { code: 'too-many-misses' });
    for (let round = 0; round < 3; round += 1) await miss(other);
    await assert.rejects(miss(other), { code: 'too-many-misses' });
  });

  test('however many searches miss together, only so many are counted', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, () => storage.write(() => countMiss(ctx, store.id, budgets()))),
    );
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 3);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') assert.equal((outcome.reason as Fault).code, 'too-many-misses');
  });
}
