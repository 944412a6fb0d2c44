/**
 * The service is killed while it delivers. Every event of every change that was acknowledged is delivered, retrying or
 * dead for every webhook; none is lost, and those that can be delivered are in the end.
 */

import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../harness/delivering.ts';
import { seeded } from '../harness/seeded.ts';
import { command, emptyFolder, openShop, serve } from '../harness/served.ts';
import { receiveWebhooks } from '../harness/webhook-receiver.ts';

const rounds = Number(process.env['CRASH_ROUNDS'] ?? 8);
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);
const connections = 16;
const domain = 'flowers.example';

/** Issues cards until the service is gone; answers those that were acknowledged. */
async function issueUntilKilled(url: string, token: string): Promise<number[]> {
  const ids: number[] = [];
  for (;;) {
    try {
      const response = await fetch(`${url}/gift_card`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{"initial_value": 5}',
      });
      if (response.status !== 201) return ids;
      ids.push(((await response.json()) as { readonly gift_card: { readonly id: number } }).gift_card.id);
    } catch {
      return ids;
    }
  }
}

test(`killed ${rounds} times while it delivers, the service loses no event`, async (t) => {
  t.diagnostic(`seed ${seed} (CRASH_SEED)`);
  const random = seeded(seed);
  using folder = emptyFolder();
  const { environment, databaseFile } = folder;
  const token = await openShop(environment, domain);
  await using receiver = await receiveWebhooks();
  await using failing = await receiveWebhooks();
  failing.answer = { status: 503 };
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
      Array.from({ length: connections }, () => issueUntilKilled(service.url, token)),
    );
    await wait(random.between(50, 900));
    service.kill('SIGKILL');
    acknowledged.push(...(await working).flat());
    await service.ended();
    assertAllAreThere(databaseFile, acknowledged);
  }

  await using service = await serve(environment);
  // What the last process had is handed on when its claim has run out.
  await until(
    () => countOf(databaseFile, receiver.url, 'delivered') === countOf(databaseFile, receiver.url),
    45_000,
  );
  service.kill('SIGTERM');
  assert.equal((await service.ended()).code, 0);
  const counts = assertAllAreThere(databaseFile, acknowledged);
  const told = new Set(receiver.got.map(({ event }) => event.data.gift_card?.id));
  assert.ok(acknowledged.every((id) => told.has(id)));
  const once = new Set(receiver.got.map(({ event }) => event.id)).size;
  t.diagnostic(
    `${acknowledged.length} cards acknowledged, ${once} events delivered, ${receiver.got.length - once} of them twice; ${counts}`,
  );
});

/** Asserts that every event is booked for both webhooks, and those of all acknowledged cards are among them. */
function assertAllAreThere(file: string, acknowledged: readonly number[]): string {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  try {
    const all = (text: string): Record<string, unknown>[] => database.prepare(text).all();
    const events = all(`select id, subject_id from events where type = 'gift_card.created'`);
    const subjects = new Set(events.map((row) => Number(row['subject_id'])));
    assert.deepEqual(
      acknowledged.filter((id) => !subjects.has(id)),
      [],
    );
    const rows = all(`select webhook_id, status, count(*) as count from webhook_deliveries group by 1, 2`);
    const sums = Map.groupBy(rows, (row) => row['webhook_id']);
    assert.equal(sums.size, 2);
    for (const group of sums.values())
      assert.equal(
        group.reduce((sum, row) => sum + Number(row['count']), 0),
        events.length,
      );
    return rows.map((row) => `${String(row['count'])} ${String(row['status'])}`).join(', ');
  } finally {
    database.close();
  }
}

function countOf(file: string, url: string, status?: string): number {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  try {
    const row = database
      .prepare(
        `select count(*) as count from webhook_deliveries d join webhooks w on w.id = d.webhook_id
         where w.url = ? and (d.status = ? or ? = '')`,
      )
      .get(url, status ?? '', status ?? '');
    return Number(row?.['count']);
  } finally {
    database.close();
  }
}
