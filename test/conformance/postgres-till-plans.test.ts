/** The plans with which PostgreSQL finds the entries of a day at the till. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { postgresDialect } from '../../src/database/postgres/dialect.ts';
import { all, Statement, sql, type Script } from '../../src/database/sql/sql.ts';
import { listEntryActions, listStaffEntries } from '../../src/features/till/storage/till-day.ts';
import { openStore } from '../support/open-store.ts';
import { postgresFactory } from '../support/postgres.ts';

const noon = Date.UTC(2026, 10, 22, 12);
const period = { after: 0, fromAt: noon, untilAt: noon + 86_400_000, limit: 500 };

function* explain(script: Script<unknown>): Script<string> {
  const step = script.next([]);
  const [statement] = step.done === true ? [] : step.value.statements;
  assert.ok(statement);
  const text = `explain ${statement.text(postgresDialect)}`;
  return JSON.stringify(yield* all(new Statement<object>([text], statement.values)));
}

test('the entries and actions of a day are read along an index, in a large ledger of API clients', async () => {
  await using opened = await openStore(postgresFactory(null));
  const { id: cardId } = (await opened.issue()).card;
  await opened.database.tamper(sql`alter table transfers disable trigger user`);
  // The chain of these rows is not valid: only the plan is tested.
  await opened.database.tamper(sql`
    insert into transfers (store_id, card_id, sequence, id, kind, amount, currency, debit_account, credit_account,
      balance_after, actor, created_at, previous_id, hash)
    select store_id, card_id, n + 1, id + n, 'credit', 1, currency, 'sales', 'card', balance_after, actor, created_at, id, hash
    from transfers, generate_series(1, 5000) n where card_id = ${cardId} and sequence = 1`);
  await opened.database.tamper(sql`analyze`);
  const plans = {
    transfers_by_staff: listStaffEntries(opened.store.id, period),
    staff_actions_by_action: listEntryActions(opened.store.id, 'card-issued', period),
  };
  for (const [index, script] of Object.entries(plans)) {
    const plan = await opened.storage.read(() => explain(script));
    assert.match(plan, new RegExp(index), plan);
    assert.doesNotMatch(plan, /Seq Scan on transfers|Seq Scan on staff_actions/, plan);
  }
});
