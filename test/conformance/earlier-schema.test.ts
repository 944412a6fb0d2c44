/** `largesse copy` converts a database from before the first release, and no other command opens one. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { copyDatabase, type DatabaseOutcome } from '../../src/features/moves/cli/copying.ts';
import { debit } from '../../src/core/money/service/spend.ts';
import { assertConvertible } from '../../src/features/moves/service/earlier-schema.ts';
import { CopyError } from '../../src/features/moves/service/copy.ts';
import { checkKeys } from '../../src/features/proofs/service/key-check.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { lastBeat } from '../../src/database/heartbeat.ts';
import { all, sql } from '../../src/database/sql/sql.ts';
import type { Storage } from '../../src/database/storage.ts';
import { closeAllDays } from '../support/closed-days.ts';
import { openMigrated, type StorageFactory } from '../support/database.ts';
import { money } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';
import { postgresFactory } from '../support/postgres.ts';
import { sqliteFactory } from '../support/sqlite.ts';

const dayMs = 24 * 60 * 60 * 1_000;
const quiet = { begin() {}, reach() {}, end() {} };

/** A database with closed days, as migration 22 left it. */
async function openEarlier(factory: StorageFactory): Promise<OpenStore> {
  const opened = await openStore(factory);
  const { storage, ctx, store, database } = opened;
  await storage.write(() => checkKeys(ctx));
  const { card } = await opened.issue();
  const spend = { actor: 'test', reference: null, note: null, orderId: null, versions: null, partial: false };
  await storage.write(() => debit(ctx, { ...spend, store, cardId: card.id, amount: money('4') }));
  ctx.clock.advance(2 * dayMs);
  await closeAllDays(opened, 10);
  await database.tamper(
    sql`drop table unknown_addresses`,
    sql`alter table batch_parts drop column file_lines`,
    sql`alter table staff_sessions drop column last_used_at`,
    sql`alter table store_days drop column raised_tax`,
    sql`alter table store_days drop column lowered_tax`,
    sql`alter table store_ages drop column tax`,
    sql`alter table store_ages drop column sold`,
    sql`alter table store_ages drop column sold_tax`,
    sql`drop index gift_cards_by_batch`,
    sql`alter table gift_cards drop column batch_id`,
    sql`alter table gift_cards drop column viewed_at`,
    sql`alter table gift_cards drop column redeemed`,
    sql`alter table store_ages drop column redeemed`,
    sql`alter table store_ages drop column redeemed_tax`,
    // It stored only the sums of months.
    sql`delete from store_ages where length(month) = 10`,
    sql`delete from schema_migrations`,
    sql`insert into schema_migrations (version, name, checksum, applied_at)
      values (1, 'foundation', 'x', 0), (22, 'moves', 'y', 0)`,
    sql`insert into staff (store_id, id, name, email, email_key, role, created_at)
      values (${store.id}, 2, 'Grace', 'grace@example.com', 'grace@example.com', 'owner', 0)`,
    sql`insert into staff_sessions (store_id, id, staff_id, hash, user_agent, created_at, expires_at)
      values (${store.id}, 3, 2, ${new Uint8Array(32)}, '', 1, 2)`,
    sql`insert into staff_actions (store_id, id, at, action, details) values
      (${store.id}, 4, 0, 'sign-in-failed', '{"method":"password","email":"ada@example.com"}'),
      (${store.id}, 5, 0, 'staff-invited', '{"email":"grace@example.com","role":"owner"}')`,
    ...['kept as 20260101T000000000Z-5-2.eml', '250 kept as promised'].map(
      (response, place) => sql`
        insert into email_deliveries (store_id, card_id, id, kind, address, state, send_at, attempts, first_at, last_at,
          response, created_at, ended_at)
        values (${store.id}, ${card.id}, ${place + 1}, 'receipt', 'ada@example.com', 'sent', 1, 1, 2, 2, ${response}, 1, 3)`,
    ),
  );
  return opened;
}

function convert(
  { ctx }: OpenStore,
  {
    source,
    target,
    run = 'run',
  }: { readonly source: Storage; readonly target: Storage; readonly run?: string },
): Promise<DatabaseOutcome> {
  return copyDatabase({ ctx, source, target, isTargetFile: true, run, progress: quiet }, 'here');
}

async function assertConverted({ store }: OpenStore, target: Storage): Promise<void> {
  assert.deepEqual((await target.read(() => verify(10))).mismatches, []);
  const [sums] = await target.read(() =>
    all(sql<{ sums: bigint; taxed: bigint }>`
      select count(*) as sums, count(tax) as taxed from store_ages where store_id = ${store.id}`),
  );
  assert.ok(sums && sums.sums > 0n && sums.taxed === sums.sums, 'a sum has no VAT');
  const rows = await target.read(() =>
    all(sql<{ text: string }>`
      select details as text from staff_actions union all select state from email_deliveries
      union all select 'session' from staff_sessions union all select 'file' from batch_parts where file_lines is not null`),
  );
  assert.deepEqual(
    rows.map(({ text }) => text).toSorted(),
    ['kept', 'sent', '{"email":"grace@example.com","role":"owner"}', '{"method":"password"}'].toSorted(),
  );
}

const factories = {
  SQLite: sqliteFactory,
  PostgreSQL: postgresFactory(null),
  partitions: postgresFactory(16),
};

for (const [from, to] of [
  ['SQLite', 'SQLite'],
  ['SQLite', 'partitions'],
  ['PostgreSQL', 'SQLite'],
  ['PostgreSQL', 'PostgreSQL'],
] as const) {
  test(`a database from before the first release is converted: ${from} to ${to}`, async () => {
    await using source = await openEarlier(factories[from]);
    await using target = await openMigrated(factories[to]);
    const { isConverted, differences } = await convert(source, { source: source.storage, target: target.storage });
    assert.deepEqual([isConverted, differences], [true, []]);
    await assertConverted(source, target.storage);
  });
} // prettier-ignore

test('a conversion that was interrupted after the sums were computed continues', async () => {
  await using source = await openEarlier(sqliteFactory);
  await using target = await openMigrated(sqliteFactory);
  let isRebuilt = false;
  const failing: Storage = {
    ...source.storage,
    read(script) {
      if (isRebuilt && Object.is(script, lastBeat)) throw new Error('interrupted');
      return source.storage.read(script);
    },
  };
  const watched: Storage = {
    ...target.storage,
    write(script, scope) {
      isRebuilt ||= script.toString().includes('replaceAges');
      return target.storage.write(script, scope);
    },
  };
  await assert.rejects(convert(source, { source: failing, target: watched }), /interrupted/);
  assert.equal(isRebuilt, true);
  const both = { source: source.storage, target: target.storage };
  const { resumed, differences } = await convert(source, { ...both, run: 'another' });
  assert.deepEqual([resumed, differences], [true, []]);
  await assertConverted(source, target.storage);
});

test('a row that differs from the source is found', async () => {
  await using source = await openEarlier(sqliteFactory);
  await using target = await openMigrated(sqliteFactory);
  const changing: Storage = {
    ...target.storage,
    async write(script, scope) {
      const result = await target.storage.write(script, scope);
      if (script.toString().includes('replaceAges')) return result;
      await target.database.tamper(sql`update staff set name = 'Other'`);
      return result;
    },
  };
  const { differences } = await convert(source, { source: source.storage, target: changing });
  assert.deepEqual(differences, ['staff has different content in the source and in the target']);
});

for (const [name, factory] of Object.entries(factories))
  test(`${name}: a database from before the first release is not opened, and the error says what to do`, async () => {
    await using earlier = await openEarlier(factory);
    await assert.rejects(earlier.database.open().migrate(factory.migrations), {
      name: 'MigrationError',
      message:
        'the database is from before the first release: convert it, once, with "largesse copy" into a new database',
    });
    assert.deepEqual(
      (await earlier.storage.applied()).map(({ version }) => version),
      [1, 22],
    );
  });

test('a database that is too old, or has a column that this version lacks, is not converted', async () => {
  const applied = (version: number) => [{ version, name: 'some', checksum: 'x' }];
  for (const version of [22, 27]) assertConvertible(applied(version));
  for (const version of [21, 28])
    assert.throws(() => assertConvertible(applied(version)), /only 22 to 27 can be converted/);
  await using source = await openEarlier(sqliteFactory);
  await using target = await openMigrated(sqliteFactory);
  await source.database.tamper(sql`alter table gift_cards add column colour text`);
  await assert.rejects(
    convert(source, { source: source.storage, target: target.storage }),
    (error) => error instanceof CopyError && /only the source has the column gift_cards\.colour/.test(error.message),
  );
}); // prettier-ignore
