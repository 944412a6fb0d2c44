/** Unplanned failovers of servers, and what the service reports. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { deadlineIn } from './deadline.ts';
import { Fault } from '../../src/core/domain/fault.ts';
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

/** Waits until a service has found this number of servers that accept writes. */
export async function untilPrimaries(url: string, count: number): Promise<void> {
  const deadline = deadlineIn(30_000);
  for (;;) {
    const text = await (await fetch(`${url}/metrics`)).text();
    const found = Number(/^largesse_database_primaries (\d+)$/m.exec(text)?.[1]);
    if (found === count) return;
    assert.ok(!deadline.isOver(), `${found} servers accept writes, not ${count}`);
    await wait(50);
  }
}

/** Starts the service in this process, asserts that it fails, and returns the error. */
export async function errorOf(environment: Environment): Promise<string> {
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

/** Starts the old primary again without a standby: it does not wait for one, and accepts writes. */
export async function comeBack(old: PostgresServer): Promise<void> {
  old.unfence();
  old.configure({ synchronous_standby_names: '' });
  await old.start();
}

/** Returns the data of the service on a server. */
export async function contentOf(server: PostgresServer): Promise<string> {
  const rows = await server.query(
    'select (select count(*) from gift_cards) as cards, (select count(*) from transfers) as transfers, (select count(*) from idempotency_records) as records, (select max(beaten_at) from heartbeat) as beat',
  );
  return JSON.stringify(rows, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

/** Halts all processes of a server, as if its machine stalled. */
export async function stalled<T>(server: PostgresServer, body: () => Promise<T>): Promise<T> {
  const { processes } = server;
  for (const pid of processes) signal(pid, 'SIGSTOP');
  try {
    return await body();
  } finally {
    for (const pid of processes) signal(pid, 'SIGCONT');
  }
}
