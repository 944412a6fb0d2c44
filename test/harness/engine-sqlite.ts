/** The embedded engine under the tests of a whole service: a file in a folder of the test's own. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describeState, type Engine, type EngineDatabase } from './engine-database.ts';

const timeout = 5_000;

export const sqliteEngine: Engine = {
  id: 'sqlite',
  rounds: (ordinary) => ordinary,
  createDatabase: async () => createDatabase(),
  waitedTooLong: 'unavailable',
  notMade: /there is no database at \S+largesse\.db$/m,
};

function createDatabase(): EngineDatabase {
  const folder = mkdtempSync(join(tmpdir(), 'largesse-test-'));
  const file = join(folder, 'largesse.db');
  const keysFile = join(folder, 'largesse.keys.json');
  return {
    folder,
    keysFile,
    environment: { DATABASE_URL: `file:${file}` },
    filesLeft: ['largesse.db', 'largesse.keys.json'],
    query: async (text, ...values) =>
      reading(file, (database) =>
        database
          .prepare(text)
          .all(...values)
          .map((row) => ({ ...row })),
      ),
    state: async () => reading(file, stateOf),
    async bytes() {
      const files = [file, `${file}-wal`, `${file}-shm`];
      return Buffer.concat(files.filter((each) => existsSync(each)).map((each) => readFileSync(each)));
    },
    async meddle(statement) {
      using database = new DatabaseSync(file, { timeout });
      database.exec(statement);
    },
    async lock() {
      const database = new DatabaseSync(file, { timeout });
      database.exec('begin immediate');
      return {
        async [Symbol.asyncDispose]() {
          if (database.isOpen) database.close();
        },
      };
    },
    isTouched: async () => readdirSync(folder).length > 0,
    traces: async () => readdirSync(folder).toSorted(),
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Queries of a file, which is not kept open: a service that ends closes it as the last one, or is found so. */
export function reading<T>(file: string, body: (database: DatabaseSync) => T): T {
  using database = new DatabaseSync(file, { readOnly: true, timeout });
  return body(database);
}

function stateOf(database: DatabaseSync): string {
  const tables = database.prepare("select name from sqlite_schema where type = 'table' order by name").all();
  const rowsOf = (name: string): readonly string[] => {
    const statement = database.prepare(`select * from ${name}`);
    statement.setReadBigInts(true);
    return statement.all().map((row) => {
      const { last_used_at: _, ...kept } = row;
      return JSON.stringify(kept, asText);
    });
  };
  return describeState(new Map(tables.map(({ name }) => [String(name), rowsOf(String(name))])));
}

function asText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
