/** The plans with which SQLite finds the entries of a day at the till. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { listActionsBefore, listActionsNear } from '../../src/features/card-pages/storage/staff-action.ts';
import { findTillNames, listTills } from '../../src/core/staff/storage/till.ts';
import { listEntryActions, listStaffEntries } from '../../src/features/till/storage/till-day.ts';
import { sqliteDialect } from '../../src/database/sqlite/connection.ts';
import type { Script } from '../../src/database/sql/sql.ts';
import { createSqliteDatabase, sqliteFactory } from '../support/sqlite.ts';

const noon = Date.UTC(2026, 10, 22, 12);
const period = { after: 0, fromAt: noon, untilAt: noon + 86_400_000, limit: 500 };

test('the entries of a day, and the actions of a day and on a card, are read along an index with both bounds', async () => {
  await using empty = createSqliteDatabase();
  await using engine = empty.open();
  await engine.migrate(sqliteFactory.migrations);
  const connection = empty.connect();
  const planOf = (script: Script<unknown>): readonly string[] => {
    const step = script.next([]);
    const [statement] = step.done === true ? [] : step.value.statements;
    assert.ok(statement);
    return connection
      .prepare(`explain query plan ${statement.text(sqliteDialect)}`)
      .all()
      .map(({ detail }) => String(detail));
  };
  assert.deepEqual(planOf(listStaffEntries(1, period)), [
    'SEARCH t USING INDEX transfers_by_staff (store_id=? AND id>? AND id<?)',
    'SEARCH g USING INDEX sqlite_autoindex_gift_cards_1 (store_id=? AND id=?)',
  ]);
  assert.deepEqual(planOf(listEntryActions(1, 'card-issued', period)), [
    'SEARCH staff_actions USING INDEX staff_actions_by_action (store_id=? AND action=? AND id>? AND id<?)',
  ]);
  assert.deepEqual(planOf(findTillNames(1, [7])), ['SEARCH tills USING PRIMARY KEY (store_id=? AND id=?)']);
  const key = { storeId: 1, cardId: 7 };
  for (const [script, bounds] of [
    [listActionsBefore(key, { before: 9, limit: 50 }), 'id<?'],
    [listActionsNear(key, [noon]), 'id>? AND id<?'],
  ] as const)
    assert.equal(
      planOf(script)[0],
      `SEARCH a USING INDEX staff_actions_by_subject (store_id=? AND subject_id=? AND ${bounds})`,
    );
  const listed = planOf(listTills(1, 50));
  assert.ok(
    listed.some((detail) => detail.includes('staff_sessions_by_till (store_id=? AND till_id=?)')),
    listed.join('\n'),
  );
});
