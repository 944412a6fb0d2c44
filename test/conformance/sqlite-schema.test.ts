/**
 * Compares the schema of SQLite after all migrations to `schema.sqlite.sql`, which makes changes visible in a
 * review.
 */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { createSqliteDatabase, sqliteFactory } from '../support/sqlite.ts';

const snapshot = join(import.meta.dirname, 'schema.sqlite.sql');

test('the migrations create the schema of the snapshot', async () => {
  await using database = createSqliteDatabase();
  await database.open().migrate(sqliteFactory.migrations);
  const statements = database
    .connect()
    .prepare(
      `select sql from sqlite_schema where sql is not null
       order by case type when 'table' then 1 when 'index' then 2 else 3 end, tbl_name, name`,
    )
    .all()
    .map(({ sql }) => `${String(sql)};\n`);
  assert.ok(statements.length > 10);
  const schema = `-- Written by test/conformance/sqlite-schema.test.ts. Do not edit.\n\n${statements.join('\n')}`;
  if (process.env['UPDATE_SNAPSHOT'] === '1') writeFileSync(snapshot, schema);
  assert.equal(
    schema,
    readFileSync(snapshot, 'utf8'),
    'the schema differs from test/conformance/schema.sqlite.sql. If that is intended, update it with\n' +
      '  UPDATE_SNAPSHOT=1 npm test -- test/conformance/sqlite-schema.test.ts\n',
  );
});
