/**
 * Shards move between workers while stores are used and their events are read:
 * `npx node test/citus/move-shards.ts`
 *
 * A reader of each store follows its events. It receives every event once, in an order that a second reader,
 * which starts at the end, repeats. The events of a card are in the order of its versions.
 * `CITUS_ROUNDS` and `CITUS_SEED` set the number of moves and the seed.
 */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { deadlineIn } from '../support/deadline.ts';
import { assertVerifies } from '../support/postgres-service.ts';
import { assertAppliedOnce, countSuccesses, errorsOf, startWork } from '../support/retrying-client.ts';
import { seeded } from '../support/seeded.ts';
import { serve } from '../support/served.ts';
import { startCluster } from './cluster.ts';
import { clientsOf, openShops, report, seed, type Shop } from './shops.ts';

const rounds = Number(process.env['CITUS_ROUNDS'] ?? 6);
const pollMs = 100;
const catchUpMs = 30_000;
/** Citus removes the former shards in the background, as soon as no transaction uses them. */
const cleanUpMs = 60_000;
const pageSize = 250;
/** The workers count their transactions separately. This makes the counters differ, as they do in production. */
const transactionsAhead = 50_000;
const random = seeded(seed);
report(`seed ${seed} (CITUS_SEED), ${rounds} moves`);

type Event = {
  readonly id: number;
  readonly sequence: number;
  readonly data: { readonly gift_card?: { readonly id: number } };
};

/** The pages that had to be read again. */
let unavailable = 0;

/** Reads the events of a store after those that it has read. */
async function readOn(url: string, { token }: Shop, events: Event[]): Promise<void> {
  for (;;) {
    const last = events.at(-1);
    const query = `limit=${pageSize}${last ? `&after=${last.id}` : ''}`;
    const response = await fetch(`${url}/events?${query}`, { headers: { authorization: `Bearer ${token}` } });
    const text = await response.text();
    // The client reads the page again.
    if (response.status === 503) {
      unavailable += 1;
      return;
    }
    assert.equal(response.status, 200, text);
    const { events: page } = JSON.parse(text) as { readonly events: readonly Event[] };
    events.push(...page);
    if (page.length < pageSize) return;
  }
}

function assertOrdered(shop: Shop, events: readonly Event[]): void {
  const versions = new Map<number, number>();
  const seen = new Set<number>();
  for (const { id, sequence, data } of events) {
    assert.ok(!seen.has(id), `${shop.domain}: the event ${id} was received twice`);
    seen.add(id);
    const card = data.gift_card?.id;
    if (card === undefined) continue;
    const before = versions.get(card) ?? 0;
    assert.ok(sequence >= before, `${shop.domain}: version ${sequence} of card ${card} after ${before}`);
    versions.set(card, sequence);
  }
}

/** Moves the shards of a store. It waits until Citus has removed what an earlier move left, as an operator does. */
async function move({ storeId }: Shop, from: number, to: number): Promise<void> {
  const deadline = deadlineIn(cleanUpMs);
  for (;;)
    try {
      await query(
        `select citus_move_shard_placement(get_shard_id_for_distribution_column('gift_cards', $1::bigint),
           '127.0.0.1', $2, '127.0.0.1', $3, 'force_logical')`,
        [storeId, from, to],
      );
      return;
    } catch (error) {
      if (deadline.isOver() || !/leftover from the previous move/.test(String(error))) throw error;
      await wait(pollMs);
    }
}

await using cluster = await startCluster();
using open = await openShops(cluster, 12);
const { shops, environment, keysFile, query } = open;
const [ahead] = cluster.workers;
assert.ok(ahead);
await ahead.query(
  `do $$ begin for i in 1..${transactionsAhead} loop perform pg_current_xact_id(); commit; end loop; end $$`,
);
await using first = await serve(environment);
await using second = await serve(environment);
const urls = [first.url, second.url];
const byShop = clientsOf(shops, random);
const clients = [...byShop.values()];
const work = startWork(clients, urls);
const received = new Map(shops.map((shop) => [shop, [] as Event[]]));
let isReadingOver = false;
const reading = Promise.all(
  [...received].map(async ([shop, events], place) => {
    while (!isReadingOver) {
      await readOn(urls[place % urls.length] ?? '', shop, events);
      await wait(pollMs);
    }
  }),
);
reading.catch(() => {});

for (let round = 1; round <= rounds; round += 1) {
  await Promise.race([work.untilEachSucceeds(3), reading]);
  const places = await open.places();
  // From the worker with the higher counter to the other one, and back.
  const from = cluster.workers[(round - 1) % cluster.workers.length];
  const to = cluster.workers.find((worker) => worker !== from);
  const shop = shops.find(({ storeId }) => places.get(storeId) === from?.port);
  assert.ok(from && to && shop);
  const startedAt = performance.now();
  await move(shop, from.port, to.port);
  const movedMs = performance.now() - startedAt;
  assert.equal((await open.places()).get(shop.storeId), to.port);
  await Promise.race([work.untilEachSucceeds(2), reading]);
  report(
    `round ${round}: ${shop.domain} moved ${from === ahead ? 'to the lower counter' : 'to the higher counter'} ` +
      `in ${Math.round(movedMs)} ms; ${countSuccesses(clients)} acknowledged so far`,
  );
}
await work.end();
await assertAppliedOnce(clients, query, keysFile);

const missing: string[] = [];
for (const [shop, events] of received) {
  const rows = await query('select id::text as id from events where store_id = $1', [shop.storeId]);
  const deadline = performance.now() + catchUpMs;
  while (events.length < rows.length && performance.now() < deadline) await wait(pollMs);
  const own = new Set(events.map(({ id }) => id));
  const lost = rows.map(({ id }) => Number(id)).filter((id) => !own.has(id));
  if (lost.length > 0)
    missing.push(`${shop.domain}: ${lost.length} of ${rows.length} events were not received`);
}
isReadingOver = true;
await reading;
const wrong: string[] = [...missing];
for (const [shop, events] of received) {
  const again: Event[] = [];
  await readOn(first.url, shop, again);
  try {
    assertOrdered(shop, events);
    assert.deepEqual(
      again.map(({ id }) => id),
      events.map(({ id }) => id),
      `${shop.domain}: a later reader gets another order`,
    );
  } catch (error) {
    wrong.push(error instanceof Error ? error.message.slice(0, 300) : String(error));
  }
}
assert.deepEqual(wrong, []);
await assertVerifies(environment);
const total = [...received.values()].reduce((sum, events) => sum + events.length, 0);
const slowest = Math.max(...clients.map(({ slowestMs }) => slowestMs));
report(
  `${rounds} moves; ${countSuccesses(clients)} acknowledged, each applied once; ${total} events received once and in order; ` +
    `the slowest response took ${Math.round(slowest)} ms; ${JSON.stringify(errorsOf(clients))}, and ${unavailable} pages of events were read again`,
);
