/** Queries of the verification that read every transfer: in the order of their ids, or along the chains of some cards. */

import assert from 'node:assert/strict';
import {
  exactOf,
  part,
  scan,
  all,
  ValueList,
  type Part,
  type ScannedInteger,
  type Script,
} from '../../../database/sql/sql.ts';

/** A transfer as it is stored, whatever its values are. */
export type ScannedTransfer = {
  /** The card whose chain is walked. */
  readonly chain_of: ScannedInteger;
  readonly id: ScannedInteger;
  readonly card_id: ScannedInteger;
  readonly sequence: ScannedInteger;
  readonly previous_id: ScannedInteger | null;
  readonly kind: string;
  readonly amount: ScannedInteger;
  readonly currency: string;
  readonly debit_account: string;
  readonly credit_account: string;
  readonly balance_after: ScannedInteger;
  readonly actor: string;
  readonly reference: string | null;
  readonly note: string | null;
  readonly order_id: ScannedInteger | null;
  readonly order_reference: string | null;
  readonly external_id: string | null;
  readonly location_id: ScannedInteger | null;
  readonly hold_id: ScannedInteger | null;
  readonly reverses: ScannedInteger | null;
  readonly created_at: ScannedInteger;
  readonly salt: Uint8Array | null;
  readonly issued_expires_on: string | null;
  readonly issued_vat: string | null;
  readonly text_salt: Uint8Array | null;
  readonly text_digest: Uint8Array | null;
  readonly hash: Uint8Array;
  /** The amount of the card's earlier transfer that it reverses; null if there is none. */
  readonly reversible: ScannedInteger | null;
};

const scannedOf = (storeId: number): Part => part`
  t.id, t.card_id, t.sequence, t.previous_id, t.kind, t.amount, t.currency, t.debit_account, t.credit_account,
  t.balance_after, t.actor, t.reference, t.note, t.order_id, t.order_reference, t.external_id, t.location_id,
  t.hold_id, t.reverses, t.created_at, t.salt,
  t.issued_expires_on, t.issued_vat, t.text_salt, t.text_digest, t.hash,
  case when t.reverses is not null then (
    select o.amount from transfers o
    where o.store_id = ${storeId} and o.id = t.reverses and o.card_id = t.card_id and o.sequence < t.sequence
  ) end as reversible`;

/** A card as it is stored, whatever its values are, and the addresses of its customers. */
export type ScannedCard = {
  readonly id: ScannedInteger;
  readonly version: ScannedInteger;
  readonly currency: string;
  readonly initial_value: ScannedInteger;
  readonly balance: ScannedInteger;
  readonly held: ScannedInteger;
  readonly redeemed: ScannedInteger;
  /** The lookup of the current code; null: the card has had only one code. */
  readonly code_lookup: string | null;
  readonly last_characters: string;
  readonly customer_id: ScannedInteger | null;
  readonly customer_email: string | null;
  readonly recipient_id: ScannedInteger | null;
  readonly recipient_email: string | null;
  readonly note: string | null;
  readonly message: string | null;
  readonly expires_on: string | null;
  readonly disabled_at: ScannedInteger | null;
  readonly created_at: ScannedInteger;
  readonly line_item_id: ScannedInteger | null;
  readonly order_id: ScannedInteger | null;
  readonly user_id: ScannedInteger | null;
  readonly api_client_id: ScannedInteger | null;
  readonly vat: string | null;
  readonly expired_event_day: string | null;
  readonly expiring_soon_event_day: string | null;
  /** The last version whose event was erased after its retention; null: none. */
  readonly erased_event_version: ScannedInteger | null;
  readonly last_transfer_id: ScannedInteger;
  readonly chain_length: ScannedInteger;
  readonly chain_hash: Uint8Array;
};

/** Returns the first ids of the cards in a range, in order. */
export function* scanCardIds(
  storeId: number,
  { after, upTo }: CardIdRange,
): Script<readonly ScannedInteger[]> {
  const rows = yield* all(scan<{ readonly id: ScannedInteger }>`
    select id from gift_cards where store_id = ${storeId} and id > ${after} and id <= ${upTo} order by id limit 500`);
  return rows.map(({ id }) => id);
}

/** Returns the id that is `count` cards above `after`; undefined if fewer cards, or as many, are above. */
export function* findCardIdAfter(
  storeId: number,
  after: ScannedInteger,
  count: number,
): Script<ScannedInteger | undefined> {
  const rows = yield* all(scan<{ readonly id: ScannedInteger }>`
    select id from gift_cards where store_id = ${storeId} and id > ${after} order by id limit 2 offset ${count - 1}`);
  return rows.length < 2 ? undefined : rows[0]?.id;
}

const cardsOf = (storeId: number): Part => part`
  select g.id, g.version, g.currency, g.initial_value, g.balance, g.held, g.redeemed, cast(g.code_lookup as text) as code_lookup,
    g.last_characters, g.customer_id, nullif(c.email, '') as customer_email, g.recipient_id, nullif(r.email, '') as recipient_email,
    g.note, g.message, g.expires_on, g.disabled_at, g.created_at, g.line_item_id, g.order_id, g.user_id,
    g.api_client_id, g.vat, g.expired_event_day, g.expiring_soon_event_day, g.erased_event_version, g.last_transfer_id, g.chain_length,
    g.chain_hash
  from gift_cards g
  left join customers c on c.store_id = g.store_id and c.id = g.customer_id
  left join customers r on r.store_id = g.store_id and r.id = g.recipient_id
  where g.store_id = ${storeId}`;

/** Returns the cards with ids above `after`, in the order of their ids. */
export function* scanCards(
  storeId: number,
  { after, limit }: { readonly after: ScannedInteger; readonly limit: number },
): Script<readonly ScannedCard[]> {
  return yield* all(scan<ScannedCard>`${cardsOf(storeId)} and g.id > ${after} order by g.id limit ${limit}`);
}

/** The most cards that `scanCardsById` reads. */
export const cardsByIdMax = 50;

/** Returns cards by their ids. */
export function* scanCardsById(
  storeId: number,
  ids: readonly ScannedInteger[],
): Script<readonly ScannedCard[]> {
  assert(ids.length <= cardsByIdMax);
  // A statement has the same number of values each time. Id 0 does not exist.
  const list = new ValueList([...ids, ...Array.from({ length: cardsByIdMax - ids.length }, () => 0)]);
  return yield* all(scan<ScannedCard>`${cardsOf(storeId)} and g.id in (${list})`);
}

/** A hold as it is stored, whatever its values are. */
export type ScannedHold = {
  readonly id: ScannedInteger;
  readonly card_id: ScannedInteger;
  readonly status: string;
  readonly amount: ScannedInteger;
  readonly captured: ScannedInteger;
  readonly actor: string;
  readonly reference: string | null;
  readonly note: string | null;
  readonly order_id: ScannedInteger | null;
  readonly order_reference: string | null;
  readonly external_id: string | null;
  readonly location_id: ScannedInteger | null;
  readonly created_at: ScannedInteger;
  readonly expires_at: ScannedInteger;
  readonly closed_at: ScannedInteger | null;
};

/** Returns the page after the id `after` of the holds of the cards in the range, in the order of their ids. */
export function* scanHolds(
  storeId: number,
  range: CardIdRange,
  after: ScannedInteger,
): Script<readonly ScannedHold[]> {
  return yield* all(scan<ScannedHold>`
    select id, card_id, status, amount, captured, actor, reference, note, order_id, order_reference, external_id,
      location_id, created_at, expires_at, closed_at
    from holds
    where store_id = ${storeId} and id > ${after} and card_id > ${range.after} and card_id <= ${range.upTo}
    order by id limit 500`);
}

/** An extension of a hold as it is stored, whatever its values are. */
export type ScannedExtension = {
  readonly hold_id: ScannedInteger;
  readonly card_id: ScannedInteger;
  readonly expires_at: ScannedInteger;
  readonly previous_expires_at: ScannedInteger;
};

/** Returns the page after one of the extensions of the holds of the cards in the range, by their holds. */
export function* scanExtensions(
  storeId: number,
  range: CardIdRange,
  after: Pick<ScannedExtension, 'hold_id' | 'expires_at'> | undefined,
): Script<readonly ScannedExtension[]> {
  const { hold_id: holdId, expires_at: expiresAt } = after ?? { hold_id: 0, expires_at: 0 };
  return yield* all(scan<ScannedExtension>`
    select x.hold_id, h.card_id, x.expires_at, x.previous_expires_at
    from hold_extensions x join holds h on h.store_id = x.store_id and h.id = x.hold_id
    where x.store_id = ${storeId} and (x.hold_id, x.expires_at) > (${holdId}, ${expiresAt})
      and h.card_id > ${range.after} and h.card_id <= ${range.upTo}
    order by x.hold_id, x.expires_at limit 500`);
}

/** Returns the total of the open holds of each card in the range, in minor units. */
export function* scanHeld(
  storeId: number,
  { after, upTo }: CardIdRange,
): Script<ReadonlyMap<ScannedInteger, ScannedInteger>> {
  const rows = yield* all(scan<{ readonly card_id: ScannedInteger; readonly amount: ScannedInteger }>`
    select card_id, amount from holds
    where store_id = ${storeId} and card_id > ${after} and card_id <= ${upTo} and status = 'open'`);
  const held = new Map<ScannedInteger, ScannedInteger>();
  for (const { card_id: card, amount } of rows)
    held.set(card, exactOf(BigInt(held.get(card) ?? 0) + BigInt(amount)));
  return held;
}

/** A constant in the statements: without it, a planner could sort all transfers for every page. */
export const scanRows = 500;

/** Card ids above `after` up to `upTo`. */
export type CardIdRange = { readonly after: ScannedInteger; readonly upTo: ScannedInteger };

/**
 * Returns the chains of the cards with ids in the range, each from its first entry. A chain begins behind a missing
 * entry, or one with an unexpected place.
 */
export function* walkChains(
  storeId: number,
  { after, upTo }: CardIdRange,
): Script<readonly ScannedTransfer[]> {
  return yield* all(scan<ScannedTransfer>`
    with recursive chain (chain_of, id, previous_id, sequence) as (
      select g.id, t.id, t.previous_id, t.sequence from gift_cards g
      join transfers t on t.store_id = ${storeId} and t.id = g.last_transfer_id
      where g.store_id = ${storeId} and g.id > ${after} and g.id <= ${upTo}
      union all
      select l.chain_of, t.id, t.previous_id, t.sequence from chain l
      join transfers t on t.store_id = ${storeId} and t.id = l.previous_id
      -- Ends even if rows that were tampered with refer to each other.
      where t.sequence < l.sequence
    )
    select l.chain_of, ${scannedOf(storeId)} from chain l
    join transfers t on t.store_id = ${storeId} and t.id = l.id
    order by l.chain_of, t.sequence`);
}
