/** Gift cards. Every balance change goes through `moveBalance`, together with a transfer (`transfer.ts`). */

import type { Card } from '../domain/card.ts';
import { currencyOf } from '../domain/currency.ts';
import type { EmailAddress } from '../domain/email-address.ts';
import {
  all,
  first,
  forUpdate,
  lock,
  RetryTransaction,
  execute,
  sql,
  toNumber,
  toNumberOrNull,
  type Script,
} from './sql.ts';

export type CardRow = {
  readonly store_id: bigint;
  readonly id: bigint;
  readonly version: bigint;
  readonly currency: string;
  readonly initial_value: bigint;
  readonly balance: bigint;
  readonly held: bigint;
  readonly last_characters: string;
  readonly customer_id: bigint | null;
  readonly customer_email: string | null;
  readonly recipient_id: bigint | null;
  readonly recipient_email: string | null;
  readonly note: string | null;
  readonly message: string | null;
  readonly expires_on: string | null;
  readonly disabled_at: bigint | null;
  readonly created_at: bigint;
  readonly line_item_id: bigint | null;
  readonly order_id: bigint | null;
  readonly user_id: bigint | null;
  readonly api_client_id: bigint | null;
};

export function toCard(row: CardRow): Card {
  const currency = currencyOf(row.currency);
  return {
    storeId: toNumber(row.store_id),
    id: toNumber(row.id),
    version: toNumber(row.version),
    initialValue: { minor: row.initial_value, currency },
    balance: { minor: row.balance, currency },
    held: { minor: row.held, currency },
    lastCharacters: row.last_characters,
    customer: toCustomer(row.customer_id, row.customer_email),
    recipient: toCustomer(row.recipient_id, row.recipient_email),
    note: row.note,
    message: row.message,
    expiresOn: row.expires_on,
    disabledAt: toNumberOrNull(row.disabled_at),
    createdAt: toNumber(row.created_at),
    lineItemId: toNumberOrNull(row.line_item_id),
    orderId: toNumberOrNull(row.order_id),
    userId: toNumberOrNull(row.user_id),
    apiClientId: toNumberOrNull(row.api_client_id),
  };
}

function toCustomer(id: bigint | null, email: string | null) {
  return id === null || email === null ? null : { id: toNumber(id), email };
}

/** Returns undefined if the store has no card with this id, even if another store has. */
export function* findCard(storeId: number, id: number): Script<Card | undefined> {
  const row = yield* first(sql<CardRow>`
    select g.store_id, g.id, g.version, g.currency, g.initial_value, g.balance, g.held, g.last_characters,
      g.customer_id, g.recipient_id, g.note, g.message, g.expires_on, g.disabled_at, g.created_at,
      g.line_item_id, g.order_id, g.user_id, g.api_client_id,
      c.email as customer_email, r.email as recipient_email
    from gift_cards g
    left join customers c on c.store_id = g.store_id and c.id = g.customer_id
    left join customers r on r.store_id = g.store_id and r.id = g.recipient_id
    where g.store_id = ${storeId} and g.id = ${id}`);
  return row && toCard(row);
}

/** A card at an instant. */
export type CardState = {
  /** Its held amount excludes expired holds, including those that are still open in their rows. */
  readonly card: Card;
  /** Amount in minor units that the row still reserves for expired holds. */
  readonly expiredHeld: bigint;
};

export type CardStateRow = CardRow & { readonly expired_held: bigint };

export function toCardState(row: CardStateRow): CardState {
  const card = toCard(row);
  const { minor, currency } = card.held;
  return {
    card: { ...card, held: { minor: minor - row.expired_held, currency } },
    expiredHeld: row.expired_held,
  };
}

export type CardKey = { readonly storeId: number; readonly cardId: number };

/** Returns the store's card at `now` (ms), or undefined. */
export function* findCardState({ storeId, cardId }: CardKey, now: number): Script<CardState | undefined> {
  const row = yield* first(sql<CardStateRow>`
    select g.store_id, g.id, g.version, g.currency, g.initial_value, g.balance, g.held, g.last_characters,
      g.customer_id, g.recipient_id, g.note, g.message, g.expires_on, g.disabled_at, g.created_at,
      g.line_item_id, g.order_id, g.user_id, g.api_client_id,
      c.email as customer_email, r.email as recipient_email,
      case when g.held = 0 then 0 else (
        select cast(coalesce(sum(h.amount), 0) as bigint) from holds h
        where h.store_id = g.store_id and h.card_id = g.id and h.status = 'open' and h.expires_at <= ${now}
      ) end as expired_held
    from gift_cards g
    left join customers c on c.store_id = g.store_id and c.id = g.customer_id
    left join customers r on r.store_id = g.store_id and r.id = g.recipient_id
    where g.store_id = ${storeId} and g.id = ${cardId}`);
  return row && toCardState(row);
}

/**
 * Locks a card until the transaction ends. Scripts use it if they decide from what they read: with concurrent
 * changes of one card, they would otherwise be retried often.
 */
export function* lockCard({ storeId, cardId }: CardKey): Script<void> {
  yield* execute(lock`select id from gift_cards where store_id = ${storeId} and id = ${cardId} ${forUpdate}`);
}

/** As `lockCard`, for the card of a transfer. */
export function* lockCardOfTransfer(storeId: number, transferId: number): Script<void> {
  yield* execute(lock`
    select id from gift_cards
    where store_id = ${storeId}
      and id = (select card_id from transfers where store_id = ${storeId} and id = ${transferId}) ${forUpdate}`);
}

/** Selects the customers, or recipients, whose cards are searched. */
export type Searched = {
  readonly storeId: number;
  readonly address: EmailAddress;
  /** Matches only the customer with this storefront id; null: any customer. */
  readonly onlyStorefrontCustomerId: number | null;
};

/** Returns the cards whose code ends with `lastCharacters`, each once, unordered. */
export function* findCardsOf(
  { storeId, address, onlyStorefrontCustomerId }: Searched,
  lastCharacters: string,
): Script<readonly Card[]> {
  const [isAny, only] = [Number(onlyStorefrontCustomerId === null), onlyStorefrontCustomerId ?? 0];
  const rows = yield* all(sql<CardRow>`
    select g.store_id, g.id, g.version, g.currency, g.initial_value, g.balance, g.held, g.last_characters,
      g.customer_id, g.recipient_id, g.note, g.message, g.expires_on, g.disabled_at, g.created_at,
      g.line_item_id, g.order_id, g.user_id, g.api_client_id,
      c.email as customer_email, r.email as recipient_email
    from (
      select own.store_id, own.id from customers searched
      join gift_cards own on own.store_id = searched.store_id and own.customer_id = searched.id
      where searched.store_id = ${storeId} and searched.email_key = ${address.key}
        and (${isAny} = 1 or searched.storefront_customer_id = ${only}) and own.last_characters = ${lastCharacters}
      union all
      select given.store_id, given.id from customers searched
      join gift_cards given on given.store_id = searched.store_id and given.recipient_id = searched.id
      where searched.store_id = ${storeId} and searched.email_key = ${address.key}
        and (${isAny} = 1 or searched.storefront_customer_id = ${only}) and given.last_characters = ${lastCharacters}
        and (given.customer_id is null or given.customer_id <> given.recipient_id)
    ) found
    join gift_cards g on g.store_id = found.store_id and g.id = found.id
    left join customers c on c.store_id = g.store_id and c.id = g.customer_id
    left join customers r on r.store_id = g.store_id and r.id = g.recipient_id`);
  return rows.map(toCard);
}

/** Inserts a new card with its initial balance. The caller records the matching transfer in the same script. */
export function* insertCard(card: Card): Script<void> {
  yield* execute(sql`
    insert into gift_cards (store_id, id, version, currency, initial_value, balance, held, last_characters,
      customer_id, recipient_id, note, message, expires_on, disabled_at, created_at,
      line_item_id, order_id, user_id, api_client_id)
    values (${card.storeId}, ${card.id}, ${card.version}, ${card.initialValue.currency.code},
      ${card.initialValue.minor}, ${card.balance.minor}, ${card.held.minor}, ${card.lastCharacters},
      ${card.customer?.id ?? null}, ${card.recipient?.id ?? null}, ${card.note}, ${card.message},
      ${card.expiresOn}, ${card.disabledAt}, ${card.createdAt},
      ${card.lineItemId}, ${card.orderId}, ${card.userId}, ${card.apiClientId})`);
}

/**
 * Updates a card that still has the version that was read. If the balance changes, the caller records the
 * matching transfer in the same script.
 * @param read the card after the releases that are sent in the same step. Those can fail, and another script
 * can have produced the same version, so the statement also checks `held`.
 * @throws RetryTransaction if the card has changed since.
 */
export function* replaceCard(read: Card, changed: Card): Script<void> {
  const row = yield* first(sql<{ id: bigint }>`
    update gift_cards set version = ${changed.version}, balance = ${changed.balance.minor},
      expires_on = ${changed.expiresOn}, note = ${changed.note}, disabled_at = ${changed.disabledAt}
    where store_id = ${read.storeId} and id = ${read.id} and version = ${read.version}
      and held <= ${changed.balance.minor}
    returning id`);
  if (!row) throw new RetryTransaction('the card has changed since it was read');
}

/**
 * Replaces a card's code if the card still has the version that was read.
 * @throws RetryTransaction if the card has changed since.
 */
export function* replaceCode(read: Card, changed: Card, codeLookup: bigint): Script<void> {
  const row = yield* first(sql<{ id: bigint }>`
    update gift_cards set version = ${changed.version}, last_characters = ${changed.lastCharacters},
      code_lookup = ${codeLookup}
    where store_id = ${read.storeId} and id = ${read.id} and version = ${read.version}
    returning id`);
  if (!row) throw new RetryTransaction('the card has changed since it was read');
}

/** Conditions that a card must meet. The statement that changes the balance checks all of them. */
export type MoveDemands = {
  /** The card must not have expired before this day; null: the card can be expired. */
  readonly today: string | null;
  readonly disabledAllowed: boolean;
  /** The expected version; null: any version. */
  readonly version: number | null;
  /** Lookup of the code by which the card was found: the card must still have this code. Absent: not checked. */
  readonly codeLookup?: bigint;
};

/**
 * Changes a card's balance and held amount, in minor units of either sign. One guarded statement checks and
 * changes the row, so concurrent callers cannot spend the same money twice.
 * @returns false if the card does not exist or does not meet the conditions.
 */
export function* moveBalance(
  { storeId, cardId }: CardKey,
  { balance, held }: { readonly balance: bigint; readonly held: bigint },
  { today, disabledAllowed, version, codeLookup }: MoveDemands,
): Script<boolean> {
  // Every day sorts after the empty string.
  const goodOn = today ?? '';
  const row = yield* first(sql<{ version: bigint }>`
    update gift_cards
    set balance = balance + ${balance}, held = held + ${held}, version = version + 1
    where store_id = ${storeId} and id = ${cardId}
      and held + ${held} >= 0 and balance + ${balance} >= held + ${held}
      and (disabled_at is null or ${Number(disabledAllowed)} = 1)
      and (expires_on is null or expires_on >= ${goodOn})
      and version between ${version ?? 0} and ${version ?? Number.MAX_SAFE_INTEGER}
      and (code_lookup is null or ${Number(codeLookup === undefined)} = 1 or code_lookup = ${codeLookup ?? 0n})
    returning version`);
  return row !== undefined;
}
