/** The transfers of a card with a long chain, which are read from the nearest of every 32 transfers. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { listCardTransfers } from '../../src/core/money/service/movements.ts';
import { debit } from '../../src/core/money/service/spend.ts';
import type { StorageFactory } from '../support/database.ts';
import { money } from '../support/fixtures.ts';
import { openStore } from '../support/open-store.ts';

export function testLongChains(factory: StorageFactory): void {
  test('the pages of 74 transfers are the same in both directions', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { card } = await opened.issue({ value: money('100') });
    const key = { storeId: store.id, cardId: card.id };
    const spend = {
      ...key,
      store,
      actor: 'test',
      reference: null,
      note: null,
      orderId: null,
      versions: null,
    };
    for (let count = 0; count < 73; count += 1)
      await storage.write(() => debit(ctx, { ...spend, amount: money('1'), partial: false }));
    const pageOf = (page: { limit: number; before: number | null; after: number | null }) =>
      storage.read(() => listCardTransfers(key, page));
    const ids = (await pageOf({ limit: 100, before: null, after: null })).items
      .map(({ id }) => id)
      .toReversed();
    assert.equal(new Set(ids).size, 74);

    const backward: number[] = [];
    for (let before: number | null = null, more = true; more;) {
      const page = await pageOf({ limit: 7, before, after: null });
      backward.push(...page.items.map(({ id }) => id));
      before = backward.at(-1) ?? null;
      more = page.hasOlder;
    }
    assert.deepEqual(backward, ids.toReversed());
    for (const limit of [1, 7, 31, 32, 33, 100])
      for (const after of [0, 1, 23, 30, 31, 32, 33, 62, 63, 64, ids.length - 2, ids.length - 1]) {
        const page = await pageOf({ limit, before: null, after: ids[after] ?? 0 });
        assert.deepEqual(
          page.items.map(({ id }) => id),
          ids.slice(after + 1, after + 1 + limit).toReversed(),
          `${limit} after place ${after + 1}`,
        );
        assert.equal(page.hasNewer, after + 1 + limit < ids.length);
      }
  });
}
