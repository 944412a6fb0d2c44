/** A running service whose clock jumps. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { deadlineIn } from '../support/deadline.ts';
import { until } from '../support/delivering.ts';
import { startService, type TestResponse, type TestService } from '../support/service.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const domain = 'flowers.example';

/** Short periods for every background task. */
const eager = {
  upkeepPeriodMs: 20,
  holdExpiryPeriodMs: 20,
  expiryPeriodMs: 20,
  reminderPeriodMs: 20,
} as const;
/** Several periods of every background task. */
const roundsMs = 300;

type Ask = (line: string, json?: object, key?: string) => Promise<TestResponse>;

async function open(
  environment: Readonly<Record<string, string>> = {},
): Promise<AsyncDisposable & { readonly service: TestService; readonly ask: Ask }> {
  const service = await startService({ stores: [{ domain }], environment, limits: eager });
  const token = await service.token(domain);
  return {
    service,
    ask(line, json, key) {
      const [method = '', path = ''] = line.split(' ');
      const headers = key === undefined ? {} : { 'idempotency-key': key };
      return service.request(path, { method, token, headers, ...(json && { json }) });
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

type Body = {
  readonly gift_card: { readonly id: number; readonly balance: string; readonly code: string };
  readonly hold: { readonly id: number; readonly status: string };
};

function bodyOf(response: TestResponse, status: number): Body {
  assert.equal(response.status, status, response.text);
  return response.json as Body;
}

async function issue(ask: Ask, more: object = {}): Promise<number> {
  return bodyOf(await ask('POST /gift_card', { initial_value: 100, ...more }), 201).gift_card.id;
}

async function balanceOf(ask: Ask, id: number): Promise<string> {
  return bodyOf(await ask(`GET /gift_card/${id}`), 200).gift_card.balance;
}

async function metricOf(service: TestService): Promise<number> {
  const { text } = await service.request('/metrics');
  return Number(/^largesse_clock_jump_seconds (\S+)$/m.exec(text)?.[1]);
}

async function untilStatus(ask: Ask, hold: number, status: string): Promise<void> {
  const deadline = deadlineIn(30_000);
  while (bodyOf(await ask(`GET /holds/${hold}`), 200).hold.status !== status) {
    assert.ok(!deadline.isOver(), `the hold does not become ${status}`);
    await wait(20);
  }
}

test('a clock that is a day ahead for a minute does not repeat a debit', async () => {
  await using opened = await open();
  const { service, ask } = opened;
  const id = await issue(ask);
  const debit = () => ask(`POST /gift_card/${id}/debit`, { amount: 10 }, 'receipt-1');
  const first = await debit();
  assert.equal(first.status, 201);
  service.clock.jump(day);
  await wait(roundsMs);
  const during = await debit();
  service.clock.advance(minute);
  service.clock.jump(-day);
  await wait(roundsMs);
  const afterwards = await debit();
  for (const replayed of [during, afterwards])
    assert.deepEqual([replayed.text, replayed.headers.get('idempotent-replayed')], [first.text, 'true']);
  assert.equal(await balanceOf(ask, id), '90.00');
});

test('a hold of 22 hours remains open while the clock is a day ahead for a minute', async () => {
  await using opened = await open();
  const { service, ask } = opened;
  const id = await issue(ask);
  const placed = await ask(`POST /gift_card/${id}/holds`, { amount: 80, expires_in: 22 * 3_600 });
  const { hold } = bodyOf(placed, 201);
  service.clock.jump(day);
  await wait(roundsMs);
  assert.equal(bodyOf(await ask(`GET /holds/${hold.id}`), 200).hold.status, 'open');
  // A movement that needs the amount would close an expired hold.
  assert.equal((await ask(`POST /gift_card/${id}/debit`, { amount: 50 })).status, 422);
  service.clock.advance(minute);
  service.clock.jump(-day);
  const captured = bodyOf(await ask(`POST /holds/${hold.id}/capture`), 201);
  assert.deepEqual([captured.hold.status, captured.gift_card.balance], ['captured', '20.00']);
});

test('a hold that is placed while the clock is a day behind lasts its full time', async () => {
  await using opened = await open();
  const { service, ask } = opened;
  const id = await issue(ask);
  service.clock.jump(-day);
  const { hold } = bodyOf(await ask(`POST /gift_card/${id}/holds`, { amount: 80 }), 201);
  service.clock.jump(day);
  await wait(roundsMs);
  assert.equal(bodyOf(await ask(`POST /holds/${hold.id}/capture`), 201).hold.status, 'captured');
});

for (const { name, byMs } of [
  { name: 'ahead', byMs: day },
  { name: 'behind', byMs: -2 * day },
]) {
  test(`a response that is stored while the clock is ${name} is retained for 24 hours of real time`, async () => {
    await using opened = await open();
    const { service, ask } = opened;
    const id = await issue(ask);
    const debit = () => ask(`POST /gift_card/${id}/debit`, { amount: 10 }, 'receipt-1');
    service.clock.jump(byMs);
    assert.equal((await debit()).status, 201);
    service.clock.jump(-byMs);
    for (const passedMs of [0, 23 * hour]) {
      service.clock.advance(passedMs);
      await wait(roundsMs);
      assert.equal((await debit()).headers.get('idempotent-replayed'), 'true', `after ${passedMs} ms`);
    }
    assert.equal(await balanceOf(ask, id), '90.00');
  });
}

test('a clock jump is logged as an error and counted, and the clock is trusted after an hour without jumps', async () => {
  await using opened = await open();
  const { service, ask } = opened;
  const id = await issue(ask);
  const { hold } = bodyOf(
    await ask(`POST /gift_card/${id}/holds`, { amount: 80, expires_in: 22 * 3_600 }),
    201,
  );
  const debit = () => ask(`POST /gift_card/${id}/debit`, { amount: 10 }, 'receipt-1');
  assert.equal((await debit()).status, 201);
  assert.equal(await metricOf(service), 0);
  assert.doesNotMatch(service.log(), /jumped/);
  service.clock.jump(day);
  await until(async () => (await metricOf(service)) !== 0);
  const ahead = await metricOf(service);
  assert.ok(ahead > 86_390 && ahead < 86_410, String(ahead));
  const lines = service
    .log()
    .split('\n')
    .filter((line) => line.includes('the system clock has jumped'));
  assert.equal(lines.length, 1);
  const { level, jump_seconds: jump } = JSON.parse(lines[0] ?? '') as {
    readonly level: number;
    readonly jump_seconds: number;
  };
  assert.deepEqual([level, jump], [50, 86_400]);

  service.clock.advance(hour + minute);
  await untilStatus(ask, hold.id, 'expired');
  assert.equal(await metricOf(service), 0);
  assert.match(service.log(), /"jump_seconds":86400,.*it is trusted again/);
  // The record from before the jump is an hour old, whatever its timestamp is.
  await wait(roundsMs);
  assert.equal((await debit()).headers.get('idempotent-replayed'), 'true');
  service.clock.advance(24 * hour);
  await until(async () => (await debit()).headers.get('idempotent-replayed') === null);
});

test('a clock that is ahead does not expire cards, publish expiries or send emails early', async () => {
  await using opened = await open();
  const { service, ask } = opened;
  const dayAt = (ms: number): string => new Date(Date.now() + ms).toISOString().slice(0, 10);
  const expiring = await issue(ask, { expires_on: dayAt(2 * day) });
  const scheduled = await issue(ask, { recipient_email: 'grace@example.com', send_on: dayAt(2 * day) });
  service.clock.jump(4 * day);
  await wait(roundsMs + 1_500);
  assert.equal((await ask(`POST /gift_card/${expiring}/debit`, { amount: 1 })).status, 201);
  const { deliveries } = (await ask(`GET /gift_card/${scheduled}/deliveries`)).json as {
    readonly deliveries: readonly { readonly status: string }[];
  };
  assert.deepEqual(
    deliveries.map(({ status }) => status),
    ['scheduled'],
  );
  service.clock.jump(-4 * day);
  let types: readonly string[] = [];
  await until(async () => {
    const { json } = await ask('GET /events');
    types = (json as { readonly events: readonly { readonly type: string }[] }).events.map(
      ({ type }) => type,
    );
    return types.includes('gift_card.redeemed');
  });
  assert.ok(!types.includes('gift_card.expired'), types.join());
});

test('an event that is recorded while the clock is ahead is delivered at once', async () => {
  await using opened = await open();
  const { service, ask } = opened;
  const made = await ask('POST /webhooks', { url: 'https://hooks.example/', events: ['gift_card.*'] });
  assert.equal(made.status, 201, made.text);
  service.clock.jump(day);
  const before = Date.now();
  await issue(ask);
  const [row] = await service.query('select created_at from webhook_deliveries');
  const createdAt = Number(row?.['created_at']);
  assert.ok(
    createdAt >= before - minute && createdAt <= Date.now() + minute,
    new Date(createdAt).toISOString(),
  );
});

test('failed lookups while the clock is ahead do not block a caller after its correction', async () => {
  await using opened = await open({ LOOKUP_MISSES: '2' });
  const { service, ask } = opened;
  const look = async (): Promise<number> =>
    (await ask('POST /gift_card/lookup', { code: 'no such code at all' })).status;
  service.clock.jump(day);
  assert.deepEqual([await look(), await look(), await look()], [404, 404, 429]);
  service.clock.jump(-day);
  assert.deepEqual([await look(), await look(), await look()], [404, 404, 429]);
});

test('a caller who was limited while the clock was ahead is not limited longer after its correction', async () => {
  await using opened = await open({ RATE_LIMIT: '1/2' });
  const { service, ask } = opened;
  const exhaust = async (): Promise<void> => {
    const deadline = deadlineIn(30_000);
    while ((await ask('GET /events')).status !== 429) assert.ok(!deadline.isOver());
  };
  service.clock.jump(day);
  await exhaust();
  service.clock.jump(-day);
  service.clock.advance(10_000);
  assert.equal((await ask('GET /events')).status, 200);
});
