/**
 * The service is killed while it advances the clock of a sandbox, and while it continues an advance. The clock is where it
 * was, or on its way to where it was to go; when the advance has been sent again, everything that was due is done once.
 *
 * `CRASH_ROUNDS` sets the number of rounds, `CRASH_SEED` the seed.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../support/delivering.ts';
import { assertVerified } from '../support/kills.ts';
import {
  assertBooksAgree,
  assertDoneOnce,
  clockIn,
  closedDays,
  dayMs,
  fillShop,
  openSandboxShop,
  scheduleReminders,
  shopAt,
} from '../support/sandbox-shop.ts';
import { seeded } from '../support/seeded.ts';
import { databaseToServe, serve, type Served } from '../support/served.ts';
import { receiveWebhooks } from '../support/webhook-receiver.ts';

const rounds = Math.min(12, Number(process.env['CRASH_ROUNDS'] ?? 6));
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);
const random = seeded(seed);
const domain = 'sandbox.example';
const [cards, days, lastDay] = [4, 30, 20];
/** The processor can be busy for this time while the clock runs. */
const slackMs = 10 * 60_000;

type Advance = { readonly json: object; readonly headers: Readonly<Record<string, string>> };

test(`everything is done once when the service is killed in ${rounds} advances`, async (t) => {
  t.diagnostic(`seed ${seed} (CRASH_SEED)`);
  await using database = await databaseToServe();
  const { environment } = database;
  const token = await openSandboxShop(environment, domain);
  await scheduleReminders(environment, domain);
  await using receiver = await receiveWebhooks();
  let service: Served = await serve(environment);
  const shop = shopAt(() => service.url, token);
  const offset = async (): Promise<{ readonly offsetMs: number; readonly isAdvancing: boolean }> => {
    const [row] = await database.query('select offset_ms, is_advancing from sandbox');
    return { offsetMs: Number(row?.['offset_ms']), isAdvancing: Number(row?.['is_advancing']) === 1 };
  };
  const kill = async (): Promise<void> => {
    service.kill('SIGKILL');
    await service.ended();
  };
  const found = { before: 0, between: 0, after: 0 };
  let kills = 0;

  /** Kills the service at a random moment of an advance of which `started` is the response. */
  const killWithin = async (from: number): Promise<void> => {
    const at = from + random() * days * dayMs;
    if (random() < 0.3) await wait(random.between(0, 300));
    else await until(async () => (await offset()).offsetMs >= at, 60_000).catch(() => undefined);
    await kill();
    kills += 1;
  };

  try {
    for (let round = 0; round < rounds; round += 1) {
      await fillShop(shop, { cards, days: lastDay, receiver: round === 0 ? receiver : null });
      const startedAt = Date.parse(clockIn(await shop.get('/test_clock')).now);
      const { offsetMs: from } = await offset();
      const to = startedAt + days * dayMs;
      const advance: Advance =
        round % 2 === 0
          ? { json: { to: new Date(to).toISOString() }, headers: {} }
          : {
              json: { advance_seconds: (days * dayMs) / 1_000 },
              headers: { 'idempotency-key': `round-${round}` },
            };
      for (let attempt = 0; attempt < 1 + (round % 2); attempt += 1) {
        const sent = shop.post('/test_clock', advance.json, advance.headers).catch(() => undefined);
        await killWithin(from);
        await sent;
        const { offsetMs, isAdvancing } = await offset();
        assert.ok(offsetMs >= from && offsetMs <= from + days * dayMs, `${from} ${offsetMs}`);
        if (!isAdvancing) assert.ok(offsetMs === from || offsetMs >= from + days * dayMs - slackMs);
        if (isAdvancing) found.between += 1;
        else found[offsetMs === from ? 'before' : 'after'] += 1;
        await assertVerified(environment);
        service = await serve(environment);
      }
      // The advance continues, and is a 409 until then.
      await until(async () => {
        const response = await shop.post('/test_clock', advance.json, advance.headers);
        if (response.status === 409) return false;
        assert.equal(clockIn(response).advancing_to, null);
        return true;
      }, 180_000);
      const { now } = clockIn(await shop.get('/test_clock'));
      assert.ok(Date.parse(now) >= to - 1_000 && Date.parse(now) <= to + slackMs, `${now}, not ${to}`);
      const count = async (table: string, where: string): Promise<number> => {
        const [row] = await database.query(`select count(*) as count from ${table} where ${where}`);
        return Number(row?.['count']);
      };
      const [entry] = await database.query('select min(created_at) as at from transfers');
      const closed = closedDays(Number(entry?.['at']), Date.parse(now));
      const done = { cards: (round + 1) * cards, days: closed };
      await assertDoneOnce(count, { ...done, receiver, reminders: 2 });
      await assertVerified(environment);
      await assertBooksAgree(shop, environment);
    }
    const ids = new Set(receiver.got.map(({ event }) => event.id));
    const twice = receiver.got.length - ids.size;
    // A webhook that was being sent at a kill can arrive twice.
    assert.ok(twice <= kills * 64, `${twice} webhooks arrived twice`);
    const { outstanding } = await balances(database);
    assert.equal(outstanding, BigInt(rounds * cards * 2_000));
    t.diagnostic(`${kills} kills: ${JSON.stringify(found)}; ${twice} of ${ids.size} webhooks arrived twice`);
  } finally {
    await service[Symbol.asyncDispose]();
  }
});

async function balances(database: Awaited<ReturnType<typeof databaseToServe>>) {
  const [row] = await database.query('select sum(balance) as outstanding from gift_cards');
  return { outstanding: BigInt(String(row?.['outstanding'])) };
}
