/**
 * Distribution, starts and requests with an imitation of Citus, on a machine without it. `test/citus` does the same
 * with Citus itself before a release.
 */

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import pg from 'pg';
import { scopes } from '../../src/core/stores/domain/store.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { shownId } from '../../src/platform/public-id.ts';
import { createToken } from '../../src/core/stores/service/token.ts';
import { readDatabaseConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { tableKinds, type TableKind } from '../../src/database/postgres/distribution.ts';
import { citusRules, messageOf } from '../support/citus-rules.ts';
import {
  callsOf,
  createCoordinator,
  createWorker,
  loseWorkers,
  settingsOfImitation,
  statementsIn,
  urlOf,
} from '../support/citus-imitation.ts';
import type { Environment } from '../support/engine-database.ts';
import { until } from '../support/delivering.ts';
import { issueCommand, money, newStore } from '../support/fixtures.ts';
import { queryOnce } from '../support/postgres-client.ts';
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts';
import { clientOf, emptyFolder, keysFileIn, readinessOf, startOn } from '../support/postgres-service.ts';
import { command } from '../support/served.ts';
import { ofAllStores } from '../support/statements-of-all-stores.ts';
import { unboundTables } from '../support/store-bindings.ts';

const cleanup = new AsyncDisposableStack();
after(() => cleanup.disposeAsync());
const folder = cleanup.use(emptyFolder());
const isDivided = (table: string): boolean => tableKinds[table] === 'by store';
const namesOf = (kind: TableKind): readonly string[] =>
  Object.keys(tableKinds).filter((name) => tableKinds[name] === kind);

const patienceMs = 120_000;
const connectionsOf = 'select pid from pg_stat_activity where datname = $1';
let server: PostgresServer;
let token: string;
let cardId: number;

const environmentOf = (name: string): Environment => ({
  DATABASE_URL: urlOf(server, name),
  KEYS_FILE: keysFileIn(folder),
  PORT: '0',
  RATE_LIMIT: 'off',
});

/** Creates stores, each with a token and a card. @returns the token and the card of the last one. */
async function createShops(
  count: number,
  prefix: string,
  database = 'coordinator',
): Promise<readonly [string, number]> {
  await using opened = await openDatabase(readDatabaseConfig(environmentOf(database)), {
    prepare: true,
  });
  const { ctx, storage } = opened;
  let made: readonly [string, number] | undefined;
  for (let place = 1; place <= count; place += 1) {
    const store = await storage.write(() =>
      createStore(ctx, newStore({ domain: `${prefix}-${place}.example` })),
    );
    const { secret } = await storage.write(() => createToken(ctx, { store, name: 'test', scopes }));
    const { card } = await storage.write(() => issue(ctx, issueCommand(store, { value: money('15') })));
    made = [secret.reveal(), shownId(ctx.keys.publicIds, card.id)];
  }
  assert.ok(made);
  return made;
}

/** The statements that a database receives while something runs. */
async function statementsDuring(name: string, run: () => Promise<void>): Promise<readonly string[]> {
  const offset = server.log().length;
  await run();
  // A connection that ends can still write its last statement.
  await until(async () => (await server.query(connectionsOf, [name])).length === 0, patienceMs);
  return statementsIn(server.log().slice(offset), name);
}

/** A statement is sent to all servers of a cluster if a level of it does not name its store. */
function withoutStore(statements: readonly string[]): readonly string[] {
  const distinct = [...new Set(statements)].filter((text) =>
    /^(?:select|insert|update|delete|with)\b/.test(text),
  );
  return distinct.filter((text) => unboundTables(text, isDivided).length > 0);
}

const migrate = (name = 'coordinator'): ReturnType<typeof command> =>
  command(environmentOf(name), 'migrate', '--citus', '--json');

before(async () => {
  server = cleanup.use(await startPostgres({ settings: settingsOfImitation }));
  await createCoordinator(server, 'coordinator');
});

test('the imitation rejects what Citus rejects', async () => {
  await createCoordinator(server, 'rules');
  const client = new pg.Client({ connectionString: urlOf(server, 'rules') });
  await client.connect();
  try {
    for (const rule of citusRules)
      assert.equal(await messageOf(rule, (text) => client.query(text)), rule.error, rule.name);
  } finally {
    await client.end();
  }
});

test('migrate --citus rejects a database with stores, whose rows the triggers would write again', async () => {
  await createCoordinator(server, 'used');
  await createShops(1, 'early', 'used');
  const { code, errors } = await migrate('used');
  assert.equal(code, 1);
  assert.match(errors, /the database has stores: .* "largesse copy"/);
  assert.deepEqual(await callsOf(server, 'used'), []);
});

test('migrate --citus distributes a database, and continues after an interruption', async () => {
  await queryOnce(
    server.url('coordinator'),
    `set allow_system_table_mods = on;
     create function fail() returns trigger language plpgsql as $$
     begin if new.id = 20 then raise 'the coordinator is stopped' using errcode = '57P01'; end if; return new; end $$;
     create trigger interrupted before insert on pg_catalog.citus_calls for each row execute function fail()`,
  );
  const interrupted = await migrate();
  assert.notEqual(interrupted.code, 0);
  assert.equal((await callsOf(server, 'coordinator')).length, 19);
  const { code, errors } = await migrate();
  assert.equal(code, 0, errors);

  const calls = await callsOf(server, 'coordinator');
  const tablesOf = (name: string): readonly string[] =>
    calls.flatMap((call) => (call.name === name ? [call.argument] : [])).toSorted();
  assert.deepEqual(tablesOf('create_distributed_table'), namesOf('by store'));
  assert.deepEqual(tablesOf('create_reference_table'), namesOf('everywhere'));
  const groups = await queryOnce(
    server.url('coordinator'),
    `select count(distinct colocationid)::int as groups from pg_dist_partition where partmethod = 'h'`,
  );
  assert.deepEqual(groups, [{ groups: 1 }], 'the rows of a store are on one server');

  const again = await migrate();
  assert.equal(again.code, 0, again.errors);
  assert.deepEqual((JSON.parse(again.output) as { readonly distributed: unknown }).distributed, []);
});

test('every server has the tables about itself as the schema has them', async () => {
  [token, cardId] = await createShops(1, 'early');
  await createWorker(server, 'coordinator', 'worker');
  const describe = (database: string) =>
    queryOnce(
      server.url(database),
      `select relname::text as name,
         (select array_agg(format('%s %s %s %s', attname, atttypid::regtype, attnotnull, attcollation) order by attnum)
          from pg_attribute where attrelid = t.oid and attnum > 0 and not attisdropped) as columns,
         (select array_agg(pg_get_constraintdef(c.oid) order by conname) from pg_constraint c where conrelid = t.oid) as constraints,
         (xpath('/row/rows/text()', query_to_xml(format('select count(*) as rows from %I', relname), false, true, '')))[1]::text as rows
       from pg_class t where relname = any ($1) order by relname`,
      [namesOf('own')],
    );
  const own = await describe('worker');
  assert.deepEqual(
    own.map(({ name }) => name),
    namesOf('own'),
  );
  assert.deepEqual(own, await describe('coordinator'));
});

for (const place of ['coordinator', 'worker'] as const) {
  test(`a process serves at the ${place}, and no request names several stores`, async (t) => {
    const statements = await statementsDuring(place, async () => {
      await using service = await startOn(environmentOf(place));
      assert.equal((await readinessOf(service.url)).status, 200);
      const ask = clientOf(service.url, token);
      const { status, card } = await ask('POST /gift_card', { initial_value: '20.00' }, 'issue');
      assert.equal(status, 201);
      assert.ok(card);
      assert.equal((await ask(`POST /gift_card/${card.id}/debit`, { amount: '5.00' }, 'debit')).status, 201);
      const early = await ask(`GET /gift_card/${cardId}`);
      assert.equal(early.card?.balance, '15.00');
    });
    assert.ok(statements.some((text) => text.startsWith('insert into transfers')));
    const everywhere = withoutStore(statements);
    t.diagnostic(`sent to all servers, by the start and background jobs:\n${everywhere.join('\n')}`);
    assert.deepEqual(
      everywhere.filter((text) => !ofAllStores.some((each) => text.startsWith(each.text))),
      [],
    );
  });
}

test('the statements that open a database do not depend on the number of stores, and need no server of a store', async () => {
  const open = (): Promise<readonly string[]> =>
    statementsDuring('coordinator', async () => {
      await using database = await openDatabase(readDatabaseConfig(environmentOf('coordinator')), {
        prepare: true,
      });
      assert.ok(database.storage.isDistributed);
    });
  const few = await open();
  await createShops(8, 'late');
  const many = await open();
  assert.ok(few.length > 5);
  assert.deepEqual(many.toSorted(), few.toSorted());
  const table = new RegExp(`\\b(?:from|join|into|update) (?:${namesOf('by store').join('|')})\\b`);
  const ofStores = many.filter((text) => table.test(text));
  assert.deepEqual(ofStores, []);
});

test('a process starts while no server of a store can be reached', async () => {
  await loseWorkers(server, 'coordinator');
  await using service = await startOn(environmentOf('coordinator'));
  assert.equal((await readinessOf(service.url)).status, 200);
  const { status, code } = await clientOf(service.url, token)(`GET /gift_card/${cardId}`);
  assert.deepEqual([status, code], [503, 'unavailable']);
});
