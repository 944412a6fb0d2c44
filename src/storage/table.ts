/**
 * The tables that "largesse copy" copies in pages, ordered by primary key, and compares afterwards.
 *
 * The list names every column, and each page is checked against it, so a column from a new migration cannot be
 * missed. `test/conformance/tables.test.ts` compares the list with the schemas of both engines.
 */

import assert from 'node:assert/strict';
import { createHash, type Hash } from 'node:crypto';
import { all, first, one, execute, sql, Statement, toNumber, type Script, type SqlValue } from './sql.ts';

export type Table = {
  readonly name: string;
  /** Columns of the primary key, in order. */
  readonly key: readonly string[];
  /** All other columns. */
  readonly columns: readonly string[];
  /** Columns of one engine only, which are neither copied nor compared. */
  readonly own?: readonly string[];
};

export type Row = Readonly<Record<string, SqlValue>>;
type Key = readonly SqlValue[];

/** The tables with content, each after the tables that its foreign keys reference. */
export const tables: readonly Table[] = [
  { name: 'key_checks', key: ['key_id'], columns: ['digest', 'created_at'] },
  {
    name: 'stores',
    key: ['id'],
    columns: [
      'domain', 'name', 'currency', 'time_zone', 'issue_limit', 'proxy_secret', 'require_signature',
      'customer_search', 'undo_window_minutes', 'expiring_soon_days', 'lookup_failures_per_hour', 'demonstration',
      'created_at', 'updated_at',
    ],
  },
  {
    name: 'access_tokens',
    key: ['store_id', 'id'],
    columns: ['api_client_id', 'name', 'hash', 'scopes', 'created_at', 'last_used_at', 'revoked_at'],
  },
  { name: 'customers', key: ['store_id', 'id'], columns: ['email', 'email_key', 'storefront_customer_id', 'created_at'] },
  {
    name: 'gift_cards',
    key: ['store_id', 'id'],
    columns: [
      'version', 'currency', 'initial_value', 'balance', 'held', 'last_characters', 'code_lookup', 'customer_id',
      'recipient_id', 'note', 'message', 'expires_on', 'disabled_at', 'created_at', 'line_item_id', 'order_id', 'user_id',
      'api_client_id', 'expiry_told', 'expiring_told',
    ],
  },
  { name: 'gift_card_codes', key: ['store_id', 'lookup'], columns: ['digest', 'card_id'] },
  {
    name: 'transfers',
    key: ['store_id', 'card_id', 'sequence'],
    columns: [
      'id', 'kind', 'amount', 'currency', 'debit_account', 'credit_account', 'balance_after', 'actor', 'reference',
      'note', 'order_id', 'hold_id', 'reverses', 'created_at', 'hash',
    ],
  },
  {
    name: 'holds',
    key: ['store_id', 'id'],
    columns: [
      'card_id', 'status', 'amount', 'captured', 'actor', 'reference', 'note', 'order_id', 'created_at',
      'expires_at', 'closed_at',
    ],
  },
  {
    name: 'events',
    key: ['store_id', 'id'],
    columns: ['type', 'subject_id', 'subject_version', 'created_at', 'data'],
    // The commit order on this server. Copied rows are committed in key order.
    own: ['transaction_id'],
  },
  {
    // After the events: the insert of an event enqueues deliveries to all existing webhooks.
    name: 'webhooks',
    key: ['store_id', 'id'],
    columns: [
      'version', 'url', 'patterns', 'secret', 'previous_secret', 'previous_secret_until', 'status', 'paused_at',
      'pause_reason', 'failing_since', 'failure', 'created_at', 'updated_at',
    ],
  },
  {
    name: 'webhook_deliveries',
    key: ['store_id', 'webhook_id', 'event_id'],
    columns: [
      'status', 'created_at', 'attempts', 'attempts_before', 'first_at', 'last_at', 'next_at', 'lease',
      'answer_status', 'answer_body', 'failure_reason', 'failure', 'duration_ms',
    ],
  },
  {
    name: 'webhook_attempts',
    key: ['store_id', 'webhook_id', 'event_id', 'attempt'],
    columns: [
      'attempted_at', 'duration_ms', 'answer_status', 'answer_body', 'failure_reason', 'failure',
    ],
  },
  {
    name: 'mail_settings',
    key: ['store_id'],
    columns: [
      'enabled', 'sender_name', 'address', 'reply_to', 'logo_url', 'colour', 'locale', 'page_url',
      'expiry_reminder_days', 'balance_reminder_days', 'tell_failures', 'updated_at',
    ],
  },
  {
    name: 'mail_deliveries',
    key: ['store_id', 'card_id', 'id'],
    columns: [
      'kind', 'address', 'state', 'occasion', 'code', 'send_at', 'next_at', 'lease', 'attempts', 'first_at',
      'last_at', 'answer', 'created_at', 'ended_at',
    ],
  },
  {
    name: 'idempotency_records',
    key: ['store_id', 'api_client_id', 'key_digest'],
    columns: ['fingerprint', 'created_at', 'answer'],
  },
  { name: 'lookup_throttle', key: ['store_id', 'caller'], columns: ['refilled_at'] },
]; // prettier-ignore

/** Tables about the database itself, which are not copied. */
export const ownTables: readonly string[] = ['schema_migrations', 'heartbeat', 'copies'];

/** A constant in the statements: without it, a planner could sort a whole table for every page. */
const pageRows = 1_000;
/** Approximate number of parameters of an insert. */
const valuesMax = 2_000;

export function columnsOf({ key, columns }: Table): readonly string[] {
  return [...key, ...columns];
}

/** Texts of a table's statements. They are created once, because engines cache prepared statements by them. */
type Texts = {
  readonly firstPage: readonly string[];
  readonly nextPage: readonly string[];
  readonly lastKey: readonly string[];
  readonly count: readonly string[];
  readonly anyRow: readonly string[];
  readonly storeIds: readonly string[];
  readonly insertOne: readonly string[];
  readonly insertMany: readonly string[];
  /** Number of rows of `insertMany`. */
  readonly manyRows: number;
};

const texts = new WeakMap<Table, Texts>();

function textsOf(table: Table): Texts {
  let found = texts.get(table);
  if (!found) {
    const { name, key } = table;
    const columns = columnsOf(table);
    const manyRows = Math.floor(valuesMax / columns.length);
    const inOrder = `order by ${key.join(', ')} limit ${pageRows}`;
    found = {
      firstPage: [`select * from ${name} ${inOrder}`],
      nextPage: [
        `select * from ${name} where (${key.join(', ')}) > (`,
        ...between(', ', key.length),
        `) ${inOrder}`,
      ],
      lastKey: [
        `select ${key.join(', ')} from ${name} order by ${key.map((column) => `${column} desc`).join(', ')} limit 1`,
      ],
      count: [`select count(*) as rows from ${name}`],
      anyRow: [`select 1 as found from ${name} limit 1`],
      // Steps from store to store in the primary key.
      storeIds: [
        `with recursive s (id) as (
          select min(store_id) from ${name} union all
          select (select min(t.store_id) from ${name} t where t.store_id > s.id) from s where s.id is not null)
        select id from s where id is not null and id not in (select id from stores)`,
      ],
      insertOne: insertion(name, columns, 1),
      insertMany: insertion(name, columns, manyRows),
      manyRows,
    };
    texts.set(table, found);
  }
  return found;
}

function between(separator: string, values: number): readonly string[] {
  return Array.from({ length: values - 1 }, () => separator);
}

function insertion(name: string, columns: readonly string[], rows: number): readonly string[] {
  const row = between(', ', columns.length);
  return [
    `insert into ${name} (${columns.join(', ')}) values (`,
    ...row,
    ...Array.from({ length: rows - 1 }, () => ['), (', ...row]).flat(),
    ')',
  ];
}

export type Page = {
  readonly rows: readonly Row[];
  /** Start of the next page; undefined after the last row. */
  readonly next: Key | undefined;
};

/**
 * Returns the rows after a key, or the first rows.
 * @throws AssertionError if their columns differ from the list.
 */
export function* readPage(table: Table, after: Key | undefined): Script<Page> {
  const { firstPage, nextPage } = textsOf(table);
  const rows = yield* all(new Statement<Row>(after ? nextPage : firstPage, after ?? []));
  const [sample] = rows;
  if (sample) {
    const found = Object.keys(sample).filter((column) => !table.own?.includes(column));
    assert.deepEqual(found.toSorted(), columnsOf(table).toSorted(), table.name);
  }
  const last = rows.length === pageRows ? rows.at(-1) : undefined;
  return { rows, next: last && valuesOf(last, table.key) };
}

export function* insertRows(table: Table, rows: readonly Row[]): Script<void> {
  const { insertOne, insertMany, manyRows } = textsOf(table);
  const columns = columnsOf(table);
  const inMany = rows.length - (rows.length % manyRows);
  for (let from = 0; from < inMany; from += manyRows) {
    const values = rows.slice(from, from + manyRows).flatMap((row) => valuesOf(row, columns));
    yield* execute(new Statement(insertMany, values));
  }
  for (const row of rows.slice(inMany)) yield* execute(new Statement(insertOne, valuesOf(row, columns)));
}

/** Returns the highest key of a table; undefined if the table is empty. */
export function* lastKey(table: Table): Script<Key | undefined> {
  const row = yield* first(new Statement<Row>(textsOf(table).lastKey, []));
  return row && valuesOf(row, table.key);
}

export function* countRows(table: Table): Script<number> {
  const { rows } = yield* one(new Statement<{ rows: bigint }>(textsOf(table).count, []));
  return toNumber(rows);
}

export function* isEmpty(table: Table): Script<boolean> {
  return (yield* all(new Statement(textsOf(table).anyRow, []))).length === 0;
}

/** Returns the ids of stores that do not exist and that the table references. */
export function* listMissingStores(table: Table): Script<readonly number[]> {
  if (table.key[0] !== 'store_id') return [];
  return (yield* all(new Statement<{ id: bigint }>(textsOf(table).storeIds, []))).map(({ id }) => Number(id));
}

/** Returns the sum of all card versions, which increases with every change of a card. */
export function* sumVersions(): Script<string> {
  const { versions } = yield* one(
    sql<{ versions: string }>`select cast(coalesce(sum(version), 0) as text) as versions from gift_cards`,
  );
  return versions;
}

function valuesOf(row: Row, columns: readonly string[]): SqlValue[] {
  return columns.map((column) => {
    const value = row[column];
    assert(value !== undefined, `the row has no ${column}`);
    return value;
  });
}

/** A digest of rows that is the same on every engine. Rows must be added in key order. */
export type TableDigest = { add(rows: readonly Row[]): void; hex(): string };

export function digestOf(table: Table): TableDigest {
  const columns = columnsOf(table);
  const hash: Hash = createHash('sha256').update(`${table.name} ${columns.join(' ')}\n`);
  return {
    add: (rows) =>
      void hash.update(rows.map((row) => valuesOf(row, columns).map(canonical).join('')).join('')),
    hex: () => hash.digest('hex'),
  };
}

/** Encodes a value unambiguously: sequences of different values have different encodings. */
function canonical(value: SqlValue): string {
  if (value === null) return 'n';
  if (typeof value === 'string') return `s${value.length}:${value}`;
  if (value instanceof Uint8Array)
    return `b${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')};`;
  assert(typeof value === 'bigint', 'columns contain only integers, texts and bytes');
  return `i${value};`;
}
