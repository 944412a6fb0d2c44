/** The plans with which PostgreSQL finds rows. A prepared statement can keep a plan that was made for an empty table. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { findCard, findCardState } from '../../src/core/cards/storage/card.ts';
import { findIdempotencyRecords } from '../../src/core/stores/storage/idempotency.ts';
import { findRefilledAt } from '../../src/core/stores/storage/lookup-throttle.ts';
import { postgresDialect } from '../../src/database/postgres/dialect.ts';
import { all, sql, Statement, type Script } from '../../src/database/sql/sql.ts';
import { firstWork, listWork } from '../../src/core/stores/storage/work.ts';
import { findActiveToken } from '../../src/core/stores/storage/token.ts';
import {
  listTransfers,
  listTransfersAfter,
  listTransfersBefore,
} from '../../src/core/money/storage/transfer.ts';
import { listStatements } from '../support/list-statements.ts';
import { movementLists, movementListStatements } from '../support/movement-list-statements.ts';
import { openStore } from '../support/open-store.ts';
import { postgresFactory } from '../support/postgres.ts';

const digest = Uint8Array.of(1);
const lookups: Readonly<Record<string, Script<unknown>>> = {
  'an idempotency key': findIdempotencyRecords({
    storeId: 1,
    digests: [digest],
  }),
  'a card': findCard(1, 1),
  'a card and the end of its chain': findCardState({ storeId: 1, cardId: 1 }, 0),
  'the newest transfers of a card': listTransfersBefore(
    { storeId: 1, cardId: 1 },
    { before: null, limit: 50 },
  ),
  'the transfers before another': listTransfersBefore({ storeId: 1, cardId: 1 }, { before: 7, limit: 50 }),
  'the transfers after another': listTransfersAfter({ storeId: 1, cardId: 1 }, { after: 7, limit: 50 }),
  'the chains of some cards': listTransfers(1, { after: 1, upTo: 500 }),
  'a token': findActiveToken(1, digest),
  'failed lookups': findRefilledAt({ storeId: 1, caller: 'token:1' }),
};

/** Returns the server's plan for the first statement of a script. */
function* explain(script: Script<unknown>): Script<string> {
  const step = script.next([]);
  const [statement] = step.done === true ? [] : step.value.statements;
  assert(statement);
  const explanation = new Statement<object>([`explain ${statement.text(postgresDialect)}`], statement.values);
  return JSON.stringify(yield* all(explanation));
}

test('lookups use an index, even in a table that is known to be empty', async () => {
  await using opened = await openStore(postgresFactory(null));
  // The server expects some rows of a table that was never analyzed.
  await opened.database.tamper(sql`analyze`);
  for (const [name, script] of Object.entries(lookups)) {
    const plan = await opened.storage.read(() => explain(script));
    assert.match(plan, /Index/, name);
    assert.doesNotMatch(plan, /Seq Scan/, name);
    // A digest that only filters the rows of a key's prefix reads all rows of the store.
    assert.doesNotMatch(plan, /Filter: [^"]*digest/, `${name}: ${plan}`);
  }
});

test('the due work of stores is found along its index, whichever number of stores there is', async () => {
  await using opened = await openStore(postgresFactory(null));
  await opened.database.tamper(sql`analyze`);
  const work = listWork('expiry', { after: firstWork, upTo: 1, limit: 500 });
  assert.match(await opened.storage.read(() => explain(work)), /store_work_due/);
});

test('lists read cards along an index with a bound, even in a table that is known to be empty', async () => {
  await using opened = await openStore(postgresFactory(null));
  const statements = await listStatements(opened);
  await opened.database.tamper(sql`analyze`);
  const explained = new Set<string>();
  for (const [name, list] of statements) {
    for (const statement of list) {
      const text = statement.text(postgresDialect);
      if (explained.has(text)) continue;
      explained.add(text);
      const explanation = new Statement<object>([`explain ${text}`], statement.values);
      const rows = await opened.storage.read(() => all(explanation));
      const plan = rows.map((row) => String(Object.values(row)[0])).join('\n');
      const said = `${name}: ${text}\n${plan}`;
      assert.doesNotMatch(plan, /Seq Scan|Hash|Merge|Bitmap/, said);
      // Only few cards that an index finds, or a counted stretch of the key, are sorted.
      if (/Sort/.test(plan)) assert.match(text, /union all|order by \+g\.balance|order by e\.id/, said);
    }
  }
  assert.ok(explained.size > 15, `only ${explained.size} different statements`);
});

test('lists of transactions and holds read the index of one filter or the primary key', async () => {
  await using opened = await openStore(postgresFactory(null));
  await opened.database.tamper(sql`analyze`);
  for (const { name, filter, index } of movementLists) {
    for (const { table, statement } of await movementListStatements(opened, filter)) {
      const explanation = new Statement<object>(
        [`explain ${statement.text(postgresDialect)}`],
        statement.values,
      );
      const rows = await opened.storage.read(() => all(explanation));
      const plan = rows.map((row) => String(Object.values(row)[0])).join('\n');
      const said = `${name}, ${table}\n${plan}`;
      assert.match(
        plan,
        new RegExp(`Index (?:Only )?Scan.* using ${table}_(?:${index ? `by_${index}` : 'pkey'}) `),
        said,
      );
      assert.doesNotMatch(plan, /Seq Scan|Sort|Bitmap/, said);
    }
  }
});
