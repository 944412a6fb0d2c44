/** What happens to the servers of a failover that nobody planned. */

import { signal } from './postgres-process.ts';
import type { PostgresServer } from './postgres-server.ts';

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
