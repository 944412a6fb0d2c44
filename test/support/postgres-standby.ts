/** A second PostgreSQL server that replicates a first one, and can replace it. */

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { deadlineIn } from './deadline.ts';
import { findPostgres, makeMemoryFolder, makeServerFolder } from './postgres-binaries.ts';
import { copyData, startOnFreePort, type PostgresServer } from './postgres-server.ts';

const streamingTimeoutMs = 30_000;
const pollMs = 10;
const promotionTimeoutSeconds = 30;

export type StandbyOptions = {
  /** The name of the standby: lower-case letters, digits and underscores. */
  readonly name: string;
  /** Whether the primary acknowledges a commit only after the standby has it on disk. */
  readonly synchronous: boolean;
};

export type Standby = AsyncDisposable & {
  readonly name: string;
  readonly server: PostgresServer;
  readonly primary: PostgresServer;
  readonly isInRecovery: () => Promise<boolean>;
  /**
   * Waits until the primary streams to it, and waits for it if it is synchronous. @throws Error after the
   * timeout.
   */
  readonly streams: () => Promise<void>;
  /** Kills the primary and fences it, then makes this server accept writes. */
  readonly promote: () => Promise<void>;
};

/** Starts a copy of a server that replicates it. The server is stopped briefly. */
async function startCopy(primary: PostgresServer, name: string): Promise<PostgresServer> {
  const { account, password, settings } = primary.parts;
  const folder = makeServerFolder(account);
  const data = makeMemoryFolder(account) ?? join(folder, 'data');
  try {
    // Keeps the log that a stopped standby misses.
    primary.configure({ wal_keep_size: '1GB' });
    await primary.stop();
    copyData(primary.data, data);
    await primary.start();
    writeFileSync(join(data, 'standby.signal'), '');
    const follows = {
      primary_conninfo: `host=127.0.0.1 port=${primary.port} user=postgres password=${password} application_name=${name}`,
      wal_retrieve_retry_interval: '200ms',
    };
    return await startOnFreePort({
      account,
      folder,
      data,
      binaries: findPostgres(folder, account),
      password,
      settings: { ...settings, ...follows },
    });
  } catch (error) {
    for (const path of [folder, data]) rmSync(path, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Creates a standby of a server, which is stopped briefly. Both run when this resolves, and the standby
 * streams.
 */
export async function startStandby(primary: PostgresServer, options: StandbyOptions): Promise<Standby> {
  const { name } = options;
  const server = await startCopy(primary, name);
  try {
    if (options.synchronous) {
      primary.configure({ synchronous_standby_names: name, synchronous_commit: 'on' });
    }
    await streams(primary, options);
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
  return {
    name,
    server,
    primary,
    isInRecovery: async () => (await server.query('select pg_is_in_recovery() as is'))[0]?.['is'] === true,
    streams: () => streams(primary, options),
    async promote() {
      await primary.fence();
      const [row] = await server.query(`select pg_promote(true, ${promotionTimeoutSeconds}) as done`);
      if (row?.['done'] !== true) throw new Error(`${name} was not promoted:\n${server.log().slice(-2_000)}`);
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function streams(primary: PostgresServer, { name, synchronous }: StandbyOptions): Promise<void> {
  const deadline = deadlineIn(streamingTimeoutMs);
  const wanted = synchronous ? 'sync' : 'async';
  for (;;) {
    const rows = await primary.query(
      'select state, sync_state from pg_stat_replication where application_name = $1',
      [name],
    );
    const [{ state, sync_state: kind } = {}] = rows;
    if (state === 'streaming' && kind === wanted) return;
    if (deadline.isOver()) {
      throw new Error(`${name} does not stream (${wanted}): ${JSON.stringify(rows)}`);
    }
    await wait(pollMs);
  }
}
