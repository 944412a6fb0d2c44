/** The plans with which SQLite finds the emails of a list. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { sqliteDialect } from '../../src/database/sqlite/connection.ts';
import { emailListStatements } from '../support/email-list-statements.ts';
import { createSqliteDatabase, sqliteFactory } from '../support/sqlite.ts';

test('the pages of emails read stretches of an index, and sort only the emails of found cards', async () => {
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
        const isSearch = name.startsWith('of a ') || name === 'newer of a customer';
        const slow = isSearch
          ? /^SCAN (?!c\b|found\b|bought\b|received\b|CONSTANT)/
          : /^SCAN (?!f\b|counted)|TEMP B-TREE/;
        assert.doesNotMatch(detail, slow, `${name}: ${plan.join('\n')}`);
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
    'INDEX gift_cards_by_customer (store_id=? AND customer_id=?)',
    'INDEX gift_cards_by_recipient (store_id=? AND recipient_id=?)',
    'INDEX sqlite_autoindex_gift_cards_1 (store_id=? AND id=?)',
    'PRIMARY KEY (store_id=? AND card_id=? AND id>? AND id<?)',
    'PRIMARY KEY (store_id=? AND card_id=? AND id>?)',
    'PRIMARY KEY (store_id=? AND card_id=?)',
  ]);
});
