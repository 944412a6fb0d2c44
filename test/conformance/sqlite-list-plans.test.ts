/** The plans with which SQLite finds the cards of a list: along an index that bounds the rows, never by sorting all cards of a store. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { sqliteDialect } from '../../src/database/sqlite/connection.ts';
import { listStatements } from '../support/list-statements.ts';
import { movementLists, movementListStatements } from '../support/movement-list-statements.ts';
import { openStore } from '../support/open-store.ts';
import { createSqliteDatabase, sqliteFactory } from '../support/sqlite.ts';

test('lists read cards along an index with a bound, and sort only few cards', async () => {
  await using opened = await openStore(sqliteFactory);
  const statements = await listStatements(opened);
  await using empty = createSqliteDatabase();
  await using engine = empty.open();
  await engine.migrate(sqliteFactory.migrations);
  const connection = empty.connect();
  const plans = new Map<string, readonly string[]>();
  let sorting = 0;
  for (const [name, list] of statements) {
    for (const statement of list) {
      const text = statement.text(sqliteDialect);
      const plan =
        plans.get(text) ??
        connection
          .prepare(`explain query plan ${text}`)
          .all()
          .map(({ detail }) => String(detail));
      plans.set(text, plan);
      const said = `${name}: ${text}\n${plan.join('\n')}`;
      for (const detail of plan) {
        if (detail.startsWith('SCAN'))
          assert.match(detail, /^SCAN (found|counted|CONSTANT ROW|\(subquery)/, said);
        // This index has only the emails that are scheduled now.
        if (detail.endsWith('email_deliveries_scheduled (store_id=?)')) continue;
        // Along the key of a store, with another bound than the store.
        assert.doesNotMatch(detail, /\(store_id=\?\)/, said);
      }
      if (!plan.some((detail) => detail.startsWith('USE TEMP B-TREE'))) continue;
      sorting += 1;
      // Few cards that an index finds, or cards of a counted stretch of the key that are sorted by balance.
      assert.match(text, /union all|order by \+g\.balance/, said);
    }
  }
  assert.ok(plans.size > 15, `only ${plans.size} different statements`);
  assert.ok(sorting > 0);
});

test('lists of transactions and holds read the index of one filter or the primary key, and sort nothing', async () => {
  await using opened = await openStore(sqliteFactory);
  await using empty = createSqliteDatabase();
  await using engine = empty.open();
  await engine.migrate(sqliteFactory.migrations);
  const connection = empty.connect();
  for (const { name, filter, index } of movementLists) {
    for (const { table, statement } of await movementListStatements(opened, filter)) {
      const plan = connection
        .prepare(`explain query plan ${statement.text(sqliteDialect)}`)
        .all()
        .map(({ detail }) => String(detail));
      const said = `${name}, ${table}\n${plan.join('\n')}`;
      const expected =
        index === null
          ? /^SEARCH m USING (?:PRIMARY KEY|INDEX sqlite_autoindex_\w+|COVERING INDEX sqlite_autoindex_\w+) \(store_id=\? AND id>\? AND id<\?\)$/
          : new RegExp(
              String.raw`^SEARCH m USING (?:COVERING )?INDEX ${table}_by_${index} \(store_id=\? AND ${index}=\? AND id>\? AND id<\?\)$`,
            );
      assert.match(plan[0] ?? '', expected, said);
      assert.ok(!plan.some((detail) => detail.includes('TEMP B-TREE')), said);
    }
  }
});
