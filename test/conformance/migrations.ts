/** How an engine migrates a schema, and which databases it rejects. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import { defaultEmailSettings } from '../../src/domain/emails/email.ts';
import { findEmailSettings, listStoreEmails, saveEmailSettings } from '../../src/storage/emails/email.ts';
import { findIdempotencyRecords } from '../../src/storage/stores/idempotency.ts';
import { listStaffActions } from '../../src/storage/staff/action.ts';
import type { Migration } from '../../src/storage/schema/migrate.ts';
import { MigrationError } from '../../src/storage/schema/migration-error.ts';
import { all, one, execute, sql, toNumber, type Script } from '../../src/storage/sql/sql.ts';
import {
  findDelivery,
  listDeliveriesBefore,
  listEarlierAttempts,
} from '../../src/storage/events/webhook-delivery.ts';
import type { StorageFactory } from '../support/database.ts';
import { testContext } from '../support/fixtures.ts';

function migration(version: number, name: string, text: string): Migration {
  return { version, name, text, checksum: createHash('sha256').update(text).digest('hex') };
}

/** Each migration needs the ones before it, and only this order works. */
const steps = [
  migration(
    1,
    'first',
    'create table notes (id bigint primary key, n bigint not null); insert into notes (id, n) values (1, 5);',
  ),
  migration(2, 'second', 'insert into notes (id, n) select 2, n * 10 from notes where id = 1;'),
  migration(7, 'third', 'insert into notes (id, n) select 3, n + 1 from notes where id = 2;'),
];

function* notes(): Script<readonly number[]> {
  const rows = yield* all(sql<{ n: bigint }>`select n from notes order by id`);
  return rows.map(({ n }) => toNumber(n));
}

export function testMigrations(factory: StorageFactory): void {
  test('migration 23 removes addresses from the audit log, and records when sessions were used', async () => {
    await using database = await factory.createDatabase();
    const storage = database.open();
    await storage.migrate(factory.migrations.filter(({ version }) => version < 23));
    const [createdAt, pinExpiresAt] = [1_000_000_000, 1_000_300_000];
    const dayMs = 24 * 60 * 60 * 1_000;
    const [hash, other, third] = [7, 8, 9].map((byte) => new Uint8Array(32).fill(byte));
    assert.ok(hash && other && third);
    const details = [
      '{"method":"password","email":"ada@example.com"}',
      '{"method":"password","email":null}',
      '{"method":"password","confirm":true}',
    ];
    await storage.write(() =>
      execute(
        sql`insert into stores (id, domain, name, currency, time_zone, require_signature, customer_search, demonstration,
          created_at, updated_at) values (17, 'flowers.example', 'Flowers', 'EUR', 'UTC', 0, 0, 0, 0, 0)`,
        sql`insert into staff (store_id, id, name, email, email_key, role, created_at)
          values (17, 2, 'Grace', 'grace@example.com', 'grace@example.com', 'owner', 0)`,
        sql`insert into tills (store_id, id, name, hash, created_by, created_at)
          values (17, 3, 'Counter', ${hash}, 2, 0)`,
        sql`insert into staff_sessions (store_id, id, staff_id, till_id, hash, user_agent, created_at, expires_at)
          values (17, 4, 2, null, ${hash}, '', ${createdAt}, ${createdAt + 31 * dayMs}),
            (17, 5, 2, null, ${other}, '', ${createdAt}, ${createdAt + dayMs}),
            (17, 6, 2, 3, ${third}, '', ${createdAt}, ${pinExpiresAt})`,
        ...details.map(
          (text, place) => sql`insert into staff_actions (store_id, id, at, action, details)
            values (17, ${place + 1}, 0, 'sign-in-failed', ${text})`,
        ),
        sql`insert into staff_actions (store_id, id, at, action, subject_id, details)
          values (17, 4, 0, 'staff-invited', 2, '{"email":"grace@example.com","role":"owner"}')`,
      ),
    );
    await storage.migrate(factory.migrations);
    const kept = await storage.read(() => listStaffActions(17, { before: 5, limit: 10 }));
    assert.deepEqual(
      kept.toReversed().map((action) => action.details),
      [
        { method: 'password' },
        { method: 'password' },
        { method: 'password', confirm: true },
        { email: 'grace@example.com', role: 'owner' },
      ],
    );
    const sessions = await storage.read(() =>
      all(sql<{ used: bigint; ends: bigint }>`
        select last_used_at as used, expires_at as ends from staff_sessions order by id`),
    );
    assert.deepEqual(
      sessions.map(({ used, ends }) => [toNumber(used), toNumber(ends)]),
      [
        [createdAt + 30.5 * dayMs, createdAt + 30 * dayMs],
        [createdAt + dayMs / 2, createdAt + dayMs],
        [createdAt, pinExpiresAt],
      ],
    );
    for (const change of [sql`update staff_actions set details = '{}'`, sql`delete from staff_actions`])
      await assert.rejects(
        storage.write(() => execute(change)),
        'the audit log is append-only again',
      );
  });

  test('migration 6 renames tables and columns, and keeps their rows', async () => {
    await using database = await factory.createDatabase();
    const storage = database.open();
    await storage.migrate(factory.migrations.filter(({ version }) => version < 6));
    await storage.write(() =>
      execute(
        sql`insert into stores (id, domain, name, currency, time_zone, require_signature, customer_search, demonstration,
          created_at, updated_at) values (17, 'flowers.example', 'Flowers', 'EUR', 'UTC', 0, 0, 0, 0, 0)`,
        sql`insert into gift_cards (store_id, id, version, currency, initial_value, balance, held, last_characters,
          expires_on, created_at, expiry_told, expiring_told)
          values (17, 5, 1, 'EUR', 500, 500, 0, 'abcd', '2026-02-01', 0, '2026-01-31', '2026-02-01')`,
        sql`insert into mail_settings (store_id, enabled, sender_name, locale, expiry_reminder_days, balance_reminder_days,
          tell_failures, updated_at) values (17, 1, 'Roses', 'de', '30,7', '', 1, 0)`,
        sql`insert into mail_deliveries (store_id, card_id, id, kind, address, state, occasion, send_at, attempts, first_at,
          last_at, answer, created_at, ended_at)
          values (17, 5, 9, 'receipt', 'ada@example.com', 'sent', 'creation', 1, 1, 2, 2, '250 taken', 1, 3)`,
        sql`insert into events (store_id, id, type, subject_id, subject_version, created_at, data)
          values (17, 11, 'gift_card.created', 5, 1, 0, '{}')`,
        sql`insert into webhooks (store_id, id, version, url, patterns, secret, status, created_at, updated_at)
          values (17, 13, 1, 'https://hooks.example/', ' gift_card.* ', ${new Uint8Array(40)}, 'active', 0, 0)`,
        sql`insert into webhook_deliveries (store_id, webhook_id, event_id, status, created_at, attempts, last_at,
          answer_status, answer_body, duration_ms) values (17, 13, 11, 'delivered', 0, 2, 4, 200, 'thanks', 17)`,
        sql`insert into webhook_attempts (store_id, webhook_id, event_id, attempt, attempted_at, duration_ms,
          answer_status, answer_body) values (17, 13, 11, 1, 3, 10, 500, 'overflow')`,
        sql`insert into idempotency_records (store_id, api_client_id, key_digest, fingerprint, created_at, answer)
          values (17, 3, ${new Uint8Array(32)}, ${new Uint8Array(32).fill(1)}, 5, ${Uint8Array.of(6, 7)})`,
      ),
    );
    // The card has no transfers, which migration 7 needs.
    const migrated = await storage.migrate(factory.migrations.filter(({ version }) => version <= 6));
    assert.equal(migrated[0]?.version, 6);

    const { senderName, locale, expiryReminderDays, notifyFailures } = await storage.read(() =>
      findEmailSettings(17),
    );
    assert.deepEqual(
      [senderName, locale, expiryReminderDays, notifyFailures],
      ['Roses', 'de', [30, 7], true],
    );
    const [email] = await storage.read(() => listStoreEmails(17, 10));
    assert.deepEqual([email?.id, email?.state, email?.response], [9, 'sent', '250 taken']);
    const key = { storeId: 17, webhookId: 13, eventId: 11 };
    const delivery = await storage.read(() => findDelivery(key));
    assert.deepEqual(delivery?.last, {
      at: 4,
      durationMs: 17,
      result: { kind: 'responded', status: 200, body: 'thanks' },
    });
    assert.deepEqual(await storage.read(() => listEarlierAttempts(key)), [
      { at: 3, durationMs: 10, result: { kind: 'responded', status: 500, body: 'overflow' } },
    ]);
    const records = await storage.read(() =>
      findIdempotencyRecords({
        storeId: 17,
        digests: [new Uint8Array(32)],
        plain: Uint8Array.of(1),
      }),
    );
    assert.deepEqual(
      records.map(({ response }) => [...response]),
      [[6, 7]],
    );
    const days = await storage.read(() =>
      all(sql<{ expired: string; soon: string }>`
        select expired_event_day as expired, expiring_soon_event_day as soon from gift_cards`),
    );
    assert.deepEqual(
      days.map(({ expired, soon }) => [expired, soon]),
      [['2026-01-31', '2026-02-01']],
    );

    // The checks, unique keys, indexes and triggers of the renamed tables still apply.
    const ctx = testContext();
    await storage.write(() => saveEmailSettings(ctx, 17, { ...defaultEmailSettings, senderName: 'Tulips' }));
    assert.equal((await storage.read(() => findEmailSettings(17))).senderName, 'Tulips');
    const enqueue = (occasion: string | null) =>
      storage.write(() =>
        execute(sql`
          insert into email_deliveries (store_id, card_id, id, kind, address, state, send_at, next_at, created_at, occasion)
          values (17, 5, 10, 'receipt', 'bo@example.com', 'queued', 1, 1, 1, ${occasion})
          on conflict (store_id, card_id, occasion) where occasion is not null do nothing`),
      );
    await enqueue('creation');
    assert.equal((await storage.read(() => listStoreEmails(17, 10))).length, 1);
    await enqueue(null);
    assert.equal((await storage.read(() => listStoreEmails(17, 10))).length, 2);
    await storage.write(() =>
      execute(sql`
        insert into events (store_id, id, type, subject_id, subject_version, created_at, data)
        values (17, 12, 'gift_card.expired', 5, 1, 0, '{}')`),
    );
    const deliveries = await storage.read(() =>
      listDeliveriesBefore(key, { before: Number.MAX_SAFE_INTEGER, limit: 10 }),
    );
    assert.deepEqual(
      deliveries.map(({ eventType, status }) => [eventType, status]),
      [
        ['gift_card.expired', 'queued'],
        ['gift_card.created', 'delivered'],
      ],
    );
    await assert.rejects(storage.write(() => execute(sql`update email_settings set notify_failures = 2`)));
  });

  test('migration 26 records the emails that were kept in a folder as kept, and no other email', async () => {
    await using database = await factory.createDatabase();
    const storage = database.open();
    await storage.migrate(factory.migrations.filter(({ version }) => version < 26));
    const responses = ['250 kept as promised', 'kept as 20260101T000000000Z-5-2.eml', null];
    await database.tamper(
      sql`insert into stores (id, domain, name, currency, time_zone, require_signature, customer_search, demonstration,
        created_at, updated_at) values (17, 'flowers.example', 'Flowers', 'EUR', 'UTC', 0, 0, 0, 0, 0)`,
      sql`insert into gift_cards (store_id, id, version, currency, initial_value, balance, last_characters, created_at,
        last_transfer_id, chain_length, chain_hash)
        values (17, 5, 1, 'EUR', 500, 500, 'abcd', 0, 7, 1, ${new Uint8Array(32)})`,
      ...responses.map(
        (response, place) => sql`
          insert into email_deliveries (store_id, card_id, id, kind, address, state, send_at, attempts, first_at, last_at,
            response, created_at, ended_at)
          values (17, 5, ${place + 1}, 'receipt', 'ada@example.com', 'sent', 1, 1, 2, 2, ${response}, 1, 3)`,
      ),
    );
    await storage.migrate(factory.migrations);
    const emails = await storage.read(() => listStoreEmails(17, 10));
    assert.deepEqual(
      emails.map(({ id, state, response, endedAt }) => [id, state, response, endedAt]),
      [
        [3, 'sent', null, 3],
        [2, 'kept', 'kept as 20260101T000000000Z-5-2.eml', 3],
        [1, 'sent', '250 kept as promised', 3],
      ],
    );
    await assert.rejects(storage.write(() => execute(sql`update email_deliveries set state = 'lost'`)));
  });

  test('an empty database has no migration', async () => {
    await using database = await factory.createDatabase();
    assert.deepEqual(await database.open().applied(), []);
  });

  test('migrations are applied and reported in their order', async () => {
    await using database = await factory.createDatabase();
    const storage = database.open();
    assert.deepEqual((await storage.migrate(steps)).map(names), ['1 first', '2 second', '7 third']);
    assert.deepEqual(await storage.read(notes), [5, 50, 51]);
    assert.deepEqual((await storage.applied()).map(summaryOf), steps.map(summaryOf));
    assert.deepEqual((await database.open().applied()).map(summaryOf), steps.map(summaryOf));
  });

  test('migrating again applies only missing migrations', async () => {
    await using database = await factory.createDatabase();
    const storage = database.open();
    await storage.migrate(steps.slice(0, 1));
    assert.deepEqual(await storage.read(notes), [5]);
    assert.deepEqual((await storage.migrate(steps)).map(names), ['2 second', '7 third']);
    assert.deepEqual(await storage.migrate(steps), []);
    assert.deepEqual(await database.open().migrate(steps), []);
    assert.deepEqual(await storage.read(notes), [5, 50, 51]);
  });

  test('a migration that was changed after it was applied is rejected', async () => {
    await using database = await factory.createDatabase();
    const storage = database.open();
    await storage.migrate(steps.slice(0, 2));
    const [first, second, third] = steps;
    assert.ok(first && second && third);
    const changed = migration(1, 'first', `${first.text} -- a comment`);
    await assert.rejects(storage.migrate([changed, second, third]), MigrationError);
    assert.deepEqual(await storage.read(notes), [5, 50], 'the third was not applied either');
    assert.equal((await storage.applied()).length, 2);
  });

  test('a database that is newer than the program is rejected', async () => {
    await using database = await factory.createDatabase();
    const storage = database.open();
    await storage.migrate(steps);
    await assert.rejects(storage.migrate(steps.slice(0, 2)), MigrationError);
    await assert.rejects(database.open().migrate([]), MigrationError);
    assert.equal((await storage.applied()).length, 3);
  });

  test('a migration that fails leaves the database unchanged, and can be fixed', async () => {
    await using database = await factory.createDatabase();
    const storage = database.open();
    await storage.migrate(steps.slice(0, 1));
    const before = await storage.applied();
    const fails = migration(
      7,
      'third',
      'insert into notes (id, n) values (4, 4); insert into nowhere values (1);',
    );
    await assert.rejects(storage.migrate([...steps.slice(0, 2), fails]));
    assert.deepEqual(await storage.applied(), before);
    assert.deepEqual(await storage.read(notes), [5]);
    await storage.migrate(steps);
    assert.deepEqual(await storage.read(notes), [5, 50, 51]);
  });

  test('engines that migrate one new database concurrently apply each migration once', async () => {
    await using database = await factory.createDatabase();
    const engines = Array.from({ length: 6 }, () => database.open());
    const applied = await Promise.all(engines.map((engine) => engine.migrate(steps)));
    assert.deepEqual(applied.flat().map(names).toSorted(), ['1 first', '2 second', '7 third']);
    for (const engine of engines) assert.deepEqual(await engine.read(notes), [5, 50, 51]);
  });

  test("the engine's own migrations create a working schema, and can be applied again", async () => {
    await using database = await factory.createDatabase();
    const storage = database.open();
    assert.deepEqual((await storage.migrate(factory.migrations)).map(names), factory.migrations.map(names));
    assert.ok(factory.migrations.length > 0);
    assert.deepEqual(await storage.migrate(factory.migrations), []);
    await storage.write(() => execute(sql`update heartbeat set beaten_at = 5`));
    const { beaten_at: beatenAt } = await storage.read(() =>
      one(sql<{ beaten_at: bigint }>`select beaten_at from heartbeat`),
    );
    assert.equal(beatenAt, 5n);
  });

  test('scripts run while other engines migrate, before and after', async () => {
    await using database = await factory.createDatabase();
    const storage = database.open();
    await storage.migrate(steps.slice(0, 1));
    const reading = Array.from({ length: 20 }, () => storage.read(notes));
    const [, ...seen] = await Promise.all([database.open().migrate(steps), ...reading]);
    for (const values of seen) assert.ok([1, 3].includes(values.length), `saw ${values.length} rows`);
    assert.deepEqual(await storage.read(notes), [5, 50, 51]);
  });
}

function names({ version, name }: Pick<Migration, 'version' | 'name'>): string {
  return `${version} ${name}`;
}

function summaryOf({ version, name, checksum }: Pick<Migration, 'version' | 'name' | 'checksum'>) {
  return { version, name, checksum };
}
