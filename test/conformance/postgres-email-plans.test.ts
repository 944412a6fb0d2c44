/** The plans with which PostgreSQL finds the emails of a list. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { postgresDialect } from '../../src/database/postgres/dialect.ts';
import { all, Statement, sql } from '../../src/database/sql/sql.ts';
import { emailListStatements } from '../support/email-list-statements.ts';
import { openStore } from '../support/open-store.ts';
import { postgresFactory } from '../support/postgres.ts';

test('the pages of emails read stretches of an index in a large table', async () => {
  await using opened = await openStore(postgresFactory(null));
  const { storage, store, database } = opened;
  const { id: cardId } = (await opened.issue()).card;
  await database.tamper(sql`
    insert into email_deliveries (store_id, card_id, id, kind, address, state, send_at, created_at, ended_at)
    select ${store.id}, ${cardId}, n, 'receipt', 'ada@example.com',
      case when n % 1000 = 0 then 'bounced' else 'sent' end, 1, 1, 2
    from generate_series(1, 20000) n`);
  await database.tamper(sql`analyze`);
  for (const [name, statements] of emailListStatements(store.id)) {
    for (const statement of statements) {
      const text = `explain ${statement.text(postgresDialect)}`;
      const explained = new Statement<object>([text], statement.values);
      const plan = JSON.stringify(await storage.read(() => all(explained)));
      assert.match(plan, /Index/, `${name}: ${plan}`);
      assert.doesNotMatch(plan, /Seq Scan on email_deliveries/, `${name}: ${plan}`);
    }
  }
});
