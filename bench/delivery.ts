/**
 * `node bench/delivery.ts`: how fast events that wait are delivered, and what that costs the callers of the API.
 *
 * So many events wait when the service starts; receivers answer each after some ms. Then callers ask at a steady
 * rate, once with nothing to deliver and once while as many events are delivered, round after round.
 *
 *   --events 10000      that wait
 *   --endpoints 1       webhooks, each of which wants every event: the deliveries are shared out among them
 *   --answer-ms 5       how long a receiver takes
 *   --rate 200          requests per second, half of them creations and half of them retrievals
 *   --seconds 4         length of a measurement
 *   --rounds 3          of which the median counts
 */

import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readDatabaseConfig } from '../src/config.ts';
import { openDatabase } from '../src/database.ts';
import { issue } from '../src/service/card.ts';
import { requireStore } from '../src/service/store.ts';
import { largesse, pin, startServer, startService, type Server } from './processes.ts';

const { values: options } = parseArgs({
  options: {
    events: { type: 'string', default: '10000' },
    endpoints: { type: 'string', default: '1' },
    'answer-ms': { type: 'string', default: '5' },
    rate: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
  },
});
const [events, endpoints, rate, seconds, rounds] = [
  Number(options.events),
  Number(options.endpoints),
  Number(options.rate),
  Number(options.seconds),
  Number(options.rounds),
] as const;
const domain = 'bench.example';
const batch = 250;

type Received = { readonly count: number; readonly firstAt: number; readonly lastAt: number };

async function received({ port }: Server): Promise<Received> {
  return (await (await fetch(`http://127.0.0.1:${port}/`)).json()) as Received;
}

/** Writes events that wait, while no service runs. */
async function fill(home: string): Promise<void> {
  const config = readDatabaseConfig({ DATABASE_URL: `file:${join(home, 'largesse.db')}` });
  await using database = await openDatabase(config, { prepare: false });
  const { ctx, storage } = database;
  const { store } = await storage.read(() => requireStore(domain));
  const value = { minor: 2_500n, currency: store.currency };
  const command = {
    store, value, apiClientId: null, actor: 'bench', expiresOn: null, customer: null, recipient: null, note: null,
    message: null, code: null,
  }; // prettier-ignore
  const cards = Math.ceil(events / endpoints);
  for (let made = 0; made < cards; made += batch)
    await Promise.all(
      Array.from({ length: Math.min(batch, cards - made) }, () => storage.write(() => issue(ctx, command))),
    );
}

/** Asks at a steady rate, whatever the answers take, and answers how long each took, in ms. */
async function ask({ port }: Server, token: string): Promise<readonly number[]> {
  const agent = new Agent({ keepAlive: true });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
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
          resolve(text);
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
  for (let count = 0; performance.now() - startedAt < seconds * 1_000; count += 1) {
    const dueMs = startedAt + (count * 1_000) / rate - performance.now();
    if (dueMs > 0) await wait(dueMs);
    asked.push(count % 2 === 0 ? create() : call('GET', `/gift_card/${ids[count % ids.length]}`));
  }
  await Promise.all(asked);
  agent.destroy();
  return latenciesMs.toSorted((left, right) => left - right);
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}

function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((left, right) => left - right),
    0.5,
  );
}

const folder = mkdtempSync(join(tmpdir(), 'largesse-delivery-'));
try {
  const isPinned = pin();
  const home = join(folder, 'service');
  largesse(home, 'store', 'create', domain, '--currency', 'USD');
  const { token } = largesse(home, 'token', 'create', '--store', domain) as { readonly token: string };
  await using receiver = await startServer({
    script: 'bench/receiver.ts',
    argument: options['answer-ms'],
    readiness: '/',
    isPinned: false,
    log: join(folder, 'receiver.log'),
  });
  for (let made = 0; made < endpoints; made += 1) {
    const url = `http://127.0.0.1:${receiver.port}/${made}`;
    largesse(home, 'webhook', 'create', '--store', domain, '--url', url, '--events', 'gift_card.*');
  }
  const figures = {
    perSecond: [] as number[],
    cpu: [] as number[],
    idle: [] as number[],
    busy: [] as number[],
  };
  for (let round = 0; round < rounds; round += 1) {
    await fill(home);
    const before = await received(receiver);
    const startedAt = performance.now();
    await using service = await startService(home, { isPinned, production: false });
    const waiting = Math.ceil(events / endpoints) * endpoints;
    let after = before;
    const cpuBefore = service.cpuSeconds();
    let seenAt = 0;
    let seen = 0;
    for (; after.count < before.count + waiting; after = await received(receiver)) {
      assert.ok(performance.now() - startedAt < 120_000, `only ${after.count - before.count} were delivered`);
      if (seenAt === 0 && after.count > before.count) {
        seenAt = performance.now();
        seen = after.count;
      }
      await wait(10);
    }
    figures.perSecond.push((after.count - seen) / ((performance.now() - seenAt) / 1_000));
    figures.cpu.push(((service.cpuSeconds() - cpuBefore) * 1e6) / waiting);
    await wait(500);
    await ask(service, token);
    await wait(500);
    figures.idle.push(quantile(await ask(service, token), 0.99));
    assert.equal(await service.stop(), 0);

    await fill(home);
    await using again = await startService(home, { isPinned, production: false });
    figures.busy.push(quantile(await ask(again, token), 0.99));
    const state = await received(receiver);
    if (state.count - after.count < waiting) console.log('(events were left at the end of the measurement)');
    for (let count = 0; count < 600; count += 1) {
      const now = await received(receiver);
      await wait(100);
      if ((await received(receiver)).count === now.count) break;
    }
    assert.equal(await again.stop(), 0);
  }
  console.log(
    `${events} events waiting, ${endpoints} endpoints that answer in ${options['answer-ms']} ms${isPinned ? '' : ' (not pinned)'}`,
  );
  console.log(
    `deliveries/s        ${figures.perSecond.map((value) => value.toFixed(0)).join(' ')}  median ${median(figures.perSecond).toFixed(0)}`,
  );
  console.log(
    `processor/delivery  ${figures.cpu.map((value) => value.toFixed(0)).join(' ')}  median ${median(figures.cpu).toFixed(0)} us`,
  );
  console.log(
    `p99 at ${rate}/s       ${figures.idle.map((value) => value.toFixed(2)).join(' ')}  median ${median(figures.idle).toFixed(2)} ms`,
  );
  console.log(
    `p99 while delivering ${figures.busy.map((value) => value.toFixed(2)).join(' ')}  median ${median(figures.busy).toFixed(2)} ms`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
