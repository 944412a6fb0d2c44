/** PgBouncer in front of a PostgreSQL server. It needs the Debian package `pgbouncer`. */

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { deadlineIn } from './deadline.ts';
import { makeServerFolder } from './postgres-binaries.ts';
import type { PostgresAddress } from './postgres-client.ts';
import { freePort, takesConnections } from './postgres-port.ts';
import { startGuarded } from './postgres-process.ts';
import type { PostgresServer } from './postgres-server.ts';

/** Debian installs it in a folder that is not in the PATH of ordinary accounts. */
const program = '/usr/sbin/pgbouncer';
const startTimeoutMs = 20_000;
const pollMs = 10;

export type PgbouncerOptions = {
  /** The unit for which a client keeps its server connection. */
  readonly poolMode: 'session' | 'transaction' | 'statement';
  /** Whether it uses idle server connections in turn. By default it prefers the last used one. */
  readonly roundRobin?: boolean;
  /** The number of idle server connections that it keeps open for each database. */
  readonly idleServers?: number;
};

export type Pgbouncer = PostgresAddress & AsyncDisposable;

/**
 * Starts PgBouncer in front of a server and waits until it accepts connections. It ends with this process at
 * the latest.
 */
export async function startPgbouncer(
  server: PostgresServer,
  { poolMode, roundRobin = false, idleServers = 0 }: PgbouncerOptions,
): Promise<Pgbouncer> {
  const { account, password } = server.parts;
  const folder = makeServerFolder(account);
  const port = await freePort();
  writeFileSync(join(folder, 'users.txt'), `"postgres" "${password}"\n`);
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'scram-sha-256',
    auth_file: join(folder, 'users.txt'),
    pool_mode: poolMode,
    default_pool_size: 60,
    min_pool_size: idleServers,
    max_client_conn: 200,
    server_round_robin: roundRobin ? 1 : 0,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(file, `[databases]\n* = host=127.0.0.1 port=${server.port}\n[pgbouncer]\n${lines.join('')}`);
  const running = await startGuarded([program, file], { folder, data: folder, account });
  const remove = async (): Promise<void> => {
    await running.remove();
    rmSync(folder, { recursive: true, force: true });
  };
  const deadline = deadlineIn(startTimeoutMs);
  while (!(await takesConnections(port))) {
    if (running.isGone() || deadline.isOver()) {
      await remove();
      throw new Error('PgBouncer does not start');
    }
    await wait(pollMs);
  }
  return {
    url(database) {
      const url = new URL(server.url(database));
      url.port = String(port);
      return url.href;
    },
    [Symbol.asyncDispose]: remove,
  };
}
