/** Queries of the verification: events and codes in key order, and broken references. */

import { sealedLengthMin, sealHead } from '../../../platform/keys.ts';
import { keyDigestLength, responseInClear } from '../../../core/stores/storage/idempotency.ts';
import type { CardIdRange } from './ledger-scan.ts';
import {
  all,
  exactOf,
  one,
  parallel,
  part,
  scan,
  sql,
  toNumber,
  type ScannedInteger,
  type Script,
} from '../../../database/sql/sql.ts';

export type ScannedEvent = {
  readonly id: ScannedInteger;
  readonly type: string;
  readonly subjectId: ScannedInteger;
  readonly version: ScannedInteger;
  readonly data: string;
};

/** Returns the page after the id `after` of the store's events about cards in the range, ordered by id. */
export function* listEventsOf(
  storeId: number,
  range: CardIdRange,
  after: ScannedInteger,
): Script<readonly ScannedEvent[]> {
  return yield* all(scan<ScannedEvent>`
    select id, type, subject_id as "subjectId", subject_version as version, data from events
    where store_id = ${storeId} and id > ${after} and subject_id > ${range.after} and subject_id <= ${range.upTo}
    order by id limit 500`);
}

/** Whether an erasure of a customer of a store has begun and is not complete. */
export function* isErasingCustomer(storeId: number): Script<boolean> {
  const rows = yield* all(scan<{ readonly one: ScannedInteger }>`
    select 1 as one from customer_erasures where store_id = ${storeId} and completed_at is null limit 1`);
  return rows.length > 0;
}

/** Returns the events after an id that have published a store's checkpoints, in order. */
export function* listCheckpointEvents(
  storeId: number,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly { readonly id: number; readonly checkpointId: number; readonly data: string }[]> {
  const rows = yield* all(sql<{ id: bigint; subject_id: bigint; data: string }>`
    select id, subject_id, data from events
    where store_id = ${storeId} and id > ${after} and type = 'checkpoint.created' order by id limit ${limit}`);
  return rows.map((row) => ({ id: Number(row.id), checkpointId: Number(row.subject_id), data: row.data }));
}

export type ScannedCode = {
  readonly cardId: ScannedInteger;
  readonly lookup: bigint;
  readonly digest: Uint8Array;
};

/** Returns the page from the lookup `from` on of the codes of the cards in the range, ordered by lookup. */
export function* listCodesOf(
  storeId: number,
  range: CardIdRange,
  from: bigint,
): Script<readonly ScannedCode[]> {
  const rows = yield* all(sql<{ lookup: bigint; digest: Uint8Array; card_id: bigint }>`
    select lookup, digest, card_id from gift_card_codes
    where store_id = ${storeId} and lookup >= ${from} and card_id > ${range.after} and card_id <= ${range.upTo}
    order by lookup limit 500`);
  return rows.map(({ lookup, digest, card_id: cardId }) => ({ lookup, digest, cardId: exactOf(cardId) }));
}

/** One or more rows that refer to a row that does not exist. */
export type BrokenReference = {
  readonly storeId: number;
  /** Null if the row does not belong to a card. */
  readonly cardId: number | null;
  readonly problem: string;
};

const brokenReferences = part`
  select store_id, id as card_id, 'names a customer that does not exist' as problem from gift_cards g
  where customer_id is not null
    and not exists (select 1 from customers c where c.store_id = g.store_id and c.id = g.customer_id)
  union all
  select store_id, id, 'names a recipient that does not exist' from gift_cards g
  where recipient_id is not null
    and not exists (select 1 from customers c where c.store_id = g.store_id and c.id = g.recipient_id)
  union all
  select store_id, id, 'names a batch that does not exist' from gift_cards g
  where batch_id is not null
    and not exists (select 1 from batches b where b.store_id = g.store_id and b.id = g.batch_id)
  union all
  select store_id, card_id, 'has emails, but there is no such card' from email_deliveries m
  where not exists (select 1 from gift_cards g where g.store_id = m.store_id and g.id = m.card_id)
  union all
  select store_id, card_id, 'has a capture whose hold does not exist or was not captured for that amount'
  from transfers t
  where hold_id is not null and not exists (
    select 1 from holds h
    where h.store_id = t.store_id and h.id = t.hold_id and h.card_id = t.card_id and h.captured = t.amount)
  union all
  select store_id, card_id, 'has an entry at a location that does not exist' from transfers t
  where location_id is not null
    and not exists (select 1 from locations l where l.store_id = t.store_id and l.id = t.location_id)
  union all
  select store_id, card_id, 'has a hold at a location that does not exist' from holds h
  where location_id is not null
    and not exists (select 1 from locations l where l.store_id = h.store_id and l.id = h.location_id)
  union all
  select store_id, null, 'batches: a batch is of a location that does not exist' from batches b
  where location_id is not null
    and not exists (select 1 from locations l where l.store_id = b.store_id and l.id = b.location_id)
  union all
  select store_id, null, 'hold_extensions: an extension has no hold' from hold_extensions x
  where not exists (select 1 from holds h where h.store_id = x.store_id and h.id = x.hold_id)
  union all
  select store_id, null, 'gift_card_codes: a code has neither a card nor a place in stock' from gift_card_codes k
  where card_id is null
    and not exists (select 1 from stock_codes c where c.store_id = k.store_id and c.lookup = k.lookup)
  union all
  select store_id, null, 'stock_codes: a code was sold and has no card, or has one and was not sold' from stock_codes c
  where not exists (
    select 1 from gift_card_codes k
    where k.store_id = c.store_id and k.lookup = c.lookup and (k.card_id is null) = (c.sold_at is null))
  union all
  select store_id, null, 'stocks: another number of codes was added' from stocks s
  where printed <> (select count(*) from stock_codes c where c.store_id = s.store_id and c.stock_id = s.id)
  union all
  select store_id, null, 'external_ids: an external id has no ' || kind from external_ids x
  where object_id is not null
    and not exists (select 1 from gift_cards g where g.store_id = x.store_id and g.id = x.object_id and x.kind = 'card')
    and not exists (
      select 1 from transfers t where t.store_id = x.store_id and t.id = x.object_id and x.kind = 'transaction')
    and not exists (select 1 from holds h where h.store_id = x.store_id and h.id = x.object_id and x.kind = 'hold')
    and not exists (
      select 1 from online_sales o where o.store_id = x.store_id and o.card_id = x.object_id and x.kind = 'online_sale')
  union all
  select store_id, card_id, 'has an online sale of another amount, or of which it is not the card' from online_sales o
  where card_id is not null and not exists (
    select 1 from transfers t
    where t.store_id = o.store_id and t.id = o.issue_id and t.card_id = o.card_id and t.kind = 'issue'
      and t.debit_account = 'online_sales' and t.amount = o.amount and t.currency = o.currency)
  union all
  select store_id, card_id, 'was issued for an online sale that does not exist' from transfers t
  where debit_account = 'online_sales' and kind = 'issue' and not exists (
    select 1 from online_sales o where o.store_id = t.store_id and o.card_id = t.card_id and o.issue_id = t.id)
  union all
  select store_id, null, 'online_sale_refunds: a refund has no sale' from online_sale_refunds r
  where not exists (select 1 from online_sales o where o.store_id = r.store_id and o.id = r.sale_id)
  union all
  select store_id, null, 'payment_movements: a movement has no sale' from payment_movements m
  where sale_id is not null
    and not exists (select 1 from online_sales o where o.store_id = m.store_id and o.id = m.sale_id)
  union all
  select store_id, null, 'events: a customer was created that does not exist' from events e
  where type = 'customer.created'
    and not exists (select 1 from customers c where c.store_id = e.store_id and c.id = e.subject_id)
  union all
  select store_id, null, 'webhook_deliveries: a delivery has no webhook' from webhook_deliveries d
  where not exists (select 1 from webhooks w where w.store_id = d.store_id and w.id = d.webhook_id)
  union all
  select store_id, null, 'webhook_deliveries: a delivery has no event' from webhook_deliveries d
  where not exists (select 1 from events e where e.store_id = d.store_id and e.id = d.event_id)
  union all
  select store_id, null, 'webhook_attempts: an attempt has no delivery' from webhook_attempts a
  where not exists (
    select 1 from webhook_deliveries d
    where d.store_id = a.store_id and d.webhook_id = a.webhook_id and d.event_id = a.event_id)`;

/**
 * Finds rows with a broken foreign key, and captures that do not match their hold. Lost pages, and sessions
 * with disabled triggers, can cause them. `listMissingStores` finds rows without a store.
 */
export function* listBrokenReferences(limit: number): Script<readonly BrokenReference[]> {
  type Row = { store_id: bigint; card_id: bigint | null; problem: string };
  const rows = yield* all(sql<Row>` ${brokenReferences} limit ${limit}`);
  return rows.map((row) => ({
    storeId: Number(row.store_id),
    cardId: row.card_id === null ? null : Number(row.card_id),
    problem: row.problem,
  }));
}

/** Counts idempotency records that are too short, or neither in clear nor sealed with one of these keys. */
export function* countUnreadableRecords(keyIds: readonly string[]): Script<number> {
  const [{ records }, ...readable] = yield* parallel(
    one(sql<{ records: bigint }>`select count(*) as records from idempotency_records`),
    countReadable({ head: Uint8Array.of(responseInClear), lengthMin: 2 }),
    ...keyIds.map((keyId) => countReadable({ head: sealHead(keyId), lengthMin: sealedLengthMin(keyId) })),
  );
  return readable.reduce((rest, count) => rest - count, toNumber(records));
}

function* countReadable({
  head,
  lengthMin,
}: {
  readonly head: Uint8Array;
  readonly lengthMin: number;
}): Script<number> {
  const { records } = yield* one(sql<{ records: bigint }>`
    select count(*) as records from idempotency_records
    where substr(response, 1, ${head.length}) = ${head} and length(response) >= ${lengthMin}
      and length(fingerprint) = 32 and length(key_digest) >= ${keyDigestLength}`);
  return toNumber(records);
}
