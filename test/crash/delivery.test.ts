/**
 * The service is killed during deliveries. Every event of an acknowledged change stays delivered, retrying or
 * dead for every webhook, and every event that can be delivered is delivered in the end.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { publicIdsOf } from '../support/public-ids.ts';
import { until } from '../support/delivering.ts';
import { seeded } from '../support/seeded.ts';
import type { EngineDatabase } from '../support/engine-database.ts';
import { command, databaseToServe, serve } from '../support/served.ts';
import { receiveWebhooks } from '../support/webhook-receiver.ts';

const rounds = Number(process.env['CRASH_ROUNDS'] ?? 2);
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);
const connections = 16;
/** The demonstration store, whose webhooks can use this machine. */
const domain = 'demo.localhost';

/** Issues cards until the service is killed, and records the acknowledged ones. */
async function issueUntilKilled(url: string, token: string, ids: number[]): Promise<void> {
  for (;;) {
    try {
      const response = await fetch(`${url}/gift_card`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{"initial_value": 5}',
      });
      if (response.status !== 201) return;
      ids.push(((await response.json()) as { readonly gift_card: { readonly id: number } }).gift_card.id);
    } catch {
      return;
    }
  }
}

test(`the service loses no event when killed ${rounds} times during deliveries`, async (t) => {
  t.diagnostic(`seed ${seed} (CRASH_SEED)`);
  const random = seeded(seed);
  await using database = await databaseToServe();
  const { environment } = database;
  {
    await using first = await serve(environment);
    first.kill('SIGTERM');
    await first.ended();
  }
  const tokenMade = await command(environment, 'token', 'create', '--store', domain, '--json');
  assert.equal(tokenMade.code, 0, tokenMade.errors);
  const { token } = JSON.parse(tokenMade.output) as { readonly token: string };
  await using receiver = await receiveWebhooks();
  await using failing = await receiveWebhooks();
  failing.response = { status: 503 };
  for (const { url } of [receiver, failing]) {
    const made = await command(
      environment,
      'webhook',
      'create',
      '--store',
      domain,
      '--url',
      url,
      '--events',
      '*',
    );
    assert.equal(made.code, 0, made.errors);
  }
  const acknowledged: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    await using service = await serve(environment);
    const working = Promise.all(
      Array.from({ length: connections }, () => issueUntilKilled(service.url, token, acknowledged)),
    );
    const cards = acknowledged.length + random.between(1, 500);
    await until(() => acknowledged.length >= cards);
    await wait(random.between(0, 100));
    service.kill('SIGKILL');
    await working;
    await service.ended();
    await assertAllAreThere(database, acknowledged);
  }

  // The deliveries of the last process are sent again when their claim expires, after 30 seconds. Only long
  // runs wait for that.
  if (process.env['CRASH_ROUNDS'] === undefined)
    await database.meddle('update webhook_deliveries set next_at = 1 where lease is not null');
  await using service = await serve(environment);
  const open = `select count(*) as count from webhook_deliveries d join webhooks w on w.id = d.webhook_id
    where w.url = ? and d.status <> 'delivered'`;
  // Each round leaves deliveries of several hundred events behind.
  const deliveredWithinMs = 60_000 + rounds * 5_000;
  const startedAt = performance.now();
  await until(
    async () => Number((await database.query(open, receiver.url))[0]?.['count']) === 0,
    deliveredWithinMs,
  );
  t.diagnostic(`the last process delivered the rest in ${Math.round(performance.now() - startedAt)} ms`);
  service.kill('SIGTERM');
  assert.equal((await service.ended()).code, 0);
  const counts = await assertAllAreThere(database, acknowledged);
  const received = new Set(receiver.got.map(({ event }) => event.data.gift_card?.id));
  assert.ok(acknowledged.every((id) => received.has(id)));
  const once = new Set(receiver.got.map(({ event }) => event.id)).size;
  t.diagnostic(
    `${acknowledged.length} cards acknowledged, ${once} events delivered, ${receiver.got.length - once} of them twice; ${counts}`,
  );
});

/** Asserts that every event is queued for both webhooks, including those of all acknowledged cards. */
async function assertAllAreThere(database: EngineDatabase, acknowledged: readonly number[]): Promise<string> {
  // One statement, because a server can still commit requests of the killed process. Other events, such as of the
  // demonstration's cards that expire at midnight, are not counted.
  const rows = await database.query(
    `select d.webhook_id, d.status, count(*) as count,
       (select count(*) from events where type = 'gift_card.created') as events
     from webhook_deliveries d join events e on e.store_id = d.store_id and e.id = d.event_id
     where e.type = 'gift_card.created' group by d.webhook_id, d.status`,
  );
  const byWebhook = Map.groupBy(rows, (row) => row['webhook_id']);
  for (const group of byWebhook.values()) {
    const enqueued = group.reduce((sum, row) => sum + Number(row['count']), 0);
    assert.equal(enqueued, Number(group[0]?.['events']));
  }
  assert.equal(byWebhook.size, acknowledged.length > 0 ? 2 : byWebhook.size);
  const events = await database.query(`select subject_id from events where type = 'gift_card.created'`);
  const ids = publicIdsOf(database.keysFile);
  const subjects = new Set<number>(events.map((row) => ids.of(Number(row['subject_id']))));
  assert.deepEqual(
    acknowledged.filter((id) => !subjects.has(id)),
    [],
  );
  return rows.map((row) => `${String(row['count'])} ${String(row['status'])}`).join(', ');
}
