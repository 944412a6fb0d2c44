/** The number and size of a store's rows of each kind. The cost of each statement is bounded. */

import { all, parallel, sql, toNumber, toNumberOrNull, type Script } from '../../../database/sql/sql.ts';

export type StoredKind = {
  readonly kind: StoredKindName;
  readonly rows: number;
  /** Whether there can be more rows, because counting stopped. */
  readonly isMinimum: boolean;
  /** Estimated from the newest rows, without indexes. */
  readonly bytes: number;
  /** When the oldest row was written (ms); null: unknown, or there is none. */
  readonly oldestAt: number | null;
};

type SizeRow = { readonly rows: bigint; readonly size: bigint | null; readonly oldest: bigint | null };

/** Counting stops here. */
const countMax = 1_000_000;
/** Rows whose mean size is computed. */
const sampleRows = 1_000;

const sizeOf = {
  gift_cards: (storeId: number) => sql<SizeRow>`
    select (select count(*) from (select 1 as one from gift_cards where store_id = ${storeId} limit ${countMax}) c) as rows,
      (select cast(avg(s.size) as bigint) from (
        select 160 + coalesce(octet_length(note), 0) + coalesce(octet_length(message), 0) as size from gift_cards
        where store_id = ${storeId} order by id desc limit ${sampleRows}) s) as size,
      (select created_at from gift_cards where store_id = ${storeId} order by id limit 1) as oldest`,
  codes: (storeId: number) => sql<SizeRow>`
    select (select count(*) from (select 1 as one from gift_card_codes where store_id = ${storeId} limit ${countMax}) c) as rows,
      (select cast(avg(s.size) as bigint) from (
        select 80 as size from gift_card_codes
        where store_id = ${storeId} order by lookup limit ${sampleRows}) s) as size,
      (select cast(null as bigint)) as oldest`,
  transfers: (storeId: number) => sql<SizeRow>`
    select (select count(*) from (select 1 as one from transfers where store_id = ${storeId} limit ${countMax}) c) as rows,
      (select cast(avg(s.size) as bigint) from (
        select 220 + coalesce(octet_length(reference), 0) + coalesce(octet_length(note), 0) as size from transfers
        where store_id = ${storeId} order by id desc limit ${sampleRows}) s) as size,
      (select created_at from transfers where store_id = ${storeId} order by id limit 1) as oldest`,
  changes: (storeId: number) => sql<SizeRow>`
    select (select count(*) from (select 1 as one from card_changes where store_id = ${storeId} limit ${countMax}) c) as rows,
      (select cast(avg(s.size) as bigint) from (
        select 120 + octet_length(fields) + coalesce(octet_length(texts), 0) as size from card_changes
        where store_id = ${storeId} order by id desc limit ${sampleRows}) s) as size,
      (select created_at from card_changes where store_id = ${storeId} order by id limit 1) as oldest`,
  holds: (storeId: number) => sql<SizeRow>`
    select (select count(*) from (select 1 as one from holds where store_id = ${storeId} limit ${countMax}) c) as rows,
      (select cast(avg(s.size) as bigint) from (
        select 120 + coalesce(octet_length(reference), 0) + coalesce(octet_length(note), 0) as size from holds
        where store_id = ${storeId} order by id desc limit ${sampleRows}) s) as size,
      (select created_at from holds where store_id = ${storeId} order by id limit 1) as oldest`,
  customers: (storeId: number) => sql<SizeRow>`
    select (select count(*) from (select 1 as one from customers where store_id = ${storeId} limit ${countMax}) c) as rows,
      (select cast(avg(s.size) as bigint) from (
        select 60 + 2 * octet_length(email) as size from customers
        where store_id = ${storeId} order by id desc limit ${sampleRows}) s) as size,
      (select created_at from customers where store_id = ${storeId} order by id limit 1) as oldest`,
  events: (storeId: number) => sql<SizeRow>`
    select (select count(*) from (select 1 as one from events where store_id = ${storeId} limit ${countMax}) c) as rows,
      (select cast(avg(s.size) as bigint) from (
        select 70 + octet_length(data) as size from events
        where store_id = ${storeId} order by id desc limit ${sampleRows}) s) as size,
      (select created_at from events where store_id = ${storeId} order by id limit 1) as oldest`,
  emails: (storeId: number) => sql<SizeRow>`
    select (select count(*) from (select 1 as one from email_deliveries where store_id = ${storeId} limit ${countMax}) c) as rows,
      (select cast(avg(s.size) as bigint) from (
        select 100 + octet_length(address) + coalesce(octet_length(response), 0) as size from email_deliveries
        where store_id = ${storeId} order by card_id desc, id desc limit ${sampleRows}) s) as size,
      (select created_at from email_deliveries where store_id = ${storeId} order by card_id, id limit 1) as oldest`,
  webhook_deliveries: (storeId: number) => sql<SizeRow>`
    select (select count(*) from (select 1 as one from webhook_deliveries where store_id = ${storeId} limit ${countMax}) c) as rows,
      (select cast(avg(s.size) as bigint) from (
        select 100 + coalesce(octet_length(response_body), 0) as size from webhook_deliveries
        where store_id = ${storeId} order by webhook_id desc, event_id desc limit ${sampleRows}) s) as size,
      (select created_at from webhook_deliveries where store_id = ${storeId} order by webhook_id, event_id limit 1) as oldest`,
  sessions: (storeId: number) => sql<SizeRow>`
    select (select count(*) from (select 1 as one from staff_sessions where store_id = ${storeId} limit ${countMax}) c) as rows,
      (select cast(avg(s.size) as bigint) from (
        select 120 + octet_length(user_agent) as size from staff_sessions
        where store_id = ${storeId} order by id desc limit ${sampleRows}) s) as size,
      (select created_at from staff_sessions where store_id = ${storeId} order by id limit 1) as oldest`,
  idempotency_records: (storeId: number) => sql<SizeRow>`
    select (select count(*) from (select 1 as one from idempotency_records where store_id = ${storeId} limit ${countMax}) c) as rows,
      (select cast(avg(s.size) as bigint) from (
        select 80 + octet_length(response) as size from idempotency_records
        where store_id = ${storeId} order by key_digest limit ${sampleRows}) s) as size,
      (select created_at from idempotency_records where store_id = ${storeId} order by created_at limit 1) as oldest`,
  api_requests: (storeId: number) => sql<SizeRow>`
    select (select cast(coalesce(sum(c.requests), 0) as bigint) from (
        select requests from request_blocks where store_id = ${storeId} limit ${countMax}) c) as rows,
      (select cast(avg(octet_length(s.content) / s.requests) as bigint) from (
        select content, requests from request_blocks
        where store_id = ${storeId} and requests > 0 order by id desc limit ${sampleRows}) s) as size,
      (select started_at from request_blocks where store_id = ${storeId} order by id limit 1) as oldest`,
  failed_lookups: (storeId: number) => sql<SizeRow>`
    select (select count(*) from (select 1 as one from lookup_throttle where store_id = ${storeId} limit ${countMax}) c) as rows,
      (select cast(avg(s.size) as bigint) from (
        select 40 as size from lookup_throttle
        where store_id = ${storeId} order by caller limit ${sampleRows}) s) as size,
      (select cast(null as bigint)) as oldest`,
} as const;

export type StoredKindName = keyof typeof sizeOf;

/** Returns the sizes of all kinds. */
export function* listStoredKinds(storeId: number): Script<readonly StoredKind[]> {
  const names = Object.keys(sizeOf) as StoredKindName[];
  const found = yield* parallel(...names.map((kind) => all(sizeOf[kind](storeId))));
  return names.map((kind, place) => {
    const row = found[place]?.[0];
    const rows = toNumber(row?.rows ?? 0n);
    return {
      kind,
      rows,
      isMinimum: rows === countMax,
      bytes: rows * toNumber(row?.size ?? 0n),
      oldestAt: toNumberOrNull(row?.oldest ?? null),
    };
  });
}
