/** How SQLite finds the emails of a list. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { sqliteDialect } from '../../src/storage/sqlite/connection.ts';
import { emailListStatements } from '../support/email-list-statements.ts';
import { createSqliteDatabase, sqliteFactory } from '../support/sqlite.ts';

test('the pages of emails read stretches of an index, and sort nothing', async () => {
  await using empty = createSqliteDatabase();
  await using engine = empty.open();
  await engine.migrate(sqliteFactory.migrations);
  const connection = empty.connect();
  const lookups = new Set<string>();
  for (const [name, statements] of emailListStatements(1)) {
    assert.ok(statements.length > 0, name);
    for (const statement of statements) {
      const text = statement.text(sqliteDialect);
      const plan = connection
        .prepare(`explain query plan ${text}`)
        .all()
        .map(({ detail }) => String(detail));
      for (const detail of plan) {
        assert.doesNotMatch(detail, /^SCAN (?!f\b|counted)|TEMP B-TREE/, `${name}: ${plan.join('\n')}`);
        if (detail.startsWith('SEARCH')) lookups.add(detail.replace(/^SEARCH \w+ USING (?:COVERING )?/, ''));
      }
    }
  }
  assert.deepEqual([...lookups].toSorted(), [
    'INDEX email_deliveries_by_id (store_id=? AND id<?)',
    'INDEX email_deliveries_by_id (store_id=? AND id=?)',
    'INDEX email_deliveries_by_id (store_id=? AND id>?)',
    'INDEX email_deliveries_by_state (store_id=? AND state=? AND kind=? AND id<?)',
    'INDEX email_deliveries_by_state (store_id=? AND state=? AND kind=? AND id>?)',
    'INDEX email_deliveries_by_state (store_id=? AND state=? AND kind=?)',
    'INDEX email_deliveries_by_state (store_id=? AND state=?)',
    'INDEX sqlite_autoindex_gift_cards_1 (store_id=? AND id=?)',
    'PRIMARY KEY (store_id=? AND card_id=? AND id>?)',
    'PRIMARY KEY (store_id=? AND card_id=?)',
  ]);
});
