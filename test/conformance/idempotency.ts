/** Idempotency records, and the deletion of outdated records. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import { Fault } from '../../src/core/domain/fault.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { checkKeys } from '../../src/features/proofs/service/key-check.ts';
import {
  confirmStored,
  idempotencyPeriodMs,
  withIdempotencyKey,
} from '../../src/core/requests/service/idempotency.ts';
import type { HttpResponse } from '../../src/core/requests/service/http-response.ts';
import { lookupPeriodMs, recordFailedLookup } from '../../src/core/cards/service/lookup-throttle.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import {
  findIdempotencyRecords,
  insertIdempotencyRecord,
} from '../../src/core/stores/storage/idempotency.ts';
import { all, resolved, sql, type Script } from '../../src/database/sql/sql.ts';
import type { StorageFactory } from '../support/database.ts';
import { issueCommand, manualClock, masterKey, testContext } from '../support/fixtures.ts';
import { countRows, openStore, outcomeOf, type OpenStore } from '../support/open-store.ts';
import { eraseOutdated } from '../support/upkeep.ts';

const day = 24 * 60 * 60 * 1_000;

/** Returns the use of an idempotency key for a request with the given parts. */
function useOf(
  { store }: { readonly store: Pick<Store, 'id'> },
  key: string,
  parts: readonly unknown[] = ['a request'],
) {
  return { owner: { storeId: store.id, apiClientId: 3, key }, request: JSON.stringify(parts) };
}

/** Issues a card and returns its code in the response, as the operation "Create a gift card" does. */
function* respondWithNewCard({ ctx, store }: Pick<OpenStore, 'ctx' | 'store'>): Script<HttpResponse> {
  const { card, code } = yield* issue(ctx, issueCommand(store, { note: 'ünïcödé 🎁' }));
  const body = JSON.stringify({ id: card.id, code: code.reveal(), note: card.note });
  return { status: 201, headers: { etag: `"${card.id}"`, 'x-other': 'ü' }, body };
}

function issueOnce(opened: OpenStore, key: string, parts?: readonly unknown[]) {
  const use = useOf(opened, key, parts);
  return outcomeOf(
    opened.storage.write(() => withIdempotencyKey(opened.ctx, use, () => respondWithNewCard(opened))),
  );
}

export function testIdempotency(factory: StorageFactory): void {
  test('a repeated request returns the stored response byte for byte', async () => {
    await using opened = await openStore(factory);
    const first = await issueOnce(opened, 'key-1');
    assert.equal(first.replayed, false);
    for (let round = 0; round < 3; round += 1) {
      const { response, replayed } = await issueOnce(opened, 'key-1');
      assert.equal(replayed, true);
      assert.deepEqual(response, first.response);
      await opened.storage.write(() => confirmStored(opened.ctx, useOf(opened, 'key-1')));
    }
    assert.equal((await opened.storage.read(countRows)).cards, 1);
    assert.equal((await issueOnce(opened, 'key-2')).replayed, false);
    assert.equal((await opened.storage.read(countRows)).cards, 2);
  });

  test('concurrent repeats of a request are executed once', async () => {
    await using opened = await openStore(factory);
    const { database, ctx, storage } = opened;
    const other = database.open();
    const outcomes = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        outcomeOf(
          (index % 2 === 0 ? storage : other).write(() =>
            withIdempotencyKey(ctx, useOf(opened, 'key'), () => respondWithNewCard(opened)),
          ),
        ),
      ),
    );
    assert.equal(outcomes.filter(({ replayed }) => !replayed).length, 1);
    assert.equal(new Set(outcomes.map(({ response }) => response.body)).size, 1);
    assert.equal((await storage.read(countRows)).cards, 1);
  });

  test('another request with the same key is rejected and changes nothing', async () => {
    await using opened = await openStore(factory);
    await issueOnce(opened, 'key', ['a request']);
    await assert.rejects(issueOnce(opened, 'key', ['another request']), { code: 'idempotency-key-reused' });
    assert.equal((await issueOnce(opened, 'key', ['a request'])).replayed, true);
    assert.equal((await opened.storage.read(countRows)).cards, 1);
  });

  test('a request that fails stores nothing, and its key can be used again', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx } = opened;
    await assert.rejects(
      storage.write(() =>
        withIdempotencyKey(ctx, useOf(opened, 'key'), function* () {
          yield* respondWithNewCard(opened);
          throw new Fault('invalid-parameter');
        }),
      ),
    );
    assert.equal((await storage.read(countRows)).cards, 0);
    assert.equal((await issueOnce(opened, 'key', ['another request'])).replayed, false);
  });

  test('a stored response is returned for a day, even before outdated records are deleted', async () => {
    await using opened = await openStore(factory);
    const first = await issueOnce(opened, 'key');
    opened.ctx.clock.advance(idempotencyPeriodMs);
    assert.deepEqual(await issueOnce(opened, 'key'), { ...first, replayed: true });
    opened.ctx.clock.advance(1);
    const second = await issueOnce(opened, 'key', ['another request']);
    assert.equal(second.replayed, false);
    assert.notEqual(second.response.body, first.response.body);
    opened.ctx.clock.advance(idempotencyPeriodMs);
    assert.deepEqual(await issueOnce(opened, 'key', ['another request']), { ...second, replayed: true });
  });

  test('a stored response is sealed, and opens only in its own row', async () => {
    await using opened = await openStore(factory);
    const { storage, database } = opened;
    const { response } = await issueOnce(opened, 'key-1');
    opened.ctx.clock.advance(1);
    await issueOnce(opened, 'key-2');
    const rows = await storage.read(() =>
      all(sql<{ response: Uint8Array }>`select response from idempotency_records order by created_at`),
    );
    const { code } = JSON.parse(response.body) as { readonly code: string };
    for (const row of rows) assert.ok(!Buffer.from(row.response).toString('latin1').includes(code));
    const [first, second] = rows;
    assert.ok(first && second);
    await database.tamper(
      sql`update idempotency_records set response = ${first.response} where response = ${second.response}`,
    );
    assert.equal((await issueOnce(opened, 'key-1')).response.body, response.body);
    await assert.rejects(
      issueOnce(opened, 'key-2'),
      (error) => error instanceof Error && !(error instanceof Fault),
    );
    assert.equal((await storage.read(countRows)).cards, 2);
  });

  test('a response stored before a rotation of keys is returned after it', async () => {
    const old = masterKey('old', 1);
    await using opened = await openStore(factory, { ctx: testContext({ masters: [old] }) });
    const first = await issueOnce(opened, 'key');
    const rotated = { ...opened, ctx: testContext({ masters: [masterKey('new', 2), old] }) };
    // The fingerprint is keyed as well. It uses the old key here, to isolate the key of the response.
    const use = useOf(opened, 'key');
    const replay = await outcomeOf(
      opened.storage.write(() => withIdempotencyKey(rotated.ctx, use, () => respondWithNewCard(rotated))),
    );
    assert.deepEqual(replay, { ...first, replayed: true });
  });

  test('a repeated request is recognized after a rotation of keys', async () => {
    const old = masterKey('old', 1);
    await using opened = await openStore(factory, { ctx: testContext({ masters: [old] }) });
    const first = await issueOnce(opened, 'key');
    const rotated = { ...opened, ctx: testContext({ masters: [masterKey('new', 2), old] }) };
    assert.deepEqual(await issueOnce(rotated, 'key'), { ...first, replayed: true });
  });

  test('an idempotency key is stored as a keyed digest that includes its caller, and never in clear', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx } = opened;
    const key = 'order-1017-of-ada@example.com';
    for (const apiClientId of [3, 4]) {
      const use = useOf(opened, key);
      const owner = { ...use.owner, apiClientId };
      await storage.write(() => withIdempotencyKey(ctx, { ...use, owner }, () => respondWithNewCard(opened)));
    }
    const rows = await storage.read(() =>
      all(sql<{ key_digest: Uint8Array }>`select key_digest from idempotency_records`),
    );
    const digests = rows.map((row) => Buffer.from(row.key_digest));
    assert.deepEqual(
      digests.map((digest) => digest.length),
      [16, 16],
    );
    assert.notDeepEqual(digests[0], digests[1]);
    for (const digest of digests) {
      assert.ok(!digest.includes('ada'));
      assert.ok(
        !createHash('sha256').update(key).digest().subarray(0, 16).equals(digest),
        'the digest is not a plain hash of the key',
      );
    }
  });

  test('processes with key files in different orders execute a request once', async () => {
    const [one, other] = [masterKey('one', 1), masterKey('other', 2)];
    const clock = manualClock();
    await using opened = await openStore(factory, { ctx: testContext({ clock, masters: [one, other] }) });
    const { database, storage } = opened;
    const engines = [
      { storage, ctx: opened.ctx },
      { storage: database.open(), ctx: testContext({ clock, masters: [other, one] }) },
    ];
    for (let round = 0; round < 5; round += 1) {
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, async (_, place) => {
          const { storage: by, ctx } = engines[place % 2] ?? opened;
          const use = useOf(opened, `key-${round}`);
          return outcomeOf(
            by.write(() => withIdempotencyKey(ctx, use, () => respondWithNewCard({ ...opened, ctx }))),
          );
        }),
      );
      assert.equal(outcomes.filter(({ replayed }) => !replayed).length, 1);
      assert.equal(new Set(outcomes.map(({ response }) => response.body)).size, 1);
    }
    assert.equal((await storage.read(countRows)).cards, 5);
  });

  test('keys whose digests differ only in the last bit are different keys', async () => {
    await using opened = await openStore(factory);
    const { storage, store, ctx } = opened;
    const digests = [0, 1].map((last) =>
      Uint8Array.from({ length: 16 }, (_, place) => (place < 15 ? 7 : last)),
    );
    const keyWith = (digest: Uint8Array) => ({ storeId: store.id, digests: [digest] }) as const;
    for (const [place, digest] of digests.entries()) {
      assert.deepEqual(await storage.read(() => findIdempotencyRecords(keyWith(digest))), []);
      const record = {
        fingerprint: new Uint8Array(32).fill(place), response: Uint8Array.of(place), createdAt: ctx.clock.now(),
      }; // prettier-ignore
      await storage.write(() => insertIdempotencyRecord(keyWith(digest), record));
    }
    for (const [place, digest] of digests.entries()) {
      const found = await storage.read(() => findIdempotencyRecords(keyWith(digest)));
      assert.deepEqual(
        found.map(({ response }) => [...response]),
        [[place]],
      );
    }
  });

  test('a response without a secret is stored in clear, and one that can have a secret is sealed', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx } = opened;
    await storage.write(() => checkKeys(ctx));
    const response = { status: 200, headers: { etag: '"1"' }, body: '{"balance":"5.00","note":"ünïcödé"}' };
    const repeat = (isPublic: boolean) =>
      outcomeOf(
        storage.write(() =>
          withIdempotencyKey(ctx, { ...useOf(opened, `key-${isPublic}`), isPublic }, () =>
            resolved(response),
          ),
        ),
      );
    for (const isPublic of [true, false]) {
      assert.deepEqual(await repeat(isPublic), { response, replayed: false });
      assert.deepEqual(await repeat(isPublic), { response, replayed: true });
      const rows = await storage.read(() =>
        all(
          sql<{
            response: Uint8Array;
          }>`select response from idempotency_records order by created_at, response`,
        ),
      );
      const inClear = rows.filter((row) => Buffer.from(row.response).includes('ünïcödé'));
      assert.equal(inClear.length, 1);
    }
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
    await opened.database.tamper(sql`update idempotency_records set response = substr(response, 1, 1)`);
    assert.equal((await storage.read(() => verify(10))).mismatches.length, 1);
  });

  test('upkeep deletes outdated rows in batches, and nothing else', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const perHour = 100;
    const count = () =>
      storage.read(function* () {
        const [row] = yield* all(sql<{ records: bigint; budgets: bigint }>`
          select (select count(*) from idempotency_records) as records,
            (select count(*) from lookup_throttle) as budgets`);
        return [row?.records, row?.budgets];
      });
    const erase = (limit: number) => storage.write(() => eraseOutdated(ctx, limit));
    const failAndIssue = async (key: string) => {
      const caller = { storeId: store.id, caller: `customer:${key}` };
      await storage.write(() => recordFailedLookup(caller, { now: ctx.clock.now(), perHour }));
      return issueOnce(opened, key);
    };
    for (let round = 0; round < 5; round += 1) await failAndIssue(`old-${round}`);
    ctx.clock.advance(lookupPeriodMs / perHour - 1);
    assert.equal(await erase(10), false);
    assert.deepEqual(await count(), [5n, 5n], 'nothing is outdated yet');

    ctx.clock.advance(1);
    assert.equal(await erase(10), false);
    assert.deepEqual(await count(), [5n, 0n], 'the budgets have refilled');

    ctx.clock.advance(day - lookupPeriodMs / perHour);
    const young = await failAndIssue('young');
    ctx.clock.advance(1);
    assert.equal(await erase(2), true, 'more rows can remain');
    assert.deepEqual(await count(), [4n, 1n]);
    assert.equal(await erase(2), true);
    assert.equal(await erase(2), false);
    assert.deepEqual(await count(), [1n, 1n]);
    assert.deepEqual(await issueOnce(opened, 'young'), { ...young, replayed: true });
    assert.equal((await storage.read(countRows)).cards, 6, 'cards are not deleted');
  });
}
