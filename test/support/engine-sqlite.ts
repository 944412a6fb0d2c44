/** The embedded engine for the tests of a whole service: a file in a folder of one test. */

import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import {
  isState,
  stateText,
  type DatabaseWish,
  type Engine,
  type EngineDatabase,
} from './engine-database.ts';
import { makeScratchFolder } from './scratch.ts';
import { migratedFile } from './sqlite.ts';

const timeout = 5_000;

export const sqliteEngine: Engine = {
  id: 'sqlite',
  rounds: (ordinary) => ordinary,
  createDatabase,
  waitedTooLong: 'unavailable',
  notMade: /there is no database at \S+largesse\.db: correct/,
};

async function createDatabase({
  empty = false,
  durable = false,
}: DatabaseWish = {}): Promise<EngineDatabase> {
  const folder = durable
    ? mkdtempSync(join(tmpdir(), 'largesse-test-'))
    : makeScratchFolder('largesse-test-');
  const file = join(folder, 'largesse.db');
  const keysFile = join(folder, 'largesse.keys.json');
  if (!empty) copyFileSync(await migratedFile(), file);
  let kept: DatabaseSync | undefined;
  const read = <T>(body: (database: DatabaseSync) => T): T => (kept ? body(kept) : reading(file, body));
  return {
    folder,
    keysFile,
    environment: { DATABASE_URL: `file:${file}` },
    filesLeft: ['largesse.db', 'largesse.keys.json'],
    query: async (text, ...values) =>
      read((database) =>
        statementOf(database, text)
          .all(...values)
          .map((row) => ({ ...row })),
      ),
    keepOpen() {
      const opened = new DatabaseSync(file, { readOnly: true, timeout });
      kept = opened;
      return {
        async [Symbol.asyncDispose]() {
          kept = undefined;
          opened.close();
        },
      };
    },
    state: async () => read(stateOf),
    async bytes() {
      // A checkpoint moves pages from the log to the database. Read after it, the log would hide what was moved.
      const files = [`${file}-wal`, `${file}-shm`, file];
      return Buffer.concat(files.filter((each) => existsSync(each)).map((each) => readFileSync(each)));
    },
    async meddle(statement) {
      using database = new DatabaseSync(file, { timeout });
      database.exec(statement);
      // Processes of the service count their commits, so that others empty their caches at once.
      const counted = database.prepare('pragma user_version').get()?.['user_version'];
      database.exec(`pragma user_version = ${Number(counted) + 1}`);
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

/**
 * Opens the file for the queries of `body`, and closes it. The last process that closes the file removes its
 * log.
 */
export function reading<T>(file: string, body: (database: DatabaseSync) => T): T {
  using database = new DatabaseSync(file, { readOnly: true, timeout });
  return body(database);
}

const statements = new WeakMap<DatabaseSync, Map<string, StatementSync>>();

/** Returns a statement that is prepared once for each connection. */
function statementOf(database: DatabaseSync, text: string): StatementSync {
  const own = statements.get(database) ?? new Map<string, StatementSync>();
  statements.set(database, own);
  const statement = own.get(text) ?? database.prepare(text);
  own.set(text, statement);
  return statement;
}

const states = new WeakMap<DatabaseSync, { readonly version: unknown; readonly text: string }>();

/**
 * All state as text. It is read again only after another connection has committed, which `pragma
 * data_version` shows.
 */
function stateOf(database: DatabaseSync): string {
  const version = statementOf(database, 'pragma data_version').get()?.['data_version'];
  const known = states.get(database);
  if (known && known.version === version) return known.text;
  // A commit between reading the version and the rows causes one more read.
  const text = stateText(statementOf(database, stateQuery(database)).all());
  states.set(database, { version, text });
  return text;
}

const stateQueries = new WeakMap<DatabaseSync, string>();

/** A query with a row for each table: its name and all of its rows as text. */
function stateQuery(database: DatabaseSync): string {
  const known = stateQueries.get(database);
  if (known !== undefined) return known;
  const columns = database
    .prepare(
      `select t.name, c.name as column from sqlite_schema t, pragma_table_info(t.name) c
       where t.type = 'table' order by t.name, c.cid`,
    )
    .all()
    .filter(({ name, column }) => isState(String(name), String(column)));
  const query = [...Map.groupBy(columns, ({ name }) => String(name))]
    .map(([table, own]) => {
      const pairs = own.map(({ column }) => `'${String(column)}', ${asJson(String(column))}`).join(', ');
      return `select '${table}' as name, (select group_concat(json_object(${pairs}), char(10)) from ${table}) as rows`;
    })
    .join(' union all ');
  stateQueries.set(database, query);
  return query;
}

/** JSON has no type for bytes. */
function asJson(column: string): string {
  return `case typeof(${column}) when 'blob' then hex(${column}) else ${column} end`;
}
