/** Gift cards. Every balance change goes through `updateBalance`, parallel with a transfer (`transfer.ts`). */

import {
  byField,
  editableFields,
  fixedFields,
  propertyOf,
  type CardFieldName,
  type PropertyOf,
} from '../domain/fields.ts';
import type { Card } from '../domain/card.ts';
import { lastReadingsMax } from '../domain/given-code.ts';
import type { EmailAddress } from '../../domain/email-address.ts';
import { formatVat, readVat } from '../../money/domain/vat.ts';
import {
  money,
  columns,
  integer,
  integerOrNull,
  text,
  textOrNull,
  writeOnly,
  type Column,
  type RowOf,
} from '../../../database/sql/columns.ts';
import {
  all,
  first,
  lock,
  RetryTransaction,
  execute,
  sql,
  toNumber,
  ValueList,
  type Script,
} from '../../../database/sql/sql.ts';
import { forUpdate, fragment, type Fragment } from '../../../database/sql/fragments.ts';

/** The columns of details. */
function detailColumns<N extends CardFieldName>(names: readonly N[]) {
  // Each name has the column of its property.
  return byField(names, (name) => textOrNull(propertyOf(name))) as {
    readonly [K in N]: Column<string | null, PropertyOf<K>, string | null>;
  };
}

/** The columns that an update can change. */
const changeable = {
  version: integer('version'),
  balance: money('balance'),
  ...detailColumns(editableFields),
  disabled_at: integerOrNull('disabledAt'),
} as const;

/** The columns that a suspension changes. */
const suspendable = {
  suspended_at: integerOrNull('suspendedAt'),
  suspend_reason: textOrNull('suspendReason'),
} as const;

const changes = columns(changeable);
const suspension = columns({ version: changeable.version, ...suspendable });
const cards = columns({
  store_id: integer('storeId'),
  id: integer('id'),
  currency: writeOnly<string>()(({ initialValue }: Card) => initialValue.currency.code),
  initial_value: money('initialValue'),
  held: money('held'),
  last_characters: text('lastCharacters'),
  customer_id: {
    field: 'customer',
    read: (id: bigint | null, row: { readonly customer_email: string | null }) =>
      toCustomer(id, row.customer_email),
    write: ({ customer }: Card) => customer?.id ?? null,
  },
  recipient_id: {
    field: 'recipient',
    read: (id: bigint | null, row: { readonly recipient_email: string | null }) =>
      toCustomer(id, row.recipient_email),
    write: ({ recipient }: Card) => recipient?.id ?? null,
  },
  ...detailColumns(fixedFields),
  created_at: integer('createdAt'),
  line_item_id: integerOrNull('lineItemId'),
  order_id: integerOrNull('orderId'),
  user_id: integerOrNull('userId'),
  api_client_id: integerOrNull('apiClientId'),
  vat: {
    field: 'vat',
    read: (stored: string | null) => (stored === null ? null : readVat(stored)),
    write: ({ vat }: Card) => vat && formatVat(vat),
  },
  ...suspendable,
  ...changeable,
});

function toCustomer(id: bigint | null, email: string | null) {
  return id === null || email === null ? null : { id: toNumber(id), email };
}

export type CardRow = RowOf<typeof cards>;

export const toCard: (row: CardRow) => Card = cards.read;

/** The columns of a card without the addresses of its customers. */
export const ownColumnsOf: (alias: string) => Fragment = cards.of;

/** `select ${cardColumns} from gift_cards g ${withCustomers}`: the columns of `CardRow`. An erased customer has no email. */
export const cardColumns = fragment`${cards.of('g')}, nullif(c.email, '') as customer_email, nullif(r.email, '') as recipient_email`;
export const withCustomers = fragment`
    left join customers c on c.store_id = g.store_id and c.id = g.customer_id
    left join customers r on r.store_id = g.store_id and r.id = g.recipient_id`;

/** Returns undefined if the store has no card with this id, even if another store has. */
export function* findCard(storeId: number, id: number): Script<Card | undefined> {
  const row = yield* first(sql<CardRow>`
    select ${cardColumns}
    from gift_cards g ${withCustomers}
    where g.store_id = ${storeId} and g.id = ${id}`);
  return row && toCard(row);
}

/** A card at an instant. */
export type CurrentCard = {
  /** Its held amount excludes expired holds, including those that are still open in their rows. */
  readonly card: Card;
  /** Amount in minor units that the row still reserves for expired holds. */
  readonly expiredHeld: bigint;
};

export type CardStateRow = CardRow & { readonly expired_held: bigint };

export function toCardState(row: CardStateRow): CurrentCard {
  const card = toCard(row);
  const { minor, currency } = card.held;
  return {
    card: { ...card, held: { minor: minor - row.expired_held, currency } },
    expiredHeld: row.expired_held,
  };
}

/** The last transfer of a card's chain. */
export type ChainEnd = { readonly transferId: number; readonly sequence: number; readonly hash: Uint8Array };

/** A card at an instant, and the end of its chain. */
export type LoadedCard = CurrentCard & { readonly chainEnd: ChainEnd };

type ChainEndRow = {
  readonly last_transfer_id: bigint;
  readonly chain_length: bigint;
  readonly chain_hash: Uint8Array;
};

export type CardKey = { readonly storeId: number; readonly cardId: number };

/**
 * Returns the store's card at `now` (ms), or undefined. The end of its chain can change during the transaction unless
 * the same transaction has locked or updated the card before.
 */
export function* findCardState({ storeId, cardId }: CardKey, now: number): Script<LoadedCard | undefined> {
  const row = yield* first(sql<CardStateRow & ChainEndRow>`
    select ${cardColumns}, g.last_transfer_id, g.chain_length, g.chain_hash,
      case when g.held = 0 then 0 else (
        select cast(coalesce(sum(h.amount), 0) as bigint) from holds h
        where h.store_id = ${storeId} and h.card_id = g.id and h.status = 'open' and h.expires_at <= ${now}
      ) end as expired_held
    from gift_cards g ${withCustomers}
    where g.store_id = ${storeId} and g.id = ${cardId}`);
  if (!row) return undefined;
  const chainEnd = {
    transferId: toNumber(row.last_transfer_id),
    sequence: toNumber(row.chain_length),
    hash: row.chain_hash,
  };
  return { ...toCardState(row), chainEnd };
}

/**
 * Locks a card until the transaction ends. Scripts use it if they decide from what they read: with concurrent
 * changes of one card, they would otherwise be retried often.
 */
export function* lockCard({ storeId, cardId }: CardKey): Script<void> {
  yield* execute(lock`select id from gift_cards where store_id = ${storeId} and id = ${cardId} ${forUpdate}`);
}

/** Locks the card of a transfer as `lockCard` does. */
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

/** Returns the cards whose code ends with one of the `lastCharacters`, each once, unordered. */
export function* findCardsOf(
  { storeId, address, onlyStorefrontCustomerId }: Searched,
  lastCharacters: readonly string[],
): Script<readonly Card[]> {
  const [isAny, only] = [Number(onlyStorefrontCustomerId === null), onlyStorefrontCustomerId ?? 0];
  const characters = new ValueList(
    Array.from({ length: lastReadingsMax }, (_, place) => lastCharacters[place] ?? lastCharacters[0] ?? ''),
  );
  const rows = yield* all(sql<CardRow>`
    select ${cardColumns}
    from customers searched
    join gift_cards g on g.store_id = searched.store_id and g.customer_id = searched.id ${withCustomers}
    where searched.store_id = ${storeId} and searched.email_key = ${address.key}
      and (${isAny} = 1 or searched.storefront_customer_id = ${only}) and g.last_characters in (${characters})
    union all
    select ${cardColumns}
    from customers searched
    join gift_cards g on g.store_id = searched.store_id and g.recipient_id = searched.id ${withCustomers}
    where searched.store_id = ${storeId} and searched.email_key = ${address.key}
      and (${isAny} = 1 or searched.storefront_customer_id = ${only}) and g.last_characters in (${characters})
      and (g.customer_id is null or g.customer_id <> g.recipient_id)`);
  return rows.map(toCard);
}

/**
 * Inserts a new card with its initial balance. The caller inserts its first transfer in the same script.
 * @param batchId the batch that issues it; null: none.
 */
export function* insertCard(card: Card, end: ChainEnd, batchId: number | null): Script<void> {
  yield* execute(sql`
    insert into gift_cards (${cards.names}, last_transfer_id, chain_length, chain_hash, batch_id)
    values (${cards.values(card)}, ${end.transferId}, ${end.sequence}, ${end.hash}, ${batchId})`);
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
    update gift_cards set (${changes.names}) = (${changes.values(changed)})
    where store_id = ${read.storeId} and id = ${read.id} and version = ${read.version}
      and held <= ${changed.balance.minor}
    returning id`);
  if (!row) throw new RetryTransaction('the card has changed since it was read');
}

/**
 * Suspends a card, or resumes it, if it still has the version that was read.
 * @throws RetryTransaction if the card has changed since.
 */
export function* replaceSuspension(read: Card, changed: Card): Script<void> {
  const row = yield* first(sql<{ id: bigint }>`
    update gift_cards set (${suspension.names}) = (${suspension.values(changed)})
    where store_id = ${read.storeId} and id = ${read.id} and version = ${read.version}
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

/**
 * Sets another recipient of a card, if the card still has the version that was read.
 * @throws RetryTransaction if the card has changed since.
 */
export function* replaceRecipient(read: Card, changed: Card): Script<void> {
  const row = yield* first(sql<{ id: bigint }>`
    update gift_cards set version = ${changed.version}, recipient_id = ${changed.recipient?.id ?? null}
    where store_id = ${read.storeId} and id = ${read.id} and version = ${read.version}
    returning id`);
  if (!row) throw new RetryTransaction('the card has changed since it was read');
}

/** Conditions that a card must meet. The statement that changes the balance checks all of them. */
export type MoveDemands = {
  /** The card must not have expired before this day; null: the card can be expired. */
  readonly today: string | null;
  readonly disabledAllowed: boolean;
  readonly suspendedAllowed: boolean;
  /** The expected version; null: any version. */
  readonly version: number | null;
  /** Lookup of the code by which the card was found: the card must still have this code. Absent: not checked. */
  readonly codeLookup?: bigint;
};

/**
 * Changes a card's balance, held amount and redeemed amount, in minor units of either sign. One guarded statement checks and
 * changes the row, so concurrent callers cannot spend the same money twice.
 * @returns false if the card does not exist or does not meet the conditions.
 */
export function* updateBalance(
  { storeId, cardId }: CardKey,
  {
    balance,
    held,
    redeemed = 0n,
  }: { readonly balance: bigint; readonly held: bigint; readonly redeemed?: bigint },
  { today, disabledAllowed, suspendedAllowed, version, codeLookup }: MoveDemands,
): Script<boolean> {
  // Every day sorts after the empty string.
  const goodOn = today ?? '';
  const row = yield* first(sql<{ version: bigint }>`
    update gift_cards
    set balance = balance + ${balance}, held = held + ${held}, redeemed = redeemed + ${redeemed}, version = version + 1
    where store_id = ${storeId} and id = ${cardId}
      and held + ${held} >= 0 and balance + ${balance} >= held + ${held}
      and (disabled_at is null or ${Number(disabledAllowed)} = 1)
      and (suspended_at is null or ${Number(suspendedAllowed)} = 1)
      and (expires_on is null or expires_on >= ${goodOn})
      and version between ${version ?? 0} and ${version ?? Number.MAX_SAFE_INTEGER}
      and (code_lookup is null or ${Number(codeLookup === undefined)} = 1 or code_lookup = ${codeLookup ?? 0n})
    returning version`);
  return row !== undefined;
}

/** Returns whether a store has a card. */
export function* hasCards(storeId: number): Script<boolean> {
  const row = yield* first(
    sql<{ id: bigint }>`select id from gift_cards where store_id = ${storeId} limit 1`,
  );
  return row !== undefined;
}

/** Sets the redeemed amounts of a store's cards to those of the ledger, in a database from before these were stored. */
export function* sumRedemptions(storeId: number): Script<void> {
  yield* execute(sql`
    update gift_cards set redeemed = summed.redeemed
    from (
      select card_id,
        cast(sum(case when credit_account = 'redemptions' then amount else -amount end) as bigint) as redeemed
      from transfers
      where store_id = ${storeId} and (credit_account = 'redemptions' or debit_account = 'redemptions')
      group by card_id) as summed
    where gift_cards.store_id = ${storeId} and gift_cards.id = summed.card_id`);
}
