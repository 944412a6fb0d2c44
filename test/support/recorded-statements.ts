/**
 * Records the statements that the test files of a process send to a database, for `server-files.ts`: a line with the file,
 * the engine and the text on PostgreSQL. The runner loads it before the test files.
 */

import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import pg from 'pg';
import { postgresDialect } from '../../src/database/postgres/dialect.ts';
import { Lock, Statement } from '../../src/database/sql/sql.ts';
import { sqliteDialect } from '../../src/database/sqlite/connection.ts';
import type { EngineId } from './engine-database.ts';

const folder = process.env['TEST_STATEMENTS'] ?? assert.fail();
const recorded = new Set<string>();

function record(engine: EngineId, text: string): void {
  const line = JSON.stringify([process.env['TEST_FILE'], engine, text]);
  if (recorded.has(line)) return;
  recorded.add(line);
  appendFileSync(`${folder}/${process.pid}`, `${line}\n`);
}

// oxlint-disable-next-line unbound-method -- called with its object
const { text } = Statement.prototype;
Statement.prototype.text = function textOf(dialect) {
  if (dialect === sqliteDialect) record('sqlite', text.call(this, postgresDialect));
  return text.call(this, dialect);
};

// SQLite does not prepare a statement that only locks. Its connection looks for one this way.
Object.defineProperty(Lock, Symbol.hasInstance, {
  value(statement: object) {
    const isLock = Lock.prototype.isPrototypeOf(statement);
    if (isLock) record('sqlite', text.call(statement as Lock, postgresDialect));
    return isLock;
  },
});

// oxlint-disable-next-line unbound-method -- called with its object
const { parse } = pg.Connection.prototype;
pg.Connection.prototype.parse = function parsed(query, more) {
  record('postgres', query.text);
  return parse.call(this, query, more);
};
