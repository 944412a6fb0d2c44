/** Statements sent to a PostgreSQL server directly, without the service. */

import { Client, Pool, type CustomTypesConfig } from 'pg';

export type Row = Readonly<Record<string, unknown>>;

/** A server, or a proxy that responds like one. */
export type PostgresAddress = {
  /** The superuser's URL of a database. The default is `postgres`. */
  readonly url: (database?: string) => string;
  /** The workers, if the server is the coordinator of a Citus cluster. */
  readonly workers?: readonly PostgresAddress[];
};

/**
 * A pool with a few connections to a database. The next query replaces a connection that breaks or ends while
 * idle.
 */
export function openPool(url: string, types?: CustomTypesConfig): Pool {
  const pool = new Pool({
    connectionString: url,
    max: 2,
    allowExitOnIdle: true,
    ...(types !== undefined && { types }),
  });
  pool.on('error', () => {});
  // The pool drops a connection before it has ended, and the server can break it until then.
  pool.on('connect', (client) => void client.on('error', () => {}));
  return pool;
}

/** Runs a statement on a new connection. Parameters are `$1`, … */
export async function queryOnce(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> {
  const client = new Client({ connectionString: url });
  // A server that is killed fails the query. The event of the connection is redundant.
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query<Row>(text, [...values])).rows;
  } finally {
    await client.end().catch(() => {});
  }
}
