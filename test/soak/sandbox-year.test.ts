/** A year passes in a sandbox: everything that becomes due is done once, and the books agree. */

import assert from 'node:assert/strict';
import test from 'node:test';
import {
  assertBooksAgree,
  assertDoneOnce,
  clockIn,
  closedDays,
  dayMs,
  fillShop,
  scheduleReminders,
  shopAt,
} from '../support/sandbox-shop.ts';
import { startService } from '../support/service.ts';
import { receiveWebhooks } from '../support/webhook-receiver.ts';

const domain = 'sandbox.example';
const [cards, days, lastDay] = [50, 365, 300];

test('a year passes, and everything that was due is done once', async (t) => {
  await using service = await startService({ stores: [{ domain, expiringSoonDays: 7 }], isSandbox: true });
  await scheduleReminders(service.environment, domain);
  await using receiver = await receiveWebhooks();
  const shop = shopAt(() => service.url, await service.token(domain));
  await fillShop(shop, { cards, days: lastDay, receiver });
  const startedAt = performance.now();
  const record = clockIn(await shop.post('/test_clock', { advance_seconds: (days * dayMs) / 1_000 }));
  t.diagnostic(`a year took ${Math.round((performance.now() - startedAt) / 1_000)} s`);
  const { done } = record;
  const [entry] = await service.query('select min(created_at) as at from transfers');
  const closed = closedDays(Number(entry?.['at']), Date.parse(record.now));
  assert.deepEqual(
    [done.holds_expired, done.cards_expired, done.cards_expiring_soon, done.days_closed],
    [cards, cards, cards, closed],
  );
  // Events from before the advance can have been sent before it.
  assert.ok(done.webhook_attempts > cards && done.webhook_attempts <= receiver.got.length);
  assert.equal(receiver.got.length, new Set(receiver.got.map(({ event }) => event.id)).size);
  const count = async (table: string, where: string): Promise<number> => {
    const [row] = await service.query(`select count(*) as count from ${table} where ${where}`);
    return Number(row?.['count']);
  };
  await assertDoneOnce(count, { cards, days: closed, receiver, reminders: 3 });
  await assertBooksAgree(shop, service.environment);
});
