/** The service and the command line as processes whose system clock is set while they run. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { deadlineIn } from '../support/deadline.ts';
import type { Environment } from '../support/engine-database.ts';
import { fakedClock } from '../support/faked-clock.ts';
import { startProgram, type Program } from '../support/programs.ts';
import {
  command,
  commandProcess,
  databaseToServe,
  openShop,
  serve,
  startServing,
} from '../support/served.ts';

const dayS = 86_400;
const eager = fileURLToPath(import.meta.resolve('../support/eager-service.ts'));

type Body = {
  readonly gift_card: { readonly id: number; readonly balance: string };
  readonly hold: { readonly id: number; readonly status: string };
};

type HttpResponse = {
  readonly status: number;
  readonly isReplayed: boolean;
  readonly text: string;
  readonly body: Body;
};

function clientOf(url: string, token: string) {
  return async (line: string, json?: object, key?: string): Promise<HttpResponse> => {
    const [method = '', path = ''] = line.split(' ');
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(json && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      ...(json && { body: JSON.stringify(json) }),
    });
    const text = await response.text();
    const isReplayed = response.headers.get('idempotent-replayed') === 'true';
    return { status: response.status, isReplayed, text, body: JSON.parse(text) as Body };
  };
}

/** A card of 100.00 with a hold of 80.00 for 22 hours and a debit of 10.00 with a key. */
async function sell(url: string, token: string) {
  const ask = clientOf(url, token);
  const { gift_card: card } = (await ask('POST /gift_card', { initial_value: 100 })).body;
  const placed = await ask(`POST /gift_card/${card.id}/holds`, { amount: 80, expires_in: 79_200 });
  const { hold } = placed.body;
  const debit = (): Promise<HttpResponse> =>
    ask(`POST /gift_card/${card.id}/debit`, { amount: 10 }, 'receipt-1');
  const first = await debit();
  assert.equal(first.status, 201, first.text);
  return {
    async assertDebitedOnce() {
      const replayed = await debit();
      assert.deepEqual([replayed.text, replayed.isReplayed], [first.text, true]);
    },
    holdStatus: async () => (await ask(`GET /holds/${hold.id}`)).body.hold.status,
    capture: () => ask(`POST /holds/${hold.id}/capture`),
    /** A debit that needs the held amount. */
    overspend: () => ask(`POST /gift_card/${card.id}/debit`, { amount: 50 }),
    balance: async () => (await ask(`GET /gift_card/${card.id}`)).body.gift_card.balance,
  };
}

async function jumpSecondsOf(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^largesse_clock_jump_seconds (\S+)$/m.exec(text)?.[1]);
}

async function startEager(
  environment: Environment,
  limits: object = {},
): Promise<Program & { readonly url: string }> {
  const program = startProgram(process.execPath, [eager, JSON.stringify(limits)], { environment });
  try {
    const [, url = ''] = await program.written(/"url":"([^"]+)".*"largesse serves"/, 60_000);
    return { ...program, url };
  } catch (error) {
    await program[Symbol.asyncDispose]();
    throw error;
  }
}

test('the service survives a clock that is temporarily a day ahead, and logs it', async () => {
  await using database = await databaseToServe();
  const token = await openShop(database.environment, 'flowers.example');
  using clock = fakedClock();
  await using service = await startEager({ ...database.environment, ...clock.environment });
  const sale = await sell(service.url, token);
  assert.equal(await jumpSecondsOf(service.url), 0);

  clock.set(dayS);
  await sale.assertDebitedOnce();
  await service.written(/"level":"error".*"jump_seconds":86400,.*the system clock has jumped/);
  const ahead = await jumpSecondsOf(service.url);
  assert.ok(Math.abs(ahead - dayS) < 10, String(ahead));
  assert.equal(await sale.holdStatus(), 'open');
  assert.equal((await sale.overspend()).status, 422);
  // The service checks holds every 50 ms.
  await wait(1_000);

  clock.set(0);
  await sale.assertDebitedOnce();
  await service.written(/"level":"info".*the system clock is back/);
  assert.equal(await jumpSecondsOf(service.url), 0);
  const captured = await sale.capture();
  assert.deepEqual([captured.status, captured.body.gift_card.balance], [201, '10.00']);
  const { code, output } = await command(database.environment, 'verify');
  assert.deepEqual([code, output.includes('The ledger matches')], [0, true]);
});

test('background work deletes nothing while the clock is ahead, and resumes once the clock is stable', async () => {
  await using database = await databaseToServe();
  const token = await openShop(database.environment, 'flowers.example');
  using clock = fakedClock();
  const often = { upkeepPeriodMs: 50, holdExpiryPeriodMs: 50, clockStableMs: 3_000 };
  await using service = await startEager({ ...database.environment, ...clock.environment }, often);
  const sale = await sell(service.url, token);
  clock.set(dayS);
  await wait(1_000);
  await sale.assertDebitedOnce();
  assert.equal(await sale.holdStatus(), 'open');
  clock.set(0);
  await wait(500);
  assert.equal(await jumpSecondsOf(service.url), 0);

  clock.set(dayS);
  const deadline = deadlineIn(30_000);
  while ((await sale.holdStatus()) === 'open') {
    assert.ok(!deadline.isOver(), 'the hold does not expire');
    await wait(100);
  }
  // The record is seconds old, whatever the clock shows.
  await wait(500);
  await sale.assertDebitedOnce();
  assert.equal(await sale.balance(), '90.00');
});

for (const { year, secondsAhead } of [
  { year: '1970', secondsAhead: 3_600 - Math.floor(Date.now() / 1_000) },
  { year: '2095', secondsAhead: Math.floor((Date.UTC(2095, 5, 1) - Date.now()) / 1_000) },
]) {
  test(`the service does not start and commands create nothing in ${year}, but a database can be verified`, async () => {
    await using database = await databaseToServe();
    await openShop(database.environment, 'flowers.example');
    const before = await database.state();
    using clock = fakedClock(secondsAhead);
    const environment = { ...database.environment, ...clock.environment };
    const rejected = new RegExp(
      `^largesse: the system clock is at ${year}-.*: set it to the present time, which must be in the years 2025 to 2058$`,
      'm',
    );
    {
      await using program = startServing(environment);
      assert.equal((await program.ended()).code, 1);
      assert.match(program.errors(), rejected);
    }
    for (const args of [
      ['store', 'create', 'books.example', '--currency', 'EUR'],
      ['token', 'create', '--store', 'flowers.example', '--name', 'till'],
    ]) {
      const { code, errors } = await commandProcess(environment, ...args);
      assert.deepEqual([code, rejected.test(errors)], [1, true], errors);
    }
    assert.equal(await database.state(), before);
    const verified = await commandProcess(environment, 'verify');
    assert.equal(verified.code, 0, verified.errors);
  });
}

test('a service whose clock is two hours behind the newest event starts only if its clock is accepted', async () => {
  await using database = await databaseToServe();
  const token = await openShop(database.environment, 'flowers.example');
  {
    await using service = await serve(database.environment);
    await sell(service.url, token);
  }
  using clock = fakedClock(-7_200);
  const environment = { ...database.environment, ...clock.environment };
  {
    await using program = startServing(environment);
    assert.equal((await program.ended()).code, 1);
    assert.match(
      program.errors(),
      /^largesse: the system clock is at .*accept it with IMPLAUSIBLE_CLOCK=allow$/m,
    );
  }
  await using service = await serve({ ...environment, IMPLAUSIBLE_CLOCK: 'allow' });
  const ask = clientOf(service.url, token);
  assert.equal((await ask('POST /gift_card', { initial_value: 5 })).status, 201);
});
