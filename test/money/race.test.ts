/**
 * Many concurrent callers over HTTP compete for the same money, which only one gets. Amounts are minor units.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { wallClockOf } from '../../src/platform/clock.ts';
import { readConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { openRaceStore, race, type Processes } from '../support/race.ts';
import { startService } from '../support/service.ts';
import { assertVerified } from './open-books.ts';
import {
  capture,
  debit,
  decimal,
  openMoneyClient,
  placeHold,
  reverse,
  voidHold,
  type Reply,
  type Request,
  type MoneyClient,
} from './client.ts';

const attemptsMax = 20;
/** The number of concurrent debits of one card. `npm run test:soak` has more. */
const callers = Number(process.env['RACE_CALLERS'] ?? 150);

function openShop(processes: Processes) {
  return openRaceStore(processes).then(shopOn);
}

async function shopOn({ service, domain }: Awaited<ReturnType<typeof openRaceStore>>) {
  const token = await service.token(domain);
  const clients = service.urls.map((url) => openMoneyClient(url, token));
  let asked = 0;
  const client: MoneyClient = async (request, key) => {
    asked += 1;
    const next = clients[asked % clients.length];
    assert.ok(next);
    for (let attempt = 1; ; attempt += 1) {
      const reply = await next(request, key);
      // On a slow machine hundreds of callers can overload the service, which then executes nothing, and they
      // retry.
      if (reply.code !== 'overloaded' || attempt === attemptsMax) return reply;
      await wait(Math.random() * 500);
    }
  };
  const must = async (request: Request): Promise<Reply> => {
    const reply = await client(request);
    assert.ok(reply.status < 300, `${request.line}: ${reply.status} ${reply.code}`);
    return reply;
  };
  return {
    service,
    client,
    /** Sends all requests concurrently. */
    parallel: (requests: readonly Request[]) => Promise.all(requests.map((request) => client(request))),
    must,
    async issue(value: bigint): Promise<number> {
      const { card } = await must({ line: 'POST /gift_card', json: { initial_value: decimal(value) } });
      assert.ok(card);
      return card.id;
    },
    async hold(card: number, amount: bigint, seconds?: number): Promise<number> {
      const { hold } = await must(placeHold(card, amount, seconds));
      assert.ok(hold);
      return hold.id;
    },
    async balance(id: number): Promise<bigint> {
      const { card } = await must({ line: `GET /gift_card/${id}` });
      assert.ok(card);
      return card.balance;
    },
    async held(id: number): Promise<number> {
      const [row] = await service.query('select held from gift_cards where id = ?', service.internalId(id));
      return Number(row?.['held']);
    },
    async verify(): Promise<void> {
      await using database = await openDatabase(readConfig(service.environment), { prepare: false, clock: wallClockOf(service.clock) });
      await assertVerified(database.storage);
    },
  };
} // prettier-ignore

const succeeded = (replies: readonly Reply[]): readonly Reply[] =>
  replies.filter(({ status }) => status < 300);

/** Counts the errors by code. */
function countErrors(replies: readonly Reply[]): Readonly<Record<string, number>> {
  const codes = replies.flatMap(({ code }) => (code === null ? [] : [code]));
  return Object.fromEntries([...Map.groupBy(codes, (code) => code)].map(([code, all]) => [code, all.length]));
}

const moved = (replies: readonly Reply[]): bigint =>
  replies.reduce((sum, { transaction }) => sum + (transaction?.amount ?? 0n), 0n);

race(
  `exactly 100 of ${callers} concurrent debits succeed on a card that can afford 100`,
  async (processes) => {
    const shop = await openShop(processes);
    const card = await shop.issue(10_000n);
    const replies = await shop.parallel(Array.from({ length: callers }, () => debit(card, 100n)));
    assert.equal(succeeded(replies).length, 100);
    assert.deepEqual(countErrors(replies), { 'insufficient-balance': callers - 100 });
    const balances = succeeded(replies).map((reply) => Number(reply.card?.balance));
    assert.deepEqual(
      balances.toSorted((left, right) => left - right),
      Array.from({ length: 100 }, (_, index) => index * 100),
      'each response has a different balance',
    );
    assert.equal(await shop.balance(card), 0n);
    await shop.verify();
  },
);

race('exactly one of two concurrent captures of one hold succeeds, every time', async (processes) => {
  const shop = await openShop(processes);
  for (let round = 0; round < 40; round += 1) {
    const card = await shop.issue(2_000n);
    const hold = await shop.hold(card, 1_500n);
    const replies = await shop.parallel([capture(hold), capture(hold, 500n)]);
    assert.deepEqual(countErrors(replies), { 'hold-closed': 1 });
    assert.equal(await shop.balance(card), 2_000n + moved(succeeded(replies)));
    assert.equal(await shop.held(card), 0);
  }
  await shop.verify();
});

race('exactly one of a concurrent capture and void of one hold succeeds, every time', async (processes) => {
  const shop = await openShop(processes);
  for (let round = 0; round < 40; round += 1) {
    const card = await shop.issue(2_000n);
    const hold = await shop.hold(card, 1_500n);
    const both = [capture(hold), voidHold(hold)];
    const replies = await shop.parallel(round % 2 === 0 ? both : both.toReversed());
    assert.deepEqual(countErrors(replies), { 'hold-closed': 1 });
    const [winner] = succeeded(replies);
    assert.equal(await shop.balance(card), winner?.hold?.status === 'captured' ? 500n : 2_000n);
    assert.equal(await shop.held(card), 0);
  }
  await shop.verify();
});

race('concurrent holds and debits of the last money never take it twice', async (processes) => {
  const shop = await openShop(processes);
  for (let round = 0; round < 25; round += 1) {
    const card = await shop.issue(1_000n);
    const requests = [debit(card, 1_000n), placeHold(card, 1_000n), debit(card, 600n), placeHold(card, 600n)];
    const replies = await shop.parallel(round % 2 === 0 ? requests : requests.toReversed());
    assert.equal(succeeded(replies).length, 1);
    assert.deepEqual(countErrors(replies), { 'insufficient-balance': 3 });
    const taken = (await shop.held(card)) + Number(1_000n - (await shop.balance(card)));
    assert.ok(taken === 1_000 || taken === 600, `${taken} was taken`);
  }
  await shop.verify();
});

race('100 concurrent partial debits take the whole balance and no more', async (processes) => {
  const shop = await openShop(processes);
  const card = await shop.issue(5_050n);
  const hold = await shop.hold(card, 50n);
  const replies = await shop.parallel(Array.from({ length: 100 }, () => debit(card, 700n, true)));
  assert.equal(moved(replies), -5_000n);
  // Seven full amounts, and once the rest.
  assert.equal(succeeded(replies).length, 8);
  assert.deepEqual(countErrors(replies), { 'insufficient-balance': 92 });
  await shop.must(capture(hold));
  assert.equal(await shop.balance(card), 0n);
  await shop.verify();
});

race('concurrent reversals of one debit return exactly the debited amount', async (processes) => {
  const shop = await openShop(processes);
  const card = await shop.issue(3_000n);
  for (const amount of [undefined, 700n, 1_000n]) {
    const { transaction } = await shop.must(debit(card, 2_000n));
    assert.ok(transaction);
    const replies = await shop.parallel(Array.from({ length: 50 }, () => reverse(transaction.id, amount)));
    const times = amount === undefined ? 1 : Number(2_000n / amount);
    assert.equal(succeeded(replies).length, times);
    assert.deepEqual(countErrors(replies), { 'reversal-exceeds-transaction': 50 - times });
    const rest = 2_000n - moved(replies);
    assert.equal(await shop.balance(card), 3_000n - rest);
    if (rest > 0n) await shop.must(reverse(transaction.id));
  }
  assert.equal(await shop.balance(card), 3_000n);
  await shop.verify();
});

race('50 callers with one idempotency key move money once', async (processes) => {
  const shop = await openShop(processes);
  const card = await shop.issue(10_000n);
  const decide = async (): Promise<Reply> => {
    for (;;) {
      const reply = await shop.client(debit(card, 100n), 'one-key');
      if (reply.code !== 'idempotency-key-in-use') return reply;
      assert.equal(reply.status, 409);
      await wait(Math.random() * 20);
    }
  };
  const replies = await Promise.all(Array.from({ length: 50 }, decide));
  assert.equal(replies.filter(({ isReplayed }) => !isReplayed).length, 1);
  assert.equal(new Set(replies.map(({ transaction }) => transaction?.id)).size, 1);
  assert.ok(replies.every(({ status }) => status === 201));
  assert.equal(await shop.balance(card), 9_900n);
  await shop.verify();
});

test('the money of a hold at its expiry goes to a capture or to debits, never to both', async (t) => {
  const domain = 'flowers.example';
  await using service = await startService({ stores: [{ domain }] });
  const shop = await shopOn({ service, domain });
  const { clock } = service;
  let captures = 0;
  const rounds = Number(process.env['EXPIRY_ROUNDS'] ?? '15');
  for (let round = 0; round < rounds; round += 1) {
    const card = await shop.issue(1_000n);
    const hold = await shop.hold(card, 1_000n, 60);
    clock.advance(60_000 - 25);
    const ask = async (request: Request, place: number): Promise<Reply> => {
      await wait(place * 2);
      return shop.client(request);
    };
    const requests = Array.from({ length: 24 }, (_, place) =>
      place % 2 === 0 && place >= (round % 12) * 2 ? capture(hold) : debit(card, 1_000n),
    );
    const replies = await Promise.all(requests.map(ask));
    const done = succeeded(replies);
    assert.equal(done.length, 1, JSON.stringify(countErrors(replies)));
    assert.equal(await shop.balance(card), 0n);
    assert.equal(await shop.held(card), 0);
    const [row] = await shop.service.query(
      'select status from holds where id = ?',
      shop.service.internalId(hold),
    );
    const isCaptured = done[0]?.hold?.status === 'captured';
    assert.equal(row?.['status'], isCaptured ? 'captured' : 'expired');
    captures += isCaptured ? 1 : 0;
  }
  t.diagnostic(`${captures} of ${rounds} holds were captured in time, ${rounds - captures} expired`);
  await shop.verify();
});
