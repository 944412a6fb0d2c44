/** Requests to the API: how processes write them, how they are listed, and when they are erased. */

import assert from 'node:assert/strict';
import test from 'node:test';
import type { RequestFilter } from '../../src/features/developers/domain/api-request.ts';
import type { ApiRequest } from '../../src/core/requests/domain/api-request.ts';
import { Fault } from '../../src/core/domain/fault.ts';
import {
  eraseRequests,
  hasOldRequests,
  listRequests,
  requestWriter,
  showRequest,
  type RequestPage,
  type RequestPlace,
  type RequestWriter,
} from '../../src/features/developers/service/api-requests.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { listRequestBlocks } from '../../src/features/developers/storage/request-block.ts';
import { sql } from '../../src/database/sql/sql.ts';
import type { StorageFactory } from '../support/database.ts';
import { newStore } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';

const any: RequestFilter = { result: null, caller: null, operation: null, requestId: null };
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

let count = 0;

function requestAt(at: number, more: Partial<ApiRequest> = {}): ApiRequest {
  count += 1;
  return {
    at,
    durationMs: 1.5,
    method: 'GET',
    route: '/gift_cards',
    status: 200,
    problem: null,
    caller: 7,
    hasKey: false,
    requestId: `${count.toString(16).padStart(8, '0')}-1111-4111-8111-111111111111`,
    ...more,
  };
}

function write(
  writer: RequestWriter,
  storeId: number,
  requests: readonly ApiRequest[],
  dropped = 0,
): Promise<void> {
  return writer.write(new Map([[storeId, { requests, dropped }]]));
}

function page(
  { storage, ctx, store }: OpenStore,
  {
    filter = {},
    before = null,
    limit = 50,
  }: {
    readonly filter?: Partial<RequestFilter>;
    readonly before?: RequestPlace | null;
    readonly limit?: number;
  } = {},
): Promise<RequestPage> {
  return storage.read(() => listRequests(ctx, store.id, { filter: { ...any, ...filter }, before, limit }));
}

async function allPages(opened: OpenStore, filter: Partial<RequestFilter> = {}, limit = 50) {
  const requests: ApiRequest[] = [];
  let pages = 0;
  for (let before: RequestPlace | null | undefined; before !== null; pages += 1) {
    const found: RequestPage = await page(opened, { filter, limit, before: before ?? null });
    requests.push(...found.requests);
    before = found.next;
  }
  return { requests, pages };
}

function idsOf(requests: readonly ApiRequest[]): readonly (string | null)[] {
  return requests.map(({ requestId }) => requestId);
}

export function testApiRequests(factory: StorageFactory): void {
  test('the requests of two processes are listed in the order of their responses, page by page', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const writers = [requestWriter(opened), requestWriter(opened)] as const;
    const written: ApiRequest[] = [];
    for (let round = 0; round < 12; round += 1) {
      for (const writer of writers) {
        // A process begins a new block when one has 100 requests.
        const requests = Array.from({ length: 30 }, (_, place) => {
          const isFailed = place % 10 === 0;
          return requestAt(ctx.clock.now() + place * 7, {
            status: isFailed ? 503 : 200,
            problem: isFailed ? 'overloaded' : null,
            caller: place % 2 === 0 ? 7 : 8,
          });
        });
        written.push(...requests);
        await write(writer, store.id, requests);
      }
      ctx.clock.advance(5_000);
    }
    const { blocks } = await blocksOf(opened);
    assert.ok(blocks >= 4 && blocks <= 8, `${blocks} blocks`);
    const expected = written.toSorted((left, right) => right.at - left.at).map(({ at }) => at);
    const { requests, pages } = await allPages(opened);
    assert.deepEqual(
      requests.map(({ at }) => at),
      expected,
    );
    assert.equal(new Set(idsOf(requests)).size, written.length, 'none is listed twice');
    assert.equal(pages, Math.ceil(written.length / 50));
    const failed = await allPages(opened, { result: 'failed' }, 7);
    assert.deepEqual(
      new Set(idsOf(failed.requests)),
      new Set(idsOf(written.filter(({ status }) => status === 503))),
    );
    const ofToken = await allPages(opened, { caller: 8 });
    assert.equal(ofToken.requests.length, written.length / 2);
    const chosen = written[123] ?? assert.fail();
    const [found = assert.fail(), ...others] = (await allPages(opened, { requestId: chosen.requestId }))
      .requests;
    assert.deepEqual(others, []);
    const { block, index, ...request } = found as (typeof requests)[number] & RequestPlace;
    assert.deepEqual(request, chosen);
    const shown = await storage.read(() => showRequest(ctx, store.id, { block, index }));
    assert.deepEqual(shown, { ...chosen, index });
    const elsewhere = await storage.write(() => createStore(ctx, newStore({ domain: 'other.example' })));
    await assert.rejects(
      storage.read(() => showRequest(ctx, elsewhere.id, { block, index })),
      { code: 'not-found' },
    );
    assert.deepEqual((await page({ ...opened, store: elsewhere })).requests, []);
  });

  test('requests are listed for 24 hours and then erased, and a clock that is not trusted erases none', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const writer = requestWriter(opened);
    const early = requestAt(ctx.clock.now());
    await write(writer, store.id, [early]);
    ctx.clock.advance(10 * minuteMs);
    const late = requestAt(ctx.clock.now());
    await write(writer, store.id, [late]);
    assert.equal((await blocksOf(opened)).blocks, 1);
    ctx.clock.advance(23 * hourMs + 55 * minuteMs);
    assert.deepEqual(idsOf((await page(opened)).requests), [late.requestId], 'the block stays for the other');
    const old = await storage.read(() => hasOldRequests(ctx, store.id));
    assert.equal(old, false);
    ctx.clock.advance(hourMs);
    assert.deepEqual((await page(opened)).requests, []);
    const untrusted = { ...ctx, clock: { ...ctx.clock, retainFrom: () => 0 } };
    assert.equal(await storage.read(() => hasOldRequests(untrusted, store.id)), false);
    assert.equal(await storage.write(() => eraseRequests(untrusted, store.id, 10)), false);
    assert.equal((await blocksOf(opened)).blocks, 1);
    assert.equal(await storage.read(() => hasOldRequests(ctx, store.id)), true);
    assert.equal(await storage.write(() => eraseRequests(ctx, store.id, 10)), false);
    assert.equal((await blocksOf(opened)).blocks, 0);
  });

  test('a store has at most 2,000 blocks, and the page says since when it is complete', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store, database } = opened;
    await write(requestWriter(opened), store.id, [requestAt(ctx.clock.now())]);
    // Each statement adds older copies of all rows, to 2,004.
    let blocks = 1;
    for (const added of [...Array.from({ length: 10 }, (_, power) => 2 ** power), 980]) {
      await database.tamper(sql`
        insert into request_blocks (store_id, id, started_at, ended_at, requests, dropped, results, kinds, content)
        select store_id, id - ${blocks}, started_at - ${blocks}, ended_at - ${blocks}, requests, dropped, results, kinds,
          content
        from request_blocks where store_id = ${store.id} order by id desc limit ${added}`);
      blocks += added;
    }
    assert.equal(await storage.read(() => hasOldRequests(ctx, store.id)), true);
    assert.equal(await storage.write(() => eraseRequests(ctx, store.id, 3)), true);
    assert.equal(await storage.write(() => eraseRequests(ctx, store.id, 3)), false);
    assert.equal((await blocksOf(opened)).blocks, 2_000);
    assert.equal(await storage.read(() => hasOldRequests(ctx, store.id)), false);
    const first = await page(opened);
    assert.equal(first.completeFrom, ctx.clock.now() - 1_999);
    assert.equal(first.requests.length, 50);
    const missing = { requestId: 'none' };
    const { requests, pages } = await allPages(opened, missing);
    assert.deepEqual([requests.length, pages], [0, 5], 'one read has a limit');
  });

  test('requests wait while the database does not accept changes, and those above the limit are counted', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    let isFull = true;
    const failing: typeof storage = {
      ...storage,
      write(script, scope) {
        return isFull ? Promise.reject(new Fault('not-writable')) : storage.write(script, scope);
      },
    };
    const writer = requestWriter({ ctx, storage: failing });
    const many = Array.from({ length: 1_500 }, () => requestAt(ctx.clock.now()));
    await write(writer, store.id, many, 4);
    await write(writer, store.id, many);
    assert.equal((await blocksOf(opened)).blocks, 0);
    isFull = false;
    await writer.write(new Map());
    const { blocks, requests } = await blocksOf(opened);
    assert.deepEqual([blocks, requests], [13, 2_500]);
    assert.equal((await page(opened)).dropped, 504);
    await write(writer, store.id, [requestAt(ctx.clock.now())]);
    assert.equal((await page(opened)).dropped, 504);
    await assert.rejects(
      write(
        requestWriter({ ctx, storage: { ...storage, write: () => Promise.reject(new Error('broken')) } }),
        store.id,
        many,
      ),
      ({ errors }: AggregateError) => errors[0] instanceof Error && errors[0].message === 'broken',
    );
  });
}

async function blocksOf({ storage, store }: OpenStore) {
  const blocks = await storage.read(() => listRequestBlocks(store.id, 10_000));
  return { blocks: blocks.length, requests: blocks.reduce((sum, { requests }) => sum + requests, 0) };
}
