/**
 * Writes of many callers share commits on PostgreSQL, and each caller gets the response of a separate commit.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { issuedGiftCardOf } from '../support/responses.ts';
import { assertBooksAgree } from '../support/books.ts';
import { startService, type TestService } from '../support/service.ts';
import { shopOf } from '../support/shop.ts';

const domain = 'flowers.example';
const callers = 120;

/** Returns the number of committed transactions, and the number of scripts in them. */
async function commitsOf(
  service: TestService,
): Promise<{ readonly commits: number; readonly scripts: number }> {
  const { text } = await service.request('/metrics');
  const read = (name: string): number => Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1]);
  return {
    commits: read('largesse_commit_group_size_count'),
    scripts: read('largesse_commit_group_size_sum'),
  };
}

/**
 * Makes each write of transfers take 20 ms. Writes share a commit only while all connections are busy, so a
 * fast server and a slow client would let each write have its own.
 */
async function slowDown(service: TestService): Promise<void> {
  await service.database.meddle(
    `create function wait() returns trigger language plpgsql
     as 'begin perform pg_sleep(0.02); return null; end'`,
  );
  await service.database.meddle(
    'create trigger slow after insert on transfers for each statement execute function wait()',
  );
}

/** Sends concurrent requests, and asserts that their writes share commits. */
async function sharing<T>(
  service: TestService,
  requests: readonly (() => Promise<T>)[],
): Promise<readonly T[]> {
  const before = await commitsOf(service);
  const responses = await Promise.all(requests.map((send) => send()));
  const after = await commitsOf(service);
  const [commits, scripts] = [after.commits - before.commits, after.scripts - before.scripts];
  assert.ok(commits < scripts / 2, `${scripts} scripts in ${commits} commits`);
  return responses;
}

test('creations and movements of different cards share commits, including errors and keys', async () => {
  await using service = await startService({ stores: [{ domain }] });
  const shop = await shopOf(service, domain);
  await slowDown(service);
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
    assert.equal(again[place]?.headers.get('idempotent-replayed'), isReplayed ? 'true' : null);
    const spent = isRejected ? 0 : 2 - Number(isReplayed);
    assert.equal((await shop.read(card.id)).balance, `${25 - spent}.00`);
  }
  await assertBooksAgree(service.environment, domain);
});
