/** Two stores in one database: their ids, codes, addresses and keys are independent. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { retrieve, update } from '../../src/core/cards/service/card.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { search } from '../../src/core/cards/service/lookup.ts';
import { withIdempotencyKey } from '../../src/core/requests/service/idempotency.ts';
import type { HttpResponse } from '../../src/core/requests/service/http-response.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { tokenHash } from '../../src/core/stores/service/secret-token.ts';
import { createToken } from '../../src/core/stores/service/token.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { findCardIdByCode } from '../../src/core/cards/storage/code.ts';
import { findCustomerByEmail } from '../../src/core/customers/storage/customer.ts';
import { scanCards } from '../../src/features/proofs/storage/ledger-scan.ts';
import { all, sql, type Script } from '../../src/database/sql/sql.ts';
import { findActiveToken, listTokens } from '../../src/core/stores/storage/token.ts';
import { openMigrated, type StorageFactory } from '../support/database.ts';
import {
  code,
  email,
  issueCommand,
  money,
  newStore,
  testContext,
  updateCommand,
} from '../support/fixtures.ts';
import { outcomeOf } from '../support/open-store.ts';

/** Two stores whose rows have the same ids, in the same order, for the same person and code. */
async function openTwins(factory: StorageFactory) {
  const opened = await openMigrated(factory);
  const { storage } = opened;
  let nextId = 0;
  const ctx = testContext({ random: { id: () => (nextId += 1) } });
  const left = await storage.write(() => createStore(ctx, newStore({ domain: 'left.example' })));
  const right = await storage.write(() => createStore(ctx, newStore({ domain: 'right.example' })));
  const ann = email('ann@example.com');
  const twins = [];
  for (const store of [left, right]) {
    nextId = 100;
    const command = issueCommand(store, { customer: ann, code: code('twin-code-0001'), note: store.domain });
    const { card } = await storage.write(() => issue(ctx, command));
    twins.push({ store, card });
  }
  const [one, other] = twins;
  assert.ok(one && other);
  return { ...opened, ctx, ann, one, other, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
}

export function testStoresApart(factory: StorageFactory): void {
  test('equal ids, codes and addresses of two stores do not collide', async () => {
    await using opened = await openTwins(factory);
    const { storage, ctx, ann, one, other } = opened;
    assert.equal(one.card.id, other.card.id);
    assert.equal(one.card.customer?.id, other.card.customer?.id);
    for (const { store, card } of [one, other]) {
      assert.deepEqual(await storage.read(() => retrieve(store.id, card.id)), card);
      assert.equal(
        await storage.read(() => findCardIdByCode(ctx, store.id, code('TWIN CODE 0001'))),
        card.id,
      );
      const found = await storage.read(() =>
        search(ctx, { store, address: ann, lastCharacters: ['0001'], onlyStorefrontCustomerId: null }),
      );
      assert.equal(found?.note, store.domain);
      assert.equal((await storage.read(() => findCustomerByEmail(store.id, ann)))?.id, card.customer?.id);
    }
    const digests = await storage.read(() =>
      all(sql<{ digest: Uint8Array }>`select digest from gift_card_codes order by store_id`),
    );
    assert.equal(new Set(digests.map(({ digest }) => Buffer.from(digest).toString('hex'))).size, 2);
  });

  test('a change of one card leaves its twin in the other store unchanged', async () => {
    await using opened = await openTwins(factory);
    const { storage, ctx, one, other } = opened;
    const changes = { balance: money('3'), disable: true, note: 'changed', expiresOn: '2030-01-01' };
    const changed = await storage.write(() => update(ctx, updateCommand(one.store, one.card.id, changes)));
    assert.deepEqual(await storage.read(() => retrieve(one.store.id, one.card.id)), changed);
    assert.deepEqual(await storage.read(() => retrieve(other.store.id, other.card.id)), other.card);
    const balances = await storage.read(() => scanCards(other.store.id, { after: 0, limit: 10 }));
    assert.deepEqual(
      balances.map(({ balance }) => balance),
      [1_500],
    );
    const { stores, mismatches } = await storage.read(() => verify(10));
    assert.deepEqual(mismatches, []);
    assert.deepEqual(
      stores.map(({ store, cards, transfers, outstanding }) => [store, cards, transfers, outstanding]),
      [
        ['left.example', 1, 2, 300n],
        ['right.example', 1, 1, 1_500n],
      ],
    );
  });

  test("a store cannot find another store's card", async () => {
    await using opened = await openTwins(factory);
    const { storage, ctx, ann, one, other } = opened;
    const command = issueCommand(one.store, {
      customer: email('bea@example.com'),
      code: code('onlyleft1234'),
    });
    const { card } = await storage.write(() => issue(ctx, command));
    const { id: storeId } = other.store;
    await assert.rejects(
      storage.read(() => retrieve(storeId, card.id)),
      { code: 'not-found' },
    );
    await assert.rejects(
      storage.write(() => update(ctx, updateCommand(other.store, card.id, { disable: true }))),
      { code: 'not-found' },
    );
    assert.equal(await storage.read(() => findCardIdByCode(ctx, storeId, code('onlyleft1234'))), undefined);
    for (const address of [email('bea@example.com'), ann]) {
      const searched = {
        store: other.store,
        address,
        lastCharacters: ['1234'],
        onlyStorefrontCustomerId: null,
      };
      assert.equal(await storage.read(() => search(ctx, searched)), undefined);
    }
  });

  test('an idempotency key is separate for each store and each API client', async () => {
    await using opened = await openTwins(factory);
    const { storage, ctx, one, other } = opened;
    const owners = [
      { storeId: one.store.id, apiClientId: 1, key: 'key' },
      { storeId: one.store.id, apiClientId: 2, key: 'key' },
      { storeId: other.store.id, apiClientId: 1, key: 'key' },
    ];
    let runs = 0;
    const request = 'the same request';
    // oxlint-disable-next-line require-yield -- a script without a statement
    const script = function* (): Script<HttpResponse> {
      runs += 1;
      return { status: 201, headers: {}, body: `response ${runs}` };
    };
    for (const [index, owner] of owners.entries()) {
      const outcome = await outcomeOf(
        storage.write(() => withIdempotencyKey(ctx, { owner, request }, script)),
      );
      assert.deepEqual([outcome.replayed, outcome.response.body], [false, `response ${index + 1}`]);
    }
    for (const [index, owner] of owners.entries()) {
      const outcome = await outcomeOf(
        storage.write(() => withIdempotencyKey(ctx, { owner, request }, script)),
      );
      assert.deepEqual([outcome.replayed, outcome.response.body], [true, `response ${index + 1}`]);
    }
  });

  test('a token works only for its own store', async () => {
    await using opened = await openTwins(factory);
    const { storage, ctx, one, other } = opened;
    const given = { store: one.store, name: 'till', scopes: ['read_gift_cards'] as const };
    const { token, secret } = await storage.write(() => createToken(ctx, given));
    const hash = tokenHash({ secret });
    const found = await storage.read(() => findActiveToken(one.store.id, hash));
    assert.deepEqual([found?.token, found?.record.store], [token, one.store]);
    assert.equal(await storage.read(() => findActiveToken(other.store.id, hash)), undefined);
    assert.deepEqual(await storage.read(() => listTokens(other.store.id)), []);
  });
}
