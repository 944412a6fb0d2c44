/** The HTTP files that run on PostgreSQL: those that send statements which the conformance suite does not. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import test from 'node:test';
import {
  isOnServerLater,
  isOnSqliteFirst,
  repeated,
  unrepeated,
  type Sent,
} from '../support/server-files.ts';

const [listed = assert.fail()] = repeated;
const other = 'test/http/new.test.ts';
const conformance = 'test/conformance/postgres-services.test.ts';
const select: Sent = [other, 'sqlite', 'select 1 as one'];

test('a statement that only one HTTP file sends, on SQLite, is reported with the file', () => {
  const found = unrepeated([select, [conformance, 'postgres', 'select 2 as two']]);
  assert.match(found.get(other) ?? '', /^test\/http\/new\.test\.ts sends statements .*: select 1 as one$/);
  assert.equal(found.size, 1);
});

test('a statement is tested on PostgreSQL by another file there, or by one that the soak repeats', () => {
  const [, , text] = select;
  assert.equal(unrepeated([select, [conformance, 'postgres', text]]).size, 0);
  for (const file of [listed, 'test/money/race.test.ts'])
    assert.equal(unrepeated([select, [file, 'sqlite', text]]).size, 0);
});

test('the soak repeats listed files and those of concurrent requests, and none of one engine', () => {
  for (const file of repeated) assert.ok(existsSync(file) && isOnServerLater(file), file);
  assert.ok(isOnServerLater('test/race/update.test.ts'));
  assert.ok(isOnSqliteFirst(other) && !isOnServerLater(other));
  assert.ok(!isOnSqliteFirst('test/http/doctor.postgres.test.ts'));
});
