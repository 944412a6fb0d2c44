/** Idempotency records, and the deletion of outdated records. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import { Fault } from '../../src/domain/fault.ts';
import type { Store } from '../../src/domain/store.ts';
import { issue } from '../../src/service/card.ts';
import {
  AlreadyProcessed,
  confirmStored,
  fingerprintsOf,
  idempotencyPeriodMs,
  withIdempotencyKey,
} from '../../src/service/idempotency.ts';
import type { HttpResponse } from '../../src/service/http-response.ts';
import { lookupPeriodMs, recordFailedLookup } from '../../src/service/lookup-throttle.ts';
import { eraseOutdated } from '../../src/service/retention.ts';
import type { Migration } from '../../src/storage/migrate.ts';
import { all, resolved, sql, type Script } from '../../src/storage/sql.ts';
import type { StorageFactory } from '../support/database.ts';
import { issueCommand, manualClock, masterKey, testContext } from '../support/fixtures.ts';
import { countRows, openStore, outcomeOf, type OpenStore } from '../support/open-store.ts';

const day = 24 * 60 * 60 * 1_000;

/** Returns the use of an idempotency key for a request with the given parts. */
function useOf(
  { ctx, store }: Pick<OpenStore, 'ctx'> & { readonly store: Pick<Store, 'id'> },
  key: string,
  parts: readonly unknown[] = ['a request'],
) {
  return { owner: { storeId: store.id, apiClientId: 3, key }, fingerprints: fingerprintsOf(ctx, parts) };
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
      [32, 32],
    );
    assert.notDeepEqual(digests[0], digests[1]);
    for (const digest of digests) {
      assert.ok(!digest.includes('ada'));
      assert.ok(
        !digest.equals(createHash('sha256').update(key).digest()),
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
          const use = useOf({ ...opened, ctx }, `key-${round}`);
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

  test('a response stored under a plain key before migration 5 is returned until it expires', async () => {
    await using database = await factory.createDatabase();
    const storage = database.open();
    const isBefore = ({ version }: Migration): boolean => version < 5;
    await storage.migrate(factory.migrations.filter(isBefore));
    const ctx = testContext();
    const store = { id: 17 };
    const key = "it's-order-#1017\\x41";
    const use = useOf({ ctx, store }, key);
    const response = { status: 201, headers: { etag: '"7"' }, body: '{"kept":"ünïcödé"}' };
    const [fingerprint] = use.fingerprints;
    assert.ok(fingerprint);
    const row = `idempotency ${store.id} 3 ${key}`;
    const sealed = ctx.keys.seal(
      'idempotency',
      Buffer.from(JSON.stringify(response)),
      row,
      new Uint8Array(12),
    );
    await database.tamper(
      sql`insert into stores (id, domain, name, currency, time_zone, require_signature, customer_search, demonstration,
          created_at, updated_at) values (${store.id}, 'flowers.example', 'Flowers', 'USD', 'UTC', 0, 0, 0, 0, 0)`,
      sql`insert into idempotency_records (store_id, api_client_id, key, fingerprint, created_at, answer)
          values (${store.id}, 3, ${key}, ${fingerprint}, ${ctx.clock.now()}, ${sealed})`,
    );
    await storage.migrate(factory.migrations);

    const repeat = () =>
      outcomeOf(
        storage.write(() => withIdempotencyKey(ctx, use, () => resolved({ ...response, body: 'new' }))),
      );
    assert.deepEqual(await repeat(), { response, replayed: true });
    await storage.write(() => confirmStored(ctx, use));
    const another = { ...use, fingerprints: fingerprintsOf(ctx, ['another request']) };
    await assert.rejects(
      storage.write(() => withIdempotencyKey(ctx, another, () => resolved(response))),
      {
        code: 'idempotency-key-reused',
      },
    );
    // The key file has a new first key.
    const rotated = testContext({ clock: ctx.clock, masters: [masterKey('new', 2), masterKey('test', 7)] });
    await assert.rejects(
      storage.write(() => withIdempotencyKey(rotated, use, () => resolved(response))),
      AlreadyProcessed,
    );

    ctx.clock.advance(idempotencyPeriodMs + 1);
    assert.deepEqual(await repeat(), { response: { ...response, body: 'new' }, replayed: false });
    assert.deepEqual(await repeat(), { response: { ...response, body: 'new' }, replayed: true });
    const rows = await storage.read(() =>
      all(sql<{ key_digest: Uint8Array }>`select key_digest from idempotency_records`),
    );
    assert.deepEqual(
      rows.map((kept) => kept.key_digest.length),
      [32],
      'the row with the plain key is deleted',
    );
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
