/**
 * A sandbox whose clock is advanced by hours and by a month. The clock is where it was or on its way to where it was to go, and
 * everything that was due until then is done once: holds, emails, reminders, expiries, days of the books and webhooks.
 */

import assert from 'node:assert/strict';
import { until } from '../../support/delivering.ts';
import {
  assertBooksAgree,
  assertDoneOnce,
  clockIn,
  closedDays,
  dayMs,
  fillShop,
  scheduleReminders,
  shopAt,
} from '../../support/sandbox-shop.ts';
import { receiveWebhooks } from '../../support/webhook-receiver.ts';
import { persist, type Load, type World } from '../killing.ts';

const domain = 'clock.example';
const [cards, days, lastDay] = [3, 30, 20];
const hourMs = 3_600_000;
/** Of this many services, one advances by a month. */
const every = 4;
/** The processor can be busy for this time while the clock runs. */
const slackMs = 10 * 60_000;

type Advance = {
  readonly json: object;
  readonly headers: Readonly<Record<string, string>>;
  readonly from: number;
  readonly byMs: number;
};

export type TestClock = {
  readonly open: (world: World) => Promise<Load>;
  /** Advances it at a running service. */
  readonly advance: (hours: number) => Promise<void>;
};

export function testClockLoad(): TestClock {
  let advanceBy: ((hours: number) => Promise<void>) | undefined;
  return {
    async advance(hours) {
      await advanceBy?.(hours);
    },
    async open(world) {
      const { database, environment, url, random, openStore, count } = world;
      const { token, storeId } = await openStore(domain);
      await scheduleReminders(environment, domain);
      const receiver = await receiveWebhooks();
      const shop = shopAt(() => url, token);
      const found = { before: 0, between: 0, after: 0 };
      let advances = 0;
      let services = 0;
      let filled = 0;
      /** Whether the next advance is of a month. */
      let isFilled = false;
      let kills = 0;
      let open: Advance | undefined;

      const offset = async (): Promise<{ readonly offsetMs: number; readonly isAdvancing: boolean }> => {
        const [row] = await database.query('select offset_ms, is_advancing from sandbox');
        return { offsetMs: Number(row?.['offset_ms']), isAdvancing: Number(row?.['is_advancing']) === 1 };
      };
      const begin = async (byMs: number): Promise<Advance> => {
        advances += 1;
        const { offsetMs: from } = await offset();
        const now = Date.parse(clockIn(await shop.get('/test_clock')).now);
        return advances % 2 === 0
          ? { json: { to: new Date(now + byMs).toISOString() }, headers: {}, from, byMs }
          : {
              json: { advance_seconds: byMs / 1_000 },
              headers: { 'idempotency-key': `advance-${advances}` },
              from,
              byMs,
            };
      };
      /** Sends an advance until it is made: it is a 409 while it continues after a kill. */
      const complete = async ({ json, headers }: Advance): Promise<void> => {
        await until(async () => {
          const response = await shop.post('/test_clock', json, headers);
          if (response.status === 409) return false;
          assert.equal(clockIn(response).advancing_to, null);
          return true;
        }, 240_000);
      };
      const assertDone = async (): Promise<void> => {
        const { now } = clockIn(await shop.get('/test_clock'));
        const ofStore = (table: string, where: string) =>
          count(`select count(*) from ${table} where store_id = ? and ${where}`, storeId);
        const first = await count('select min(created_at) from transfers where store_id = ?', storeId);
        const done = { cards: filled, days: closedDays(first, Date.parse(now)) };
        await assertDoneOnce(ofStore, { ...done, receiver, reminders: 2 });
      };
      advanceBy = async (hours) => complete(await begin(hours * hourMs));

      return {
        name: 'test clock',
        count: () => advances,
        async work(isOver) {
          if (open) return;
          const advance = await begin(isFilled ? days * dayMs : random.between(1, 5) * hourMs);
          isFilled = false;
          open = advance;
          const isComplete = await persist(isOver, async () => {
            await complete(advance);
            return true;
          });
          if (isComplete) open = undefined;
        },
        async whileDown() {
          // The claims of the killed process end, as they do after some minutes. Until then, the clock does not move.
          for (const table of ['online_sales', 'email_deliveries', 'webhook_deliveries'])
            await database.meddle(`update ${table} set next_at = 1 where lease is not null`);
          if (!open) return;
          kills += 1;
          const { from, byMs } = open;
          const { offsetMs, isAdvancing } = await offset();
          assert.ok(offsetMs >= from && offsetMs <= from + byMs, `${from} ${offsetMs} ${byMs}`);
          if (!isAdvancing)
            assert.ok(offsetMs === from || offsetMs >= from + byMs - slackMs, `${from} ${offsetMs} ${byMs}`);
          if (isAdvancing) found.between += 1;
          else found[offsetMs === from ? 'before' : 'after'] += 1;
        },
        async checkRestarted() {
          // An advance that was interrupted twice continues as well.
          if (open && services % every !== 0 && random() < 0.4) return;
          if (open) {
            await complete(open);
            const { offsetMs } = await offset();
            assert.ok(offsetMs >= open.from + open.byMs - slackMs, `${open.from} ${offsetMs} ${open.byMs}`);
            open = undefined;
          }
          services += 1;
          if (services % every !== 1) return;
          await fillShop(shop, { cards, days: lastDay, receiver: filled === 0 ? receiver : null });
          filled += cards;
          isFilled = true;
        },
        async checkEnd() {
          if (open) await complete(open);
          open = undefined;
          await complete(await begin(days * dayMs));
          await assertDone();
          await assertBooksAgree(shop, environment);
          const ids = new Set(receiver.got.map(({ event }) => event.id));
          const twice = receiver.got.length - ids.size;
          // A webhook that was being sent at a kill can arrive twice.
          assert.ok(twice <= kills * 64, `${twice} webhooks arrived twice`);
          const outstanding = await count('select sum(balance) from gift_cards where store_id = ?', storeId);
          assert.equal(outstanding, filled * 2_000);
        },
        summary: () => `${advances} advances, kills found it ${JSON.stringify(found)}`,
        close: async () => receiver[Symbol.asyncDispose](),
      };
    },
  };
}
