/**
 * Databases on a PostgreSQL server.
 *
 * The database server has core 1, as a server on a machine of its own would. The services and the baseline have core 0
 * in turn, each together with the load generator.
 */

import { openPool, queryOnce } from '../test/support/postgres-client.ts';
import { startPostgres, type PostgresServer } from '../test/support/postgres-server.ts';
import type { Database } from './fixture.ts';
import { cpuMicros, otherCore, pinTo, serverCore } from './processes.ts';

/** A durable server with enough memory for a large database. */
export async function startDatabase(): Promise<PostgresServer> {
  const postgres = await startPostgres({
    durable: true,
    settings: {
      shared_buffers: '512MB',
      max_wal_size: '4GB',
      min_wal_size: '1GB',
      autovacuum: 'on',
      // After a checkpoint the server logs whole pages, which would count for the operation that comes first.
      checkpoint_timeout: '1h',
    },
  });
  // The processes that it starts later inherit the core.
  for (const pid of postgres.processes) pinTo(otherCore, pid);
  return postgres;
}

export async function createDatabase(postgres: PostgresServer, name: string): Promise<Database> {
  pinTo(serverCore);
  await postgres.query(`create database ${name}`);
  const url = postgres.url(name);
  const pool = openPool(url);
  return {
    engine: 'postgres',
    url,
    async usage() {
      const { rows } = await pool.query<{ bytes: string }>(`select pg_current_wal_lsn() - '0/0' as bytes`);
      return { micros: cpuMicros(postgres.processes), bytes: Number(rows[0]?.bytes) };
    },
    async settle() {
      await queryOnce(url, 'vacuum analyze');
      await queryOnce(url, 'checkpoint');
      const [{ bytes } = {}] = await postgres.query(
        `select pg_database_size('${name}') - pg_database_size('template1') as bytes`,
      );
      return Number(bytes);
    },
    async [Symbol.asyncDispose]() {
      await pool.end();
      await postgres.query(`drop database ${name} with (force)`);
    },
  };
}
