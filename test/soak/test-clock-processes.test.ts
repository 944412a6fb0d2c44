/**
 * Two processes serve a sandbox: each follows the clock that the other advances, and what becomes due is done once,
 * although both send webhooks and do what is due.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { problemOf } from '../support/responses.ts';
import {
  assertBooksAgree,
  assertDoneOnce,
  clockIn,
  closedDays,
  dayMs,
  fillShop,
  scheduleReminders,
  shopAt,
  type SandboxShop,
} from '../support/sandbox-shop.ts';
import { startService } from '../support/service.ts';
import { receiveWebhooks } from '../support/webhook-receiver.ts';

const domain = 'sandbox.example';
const [cards, days, lastDay, rounds] = [5, 30, 20, 4];

test('both processes have the same time, and everything that was due is done once', async () => {
  const stores = [{ domain, expiringSoonDays: 7 }];
  await using service = await startService({ stores, isSandbox: true, processes: 2 });
  await scheduleReminders(service.environment, domain);
  await using receiver = await receiveWebhooks();
  // Each process is sending while the other begins an advance.
  receiver.response = { status: 204, delayMs: 150 };
  const token = await service.token(domain);
  const [url = '', otherUrl = ''] = service.urls;
  const [one, other] = [shopAt(() => url, token), shopAt(() => otherUrl, token)];
  const now = async (shop: SandboxShop): Promise<number> =>
    Date.parse(clockIn(await shop.get('/test_clock')).now);
  const count = async (table: string, where: string): Promise<number> => {
    const [row] = await service.query(`select count(*) as count from ${table} where ${where}`);
    return Number(row?.['count']);
  };
  for (let round = 0; round < rounds; round += 1) {
    const [advancing, following]: readonly [SandboxShop, SandboxShop] =
      round % 2 === 0 ? [one, other] : [other, one];
    const before = await now(advancing);
    // Half of the cards are issued at each process, which then sends their webhooks.
    await fillShop(advancing, { cards, days: lastDay, receiver: round === 0 ? receiver : null });
    const [id] = await fillShop(following, { cards, days: lastDay });
    const { json } = await advancing.get(`/gift_card/${id}`);
    const { created_at: at } = (json as { readonly gift_card: { readonly created_at: string } }).gift_card;
    assert.ok(Date.parse(at) >= before - 1_000, 'each process issues at the time of the clock');
    const sent = advancing.post('/test_clock', { advance_seconds: (days * dayMs) / 1_000 });
    let isOver = false;
    void sent.finally(() => (isOver = true));
    let last = before;
    let rejected = 0;
    while (!isOver) {
      const { now: shown, advancing_to: to } = clockIn(await following.get('/test_clock'));
      assert.ok(Date.parse(shown) >= last, `${shown} after ${last}`);
      last = Date.parse(shown);
      if (to === null || rejected > 0) continue;
      const second = await following.post('/test_clock', {
        to: new Date(Date.parse(to) + dayMs).toISOString(),
      });
      problemOf(second, { code: 'test-clock-in-use' });
      rejected += 1;
    }
    const { done } = clockIn(await sent);
    assert.ok(rejected > 0, 'the other process never saw the advance');
    const [left, right] = [await now(advancing), await now(following)];
    assert.ok(right >= left && right - left < 60_000, `${left} ${right}`);
    assert.ok(left >= before + days * dayMs - 1_000);
    const made = 2 * cards * (round + 1);
    const [entry] = await service.query('select min(created_at) as at from transfers');
    const first = Number(entry?.['at']);
    const closed = closedDays(first, left);
    await assertDoneOnce(count, { cards: made, days: closed, receiver, reminders: 2 });
    assert.deepEqual(
      [done.holds_expired, done.cards_expired, done.cards_expiring_soon, done.days_closed],
      [2 * cards, 2 * cards, 2 * cards, closed - closedDays(first, before)],
    );
  }
  const ids = new Set(receiver.got.map(({ event }) => event.id));
  assert.equal(receiver.got.length, ids.size, 'a webhook arrived twice');
  await assertBooksAgree(one, service.environment);
});
