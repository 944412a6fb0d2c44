/** A server whose connections a test cuts: one of its own, or the coordinator of the run's Citus cluster. */

import { openPool, type Row } from './postgres-client.ts';
import { sharedPostgres } from './postgres-database.ts';
import { startPostgres, type PostgresServer } from './postgres-server.ts';
import { postgresFactory } from './postgres.ts';

export type ServerToCut = AsyncDisposable & Pick<PostgresServer, 'port' | 'url' | 'query'>;

/** On a cluster, the default database is a distributed one, which only the test uses. */
export async function startServerToCut(): Promise<ServerToCut> {
  if (!process.env['TEST_CITUS_WORKERS']) return startPostgres();
  const coordinator = await sharedPostgres();
  const database = await postgresFactory(null).createMigrated?.();
  if (!database) throw new Error('the factory has no databases with the schema');
  const [, own] = database.place;
  const name = new URL(own).pathname.slice(1);
  const pool = openPool(own);
  return {
    port: Number(new URL(own).port),
    url: (other) => coordinator.url(other ?? name),
    query: async (text, values) => (await pool.query<Row>(text, [...(values ?? [])])).rows,
    async [Symbol.asyncDispose]() {
      await pool.end();
      await database[Symbol.asyncDispose]();
    },
  };
}
