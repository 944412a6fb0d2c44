/**
 * How fast events that wait are delivered, and what that costs the callers of the API.
 *
 * So many events wait when the service starts; a receiver answers each after some ms. Then callers ask a service at
 * a steady rate, while it delivers and when it has delivered everything, round after round.
 */

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { DeliveryPlan } from './plan.ts';
import { populate } from './population.ts';
import { largesse, startServer, startService, type Environment, type Server } from './processes.ts';
import type { Credentials } from './requests.ts';
import type { DeliveryResults } from './results.ts';
import { moveGenerator, serverCore, type Bench } from './rounds.ts';
import { embeddedAt } from './site.ts';
import { latencyOf } from './statistics.ts';

const deliveredWithinMs = 120_000;
const pollMs = 10;
const quietMs = 100;
/** After deliveries or requests, before the next thing is measured. */
const settleMs = 500;

type StoreCredentials = Pick<Credentials, 'domain' | 'token'>;

/** A service, and where its events go. */
type Delivering = {
  readonly bench: Bench;
  readonly plan: DeliveryPlan;
  readonly environment: Environment;
  readonly credentials: StoreCredentials;
  readonly receiver: Server;
};

type RoundOfDeliveries = {
  readonly perSecond: number;
  readonly cpuMicros: number;
  readonly idleP99Ms: number;
  readonly deliveringP99Ms: number;
};

export async function measureDelivery(bench: Bench, plan: DeliveryPlan): Promise<DeliveryResults> {
  moveGenerator(bench, 'away from servers');
  const home = join(bench.folder, 'delivery');
  mkdirSync(home);
  const environment = embeddedAt({ file: join(home, 'largesse.db'), keysFile: join(home, 'keys.json') });
  const credentials = await makeDemonstrationStore(bench, environment);
  await using receiver = await startServer({
    script: 'bench/receiver.ts',
    argument: String(plan.receiverAnswersAfterMs),
    readiness: '/',
    // That of this process, which starts it.
    core: null,
    log: join(home, 'receiver.log'),
  });
  const url = `http://127.0.0.1:${receiver.port}/`;
  const webhook = ['--store', credentials.domain, '--url', url, '--events', 'gift_card.*'];
  largesse(environment, 'webhook', 'create', ...webhook);
  const rounds: RoundOfDeliveries[] = [];
  for (let count = 0; count < plan.rounds; count += 1)
    rounds.push(await measureRound({ bench, plan, environment, credentials, receiver }));
  largesse(environment, 'verify');
  const { events, receiverAnswersAfterMs, requestsPerSecond } = plan;
  return {
    events,
    receiverAnswersAfterMs,
    requestsPerSecond,
    deliveriesPerSecond: rounds.map(({ perSecond }) => perSecond),
    cpuMicrosPerDelivery: rounds.map(({ cpuMicros }) => cpuMicros),
    idleP99Ms: rounds.map(({ idleP99Ms }) => idleP99Ms),
    deliveringP99Ms: rounds.map(({ deliveringP99Ms }) => deliveringP99Ms),
  };
}

async function measureRound(delivering: Delivering): Promise<RoundOfDeliveries> {
  return { ...(await measureBacklog(delivering)), ...(await measureCallers(delivering)) };
}

/** Events that wait, one for each card, written while no service runs; the rich card's is one more. */
async function fill({ environment, credentials }: Delivering, events: number): Promise<void> {
  await populate(environment, { domain: credentials.domain, cards: events - 1 });
}

/**
 * A token of the demonstration store, which a service makes at its first start. Only webhooks of that store may lead to
 * this machine.
 */
async function makeDemonstrationStore(bench: Bench, environment: Environment): Promise<StoreCredentials> {
  await using service = await start({ bench, environment });
  assert.equal(await service.stop(), 0);
  const domain = 'demo.localhost';
  const { token } = largesse(environment, 'token', 'create', '--store', domain) as { readonly token: string };
  return { domain, token };
}

function start({ bench, environment }: Pick<Delivering, 'bench' | 'environment'>): Promise<Server> {
  const log = join(bench.folder, 'delivery', 'service.log');
  return startService(environment, { core: serverCore(bench), isProduction: false, log });
}

/** Lets a service deliver what waits. */
async function measureBacklog(
  delivering: Delivering,
): Promise<Pick<RoundOfDeliveries, 'perSecond' | 'cpuMicros'>> {
  await fill(delivering, delivering.plan.events);
  const { plan, receiver } = delivering;
  const before = await receivedBy(receiver);
  await using service = await start(delivering);
  const cpuBefore = service.cpuSeconds();
  const deadline = performance.now() + deliveredWithinMs;
  let first: { readonly at: number; readonly count: number } | undefined;
  let count = before;
  while (count < before + plan.events) {
    assert.ok(performance.now() < deadline, `only ${count - before} were delivered`);
    await wait(pollMs);
    count = await receivedBy(receiver);
    if (count > before) first ??= { at: performance.now(), count };
  }
  assert(first);
  const perSecond = (count - first.count) / ((performance.now() - first.at) / 1_000);
  const cpuMicros = ((service.cpuSeconds() - cpuBefore) * 1e6) / plan.events;
  assert.equal(await service.stop(), 0);
  return { perSecond, cpuMicros };
}

/** Asks a service while it delivers, and once it has delivered everything. */
async function measureCallers(
  delivering: Delivering,
): Promise<Pick<RoundOfDeliveries, 'idleP99Ms' | 'deliveringP99Ms'>> {
  const { plan, receiver } = delivering;
  const waiting = plan.events * 2;
  await fill(delivering, waiting);
  const before = await receivedBy(receiver);
  await using service = await start(delivering);
  // The first of them warm the service up.
  await p99Of(delivering, service);
  const deliveringP99Ms = await p99Of(delivering, service);
  assert.ok((await receivedBy(receiver)) < before + waiting, 'everything was delivered too soon');
  await untilQuiet(receiver);
  await wait(settleMs);
  const idleP99Ms = await p99Of(delivering, service);
  assert.equal(await service.stop(), 0);
  return { idleP99Ms, deliveringP99Ms };
}

/** How many deliveries it has answered. */
async function receivedBy({ port }: Server): Promise<number> {
  const { count } = (await (await fetch(`http://127.0.0.1:${port}/`)).json()) as { readonly count: number };
  return count;
}

async function untilQuiet(receiver: Server): Promise<void> {
  for (let seen = -1, now = 0; now !== seen;) {
    seen = now;
    await wait(quietMs);
    now = await receivedBy(receiver);
  }
}

/** Asks at a steady rate, whatever the answers take, half of it creations and half of it retrievals. */
async function p99Of({ plan, credentials }: Delivering, { port }: Server): Promise<number> {
  using agent = new DisposableAgent({ keepAlive: true });
  const headers = { authorization: `Bearer ${credentials.token}`, 'content-type': 'application/json' };
  const latenciesMs: number[] = [];
  const ids: number[] = [];
  const call = (method: string, path: string, body?: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const startedAt = performance.now();
      request({ port, host: '127.0.0.1', method, path, headers, agent }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => {
          latenciesMs.push(performance.now() - startedAt);
          if (response.statusCode === 200 || response.statusCode === 201) resolve(text);
          else reject(new Error(`answered ${response.statusCode}: ${text}`));
        });
      })
        .on('error', reject)
        .end(body);
    });
  const create = async (): Promise<void> => {
    const { gift_card: card } = JSON.parse(await call('POST', '/gift_card', '{"initial_value":25}')) as {
      readonly gift_card: { readonly id: number };
    };
    ids.push(card.id);
  };
  await create();
  const asked: Promise<unknown>[] = [];
  const startedAt = performance.now();
  for (let count = 0; performance.now() - startedAt < plan.seconds * 1_000; count += 1) {
    const dueMs = startedAt + (count * 1_000) / plan.requestsPerSecond - performance.now();
    if (dueMs > 0) await wait(dueMs);
    asked.push(count % 2 === 0 ? create() : call('GET', `/gift_card/${ids[count % ids.length]}`));
  }
  await Promise.all(asked);
  return latencyOf([Float64Array.from(latenciesMs)]).p99Ms;
}

class DisposableAgent extends Agent implements Disposable {
  [Symbol.dispose](): void {
    this.destroy();
  }
}
