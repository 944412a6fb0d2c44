/** The rows that an erasure walks through, in pages. */

import { erasableFields } from '../../../core/cards/domain/fields.ts';
import { all, execute, first, joined, part, sql, toNumber, type Script } from '../../../database/sql/sql.ts';
import { Fragment } from '../../../database/sql/fragments.ts';
import { type CustomerKey, type TextRow, emptied } from './erasure.ts';

/** A page of rows in the order of their ids. */
export type RowRange = { readonly after: number; readonly upTo: number };

/** The tables that an erasure walks through. */
export type WalkedTable = 'events' | 'gift_cards' | 'transfers' | 'holds' | 'card_changes';

/** Returns the highest id of a store's rows in a table; 0 if there are none. */
export function* findLastId(table: WalkedTable, storeId: number): Script<number> {
  const row = yield* first(lastIdIn(table, storeId));
  return row?.id === undefined || row.id === null ? 0 : toNumber(row.id);
}

function lastIdIn(table: WalkedTable, storeId: number) {
  switch (table) {
    case 'events':
      return sql<{ id: bigint | null }>`select max(id) as id from events where store_id = ${storeId}`;
    case 'gift_cards':
      return sql<{ id: bigint | null }>`select max(id) as id from gift_cards where store_id = ${storeId}`;
    case 'transfers':
      return sql<{ id: bigint | null }>`select max(id) as id from transfers where store_id = ${storeId}`;
    case 'holds':
      return sql<{ id: bigint | null }>`select max(id) as id from holds where store_id = ${storeId}`;
    case 'card_changes':
      return sql<{ id: bigint | null }>`select max(id) as id from card_changes where store_id = ${storeId}`;
  }
}

/** Returns the last id of the page of `rows` rows after an id; `upTo` if the page reaches it. */
export function* findPageEnd(
  table: WalkedTable,
  storeId: number,
  { after, upTo, rows }: RowRange & { readonly rows: number },
): Script<number> {
  const row = yield* first(pageEndIn(table, storeId, { after, skipped: rows - 1 }));
  return row ? Math.min(toNumber(row.id), upTo) : upTo;
}

function pageEndIn(
  table: WalkedTable,
  storeId: number,
  { after, skipped }: { readonly after: number; readonly skipped: number },
) {
  switch (table) {
    case 'events':
      return sql<{ id: bigint }>`
        select id from events where store_id = ${storeId} and id > ${after} order by id limit 1 offset ${skipped}`;
    case 'gift_cards':
      return sql<{ id: bigint }>`
        select id from gift_cards where store_id = ${storeId} and id > ${after} order by id limit 1 offset ${skipped}`;
    case 'transfers':
      return sql<{ id: bigint }>`
        select id from transfers where store_id = ${storeId} and id > ${after} order by id limit 1 offset ${skipped}`;
    case 'holds':
      return sql<{ id: bigint }>`
        select id from holds where store_id = ${storeId} and id > ${after} order by id limit 1 offset ${skipped}`;
    case 'card_changes':
      return sql<{ id: bigint }>`
        select id from card_changes where store_id = ${storeId} and id > ${after} order by id limit 1 offset ${skipped}`;
  }
}

/** Tables whose rows have texts. */
export type TextTable = Exclude<WalkedTable, 'events' | 'card_changes'>;

export type WalkedEvent = {
  readonly id: number;
  readonly data: string;
  readonly isOwn: boolean;
  /** Whether the event is about a card whose recipient was erased. */
  readonly isRecipientErased: boolean;
};

/** Returns the events of a page. An own event is about a card of the customer, or about the customer. */
export function* listWalkedEvents(
  { storeId, customerId }: CustomerKey,
  { after, upTo }: RowRange,
): Script<readonly WalkedEvent[]> {
  const rows = yield* all(sql<{ id: bigint; data: string; own: bigint; erased: bigint }>`
    select e.id, e.data, case when e.subject_id = ${customerId} or exists (
        select 1 from customer_erasure_cards c
        where c.store_id = ${storeId} and c.customer_id = ${customerId} and c.card_id = e.subject_id
      ) then 1 else 0 end as own,
      case when exists (
        select 1 from gift_cards g where g.store_id = ${storeId} and g.id = e.subject_id and g.recipient_id is null
      ) then 1 else 0 end as erased
    from events e where e.store_id = ${storeId} and e.id > ${after} and e.id <= ${upTo} order by e.id`);
  return rows.map((row) => ({
    id: toNumber(row.id),
    data: row.data,
    isOwn: Number(row.own) === 1,
    isRecipientErased: Number(row.erased) === 1,
  }));
}

/**
 * Replaces the data of an event. Its deliveries lose the receivers' responses, which can repeat the event, and one that
 * is being sent is sent again with the new data.
 */
export function* redactEvent(
  { storeId, id, data }: { readonly storeId: number; readonly id: number; readonly data: string },
  { webhookIds, now }: { readonly webhookIds: readonly number[]; readonly now: number },
): Script<void> {
  yield* execute(sql`update events set data = ${data} where store_id = ${storeId} and id = ${id}`);
  for (const webhookId of webhookIds)
    yield* execute(
      sql`
        update webhook_deliveries set response_body = null,
          next_at = case when lease is null then next_at else ${now} end, lease = null
        where store_id = ${storeId} and webhook_id = ${webhookId} and event_id = ${id}`,
      sql`
        update webhook_attempts set response_body = null
        where store_id = ${storeId} and webhook_id = ${webhookId} and event_id = ${id}`,
    );
}

/** The ids of a store's webhooks. */
export function* listWebhookIds(storeId: number): Script<readonly number[]> {
  const rows = yield* all(sql<{ id: bigint }>`select id from webhooks where store_id = ${storeId}`);
  return rows.map(({ id }) => toNumber(id));
}

/** A row with texts. An own row belongs to a card of the customer. */
export type WalkedTexts = {
  readonly id: number;
  readonly texts: readonly (string | null)[];
  readonly isOwn: boolean;
};

const erasableColumns = new Fragment(() =>
  erasableFields.map((name, place) => `${name} as text_${place}`).join(', '),
);

const isAnyGiven = new Fragment(() => erasableFields.map((name) => `${name} is not null`).join(' or '));

/** The texts of a transfer or a hold. */
const entryTexts = part`
  reference as text_0, note as text_1, order_reference as text_2, external_id as text_3`;

/** Returns the rows of a page that have texts: all texts of cards, and those of transfers and holds. */
export function* listWalkedTexts(
  table: TextTable,
  key: CustomerKey,
  range: RowRange,
): Script<readonly WalkedTexts[]> {
  const rows = yield* all(textsIn(table, key, range));
  return rows.map((row) => ({
    id: toNumber(row.id),
    texts: erasableFields.map((_, place) => row[`text_${place}`] ?? null),
    isOwn: Number(row.own) === 1,
  }));
}

function textsIn(table: TextTable, { storeId, customerId }: CustomerKey, { after, upTo }: RowRange) {
  switch (table) {
    case 'gift_cards':
      return sql<TextRow>`
        select id, ${erasableColumns}, case when exists (
            select 1 from customer_erasure_cards c
            where c.store_id = ${storeId} and c.customer_id = ${customerId} and c.card_id = gift_cards.id
          ) then 1 else 0 end as own
        from gift_cards
        where store_id = ${storeId} and id > ${after} and id <= ${upTo} 
          and (${isAnyGiven})
        order by id`;
    case 'transfers':
      return sql<TextRow>`
        select id, ${entryTexts}, case when exists (
            select 1 from customer_erasure_cards c
            where c.store_id = ${storeId} and c.customer_id = ${customerId} and c.card_id = transfers.card_id
          ) then 1 else 0 end as own
        from transfers
        where store_id = ${storeId} and id > ${after} and id <= ${upTo} and text_salt is not null
        order by id`;
    case 'holds':
      return sql<TextRow>`
        select id, ${entryTexts}, case when exists (
            select 1 from customer_erasure_cards c
            where c.store_id = ${storeId} and c.customer_id = ${customerId} and c.card_id = holds.card_id
          ) then 1 else 0 end as own
        from holds
        where store_id = ${storeId} and id > ${after} and id <= ${upTo}
          and (reference is not null or note is not null or order_reference is not null or external_id is not null)
        order by id`;
  }
}

/** Erases the texts of a transfer. Its chain keeps their digest, which cannot be computed without the salt. */
export function* eraseTransferTexts(storeId: number, id: number): Script<void> {
  yield* execute(sql`
    update transfers set reference = null, note = null, order_reference = null, external_id = null, text_salt = null
    where store_id = ${storeId} and id = ${id}`);
}

/** Erases the texts of a hold whose place in `WalkedTexts` is listed. */
export function* eraseHoldTexts(storeId: number, id: number, places: ReadonlySet<number>): Script<void> {
  yield* execute(sql`
    update holds set reference = case when ${Number(places.has(0))} = 1 then null else reference end,
      note = case when ${Number(places.has(1))} = 1 then null else note end,
      order_reference = case when ${Number(places.has(2))} = 1 then null else order_reference end,
      external_id = case when ${Number(places.has(3))} = 1 then null else external_id end
    where store_id = ${storeId} and id = ${id}`);
}

/** Erases the texts of a card whose place in `WalkedTexts` is listed. The card gets a new version. */
export function* eraseCardTexts(storeId: number, id: number, places: ReadonlySet<number>): Script<void> {
  yield* execute(sql`
    update gift_cards set version = version + 1,
      ${joined(
        erasableFields.map((name, place) => emptied(name, places.has(place))),
        ', ',
      )}
    where store_id = ${storeId} and id = ${id}`);
}

/** A change of a card with stored texts, as `cards/storage/change.ts` has them. An own change is of a card of the customer. */
export type ErasableChange = { readonly id: number; readonly texts: string; readonly isOwn: boolean };

/** Returns the changes of a page that have texts. */
export function* listWalkedChanges(
  { storeId, customerId }: CustomerKey,
  { after, upTo }: RowRange,
): Script<readonly ErasableChange[]> {
  const rows = yield* all(sql<{ id: bigint; texts: string; own: bigint }>`
    select id, texts, case when exists (
        select 1 from customer_erasure_cards c
        where c.store_id = ${storeId} and c.customer_id = ${customerId} and c.card_id = card_changes.card_id
      ) then 1 else 0 end as own
    from card_changes
    where store_id = ${storeId} and id > ${after} and id <= ${upTo} and texts is not null
    order by id`);
  return rows.map((row) => ({ id: toNumber(row.id), texts: row.texts, isOwn: Number(row.own) === 1 }));
}
