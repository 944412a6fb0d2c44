/**
 * Erasures of customers: their progress, and the statements that erase personal data from rows. An erasure is made in
 * transactions of bounded size, each of which stores its progress.
 */

import { type ErasableField, notedFields, personalFields } from '../../../core/cards/domain/fields.ts';
import {
  all,
  execute,
  first,
  joined,
  part,
  sql,
  toNumber,
  type Part,
  type Script,
  toNumberOrNull,
} from '../../../database/sql/sql.ts';
import { Fragment, forUpdate } from '../../../database/sql/fragments.ts';
import {
  columns,
  flag,
  integer,
  integerOrNull,
  text,
  bytesOrNull,
  unchanged,
  type RowOf,
} from '../../../database/sql/columns.ts';
import { ofOpenStore } from '../../../core/stores/storage/store.ts';

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
        viewed_at = null,
        customer_id = case when customer_id = ${customerId} then null else customer_id end,
        recipient_id = case when recipient_id = ${customerId} then null else recipient_id end
      where store_id = ${storeId} and id = ${cardId}`,
    // The devices of the holder are personal data; the passes on them stay as they are. An object at Google is ended first.
    sql`
      delete from wallet_cards where store_id = ${storeId} and card_id = ${cardId} and kind = 'apple' and not exists (
        select 1 from gift_cards where store_id = ${storeId} and id = ${cardId} and recipient_id is not null)`,
    sql`
      update wallet_cards set code = null, changed_at = changed_at + 1, next_at = coalesce(next_at, changed_at)
      where store_id = ${storeId} and card_id = ${cardId} and kind = 'google' and not exists (
        select 1 from gift_cards where store_id = ${storeId} and id = ${cardId} and recipient_id is not null)`,
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

/** Texts are in the columns `text_0`, `text_1`, … */
export type TextRow = {
  readonly id: bigint;
  readonly own: bigint;
  readonly [text: `text_${number}`]: string | null;
};

/** Deletes up to `limit` rows of the list of cards. Returns their number. */
export function* forgetErasedCards({ storeId, customerId }: CustomerKey, limit: number): Script<number> {
  const rows = yield* all(sql`
    delete from customer_erasure_cards where store_id = ${storeId} and customer_id = ${customerId} and card_id in (
      select card_id from customer_erasure_cards
      where store_id = ${storeId} and customer_id = ${customerId} limit ${limit})
    returning card_id`);
  return rows.length;
}

/** In `set`: a column of a detail is null if that is wanted. */
export function emptied(name: ErasableField, isWanted: boolean): Part {
  const column = new Fragment(() => name);
  return part`${column} = case when ${Number(isWanted)} = 1 then null else ${column} end`;
}
