/** The service is killed at random moments under load, repeatedly, on one database. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Environment } from './engine-database.ts';
import type { Seeded } from './seeded.ts';
import { command, databaseToServe, openShop, serve, startServing } from './served.ts';
import { assertHolds, type Stored } from './stored.ts';
import { countAcknowledged, openLoadClients, type LoadClient } from './load-client.ts';

const connections = 32;

export async function assertVerified(environment: Environment): Promise<void> {
  const { code, output, errors } = await command(environment, 'verify', '--json');
  assert.equal(code, 0, `${output}\n${errors}`);
  assert.equal((JSON.parse(output) as { readonly ok: boolean }).ok, true, output);
}

/** Sends the open requests of a crash again: executed ones are replayed, and the others are executed now. */
export async function decideAll(
  url: string,
  database: Stored,
  clients: readonly LoadClient[],
): Promise<number> {
  const done = await assertHolds(database, clients);
  await Promise.all(
    clients.map(async (client) => {
      const { open } = client;
      if (!open) return;
      const { replayed } = await client.decide(url);
      assert.equal(replayed, done.has(open), `${open.method} with the key ${open.key}`);
    }),
  );
  assert.equal((await assertHolds(database, clients)).size, 0);
  return done.size;
}

/** Asserts that the service returns the last known card of each client. */
export async function assertLastCards(
  url: string,
  token: string,
  clients: readonly LoadClient[],
): Promise<void> {
  const lasts = clients.flatMap(({ cards }) => [...cards.values()].at(-1) ?? []);
  for (const { id, balance, note, isDisabled } of lasts) {
    const response = await fetch(`${url}/gift_card/${id}`, { headers: { authorization: `Bearer ${token}` } });
    const { gift_card: card } = (await response.json()) as {
      readonly gift_card: Readonly<Record<string, unknown>>;
    };
    assert.deepEqual(
      [card['balance'], card['note'], card['disabled_at'] !== null],
      [balance, note, isDisabled],
    );
  }
}

/** Asserts that the last acknowledged request of each client before the kill gets the same response again. */
export async function assertReplayed(url: string, clients: readonly LoadClient[]): Promise<void> {
  await Promise.all(clients.map((client) => client.repeat(url)));
}

/** Works until the process is killed. Until then, clients get only successes. */
async function workUntilKilled(clients: readonly LoadClient[], url: string): Promise<void> {
  const outcomes = await Promise.all(clients.map((client) => client.work(url, () => false)));
  for (const outcome of outcomes) assert.equal(outcome?.status, undefined, 'a 503 from a running service');
}

/**
 * Kills the service repeatedly. Acknowledged requests are not lost or partly executed, and get the same
 * response again. Other requests are executed once when they are sent again.
 * @param verifiedEvery `verify` runs during the start in every round with a multiple of this number, and at
 * the end.
 */
export async function killUnderLoad(
  t: TestContext,
  {
    rounds,
    random,
    verifiedEvery,
  }: { readonly rounds: number; readonly random: Seeded; readonly verifiedEvery: number },
): Promise<void> {
  await using database = await databaseToServe();
  const { environment } = database;
  const token = await openShop(environment, 'flowers.example');
  const clients = openLoadClients(connections, token, random);
  let startTakesMs = 0;
  const totals = { killedAtStart: 0, left: 0, done: 0 };

  for (let round = 1; round <= rounds; round += 1) {
    // `verify` runs during the start, as an operator can run it after a crash: both find the database as the
    // crash left it.
    const verifying = round % verifiedEvery === 0 ? assertVerified(environment) : undefined;
    if (round % 4 === 0) {
      // The start, which recovers the database, is sometimes interrupted as well.
      await using starting = startServing(environment);
      await wait(startTakesMs * (0.4 + 0.6 * random()));
      starting.kill('SIGKILL');
      await starting.ended();
      totals.killedAtStart += 1;
    }
    const startedAt = performance.now();
    await using service = await serve(environment);
    startTakesMs = performance.now() - startedAt;
    await verifying;
    await assertReplayed(service.url, clients);
    totals.done += await decideAll(service.url, database, clients);
    await assertLastCards(service.url, token, clients);
    const before = countAcknowledged(clients);
    const working = workUntilKilled(clients, service.url);
    await wait(random.between(20, 700));
    service.kill('SIGKILL');
    await working;
    assert.deepEqual(await service.ended(), { code: null, signal: 'SIGKILL' });
    totals.left += clients.filter(({ open }) => open).length;
    assert.doesNotMatch(service.output(), /"level":"(?:error|fatal)"/);

    if (countAcknowledged(clients) === before)
      t.diagnostic(`round ${round} was killed before anything was acknowledged`);
  }

  await using service = await serve(environment);
  await assertReplayed(service.url, clients);
  totals.done += await decideAll(service.url, database, clients);
  await assertVerified(environment);
  for (const client of clients) client.close();
  const cards = clients.flatMap((client) => [...client.cards.values()]);
  const acknowledged = countAcknowledged(clients);
  assert.ok(acknowledged > rounds, `only ${acknowledged} requests were acknowledged`);
  t.diagnostic(
    `${rounds} rounds, ${totals.killedAtStart} more at start; ${acknowledged} requests acknowledged, ${cards.length} cards, ` +
      `${cards.filter(({ isDisabled }) => isDisabled).length} disabled; ` +
      `${totals.left} requests were left open, of which ${totals.done} had been done`,
  );
}
