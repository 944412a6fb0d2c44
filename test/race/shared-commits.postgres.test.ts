/**
 * Writes of many callers share commits on PostgreSQL, and each caller gets the response of a separate commit.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { Client } from 'pg';
import { issuedGiftCardOf } from '../support/responses.ts';
import { assertBooksAgree } from '../support/books.ts';
import { until } from '../support/delivering.ts';
import { startService, type TestService } from '../support/service.ts';
import { shopOf } from '../support/shop.ts';

const domain = 'flowers.example';
const callers = 120;
/** On a busy machine, a write that waits for a connection longer than usual is not rejected with 503. */
const patient = { connectionWaitMaxMs: 120_000, scriptMaxMs: 120_000 };

/** Returns the number of committed transactions, and the number of scripts in them. */
async function commitsOf(
  service: TestService,
): Promise<{ readonly commits: number; readonly scripts: number }> {
  return {
    commits: await metricOf(service, 'largesse_commit_group_size_count'),
    scripts: await metricOf(service, 'largesse_commit_group_size_sum'),
  };
}

async function metricOf(service: TestService, name: string): Promise<number> {
  const { text } = await service.request('/metrics');
  return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1]);
}

/** The key of the advisory lock that writes of transfers wait for. */
const gate = 7;
/** The writes that wait for a connection when the gate opens. The transactions in progress can contain 64 others. */
const waiting = 40;

/**
 * Makes writes of transfers wait while the gate is closed. Writes share a commit only while all connections are busy, which
 * does not depend on the speed of the machine then. A statement that waited for a lock would end with its timeout.
 */
async function addGate(service: TestService): Promise<void> {
  await service.database.meddle(
    `create function wait() returns trigger language plpgsql as $$
     begin
       while not pg_try_advisory_xact_lock_shared(${gate}) loop perform pg_sleep(0.002); end loop;
       return null;
     end $$`,
  );
  await service.database.meddle(
    'create trigger gate after insert on transfers for each statement execute function wait()',
  );
}

/** Sends concurrent requests while the gate is closed, and asserts that those that waited for a connection share commits. */
async function sharing<T>(
  service: TestService,
  requests: readonly (() => Promise<T>)[],
): Promise<readonly T[]> {
  const before = await commitsOf(service);
  const client = new Client({ connectionString: service.environment['DATABASE_URL'] });
  await using closing = new AsyncDisposableStack();
  closing.defer(() => client.end());
  await client.connect();
  await client.query(`select pg_advisory_lock(${gate})`);
  const responses = Promise.all(requests.map((send) => send()));
  await until(async () => (await metricOf(service, 'largesse_script_queue_depth')) >= waiting, 60_000);
  await client.query(`select pg_advisory_unlock(${gate})`);
  const all = await responses;
  const after = await commitsOf(service);
  const [commits, scripts] = [after.commits - before.commits, after.scripts - before.scripts];
  assert.ok(scripts - commits >= waiting / 2, `${scripts} scripts in ${commits} commits`);
  return all;
}

test('creations and movements of different cards share commits, including errors and keys', async () => {
  await using service = await startService({ stores: [{ domain }], limits: patient });
  const shop = await shopOf(service, domain);
  await addGate(service);
  const keyed = (place: number) =>
    place % 2 === 0 ? { headers: { 'idempotency-key': `key-${place}` } } : {};
  const places = Array.from({ length: callers }, (_, place) => place);

  const created = await sharing(
    service,
    places.map(
      (place) => () => shop.ask('POST /gift_card', { json: { initial_value: '25.00' }, ...keyed(place) }),
    ),
  );
  const cards = created.map((response) => issuedGiftCardOf(response));
  assert.equal(new Set(cards.map(({ id }) => id)).size, callers);

  const amountOf = (place: number): string => (place % 10 === 9 ? '25.01' : '1.00');
  const debit = (place: number) => () => {
    const json = { amount: amountOf(place) };
    return shop.ask(`POST /gift_card/${cards[place]?.id}/debit`, { json, ...keyed(place + callers) });
  };
  const debited = await sharing(service, places.map(debit));
  for (const [place, { status }] of debited.entries()) assert.equal(status, place % 10 === 9 ? 422 : 201);
  // Repeats with the same keys: successes are replayed, and the others are executed again.
  const again = await Promise.all(places.map((place) => debit(place)()));
  for (const [place, card] of cards.entries()) {
    const isRejected = place % 10 === 9;
    const isReplayed = place % 2 === 0;
    const response = again[place] ?? assert.fail();
    assert.equal(response.status, isRejected ? 422 : 201, response.text);
    const spent = isRejected ? 0 : 2 - Number(isReplayed);
    assert.equal((await shop.read(card.id)).balance, `${25 - spent}.00`);
    assert.equal(response.headers.get('idempotent-replayed'), isReplayed ? 'true' : null);
  }
  await assertBooksAgree(service.environment, domain);
});
