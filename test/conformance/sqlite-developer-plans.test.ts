/** The plans with which SQLite finds tokens, requests and deliveries for the pages for developers. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { sqliteDialect } from '../../src/database/sqlite/connection.ts';
import type { Script } from '../../src/database/sql/sql.ts';
import { findRequestBlock, listRequestBlocks } from '../../src/features/developers/storage/request-block.ts';
import { findToken, listNewestTokens } from '../../src/core/stores/storage/token.ts';
import { searchDeliveries } from '../../src/features/webhooks/storage/webhook-delivery.ts';
import { createSqliteDatabase, sqliteFactory } from '../support/sqlite.ts';

test('tokens, requests and deliveries in a state are read along their keys, and sorted only in pages', async () => {
  await using empty = createSqliteDatabase();
  await using engine = empty.open();
  await engine.migrate(sqliteFactory.migrations);
  const connection = empty.connect();
  const plansOf = (script: Script<unknown>): readonly (readonly string[])[] => {
    const step = script.next([]);
    assert.ok(step.done !== true);
    return step.value.statements.map((statement) =>
      connection
        .prepare(`explain query plan ${statement.text(sqliteDialect)}`)
        .all()
        .map(({ detail }) => String(detail)),
    );
  };
  const place = { before: 9, limit: 51 };
  assert.deepEqual(plansOf(listNewestTokens(1, place)), [
    ['SEARCH access_tokens USING PRIMARY KEY (store_id=? AND id<?)'],
  ]);
  assert.deepEqual(plansOf(findToken(1, 7)), [
    ['SEARCH access_tokens USING PRIMARY KEY (store_id=? AND id=?)'],
  ]);
  const blocks = 'request_blocks USING PRIMARY KEY';
  assert.deepEqual(plansOf(listRequestBlocks(1, 2_000)), [[`SEARCH ${blocks} (store_id=?)`]]);
  assert.deepEqual(plansOf(findRequestBlock(1, 7)), [[`SEARCH ${blocks} (store_id=? AND id=?)`]]);
  const key = { storeId: 1, webhookId: 7 };
  const [found = [], last] = plansOf(searchDeliveries(key, { ...place, status: 'dead' }));
  const recent = 'SEARCH webhook_deliveries USING PRIMARY KEY (store_id=? AND webhook_id=? AND event_id<?)';
  assert.deepEqual(last, [recent]);
  // At most as many as are read, then at most a page.
  assert.deepEqual(
    found.filter((detail) => !/^(?:CO-ROUTINE|SCAN) (?:recent|found)$/.test(detail)),
    [
      recent,
      'SEARCH d USING PRIMARY KEY (store_id=? AND webhook_id=? AND event_id=?)',
      'SEARCH e USING INDEX sqlite_autoindex_events_1 (store_id=? AND id=?)',
      'USE TEMP B-TREE FOR ORDER BY',
    ],
  );
});
