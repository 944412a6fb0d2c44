/** Statements sent to a PostgreSQL server past the service. */

import { Client, Pool, type CustomTypesConfig } from 'pg';

export type Row = Readonly<Record<string, unknown>>;

/** A server, or whatever else answers on an URL as one does. */
export type PostgresAddress = {
  /** The superuser's URL of a database, `postgres` unless named. */
  readonly url: (database?: string) => string;
};

/** A few connections to a database. One that breaks while it is idle, or ends, is replaced by the next query. */
export function openPool(url: string, types?: CustomTypesConfig): Pool {
  const pool = new Pool({
    connectionString: url,
    max: 2,
    allowExitOnIdle: true,
    ...(types !== undefined && { types }),
  });
  pool.on('error', () => {});
  // The pool forgets a connection before it has ended, and the server may break it off until then.
  pool.on('connect', (client) => void client.on('error', () => {}));
  return pool;
}

/** Runs a statement on a connection of its own. Parameters are `$1`, … */
export async function queryOnce(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> {
  const client = new Client({ connectionString: url });
  // A server that is killed under the connection fails the query; nobody else needs to hear of it.
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query<Row>(text, [...values])).rows;
  } finally {
    await client.end().catch(() => {});
  }
}
