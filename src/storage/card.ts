/** Gift cards. Their balance moves only through `transfer.ts`. */

import type { Card } from '../domain/card.ts';
import { currencyOf } from '../domain/currency.ts';
import { all, first, Rerun, sql, toNumber, toNumberOrNull, type Script } from './sql.ts';

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

/** The card of this store, or undefined: another store's card is none. */
export function* findCard(storeId: number, id: number): Script<Card | undefined> {
  const row = yield* first(sql<CardRow>`
    select g.*, c.email as customer_email, r.email as recipient_email
    from gift_cards g
    left join customers c on c.store_id = g.store_id and c.id = g.customer_id
    left join customers r on r.store_id = g.store_id and r.id = g.recipient_id
    where g.store_id = ${storeId} and g.id = ${id}`);
  return row && toCard(row);
}

/** The cards whose code ends so, of a customer or recipient. Each once, in no order. */
export function* findCardsOfCustomer(
  storeId: number,
  customerId: number,
  lastCharacters: string,
): Script<readonly Card[]> {
  const rows = yield* all(sql<CardRow>`
    select g.*, c.email as customer_email, r.email as recipient_email
    from (
      select * from gift_cards
      where store_id = ${storeId} and customer_id = ${customerId} and last_characters = ${lastCharacters}
      union all
      select * from gift_cards
      where store_id = ${storeId} and recipient_id = ${customerId} and last_characters = ${lastCharacters}
        and (customer_id is null or customer_id <> ${customerId})
    ) g
    left join customers c on c.store_id = g.store_id and c.id = g.customer_id
    left join customers r on r.store_id = g.store_id and r.id = g.recipient_id`);
  return rows.map(toCard);
}

/**
 * Inserts a new card with its first balance; the transfer that explains it goes with it.
 * @throws Rerun if the id is taken.
 */
export function* insertCard(card: Card): Script<void> {
  const row = yield* first(sql<{ id: bigint }>`
    insert into gift_cards (store_id, id, version, currency, initial_value, balance, held, last_characters,
      customer_id, recipient_id, note, message, expires_on, disabled_at, created_at,
      line_item_id, order_id, user_id, api_client_id)
    values (${card.storeId}, ${card.id}, ${card.version}, ${card.initialValue.currency.code},
      ${card.initialValue.minor}, ${card.balance.minor}, ${card.held.minor}, ${card.lastCharacters},
      ${card.customer?.id ?? null}, ${card.recipient?.id ?? null}, ${card.note}, ${card.message},
      ${card.expiresOn}, ${card.disabledAt}, ${card.createdAt},
      ${card.lineItemId}, ${card.orderId}, ${card.userId}, ${card.apiClientId})
    on conflict (store_id, id) do nothing
    returning id`);
  if (!row) throw new Rerun('the id of a card was taken');
}

/**
 * Replaces what may change of a card, if it is still the version that was read. A balance that
 * moves is to be explained by a transfer in the same script.
 * @throws Rerun if the card has changed since.
 */
export function* replaceCard(read: Card, changed: Card): Script<void> {
  const row = yield* first(sql<{ id: bigint }>`
    update gift_cards set version = ${changed.version}, balance = ${changed.balance.minor},
      expires_on = ${changed.expiresOn}, note = ${changed.note}, disabled_at = ${changed.disabledAt}
    where store_id = ${read.storeId} and id = ${read.id} and version = ${read.version}
    returning id`);
  if (!row) throw new Rerun('the card has changed since it was read');
}

/**
 * Gives a card another code, if it is still the version that was read: the one before finds it no more.
 * @throws Rerun if the card has changed since.
 */
export function* replaceCode(read: Card, changed: Card, codeLookup: bigint): Script<void> {
  const row = yield* first(sql<{ id: bigint }>`
    update gift_cards set version = ${changed.version}, last_characters = ${changed.lastCharacters},
      code_lookup = ${codeLookup}
    where store_id = ${read.storeId} and id = ${read.id} and version = ${read.version}
    returning id`);
  if (!row) throw new Rerun('the card has changed since it was read');
}

/** What a movement demands of the card, all of it checked by the one statement that moves the money. */
export type MoveDemands = {
  /** The present day, which the card must be good on; null: an expired card will do. */
  readonly today: string | null;
  readonly disabledAllowed: boolean;
  /** The version that the card must still be; null: any. */
  readonly version: number | null;
  /** The code that it was found by and must still have; absent: it was found otherwise. */
  readonly codeLookup?: bigint;
};

/**
 * Moves a card's balance and what is held of it, by minor units of either sign, if the card allows
 * it: guarded in one statement, so that however many callers race, nothing is spent twice.
 * @returns false if the card does not exist or does not allow it; the reason is to be read then.
 */
export function* moveBalance(
  { storeId, cardId }: { readonly storeId: number; readonly cardId: number },
  { balance, held }: { readonly balance: bigint; readonly held: bigint },
  { today, disabledAllowed, version, codeLookup }: MoveDemands,
): Script<boolean> {
  // Any day is after the empty text.
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
