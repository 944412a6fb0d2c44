/** The service is killed at random moments under load, again and again, on one database. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { EngineDatabase, Environment } from './engine-database.ts';
import type { Seeded } from './seeded.ts';
import { command, databaseToServe, openShop, serve, startServing } from './served.ts';
import { assertHolds } from './stored.ts';
import { countAcknowledged, openLoadClients, type LoadClient } from './load-client.ts';

const connections = 32;

export async function assertVerified(environment: Environment): Promise<void> {
  const { code, output, errors } = await command(environment, 'verify', '--json');
  assert.equal(code, 0, `${output}\n${errors}`);
  assert.equal((JSON.parse(output) as { readonly ok: boolean }).ok, true, output);
}

/** Decides what the crash left open: what was done before it is only answered again, what was not is done now. */
async function decideAll(
  url: string,
  database: EngineDatabase,
  clients: readonly LoadClient[],
): Promise<number> {
  const done = await assertHolds(database, clients);
  await Promise.all(
    clients.map(async (till) => {
      const { open } = till;
      if (!open) return;
      const { replayed } = await till.decide(url);
      assert.equal(replayed, done.has(open), `${open.method} with the key ${open.key}`);
    }),
  );
  assert.equal((await assertHolds(database, clients)).size, 0);
  return done.size;
}

/** Asserts that the service itself tells of the last card of each till what the till knows. */
async function assertTold(url: string, token: string, clients: readonly LoadClient[]): Promise<void> {
  const lasts = clients.flatMap(({ cards }) => [...cards.values()].at(-1) ?? []);
  for (const { id, balance, note, isDisabled } of lasts) {
    const response = await fetch(`${url}/gift_card/${id}`, { headers: { authorization: `Bearer ${token}` } });
    const { gift_card: told } = (await response.json()) as {
      readonly gift_card: Readonly<Record<string, unknown>>;
    };
    assert.deepEqual(
      [told['balance'], told['note'], told['disabled_at'] !== null],
      [balance, note, isDisabled],
    );
  }
}

/** Asserts that the last request of each till that was answered before the kill gets the same response again. */
async function assertReplayed(url: string, clients: readonly LoadClient[]): Promise<void> {
  await Promise.all(clients.map((till) => till.repeat(url)));
}

/** Works until the process is gone: nobody is told anything but success before it is. */
async function workUntilKilled(clients: readonly LoadClient[], url: string): Promise<void> {
  const outcomes = await Promise.all(clients.map((till) => till.work(url, () => false)));
  for (const outcome of outcomes) assert.equal(outcome?.status, undefined, 'a 503 in full service');
}

/**
 * Kills the service so many times. Nothing that it acknowledged is lost, nothing is done by half, what was answered is
 * answered again, and what was not is done once when it is sent again.
 * @param verifiedEvery in every so many rounds `verify` runs beside the start, and it runs at the end.
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
    // Beside the start, as an operator would after a crash: both find the database as the crash left it.
    const verifying = round % verifiedEvery === 0 ? assertVerified(environment) : undefined;
    if (round % 4 === 0) {
      // The start, which recovers the database, may be cut short as well.
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
    await assertTold(service.url, token, clients);
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
  for (const till of clients) till.close();
  const cards = clients.flatMap((till) => [...till.cards.values()]);
  const acknowledged = countAcknowledged(clients);
  assert.ok(acknowledged > rounds, `only ${acknowledged} requests were acknowledged`);
  t.diagnostic(
    `${rounds} rounds, ${totals.killedAtStart} more at start; ${acknowledged} requests acknowledged, ${cards.length} cards, ` +
      `${cards.filter(({ isDisabled }) => isDisabled).length} disabled; ` +
      `${totals.left} requests were left open, of which ${totals.done} had been done`,
  );
}
