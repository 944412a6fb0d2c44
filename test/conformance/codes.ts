/** Codes, as they are stored and found: cohorts of random codes, chosen codes, and random codes of earlier versions. */

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Context } from '../../src/core/storage/context.ts';
import { tagOf } from '../../src/core/cards/domain/code.ts';
import { Secret } from '../../src/platform/secret.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { findByCode, findCardIdByCode } from '../../src/core/cards/storage/code.ts';
import { all, execute, sql, type Script } from '../../src/database/sql/sql.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import type { StorageFactory } from '../support/database.ts';
import { code, issueCommand, masterKey, newStore, testContext } from '../support/fixtures.ts';
import { openStore } from '../support/open-store.ts';

const old = masterKey('old', 1);
const young = masterKey('young', 2);

export function testCodes(factory: StorageFactory): void {
  test('random codes of a cohort are next to each other in the index', async () => {
    await using opened = await openStore(factory, { ctx: testContext() });
    const { storage, ctx } = opened;
    const second = await storage.write(() => createStore(ctx, newStore({ domain: 'tea.example' })));
    const issued = [];
    for (let count = 0; count < 40; count += 1) issued.push(await opened.issue());
    const { code: other } = await storage.write(() => issue(ctx, issueCommand(second)));
    assert.equal(new Set(issued.map((card) => tagOf(card.code))).size, 1);
    assert.notEqual(tagOf(other), tagOf(issued[0]?.code ?? other));
    const rows = await storage.read(() =>
      all(sql<{ lookup: bigint; digest: Uint8Array }>`
        select lookup, digest from gift_card_codes where store_id = ${opened.store.id}`),
    );
    assert.equal(new Set(rows.map(({ lookup }) => lookup >> 40n)).size, 1, 'the first 24 bits');
    assert.equal(new Set(rows.map(({ lookup }) => lookup)).size, issued.length);
    // The digest contains the tag under its own key only: it differs from every part of the code's own digest.
    const plain = ctx.keys.digest('gift-card-code', `${opened.store.id} ${issued[0]?.code.reveal() ?? ''}`);
    const stored = rows.map(({ digest }) => Buffer.from(digest).subarray(3).toString('hex'));
    assert.ok(stored.includes(Buffer.from(plain).subarray(3).toString('hex')));
    assert.ok(
      rows.every(
        ({ digest }) => !Buffer.from(digest).subarray(0, 3).equals(Buffer.from(plain).subarray(0, 3)),
      ),
    );
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
  });

  test('a random code is found in every spelling, and another code of its cohort is not', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { card, code: own } = await opened.issue();
    const text = own.reveal();
    const lookUp = (given: string) =>
      storage.read(() => findByCode(ctx, { storeId: store.id, codes: [code(given)], now: 0 }));
    for (const spelling of [text, text.toUpperCase(), text.replace(/(.{4})(?!$)/g, '$1-')])
      assert.equal((await lookUp(spelling))?.state?.card.id, card.id);
    const neighbor = text.slice(0, -1) + (text.endsWith('0') ? '1' : '0');
    assert.equal(await lookUp(neighbor), undefined);
    assert.equal(await lookUp(text.slice(1)), undefined);
  });

  test('a random code of an earlier version is found by its plain digest', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { card } = await opened.issue();
    const earlier = new Secret('q2m8xk4w9c0d7f3k');
    await storage.write(() => insertPlain(ctx, { storeId: store.id, cardId: card.id, code: earlier }));
    assert.equal(await storage.read(() => findCardIdByCode(ctx, store.id, earlier)), card.id);
  });

  test('a store cannot choose a random code that it has used, of this version or an earlier one', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { card, code: own } = await opened.issue();
    const earlier = new Secret('q2m8xk4w9c0d7f3k');
    await storage.write(() => insertPlain(ctx, { storeId: store.id, cardId: card.id, code: earlier }));
    for (const taken of [own, earlier])
      await assert.rejects(opened.issue({ code: taken }), {
        code: 'invalid-parameter',
        errors: { code: ['is taken'] },
      });
    // It looks like a random code, and no card has it.
    const free = await opened.issue({ code: code('Q2M8-XK4W-9C0D-7F3M') });
    assert.equal(await storage.read(() => findCardIdByCode(ctx, store.id, free.code)), free.card.id);
    await assert.rejects(opened.issue({ code: free.code }), { code: 'invalid-parameter' });
  });

  test('a random code under an old key is found and stays taken under a new key', async () => {
    await using opened = await openStore(factory, { ctx: testContext({ masters: [old] }) });
    const { storage, store } = opened;
    const before = await opened.issue();
    const rotated = testContext({ masters: [young, old] });
    const after = await storage.write(() => issue(rotated, issueCommand(store)));
    for (const { card, code: own } of [before, after])
      assert.equal(await storage.read(() => findCardIdByCode(rotated, store.id, own)), card.id);
    const forgotten = testContext({ masters: [young] });
    assert.equal(await storage.read(() => findCardIdByCode(forgotten, store.id, before.code)), undefined);
    await assert.rejects(
      storage.write(() => issue(rotated, issueCommand(store, { code: before.code }))),
      { code: 'invalid-parameter', errors: { code: ['is taken'] } },
    );
  });

  test('a lookup searches the index at most twice for each key', async () => {
    const cases = [
      { masters: [old], text: 'q2m8xk4w9c0d7f3k', searches: [2] },
      { masters: [young, old], text: 'q2m8xk4w9c0d7f3k', searches: [2, 2] },
      { masters: [young, old], text: 'SPRING-2031-0001', searches: [1, 1] },
    ];
    for (const { masters, text, searches } of cases) {
      const step = findCardIdByCode(testContext({ masters }), 1, code(text)).next();
      assert.ok(step.done !== true);
      // The first value is the store.
      const distinct = step.value.statements.map(({ values }) => new Set(values.slice(1)).size);
      assert.deepEqual(distinct, searches);
    }
  });
}

/** Inserts a code as a version without cohorts did. */
function* insertPlain(
  { keys }: Context,
  given: { readonly storeId: number; readonly cardId: number; readonly code: Secret },
): Script<void> {
  const digest = Buffer.from(keys.digest('gift-card-code', `${given.storeId} ${given.code.reveal()}`));
  yield* execute(sql`
    insert into gift_card_codes (store_id, lookup, digest, card_id)
    values (${given.storeId}, ${digest.readBigInt64BE()}, ${digest}, ${given.cardId})`);
}
