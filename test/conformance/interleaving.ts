/**
 * Scripts that another script interrupts between two steps: they detect that their earlier reads are
 * outdated.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { retrieve, update } from '../../src/core/cards/service/card.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { withIdempotencyKey } from '../../src/core/requests/service/idempotency.ts';
import type { HttpResponse } from '../../src/core/requests/service/http-response.ts';
import {
  findByExternalId,
  useUpExternalId,
  withExternalId,
} from '../../src/core/requests/service/external-ids.ts';
import { recordFailedLookup } from '../../src/core/cards/service/lookup-throttle.ts';
import { createToken, rotateToken } from '../../src/core/stores/service/token.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { findOrInsertCustomer } from '../../src/core/customers/storage/customer.ts';
import { resolved, type Script } from '../../src/database/sql/sql.ts';
import { listTokens } from '../../src/core/stores/storage/token.ts';
import type { StorageFactory } from '../support/database.ts';
import { code, email, issueCommand, money, updateCommand } from '../support/fixtures.ts';
import { interrupted } from '../support/interleave.ts';
import { countRows, openStore, outcomeOf } from '../support/open-store.ts';

const ann = email('ann@example.com');
const none = { cards: 0, codes: 0, customers: 0, transfers: 0, events: 0 };

export function testInterleaving(factory: StorageFactory): void {
  test('two scripts that create the same customer create one, and the second finds it', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const find = () => findOrInsertCustomer(ctx, store.id, ann);
    const isNew: boolean[] = [];
    const by = function* (): Script<void> {
      isNew.push((yield* find()).isNew);
    };
    await storage.write(() => interrupted(by(), { after: 1, by }));
    assert.deepEqual(new Set(isNew), new Set([false, true]));
    assert.deepEqual(await storage.read(countRows), { ...none, customers: 1 });
  });

  test('two issues to one new address create one customer, at every interruption', async () => {
    for (let after = 1; after <= 6; after += 1) {
      await using opened = await openStore(factory);
      const { storage, ctx, store } = opened;
      const by = () => issue(ctx, issueCommand(store, { customer: ann }));
      await storage.write(() => interrupted(by(), { after, by }));
      const counts = await storage.read(countRows);
      assert.deepEqual(
        counts,
        { cards: 2, codes: 2, customers: 1, transfers: 2, events: 3 },
        `step ${after}`,
      );
      assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
    }
  });

  test('a void of an unknown hold runs again if the hold is made before it ends', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const id = { storeId: store.id, kind: 'hold', text: 'checkout-1', actor: 'test' } as const;
    function* voidUnknown(): Script<void> {
      assert.equal(yield* findByExternalId(ctx, id, null), undefined);
      yield* useUpExternalId(ctx, id, null);
    }
    const by = () =>
      withExternalId<number>(
        ctx,
        { ...id, asked: [] },
        { run: () => resolved(7), idOf: (made) => made, find: resolved },
      );
    // Every run is interrupted, so it ends as a transaction that has run too often.
    await assert.rejects(
      storage.write(() => interrupted(voidUnknown(), { after: 1, by })),
      { code: 'overloaded' },
    );
  });

  test('one of two issues with the same chosen code is rejected, at every interruption', async () => {
    for (let after = 1; after <= 4; after += 1) {
      await using opened = await openStore(factory);
      const { storage, ctx, store } = opened;
      const by = () => issue(ctx, issueCommand(store, { code: code('owncode1234') }));
      await assert.rejects(
        storage.write(() => interrupted(by(), { after, by })),
        { code: 'invalid-parameter', errors: { code: ['is taken'] } },
      );
      assert.deepEqual(await storage.read(countRows), none, `step ${after}`);
    }
  });

  test('an update does not overwrite a change made after it read the card', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { card } = await opened.issue();
    const set = (balance: string) => () =>
      update(ctx, updateCommand(store, card.id, { balance: money(balance) }));
    let interruptions = 0;
    const by = function* (): Script<void> {
      interruptions += 1;
      yield* set(`${100 + interruptions}`)();
    };
    await assert.rejects(
      storage.write(() => interrupted(set('1')(), { after: 1, by })),
      { code: 'overloaded' },
    );
    assert.ok(interruptions > 1, 'the update was retried');
    assert.deepEqual(await storage.read(() => retrieve(store.id, card.id)), card);

    // The first attempt is interrupted, and the second succeeds.
    let attempts = 0;
    await storage.write(() => {
      attempts += 1;
      return attempts === 1 ? interrupted(set('1')(), { after: 1, by }) : set('1')();
    });
    assert.equal(attempts, 2);
    assert.equal((await storage.read(() => retrieve(store.id, card.id))).balance.minor, 100n);
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
  });

  test('an idempotency key that is used between the lookup and the insert is not used twice', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const use = {
      owner: { storeId: store.id, apiClientId: 1, key: 'key' },
      request: JSON.stringify(['a request']),
    };
    const work = function* (): Script<HttpResponse> {
      yield* issue(ctx, issueCommand(store, { customer: ann }));
      return { status: 201, headers: {}, body: '{}' };
    };
    const by = () => withIdempotencyKey(ctx, use, work);
    for (let after = 1; after <= 2; after += 1) {
      await assert.rejects(
        storage.write(() => interrupted(by(), { after, by })),
        { code: 'overloaded' },
        `step ${after}`,
      );
      assert.deepEqual(await storage.read(countRows), none);
    }
    assert.equal((await outcomeOf(storage.write(by))).replayed, false);
    assert.equal((await outcomeOf(storage.write(by))).replayed, true);
    assert.equal((await storage.read(countRows)).cards, 1);
  });

  test('a failed lookup that is recorded while another one is recorded counts as well', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const record = () =>
      recordFailedLookup({ storeId: store.id, caller: 'token:1' }, { now: ctx.clock.now(), perHour: 5 });
    await storage.write(() => interrupted(record(), { after: 1, by: record }));
    for (let rest = 3; rest > 0; rest -= 1) assert.ok(await storage.write(record));
    assert.equal(await storage.write(record), undefined);
  });

  test('two concurrent rotations rotate a token once', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const given = { store, name: 'till', scopes: ['read_gift_cards'] as const };
    const { token } = await storage.write(() => createToken(ctx, given));
    const by = () => rotateToken(ctx, store, token.id);
    await assert.rejects(
      storage.write(() => interrupted(by(), { after: 1, by })),
      { code: 'not-found' },
    );
    assert.deepEqual(await storage.read(() => listTokens(store.id)), [token]);
  });
}
