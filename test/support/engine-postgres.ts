/**
 * PostgreSQL for the tests of a whole service: a database of one test, copied from a template with the
 * schema.
 */

import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { CustomTypesConfig } from 'pg';
import { loadMigrations } from '../../src/database/schema/migrate.ts';
import {
  isState,
  stateText,
  type DatabaseWish,
  type Engine,
  type EngineDatabase,
  type QueryRow,
} from './engine-database.ts';
import { openPostgresEngine } from './postgres.ts';
import { openPool, type PostgresAddress } from './postgres-client.ts';
import { createPostgresDatabase, partitions, sharedPostgres, templateDatabase } from './postgres-database.ts';
import { startPostgres } from './postgres-server.ts';
import { makeScratchFolder } from './scratch.ts';

export const postgresEngine: Engine = {
  id: 'postgres',
  rounds: (ordinary) => Math.max(3, Math.ceil(ordinary / 4)),
  createDatabase,
  waitedTooLong: 'overloaded',
  notMade: /the database is older than this version, \S+: run "largesse migrate"$/m,
};

const templates = new Map<PostgresAddress, Promise<string>>();

async function makeTemplate(server: PostgresAddress): Promise<string> {
  const migrations = loadMigrations('postgres');
  const key = [`partitions ${partitions}`, ...migrations.map(({ checksum }) => checksum)].join('\n');
  return templateDatabase(server, key, async (url) => {
    await using storage = openPostgresEngine(url, { partitions });
    await storage.migrate(migrations);
    if (server.workers) await storage.distribute?.();
  });
}

/**
 * Parses integers as numbers, including the wider results of `count` and `sum`, and bytes as SQLite returns
 * them.
 */
const readers: Readonly<Record<number, (text: string) => unknown>> = {
  20: toInteger,
  21: toInteger,
  23: toInteger,
  1700: toInteger,
  17: (text) => new Uint8Array(Buffer.from(text.slice(2), 'hex')),
};
const asText = (text: string): unknown => text;
const types: CustomTypesConfig = { getTypeParser: (oid: number) => readers[oid] ?? asText };

function toInteger(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

/** The server of this process: the shared server loses its last commits in a crash. */
let durableServer: Promise<PostgresAddress> | undefined;

function serverFor(durable: boolean): Promise<PostgresAddress> {
  const isCluster = Boolean(process.env['TEST_CITUS_WORKERS']);
  // A cluster is always durable.
  if (!durable || isCluster) return sharedPostgres();
  durableServer ??= startPostgres({ durable });
  return durableServer;
}

async function createDatabase({ empty = false, durable = false }: DatabaseWish = {}): Promise<EngineDatabase> {
  const server = await serverFor(durable);
  const template = templates.get(server) ?? makeTemplate(server);
  templates.set(server, template);
  const database = await createPostgresDatabase(server, empty ? {} : { template: await template });
  const folder = makeScratchFolder('largesse-test-');
  const keysFile = join(folder, 'largesse.keys.json');
  const pool = openPool(database.url, types);
  const query = async (text: string, ...values: readonly unknown[]): Promise<readonly QueryRow[]> => {
    let place = 0;
    const numbered = text.replaceAll('?', () => `$${(place += 1)}`);
    return (await pool.query<QueryRow>(numbered, [...values])).rows.map((row) => ({ ...row }));
  };
  let stateQueries: StateQueries | undefined;
  let known: { readonly versions: string; readonly text: string } | undefined;
  const tables = async (): Promise<readonly string[]> => (await query(selectTables)).map(({ name }) => String(name));

  return {
    folder,
    keysFile,
    environment: {
      DATABASE_URL: database.url,
      KEYS_FILE: keysFile,
      ...(partitions !== null && { PARTITIONS: String(partitions) }),
    },
    filesLeft: ['largesse.keys.json', 'largesse.timelines.json'],
    query,
    keepOpen: () => ({ [Symbol.asyncDispose]: async () => {} }),
    async state() {
      stateQueries ??= describeTables(await query(selectColumns));
      const { rows } = await pool.query<QueryRow>(stateQueries.versions);
      const versions = rows.map(({ version }) => version).join('\n');
      if (known?.versions === versions) return known.text;
      // A commit between reading the versions and the rows causes one more read.
      known = { versions, text: stateText((await pool.query<QueryRow>(stateQueries.rows)).rows) };
      return known.text;
    },
    async bytes() {
      const parts: Uint8Array[] = [];
      for (const name of await tables()) {
        for (const row of await query(`select * from ${name}`))
          for (const value of Object.values(row))
            parts.push(value instanceof Uint8Array ? value : Buffer.from(`\n${String(value)}\n`));
      }
      return Buffer.concat(parts);
    },
    async meddle(statement) {
      await pool.query(statement);
    },
    async lock() {
      const client = await pool.connect();
      await client.query(`begin; lock table ${(await tables()).join(', ')} in exclusive mode`);
      let isHeld = true;
      return {
        async [Symbol.asyncDispose]() {
          if (!isHeld) return;
          isHeld = false;
          await client.query('rollback');
          client.release();
        },
      };
    },
    async isTouched() {
      const connected = await query(
        `select 1 from pg_stat_activity where datname = current_database() and application_name = 'largesse'`,
      );
      return connected.length > 0 || readdirSync(folder).length > 0;
    },
    traces: async () => [...readdirSync(folder).toSorted(), ...(await tables())],
    async [Symbol.asyncDispose]() {
      await pool.end();
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
} // prettier-ignore

const selectTables = `
  select relname as name from pg_class
  where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
  order by relname collate "C"`;

const selectColumns = `
  select relname as name, attname as column from pg_class join pg_attribute a on attrelid = pg_class.oid
  where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
    and attnum > 0 and not attisdropped
  order by relname collate "C", attnum`;

/** A statement that is prepared once for each connection. */
type Prepared = { readonly name: string; readonly text: string };

type StateQueries = {
  /** A row for each table: its name and all of its rows as text. */
  readonly rows: Prepared;
  /**
   * A row for each table: a hash of the versions of its rows. It takes a fraction of the time of the text. A
   * version of a row is a place (`ctid`) and the transaction that wrote it (`xmin`).
   */
  readonly versions: Prepared;
};

/** A function has at most 100 arguments. */
const pairsMax = 50;

function describeTables(columns: readonly QueryRow[]): StateQueries {
  const tables = Map.groupBy(
    columns.filter(({ name, column }) => isState(String(name), String(column))),
    ({ name }) => String(name),
  );
  const rows = [...tables].map(([table, own]) => {
    const pairs = own.map(({ column }) => `'${String(column)}', ${String(column)}`);
    const parts = Array.from({ length: Math.ceil(pairs.length / pairsMax) }, (_, part) =>
      pairs.slice(part * pairsMax, (part + 1) * pairsMax).join(', '),
    );
    const row = `(${parts.map((part) => `jsonb_build_object(${part})`).join(' || ')})::text`;
    return `select '${table}' as name, (select string_agg(${row}, e'\\n' order by ${row} collate "C") from ${table}) as rows`;
  });
  const versions = [...tables.keys()].map(
    (table) =>
      `select concat_ws(' ', count(*), sum(hashtextextended(concat_ws(' ', tableoid, ctid, xmin), 0))) as version from ${table}`,
  );
  return {
    rows: { name: 'state', text: rows.join(' union all ') },
    versions: { name: 'versions', text: versions.join(' union all ') },
  };
}
