/**
 * A database of the version before migration 7, written by that version: two stores with content of every kind, and a
 * card with 73 transfers. `before-chains.jsonl` has its keys and its rows, one per line.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Statement, type SqlValue } from '../../src/storage/sql/sql.ts';
import type { MasterKey } from '../../src/platform/keys.ts';
import type { StorageFactory, TestDatabase } from './database.ts';

/** An integer above 2^53, or bytes. */
type Encoded = string | number | null | { readonly integer: string } | { readonly hex: string };
type Row = Readonly<Record<string, SqlValue>>;

type Header = {
  readonly keys: readonly { readonly id: string; readonly secret: string }[];
  /** The internal ids of the card with 73 transfers, and of one whose expiry was changed since it was issued. */
  readonly long: number;
  readonly withExpiry: number;
  /** Codes that the first store chose, or that are random, and the one of the other store. */
  readonly codes: readonly string[];
  /** The random code that the card with 73 transfers was given later. */
  readonly rotated: string;
};

/** The last migration of that version. */
const lastMigration = 5;

export type OldDatabase = Header & {
  readonly masters: readonly MasterKey[];
  readonly rows: (table: string) => readonly Row[];
};

function readFixture(): OldDatabase {
  const text = readFileSync(join(import.meta.dirname, 'before-chains.jsonl'), 'utf8');
  const [header = '', ...lines] = text.trimEnd().split('\n');
  // The file was written by `JSON.stringify`.
  const parsed = JSON.parse(header) as Header;
  const rows = lines.map((line) => JSON.parse(line) as { table: string; row: Record<string, Encoded> });
  return {
    ...parsed,
    masters: parsed.keys.map(({ id, secret }) => ({ id, secret: Buffer.from(secret, 'base64') })),
    rows: (table) => rows.filter((row) => row.table === table).map(({ row }) => decodedRow(row)),
  };
}

function decodedRow(row: Readonly<Record<string, Encoded>>): Row {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, decoded(value)]));
}

function decoded(value: Encoded): SqlValue {
  if (value === null || typeof value !== 'object') return value;
  return 'integer' in value ? BigInt(value.integer) : Buffer.from(value.hex, 'hex');
}

const tables = [
  'stores', 'access_tokens', 'customers', 'gift_cards', 'gift_card_codes', 'transfers', 'holds', 'mail_settings',
  'mail_deliveries', 'events', 'webhooks', 'webhook_deliveries', 'webhook_attempts', 'key_checks', 'lookup_throttle',
  'idempotency_records',
] as const; // prettier-ignore

/** Fills an empty database as that version left it. @param skipped whether a row is missing. */
export async function fillOldDatabase(
  factory: StorageFactory,
  database: TestDatabase,
  skipped: (table: string, row: Row) => boolean = () => false,
): Promise<OldDatabase> {
  const old = readFixture();
  const storage = database.open();
  await storage.migrate(factory.migrations.filter(({ version }) => version <= lastMigration));
  await storage[Symbol.asyncDispose]();
  const inserts = tables.flatMap((table) =>
    old
      .rows(table)
      .filter((row) => !skipped(table, row))
      .map((row) => insertion(table, row)),
  );
  await database.tamper(...inserts);
  return old;
}

function insertion(table: string, row: Row): Statement {
  const columns = Object.keys(row);
  const strings = [
    `insert into ${table} (${columns.join(', ')}) values (`,
    ...columns.slice(1).map(() => ', '),
    ')',
  ];
  return new Statement(strings, Object.values(row));
}
