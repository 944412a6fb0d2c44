/**
 * Erasures of customers: their progress, and the statements that erase personal data from rows. An erasure is made in
 * transactions of bounded size, each of which stores its progress.
 */

import {
  erasableFields,
  notedFields,
  personalFields,
  type ErasableField,
} from '../../domain/cards/fields.ts';
import {
  columns,
  flag,
  integer,
  integerOrNull,
  text,
  bytesOrNull,
  unchanged,
  type RowOf,
} from '../sql/columns.ts';
import {
  all,
  execute,
  first,
  forUpdate,
  Fragment,
  joined,
  part,
  sql,
  toNumber,
  toNumberOrNull,
  type Part,
  type Script,
} from '../sql/sql.ts';
import { ofOpenStore } from '../stores/store.ts';

/** The steps of an erasure, in order. */
export const erasureSteps = [
  'cards',
  'card texts',
  'transfer texts',
  'hold texts',
  'changes',
  'events',
  'cleanup',
  'complete',
] as const;

export type ErasureStep = (typeof erasureSteps)[number];

export type CustomerKey = { readonly storeId: number; readonly customerId: number };

export type Erasure = CustomerKey & {
  /** Whether notes and references that mention the customer are erased. */
  readonly eraseNotes: boolean;
  /** Sealed; null if the erasure is complete. */
  readonly address: Uint8Array | null;
  readonly step: ErasureStep;
  /** The last row that the step has processed. */
  readonly position: number;
  /** The last row of the table when the step began. */
  readonly positionEnd: number;
  readonly cards: number;
  readonly emails: number;
  readonly events: number;
  /** Notes and references that were erased, and those that contain the address and were not. */
  readonly texts: number;
  readonly textsLeft: number;
  /** Cards whose code was not sent, and the ids of the first of them, between commas. */
  readonly unsent: number;
  readonly unsentCards: string;
  /** The caller who requested it. */
  readonly actor: string;
  readonly requestedAt: number;
  readonly completedAt: number | null;
};

const erasures = columns({
  store_id: integer('storeId'),
  customer_id: integer('customerId'),
  erase_notes: flag('eraseNotes'),
  address: bytesOrNull('address'),
  step: unchanged<ErasureStep>()('step'),
  position: integer('position'),
  position_end: integer('positionEnd'),
  cards: integer('cards'),
  emails: integer('emails'),
  events: integer('events'),
  texts: integer('texts'),
  texts_left: integer('textsLeft'),
  unsent: integer('unsent'),
  unsent_cards: text('unsentCards'),
  actor: text('actor'),
  requested_at: integer('requestedAt'),
  completed_at: integerOrNull('completedAt'),
});

type ErasureRow = RowOf<typeof erasures>;

export function* findErasure({ storeId, customerId }: CustomerKey): Script<Erasure | undefined> {
  const row = yield* first(sql<ErasureRow>`
    select ${erasures.names} from customer_erasures where store_id = ${storeId} and customer_id = ${customerId}`);
  return row && erasures.read(row);
}

/** Finds an erasure, and locks the row until the transaction ends. */
export function* lockErasure({ storeId, customerId }: CustomerKey): Script<Erasure | undefined> {
  const row = yield* first(sql<ErasureRow>`
    select ${erasures.names} from customer_erasures
    where store_id = ${storeId} and customer_id = ${customerId} ${forUpdate}`);
  return row && erasures.read(row);
}

/** Returns unfinished erasures of all stores. */
export function* listUnfinishedErasures(limit: number): Script<readonly CustomerKey[]> {
  const rows = yield* all(sql<{ store_id: bigint; customer_id: bigint }>`
    select store_id, customer_id from customer_erasures where completed_at is null and ${ofOpenStore}
    order by requested_at limit ${limit}`);
  return rows.map((row) => ({ storeId: toNumber(row.store_id), customerId: toNumber(row.customer_id) }));
}

/** Whether a customer was ever erased. */
export function* hasErasures(): Script<boolean> {
  const rows = yield* all(sql<{ one: bigint }>`select 1 as one from customer_erasures limit 1`);
  return rows.length > 0;
}

export function* saveErasure(erasure: Erasure): Script<void> {
  yield* execute(sql`
    insert into customer_erasures (${erasures.names}) values (${erasures.values(erasure)})
    on conflict (store_id, customer_id) do update set ${erasures.excluded}`);
}

/**
 * Removes the address from the row of a customer, who is no longer found. The address can become a new customer.
 * @returns the address as it was stored, and its key; undefined if there is no such customer or it was erased before.
 */
export function* eraseCustomerRow(
  { storeId, customerId }: CustomerKey,
  now: number,
): Script<{ readonly address: string; readonly key: string } | undefined> {
  const row = yield* first(sql<{ email: string; email_key: string }>`
    select email, email_key from customers
    where store_id = ${storeId} and id = ${customerId} and erased_at is null ${forUpdate}`);
  if (!row) return undefined;
  // The key is unique in the store, and no address is without an @.
  yield* execute(sql`
    update customers set email = '', email_key = ${`erased ${customerId}`}, storefront_customer_id = null,
      erased_at = ${now}
    where store_id = ${storeId} and id = ${customerId}`);
  return { address: row.email, key: row.email_key };
}

/** A card of an erased customer. */
export type ErasedCard = { readonly id: number; readonly isCustomer: boolean; readonly isRecipient: boolean };

/** Returns up to `limit` cards that the customer bought or received, and locks them until the transaction ends. */
export function* lockCardsOf(
  { storeId, customerId }: CustomerKey,
  limit: number,
): Script<readonly ErasedCard[]> {
  type Row = { id: bigint; customer_id: bigint | null; recipient_id: bigint | null };
  const bought = yield* all(sql<Row>`
    select id, customer_id, recipient_id from gift_cards
    where store_id = ${storeId} and customer_id = ${customerId} limit ${limit} ${forUpdate}`);
  const received =
    bought.length > 0
      ? []
      : yield* all(sql<Row>`
          select id, customer_id, recipient_id from gift_cards
          where store_id = ${storeId} and recipient_id = ${customerId} limit ${limit} ${forUpdate}`);
  return [...bought, ...received].map((row) => ({
    id: toNumber(row.id),
    isCustomer: toNumberOrNull(row.customer_id) === customerId,
    isRecipient: toNumberOrNull(row.recipient_id) === customerId,
  }));
}

/** Removes a customer, message, names and, if requested, note and tags from a card, which gets a new version. */
export function* erasePersonOfCard(
  { storeId, customerId }: CustomerKey,
  cardId: number,
  { eraseNote }: { readonly eraseNote: boolean },
): Script<void> {
  yield* execute(
    sql`
      insert into customer_erasure_cards (store_id, customer_id, card_id)
      values (${storeId}, ${customerId}, ${cardId}) on conflict do nothing`,
    sql`
      update gift_cards set version = version + 1,
        ${joined(
          [
            ...personalFields.map((name) => emptied(name, true)),
            ...notedFields.map((name) => emptied(name, eraseNote)),
          ],
          ', ',
        )},
        customer_id = case when customer_id = ${customerId} then null else customer_id end,
        recipient_id = case when recipient_id = ${customerId} then null else recipient_id end
      where store_id = ${storeId} and id = ${cardId}`,
  );
}

/** The emails of a card that were erased: their number, and whether one with the code had not been sent. */
export type ErasedEmails = { readonly emails: number; readonly isUnsent: boolean };

/**
 * Cancels the pending emails of a card to an address, and removes the address and the mail server's response from all
 * emails to it. The emails of the card's holder can have had other addresses, which were wrong. An attempt in progress
 * does not record its result.
 */
export function* eraseEmailsTo(
  {
    storeId,
    cardId,
    address,
    isHolder,
  }: {
    readonly storeId: number;
    readonly cardId: number;
    readonly address: string;
    readonly isHolder: boolean;
  },
  { now, reason }: { readonly now: number; readonly reason: string },
): Script<ErasedEmails> {
  const isTheirs = part`(address = ${address} or (${Number(isHolder)} = 1
    and kind in ('gift_card', 'expiry_reminder', 'balance_reminder')))`;
  const cancelled = yield* all(sql<{ kind: string }>`
    update email_deliveries set state = 'cancelled', address = '', next_at = null, lease = null, code = null,
      ended_at = ${now}, response = ${reason}
    where store_id = ${storeId} and card_id = ${cardId} and ${isTheirs} and next_at is not null
    returning kind`);
  const ended = yield* all(sql<{ id: bigint }>`
    update email_deliveries set address = '', lease = null,
      response = case when state = 'cancelled' then response else null end
    where store_id = ${storeId} and card_id = ${cardId} and address <> '' and ${isTheirs}
    returning id`);
  return {
    emails: cancelled.length + ended.length,
    isUnsent: cancelled.some(({ kind }) => kind === 'gift_card'),
  };
}

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

/** Texts are in the columns `text_0`, `text_1`, … */
type TextRow = {
  readonly id: bigint;
  readonly own: bigint;
  readonly [text: `text_${number}`]: string | null;
};

const erasableColumns = new Fragment(() =>
  erasableFields.map((name, place) => `${name} as text_${place}`).join(', '),
);
const isAnyGiven = new Fragment(() => erasableFields.map((name) => `${name} is not null`).join(' or '));

/** The texts of a transfer or a hold. */
const entryTexts = part`
  reference as text_0, note as text_1, order_reference as text_2, external_id as text_3`;

/** In `set`: a column of a detail is null if that is wanted. */
function emptied(name: ErasableField, isWanted: boolean): Part {
  const column = new Fragment(() => name);
  return part`${column} = case when ${Number(isWanted)} = 1 then null else ${column} end`;
}

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

/** A change of a card with stored texts, as `card-change.ts` has them. An own change is of a card of the customer. */
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

/** Deletes up to `limit` rows of the list of cards. Returns their number. */
export function* forgetErasedCards({ storeId, customerId }: CustomerKey, limit: number): Script<number> {
  const rows = yield* all(sql`
    delete from customer_erasure_cards where store_id = ${storeId} and customer_id = ${customerId} and card_id in (
      select card_id from customer_erasure_cards
      where store_id = ${storeId} and customer_id = ${customerId} limit ${limit})
    returning card_id`);
  return rows.length;
}
