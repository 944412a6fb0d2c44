/** The synchronous standby is stopped: a commit that it does not have is never a success. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { isWithin } from '../support/deadline.ts';
import { startProxy } from '../support/postgres-proxy.ts';
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts';
import {
  assertUnavailable,
  assertVerifies,
  clientOf,
  environmentOn,
  readinessOf,
  startOn,
  untilReadiness,
  emptyFolder,
} from '../support/postgres-service.ts';
import { startStandby } from '../support/postgres-standby.ts';
import { openShop } from '../support/served.ts';

/** The processes of the server whose commits wait for a standby. */
async function waitingCommits(server: PostgresServer): Promise<readonly number[]> {
  const rows = await server.query(`select pid from pg_stat_activity where wait_event = 'SyncRep'`);
  return rows.map(({ pid }) => Number(pid));
}

/** Sends a request, and interrupts the wait of its commit, as well as those of the service's own work at the same time. */
async function interrupted<T>(
  server: PostgresServer,
  how: 'pg_cancel_backend' | 'pg_terminate_backend',
  request: () => Promise<T>,
): Promise<T> {
  // Abandoned commits keep waiting: the server does not know that their clients have stopped.
  const others = new Set(await waitingCommits(server));
  const before = others.size;
  let hasResponse = false;
  const response = request().finally(() => {
    hasResponse = true;
  });
  while (!hasResponse) {
    for (const pid of (await waitingCommits(server)).filter((waiting) => !others.has(waiting))) {
      others.add(pid);
      await server.query(`select ${how}($1)`, [pid]);
    }
    await wait(10);
  }
  assert.ok(others.size > before, 'no commit waited');
  return await response;
}

test('a commit without its synchronous standby is never a success: in time, cancelled, or sent again', async (t) => {
  await using primary = await startPostgres({ durable: true });
  await using standby = await startStandby(primary, { name: 'second', synchronous: true });
  await using proxy = await startProxy(primary);
  using folder = emptyFolder();
  const environment = environmentOn(folder, [proxy]);
  const token = await openShop(environment, 'flowers.example');
  await using service = await startOn(environment, { scriptMaxMs: 2_000, lockWaitMaxMs: 500 });
  const ask = clientOf(service.url, token);
  // A card for each request, because a waiting commit locks its card's row.
  const cards: number[] = [];
  for (const key of ['late', 'cancelled', 'terminated', 'abroad']) {
    const { card } = await ask('POST /gift_card', { initial_value: '10.00' }, `issue-${key}`);
    assert.ok(card);
    cards.push(card.id);
  }
  const [late = 0, cancelled = 0, terminated = 0, abroad = 0] = cards;
  const debit = (card: number, key: string) => ask(`POST /gift_card/${card}/debit`, { amount: '1.00' }, key);
  const balanceOf = async (card: number) => (await ask(`GET /gift_card/${card}`)).card?.balance;

  await standby.server.stop();

  const inTime = await debit(late, 'late');
  assertUnavailable(inTime, 'unavailable');
  assert.ok(isWithin(inTime.tookMs, 9_000), `${inTime.tookMs} ms`);
  assert.equal(await balanceOf(late), '10.00', 'other transactions do not see it yet');

  const cancel = await interrupted(primary, 'pg_cancel_backend', () => debit(cancelled, 'cancelled'));
  assertUnavailable(cancel, 'unavailable');
  assert.equal(await balanceOf(cancelled), '9.00', 'it is only on the primary');

  const end = await interrupted(primary, 'pg_terminate_backend', () => debit(terminated, 'terminated'));
  assertUnavailable(end, 'unavailable');

  // A server with another language translates the severity of its warning.
  proxy.alter = (bytes) =>
    Buffer.from(bytes.toString('latin1').replaceAll('SWARNING\0', 'SWARNUNG\0'), 'latin1');
  const foreign = await interrupted(primary, 'pg_cancel_backend', () => debit(abroad, 'abroad'));
  assertUnavailable(foreign, 'unavailable');
  proxy.alter = undefined;

  const retries = ['late', 'cancelled', 'terminated', 'abroad'].map((key, place) =>
    debit(cards[place] ?? 0, key),
  );
  for (const response of await Promise.all(retries)) assertUnavailable(response);
  const { status, tookMs } = await readinessOf(service.url);
  assert.equal(status, 503);
  assert.ok(isWithin(tookMs, 9_000));

  await standby.server.start();
  await standby.streams();
  await untilReadiness(service.url, 200);
  for (const [place, key] of ['late', 'cancelled', 'terminated', 'abroad'].entries()) {
    const card = cards[place] ?? 0;
    const response = await debit(card, key);
    assert.equal(response.status, 201, JSON.stringify(response));
    assert.equal(response.isReplayed, true, key);
    assert.equal(await balanceOf(card), '9.00');
  }
  await assertVerifies(environment);
  t.diagnostic(
    `a commit was abandoned after ${Math.round(inTime.tookMs)} ms, readiness responded in ${Math.round(tookMs)} ms`,
  );
});
