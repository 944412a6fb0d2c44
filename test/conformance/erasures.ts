/** Erasures of customers, of which every step is a transaction. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { debit } from '../../src/core/money/service/spend.ts';
import { placeHold } from '../../src/core/money/service/hold.ts';
import { update } from '../../src/core/cards/service/card.ts';
import { continueErasure, showErasure, startErasure } from '../../src/features/privacy/service/erasure.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import type { StorageFactory } from '../support/database.ts';
import { email, money, updateCommand } from '../support/fixtures.ts';
import { openStore } from '../support/open-store.ts';

const ada = email('ada@example.com');

export function testErasures(factory: StorageFactory): void {
  test('a verification between two steps of an erasure finds nothing', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const note = 'for ada@example.com';
    const own = await opened.issue({
      customer: ada,
      recipient: email('grace@example.com'),
      note,
      message: 'Ada',
    });
    const received = await opened.issue({
      customer: email('grace@example.com'),
      recipient: ada,
      expiresOn: '2026-12-31',
    });
    const mentioning = await opened.issue({ note });
    for (let other = 0; other < 30; other += 1) await opened.issue({ customer: ada, note: `card ${other}` });
    for (const { card } of [own, received, mentioning]) {
      const command = {
        store,
        cardId: card.id,
        actor: 'test',
        reference: note,
        note,
        orderId: null,
        versions: null,
      };
      await storage.write(() => debit(ctx, { ...command, amount: money('1'), partial: false }));
      await storage.write(() => placeHold(ctx, { ...command, amount: money('1'), seconds: 600 }));
      await storage.write(() => update(ctx, updateCommand(store, card.id, { note: `again ${note}` })));
    }
    const key = { storeId: store.id, customerId: own.card.customer?.id ?? 0 };
    await storage.write(() => startErasure(ctx, { ...key, eraseNotes: true, actor: 'test' }));
    const steps = new Set<string>();
    for (let isComplete = false; !isComplete;) {
      const { step } = await storage.read(() => showErasure(key));
      steps.add(step);
      assert.deepEqual((await storage.read(() => verify(100))).mismatches, [], `in the step ${step}`);
      isComplete = await storage.write(() => continueErasure(ctx, key));
    }
    assert.ok(steps.size > 6, [...steps].join());
    assert.deepEqual((await storage.read(() => verify(100))).mismatches, []);
  });
}
