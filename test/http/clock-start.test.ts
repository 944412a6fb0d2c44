/** A service that starts with a wrong clock: the errors it returns and the work it postpones. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { deadlineIn } from '../support/deadline.ts';
import { ClockError, wallClockOf } from '../../src/platform/clock.ts';
import { readConfig, type Config } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { logWith } from '../../src/platform/log.ts';
import { start, type Service } from '../../src/start/main.ts';
import { StartError } from '../../src/start/error.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { createToken } from '../../src/core/stores/service/token.ts';
import { scopes } from '../../src/core/stores/domain/store.ts';
import { engine } from '../support/engine.ts';
import { until } from '../support/delivering.ts';
import type { EngineDatabase } from '../support/engine-database.ts';
import { newStore } from '../support/fixtures.ts';
import { testClock, type TestClock } from '../support/service.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const hasServer = process.env['TEST_ENGINE'] === 'postgres';
/** Several periods of every background task. */
const roundsMs = 300;

type Shop = AsyncDisposable & {
  readonly database: EngineDatabase;
  readonly clock: TestClock;
  /** Starts a service. The previous one must have stopped. */
  start(environment?: Readonly<Record<string, string>>): Promise<Service>;
  ask(service: Service, line: string, json?: object): Promise<Response>;
  /** Repeats the debit with the same idempotency key. */
  debit(service: Service): Promise<Response>;
  holdStatus(service: Service): Promise<string>;
  readonly log: () => string;
};

/** A store with a card, a debit with a key and a hold of 22 hours, created by a service that has stopped. */
async function open({ runsMs = 0 }: { readonly runsMs?: number } = {}): Promise<Shop> {
  const database = await engine.createDatabase();
  const configOf = (environment: Readonly<Record<string, string>> = {}): Config => {
    const config = readConfig({ ...database.environment, PORT: '0', RATE_LIMIT: 'off', ...environment });
    return {
      ...config,
      limits: { ...config.limits, upkeepPeriodMs: 20, heartbeatPeriodMs: 20, holdExpiryPeriodMs: 20 },
    };
  };
  const clock = testClock();
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  const log = logWith(pino({ level: 'info', messageKey: 'message' }, sink));
  const token = await (async () => {
    await using opened = await openDatabase(configOf(), { prepare: true, clock: wallClockOf(clock) });
    const { ctx, storage } = opened;
    const store = await storage.write(() => createStore(ctx, newStore()));
    return (await storage.write(() => createToken(ctx, { store, name: 'test', scopes }))).secret.reveal();
  })();
  const ask = (service: Service, line: string, json?: object, key?: string): Promise<Response> => {
    const [method = '', path = ''] = line.split(' ');
    return fetch(`${service.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(json && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      ...(json && { body: JSON.stringify(json) }),
    });
  };
  let card = 0;
  let holdId = 0;
  const shop: Shop = {
    database,
    clock,
    log: () => lines.join(''),
    start: (environment) => start(configOf(environment), { clock, log }),
    ask: (service, line, json) => ask(service, line, json),
    debit: (service) => ask(service, `POST /gift_card/${card}/debit`, { amount: 10 }, 'receipt-1'),
    async holdStatus(service) {
      const { hold } = (await (await ask(service, `GET /holds/${holdId}`)).json()) as {
        readonly hold: { readonly status: string };
      };
      return hold.status;
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
  await using service = await shop.start();
  const issued = await ask(service, 'POST /gift_card', { initial_value: 100 });
  ({
    gift_card: { id: card },
  } = (await issued.json()) as { gift_card: { id: number } });
  const placed = await ask(service, `POST /gift_card/${card}/holds`, { amount: 20, expires_in: 79_200 });
  ({
    hold: { id: holdId },
  } = (await placed.json()) as { hold: { id: number } });
  assert.equal((await shop.debit(service)).status, 201);
  clock.advance(runsMs);
  await wait(roundsMs);
  return shop;
}

async function errorOf(starting: Promise<Service>): Promise<string> {
  try {
    await using _service = await starting;
  } catch (error) {
    assert.ok(error instanceof StartError, String(error));
    return error.message;
  }
  return assert.fail('the service has started');
}

/** Returns whether the repeated debit was executed again. */
async function isDoneAgain(shop: Shop, service: Service): Promise<boolean> {
  const response = await shop.debit(service);
  assert.equal(response.status, 201);
  await response.text();
  return response.headers.get('idempotent-replayed') === null;
}

for (const [year, instant] of [
  ['1970', 0],
  ['2059', Date.UTC(2059, 0, 1)],
  ['2095', Date.UTC(2095, 5, 1)],
] as const) {
  test(`the service does not start in ${year}, and does not create a database`, async () => {
    await using database = await engine.createDatabase({ empty: true });
    const clock = testClock();
    clock.jump(instant - clock.now());
    for (const environment of [{}, { IMPLAUSIBLE_CLOCK: 'allow' }]) {
      const config = readConfig({ ...database.environment, PORT: '0', ...environment });
      const starting = start(config, { clock, log: logWith(pino({ level: 'silent' })) });
      await assert.rejects(
        starting,
        (error) =>
          error instanceof ClockError &&
          error.message.includes(`${year}-`) &&
          error.message.includes('2025 to 2058'),
      );
    }
  });
}

test('the service does not start if its clock is over an hour before the newest event, unless IMPLAUSIBLE_CLOCK allows it', async () => {
  await using shop = await open();
  shop.clock.jump(-50 * minute);
  await (await shop.start())[Symbol.asyncDispose]();
  shop.clock.jump(-20 * minute);
  const message = await errorOf(shop.start());
  assert.match(
    message,
    hasServer ? /the clock of the database server is at / : /the newest event in the database is from /,
  );
  assert.match(message, /accept it with IMPLAUSIBLE_CLOCK=allow$/);
  await using service = await shop.start({ IMPLAUSIBLE_CLOCK: 'allow' });
  assert.match(shop.log(), /"level":40[^\n]*"message":"the system clock is at /);
  assert.equal(await isDoneAgain(shop, service), false);
});

test('the service does not start if its clock is over an hour before its last run', async () => {
  await using shop = await open({ runsMs: 3 * hour });
  shop.clock.advance(-130 * minute);
  const message = await errorOf(shop.start());
  assert.match(message, /the service last ran on this database at /);
});

test('a service that starts with its clock a day ahead repeats no debit and erases nothing for an hour', async () => {
  await using shop = await open();
  shop.clock.jump(day + hour);
  if (hasServer) assert.match(await errorOf(shop.start()), /the clock of the database server/);
  {
    await using service = await shop.start({ IMPLAUSIBLE_CLOCK: 'allow' });
    await wait(roundsMs);
    assert.equal(await isDoneAgain(shop, service), false);
    shop.clock.advance(59 * minute);
    await wait(roundsMs);
    assert.equal(await isDoneAgain(shop, service), false);
  }
  // The next start waits for another hour, because the previous one did not trust its clock.
  await using service = await shop.start({ IMPLAUSIBLE_CLOCK: 'allow' });
  shop.clock.advance(59 * minute);
  await wait(roundsMs);
  assert.equal(await isDoneAgain(shop, service), false);
  shop.clock.advance(2 * minute);
  await until(() => isDoneAgain(shop, service));
});

test('a restart within an hour of the last run continues to erase old records', async () => {
  await using shop = await open({ runsMs: 23 * hour + 30 * minute });
  shop.clock.advance(40 * minute);
  await using service = await shop.start({ IMPLAUSIBLE_CLOCK: 'allow' });
  if (hasServer) return assert.match(shop.log(), /the clock of the database server/);
  assert.doesNotMatch(shop.log(), /nothing confirms the system clock/);
  await until(() => isDoneAgain(shop, service));
});

test('after a longer pause requests see holds as expired at once, and the background task closes them an hour later', async () => {
  await using shop = await open();
  shop.clock.advance(day + hour);
  await using service = await shop.start({ IMPLAUSIBLE_CLOCK: 'allow' });
  assert.equal(await shop.holdStatus(service), 'expired');
  assert.equal(await isDoneAgain(shop, service), false);
  if (!hasServer) assert.match(shop.log(), /nothing confirms the system clock/);
  const stored = async (): Promise<unknown> =>
    (await shop.database.query('select status from holds'))[0]?.['status'];
  await wait(roundsMs);
  assert.equal(await stored(), 'open');
  shop.clock.advance(hour + minute);
  await until(async () => (await stored()) !== 'open');
});

test('ids stay unique and new events come last when the clock is set back by less than an hour between two runs', async () => {
  await using shop = await open();
  const eventsOf = async (service: Service): Promise<readonly number[]> => {
    const { events } = (await (await shop.ask(service, 'GET /events')).json()) as {
      readonly events: readonly { readonly id: number }[];
    };
    return events.map(({ id }) => id);
  };
  shop.clock.jump(-30 * minute);
  await using service = await shop.start();
  const before = await eventsOf(service);
  for (let card = 0; card < 20; card += 1)
    assert.equal((await shop.ask(service, 'POST /gift_card', { initial_value: 5 })).status, 201);
  // On PostgreSQL, an event is listed after all older transactions of the server, also those of other tests.
  const deadline = deadlineIn(10_000);
  let events = await eventsOf(service);
  while (events.length < before.length + 20 && !deadline.isOver()) {
    await wait(50);
    events = await eventsOf(service);
  }
  assert.deepEqual(events.slice(0, before.length), before);
  assert.ok(events.length >= before.length + 20);
  assert.equal(new Set(events).size, events.length);
});
