/** What happens to the servers of a failover that nobody planned, and what the service says of it. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Fault } from '../../src/domain/fault.ts';
import type { Environment } from './engine-database.ts';
import { signal } from './postgres-process.ts';
import { startPostgres, type PostgresServer } from './postgres-server.ts';
import { startOn, type Folder } from './postgres-service.ts';
import { startStandby, type Standby } from './postgres-standby.ts';

export type Cluster = AsyncDisposable & {
  readonly old: PostgresServer;
  readonly next: PostgresServer;
  readonly standby: Standby;
};

export async function startCluster(): Promise<Cluster> {
  await using servers = new AsyncDisposableStack();
  const old = servers.use(await startPostgres({ durable: true }));
  const standby = servers.use(await startStandby(old, { name: 'second', synchronous: true }));
  const moved = servers.move();
  return { old, next: standby.server, standby, [Symbol.asyncDispose]: () => moved.disposeAsync() };
}

/** Waits until a service has found so many servers that accept writes. */
export async function untilPrimaries(url: string, count: number): Promise<void> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const text = await (await fetch(`${url}/metrics`)).text();
    const found = Number(/^largesse_database_primaries (\d+)$/m.exec(text)?.[1]);
    if (found === count) return;
    assert.ok(performance.now() < deadline, `${found} servers accept writes, not ${count}`);
    await wait(50);
  }
}

/** Starts the service in this process, which must refuse to; returns why. */
export async function refusalOf(environment: Environment): Promise<string> {
  const error = await startOn(environment).then(
    async (service) => {
      await service[Symbol.asyncDispose]();
      throw new assert.AssertionError({ message: 'the service started' });
    },
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof Error);
  return error instanceof Fault && error.cause instanceof Error ? error.cause.message : error.message;
}

export function timelinesFileIn(folder: Folder): string {
  return join(folder.path, 'largesse.timelines.json');
}

/** Starts the old primary again as it was, but for its standby: it does not wait for one, and accepts writes. */
export async function comeBack(old: PostgresServer): Promise<void> {
  old.unfence();
  old.configure({ synchronous_standby_names: '' });
  await old.start();
}

/** All that a server has of the service's data. */
export async function contentOf(server: PostgresServer): Promise<string> {
  const rows = await server.query(
    'select (select count(*) from gift_cards) as cards, (select count(*) from transfers) as transfers, (select count(*) from idempotency_records) as records, (select max(beaten_at) from heartbeat) as beat',
  );
  return JSON.stringify(rows, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

/** Halts all processes of a server, as if its machine had no time for it. */
export async function stalled<T>(server: PostgresServer, body: () => Promise<T>): Promise<T> {
  const { processes } = server;
  for (const pid of processes) signal(pid, 'SIGSTOP');
  try {
    return await body();
  } finally {
    for (const pid of processes) signal(pid, 'SIGCONT');
  }
}
