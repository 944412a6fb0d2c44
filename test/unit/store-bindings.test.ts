/** Every statement names one store at every level, so that a database can be divided by store. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { tableKinds } from '../../src/database/postgres/distribution.ts';
import { citusDialect, postgresDialect } from '../../src/database/postgres/dialect.ts';
import { allStatements, piecesMissing } from '../support/all-statements.ts';
import { ofAllStores } from '../support/statements-of-all-stores.ts';
import { changesRows, unboundTables } from '../support/store-bindings.ts';

const isDivided = (table: string): boolean => tableKinds[table] === 'by store';
const texts = await allStatements(citusDialect);

const oneLine = (text: string): string => text.trim().replaceAll(/\s+/g, ' ');

test('the test knows every statement of the storage layer', () => {
  const missing = piecesMissing(texts.keys());
  const advice =
    'these parts of statements were not sent: call their function, with values that fit, in "given" of test/support/all-statements.ts';
  assert.deepEqual(missing, [], advice);
  assert.ok(texts.size > 400, `only ${texts.size} statements`);
});

test('every level of every statement names its store, except statements that find rows of all stores', () => {
  const unbound = [...texts.keys()].filter((text) => unboundTables(text, isDivided).length > 0).map(oneLine);
  const unknown = unbound.filter((text) => !ofAllStores.some((each) => text.startsWith(each.text)));
  const advice =
    'these statements do not compare store_id with a parameter at each level: add the condition, or find the stores first';
  assert.deepEqual(unknown, [], advice);
  const unused = ofAllStores.filter((each) => !unbound.some((text) => text.startsWith(each.text)));
  assert.deepEqual(unused, [], 'these exceptions are not needed');
});

test('no statement changes or locks rows of several stores', () => {
  const wrong = [...texts.keys()].filter(
    (text) => changesRows(text) && unboundTables(text, isDivided).length > 0,
  );
  assert.deepEqual(wrong, [], 'a background job finds rows with a read, and claims them store by store');
});

test('a statement uses no table that each server has for itself together with rows of stores', () => {
  const own = Object.keys(tableKinds).filter((table) => tableKinds[table] === 'own');
  const uses = (text: string, table: string): boolean => new RegExp(String.raw`\b${table}\b`).test(text);
  const mixed = [...texts.keys()].filter(
    (text) =>
      own.some((table) => uses(text, table)) &&
      Object.keys(tableKinds).some((table) => isDivided(table) && uses(text, table)),
  );
  assert.deepEqual(mixed, []);
});

test('a statement of either dialect has the same store at the same places', async () => {
  const plain = await allStatements(postgresDialect);
  const wrong = [...plain.keys()].filter(
    (text) => unboundTables(text, isDivided).length > 0 && changesRows(text),
  );
  assert.deepEqual(wrong, []);
});

/** Statements of earlier versions that failed on a cluster, or were sent to all of its servers. */
const earlier: Readonly<Record<string, string>> = {
  'expired holds were claimed for all stores': `
    select h.id from holds h join gift_cards g on g.store_id = h.store_id and g.id = h.card_id
    where h.status = 'open' and h.expires_at <= $1 order by h.expires_at limit $2 for update skip locked`,
  'emails were claimed for all stores': `
    select id from email_deliveries where next_at <= $1 order by next_at limit $2 for update skip locked`,
  'records were erased for all stores': `
    delete from idempotency_records where (store_id, key_digest) in (
      select store_id, key_digest from idempotency_records
      where created_at < $1 order by created_at limit $2 for update skip locked)`,
  'budgets were erased for all stores': `
    delete from lookup_throttle where (store_id, caller) in (
      select store_id, caller from lookup_throttle where refilled_at <= $1 limit $2 for update skip locked)`,
  'the held amount of a card was summed with the store of an outer level': `
    select g.id, (select sum(h.amount) from holds h where h.store_id = g.store_id and h.card_id = g.id) as held
    from gift_cards g where g.store_id = $1 and g.id = $2`,
  'a code was looked up with the store of an outer level': `
    select k.digest, case when g.held = 0 then 0 else (
        select sum(h.amount) from holds h where h.store_id = g.store_id and h.card_id = g.id) end as expired_held
    from gift_card_codes k join gift_cards g on g.store_id = k.store_id and g.id = k.card_id
    where k.store_id = $1 and k.lookup = $2`,
  'a cursor was joined with the store of either engine': `
    select count(*) from transfers t join log_cursors c on c.store_id in (0, t.store_id) where t.store_id = $1`,
  'a store was one of two': `select id from logs where store_id = $1 or store_id = $2`,
  'a row was inserted without its store': `insert into holds (id) values ($1)`,
  'one side of a union had no store': `
    select id from holds where store_id = $1 union all select id from transfers where id = $2`,
  'a query of a with clause had no store': `
    with due as materialized (select event_id from webhook_deliveries where next_at <= $1)
    select id from webhooks where store_id = $2 and id in (select event_id from due)`,
};

for (const [name, text] of Object.entries(earlier)) {
  test(`the check finds that ${name}`, () => {
    assert.notDeepEqual(unboundTables(text, isDivided), []);
  });
}

test('the check accepts a store that a level compares directly, in a row or through a join', () => {
  const accepted = [
    'select id from holds where store_id = $1 and id = $2',
    'select id from holds where (store_id, id) = ($1, $2)',
    'select h.id from holds h join gift_cards g on h.store_id = g.store_id where g.store_id = cast($1 as bigint)',
    'select g.id from gift_cards g left join customers c on c.store_id = g.store_id where g.store_id = $1',
    'update holds set captured = $1 where store_id = $2 and id in (select id from transfers where store_id = $2)',
    'insert into holds (store_id, id) select store_id, id from transfers where store_id = $1',
    'select s.id from stores s',
  ];
  for (const text of accepted) assert.deepEqual(unboundTables(text, isDivided), [], text);
});
