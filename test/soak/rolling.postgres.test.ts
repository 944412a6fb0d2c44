/** Processes are replaced one after the other under load, without a failed request. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import { startPostgres } from '../support/postgres-server.ts';
import { assertVerifies, environmentOn, keysFileIn, emptyFolder } from '../support/postgres-service.ts';
import { seeded } from '../support/seeded.ts';
import { openShop, serve, type Served } from '../support/served.ts';
import {
  assertAppliedOnce,
  countSuccesses,
  newRetryingClients,
  errorsOf,
  startWork,
} from '../support/retrying-client.ts';

const seed = Number(process.env['FAILOVER_SEED'] ?? Date.now() % 2 ** 31);

type Balancer = AsyncDisposable & {
  readonly url: string;
  /** Starts to send requests to a process. */
  add(url: string): void;
  /** Stops sending requests to a process, and resolves when its running requests have ended. */
  drain(url: string): Promise<void>;
};

/** Sends requests to the processes in turn, or to the next one if a process accepts no connections. */
async function startBalancer(): Promise<Balancer> {
  const inFlight = new Map<string, number>();
  const drained = new Map<string, () => void>();
  let turn = 0;

  const forward = (
    incoming: IncomingMessage,
    reply: ServerResponse,
    body: Buffer,
    attempts: number,
  ): void => {
    const targets = [...inFlight.keys()].filter((url) => !drained.has(url));
    turn += 1;
    const target = targets[turn % targets.length];
    if (target === undefined) return void reply.writeHead(502).end();
    const count = (change: number): void => {
      inFlight.set(target, (inFlight.get(target) ?? 0) + change);
      if (inFlight.get(target) === 0) drained.get(target)?.();
    };
    count(1);
    const { method, headers } = incoming;
    const sent = request(`${target}${incoming.url}`, { method, headers, agent: false }, (response) => {
      reply.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(reply);
    });
    sent.once('close', () => count(-1));
    sent.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' && attempts > 1) forward(incoming, reply, body, attempts - 1);
      else reply.destroy();
    });
    sent.end(body);
  };

  const server = createServer((incoming, reply) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.once('end', () => forward(incoming, reply, Buffer.concat(chunks), 4));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    add: (url) => void inFlight.set(url, 0),
    async drain(url) {
      const { promise, resolve } = Promise.withResolvers<void>();
      drained.set(url, resolve);
      if (inFlight.get(url) === 0) resolve();
      await promise;
      inFlight.delete(url);
      drained.delete(url);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

test('no request fails while both processes are replaced, twice', async (t) => {
  t.diagnostic(`seed ${seed} (FAILOVER_SEED)`);
  await using postgres = await startPostgres({ durable: true });
  using folder = emptyFolder();
  const environment = environmentOn(folder, [postgres]);
  const token = await openShop(environment, 'flowers.example');
  await using balancer = await startBalancer();
  await using started = new AsyncDisposableStack();
  const processes: Served[] = [];
  const add = async (): Promise<void> => {
    const service = started.use(await serve(environment));
    processes.push(service);
    balancer.add(service.url);
  };
  await add();
  await add();
  const clients = newRetryingClients(12, { token, random: seeded(seed) });
  const work = startWork(clients, [balancer.url]);
  for (let replaced = 0; replaced < 4; replaced += 1) {
    await work.untilEachSucceeds(2);
    const old = processes[replaced];
    assert.ok(old);
    await add();
    await balancer.drain(old.url);
    old.kill('SIGTERM');
    assert.deepEqual(await old.ended(), { code: 0, signal: null });
    assert.equal(old.errors(), '');
  }
  await work.untilEachSucceeds(2);
  await work.end();
  assert.deepEqual(errorsOf(clients), {});
  await assertAppliedOnce(clients, (text) => postgres.query(text), keysFileIn(folder));
  await assertVerifies(environment);
  t.diagnostic(`${countSuccesses(clients)} requests, 4 processes replaced`);
});
