/**
 * The processes of one service are killed at random moments while others serve: acknowledged requests are not lost or
 * partly executed, and clients that send the others again have them executed once.
 *
 * `CRASH_ROUNDS` sets the number of starts, `CRASH_SEED` the seed.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../support/delivering.ts';
import { engine } from '../support/engine.ts';
import { assertLastCards, assertReplayed, assertVerified, decideAll } from '../support/kills.ts';
import {
  countAcknowledged,
  openLoadClients,
  untilMoreAcknowledged,
  type LoadClient,
} from '../support/load-client.ts';
import { freePort } from '../support/postgres-port.ts';
import { childrenOf, runningOf } from '../support/running-processes.ts';
import { seeded } from '../support/seeded.ts';
import { databaseToServe, openShop, serve, type Served } from '../support/served.ts';

const rounds = Number(process.env['CRASH_ROUNDS'] ?? engine.rounds(4));
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);
const random = seeded(seed);
const count = 3;
const connections = 32;
const killsInRound = 3;

/** Works until it is over. After each error of its connection, the client sends the open request until it has a response. */
async function workOn(client: LoadClient, url: string, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const outcome = await client.work(url, isOver);
    // A process that ends rejects requests.
    if (isOver()) return;
    assert.equal(outcome?.status, undefined, 'a 503 from a running service');
    while (client.open && !isOver()) {
      try {
        await client.decide(url);
      } catch (error) {
        if (error instanceof assert.AssertionError && !isOver()) throw error;
        await wait(20);
      }
    }
  }
}

/** Kills processes that serve: one, or sometimes all. */
async function killSome({ pid }: Served): Promise<number> {
  const running = await childrenOf(pid);
  const killed = random.between(1, 4) === 1 ? running : random.chooseSome(running, 1);
  for (const each of killed) process.kill(each, 'SIGKILL');
  return killed.length;
}

/** Asserts that each line of the log is complete, and that its errors are those of killed processes. */
function assertLog(output: string): void {
  for (const line of output.trimEnd().split('\n')) {
    const { level, message } = JSON.parse(line) as { readonly level: string; readonly message: string };
    if (level !== 'error' && level !== 'fatal') continue;
    assert.equal(message, 'a process ended, and is started again', line);
  }
}

test('processes that are killed while others serve lose no acknowledged request', async (t) => {
  t.diagnostic(`seed ${seed} (CRASH_SEED)`);
  await using database = await databaseToServe();
  const port = String(await freePort());
  const environment = { ...database.environment, PORT: port, PROCESSES: String(count) };
  const token = await openShop(environment, 'flowers.example');
  const clients = openLoadClients(connections, token, random);
  const totals = { kills: 0, done: 0 };

  for (let round = 1; round <= rounds; round += 1) {
    await using service = await serve(environment);
    const { url, pid } = service;
    await until(async () => (await childrenOf(pid)).length === count);
    await assertReplayed(url, clients);
    totals.done += await decideAll(url, database, clients);
    await assertLastCards(url, token, clients);
    let isOver = false;
    const working = Promise.all(clients.map((client) => workOn(client, url, () => isOver)));
    const killing = (async () => {
      for (let kill = 0; kill < killsInRound; kill += 1) {
        await untilMoreAcknowledged(clients, 100);
        await wait(random.between(0, 300));
        totals.kills += await killSome(service);
      }
      await untilMoreAcknowledged(clients, 100);
      await wait(random.between(0, 300));
    })();
    let processes: readonly number[];
    try {
      await Promise.race([killing, working]);
      processes = await childrenOf(pid);
    } finally {
      isOver = true;
    }
    // The others end by themselves when the process that supervises them does.
    service.kill(round % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
    await working;
    const exit = round % 2 === 0 ? { code: null, signal: 'SIGKILL' } : { code: 0, signal: null };
    assert.deepEqual(await service.ended(), exit);
    await until(async () => (await runningOf(processes)).length === 0);
    assertLog(service.output());
  }

  await using service = await serve(environment);
  await assertReplayed(service.url, clients);
  totals.done += await decideAll(service.url, database, clients);
  await assertVerified(environment);
  for (const client of clients) client.close();
  assert.ok(totals.kills >= rounds * killsInRound);
  t.diagnostic(
    `${rounds} starts, ${totals.kills} processes killed; ${countAcknowledged(clients)} requests acknowledged, ` +
      `${totals.done} had been done without a response when the service ended`,
  );
});
