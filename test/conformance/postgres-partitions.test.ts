/**
 * Runs the suites whose triggers, unique keys and statements depend on partitions. `test/soak/` runs all suites on
 * partitioned tables.
 */

import assert from 'node:assert/strict';
import test, { suite } from 'node:test';
import { all, sql } from '../../src/storage/sql.ts';
import { openMigrated } from '../support/database.ts';
import { postgresFactory } from '../support/postgres.ts';
import { testEvents } from './events.ts';
import { testWebhooks } from './webhooks.ts';

const inPartitions = postgresFactory(4);

suite('PostgreSQL in 4 partitions: events', () => testEvents(inPartitions));
suite('PostgreSQL in 4 partitions: webhooks', () => testWebhooks(inPartitions));

for (const partitions of [null, 16]) {
  test(`migration 6 renames the indexes, constraints and partitions of emails (${partitions ?? 'no'} partitions)`, async () => {
    await using database = await openMigrated(postgresFactory(partitions));
    const names = await database.storage.read(() =>
      all(sql<{ name: string }>`
        select c.relname::text as name from pg_class c where c.relnamespace = current_schema()::regnamespace
        union all
        select k.conname::text from pg_constraint k where k.connamespace = current_schema()::regnamespace`),
    );
    const found = names.map(({ name }) => name);
    assert.ok(found.includes('email_deliveries_due') && found.includes('email_settings_pkey'));
    if (partitions !== null) assert.ok(found.includes('email_deliveries_15'));
    assert.deepEqual(found.filter((name) => /^m[a-z]+_(?:settings|deliveries)/.test(name)), []);
  });
} // prettier-ignore
