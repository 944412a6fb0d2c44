/** The conditions of lists of cards, as one expression that no planner can use to choose an index (docs/decisions/lists.md). */

import { idsAt } from '../../../platform/random.ts';
import { idMax, idSlackMs, type Range } from '../../../database/sql/id-range.ts';
import {
  filteredFields,
  fieldFiltersOf,
  type FieldFilters,
  type FilteredField,
} from '../domain/field-filters.ts';
import { cardFields, propertyOf, type FieldFilter } from '../domain/fields.ts';
import type { EmailState } from '../../emails/domain/email.ts';
import type { CardState, EmailStatus } from '../domain/state.ts';
import type { CardKey } from './card.ts';
import { first, joined, part, sql, type Part, type Script } from '../../../database/sql/sql.ts';
import { padded } from '../../../database/sql/chunks.ts';
import { Fragment, indexedBy, position } from '../../../database/sql/fragments.ts';
import { int64Max } from '../../domain/int64.ts';

/** The conditions of a list; null: any. */
export type CardFilter = FieldFilters & {
  readonly state: CardState | null;
  readonly emailStatus: EmailState | null;
  /** The customer or recipient. */
  readonly customerId: number | null;
  /** Instants in ms. */
  readonly createdAt: Range<number> | null;
  readonly disabledAt: Range<number> | null;
  /** The time of the card's last entry in the ledger: an instant in ms. */
  readonly lastActivityAt: Range<number> | null;
  readonly expiresOn: Range<string> | null;
  /** Minor units. */
  readonly balance: Range<bigint> | null;
  readonly orderId: number | null;
  /** The batch that issued them. */
  readonly batchId: number | null;
  /** Whether the recipient's page has shown them. */
  readonly viewed: boolean | null;
  /** Whether more was redeemed than was refunded. */
  readonly redeemed: boolean | null;
  readonly lastCharacters: string | null;
  /** A tag as `searchedTag` returns it. */
  readonly tag: string | null;
  /** The locations at one of which the card was issued, at most 20. */
  readonly issuedAt: readonly number[] | null;
  /** Part of the note, or of the name of the sender or recipient, with A to Z in lower case. */
  readonly text: string | null;
};

/** The filter that every card meets. */
export const anyCard: CardFilter = Object.freeze({
  ...fieldFiltersOf({}),
  state: null,
  emailStatus: null,
  customerId: null,
  createdAt: null,
  disabledAt: null,
  lastActivityAt: null,
  expiresOn: null,
  balance: null,
  orderId: null,
  batchId: null,
  viewed: null,
  redeemed: null,
  lastCharacters: null,
  tag: null,
  issuedAt: null,
  text: null,
});

/** The store's cards, and the moment at which their states are compared. */
export type Listed = {
  readonly storeId: number;
  readonly filter: CardFilter;
  readonly today: string;
  /** Instant in ms. */
  readonly now: number;
};

export const noRange = { min: 0, max: idMax };
export const noDays = { min: '', max: '~' };

/** The status of the newest email with the code of the card `g`; null: there is none. */
export function emailStatusAt(storeId: number, now: number): Part {
  return part`(
    select case when e.state = 'scheduled' and e.next_at <= ${now} then 'queued' else e.state end
    from email_deliveries e
    where e.store_id = ${storeId} and e.card_id = g.id and e.kind = 'gift_card'
    order by e.id desc limit 1)`;
}

/** Returns the status of the newest email with a card's code at `now` (ms). */
export function* findEmailStatus({ storeId, cardId }: CardKey, now: number): Script<EmailStatus> {
  const row = yield* first(sql<{ status: EmailStatus | null }>`
    select ${emailStatusAt(storeId, now)} as status from gift_cards g
    where g.store_id = ${storeId} and g.id = ${cardId}`);
  return row?.status ?? 'none';
}

/** 1 if the email of the card `g` is scheduled; otherwise null. */
function scheduledAt(storeId: number, now: number): Part {
  return part`(
    select 1 from email_deliveries e ${indexedBy('email_deliveries_scheduled')}
    where e.store_id = ${storeId} and e.card_id = g.id and e.kind = 'gift_card' and e.state = 'scheduled'
      and e.next_at > ${now}
      and not exists (
        select 1 from email_deliveries later
        where later.store_id = ${storeId} and later.card_id = e.card_id and later.kind = 'gift_card'
          and later.id > e.id)
    limit 1)`;
}

/** 1 if a condition is absent, so that it is true for every card. */
function any(value: unknown): number {
  return Number(value === null);
}

/** The first id of an instant (ms), within the ids that exist. */
function idAt(instant: number): number {
  return Math.max(0, Math.min(idMax, idsAt(instant)));
}

/**
 * Whether the last entry of the card `g` is in a range. Its id decides, except near the ends of the range: reading the
 * entry of every card would make a walk several times slower.
 */
function isLastActivityIn(storeId: number, { min, max }: Range<number>): Part {
  return part`case
    when g.last_transfer_id < ${idAt(min - idSlackMs)} or g.last_transfer_id >= ${idAt(max + 1 + idSlackMs)} then false
    when g.last_transfer_id >= ${idAt(min + idSlackMs)} and g.last_transfer_id < ${idAt(max + 1 - idSlackMs)} then true
    else (
      select t.created_at from transfers t where t.store_id = ${storeId} and t.id = g.last_transfer_id
    ) between ${min} and ${max}
  end`;
}

/** `card_id` of the entries that issued a card at one of some locations, at most 20. */
export function issuesAt(storeId: number, locationIds: readonly number[]): Part {
  return part`
    select i.card_id from transfers i ${indexedBy('transfers_by_issue_location')}
    where i.store_id = ${storeId} and i.kind = 'issue' and i.location_id is not null
      and i.location_id in (${padded(locationIds, 0)})`;
}

const conditions: Readonly<Record<FieldFilter, (column: Fragment, value: string) => Part>> = {
  equals: (column, value) => part`g.${column} = ${value}`,
  contains: (column, value) => part`${position}(lower(g.${column}), ${value}) > 0`,
};

function fieldCondition(name: FilteredField, filter: CardFilter): Part {
  const value = filter[propertyOf(name)];
  const column = new Fragment(() => name);
  return part`(${any(value)} = 1 or ${conditions[cardFields[name].filter](column, value ?? '')})`;
}

/** Whether the card `g` meets the filter. The states are those of `stateOf`. */
export function isMet({ storeId, filter, today, now }: Listed): Part {
  const { state, emailStatus, customerId, orderId, lastCharacters, tag, issuedAt, text } = filter;
  const { batchId, viewed, redeemed } = filter;
  const { createdAt, disabledAt, lastActivityAt, expiresOn, balance } = filter;
  const created = createdAt ?? noRange;
  const disabled = disabledAt ?? noRange;
  const expires = expiresOn ?? noDays;
  const isInForce = part`g.disabled_at is null and (g.expires_on is null or g.expires_on >= ${today})`;
  return part`case when
    (${any(customerId)} = 1 or g.customer_id = ${customerId ?? 0} or g.recipient_id = ${customerId ?? 0})
    and (${any(orderId)} = 1 or g.order_id = ${orderId ?? 0})
    and (${any(batchId)} = 1 or g.batch_id = ${batchId ?? 0})
    and (${any(viewed)} = 1 or case when g.viewed_at is null then 0 else 1 end = ${Number(viewed)})
    and (${any(redeemed)} = 1 or case when g.redeemed > 0 then 1 else 0 end = ${Number(redeemed)})
    and (${any(lastCharacters)} = 1 or g.last_characters = ${lastCharacters ?? ''})
    and g.balance between ${balance?.min ?? 0n} and ${balance?.max ?? int64Max}
    and (${any(createdAt)} = 1 or g.created_at between ${created.min} and ${created.max})
    and (${any(disabledAt)} = 1 or g.disabled_at between ${disabled.min} and ${disabled.max})
    and (${any(lastActivityAt)} = 1 or ${isLastActivityIn(storeId, lastActivityAt ?? noRange)})
    and (${any(expiresOn)} = 1 or g.expires_on between ${expires.min} and ${expires.max})
    and (${any(issuedAt)} = 1 or exists (${issuesAt(storeId, issuedAt ?? [])} and i.card_id = g.id))
    and (${any(tag)} = 1 or ${position}(lower(g.tags), ${tag ?? ''}) > 0)
    and ${joined(
      filteredFields.map((name) => fieldCondition(name, filter)),
      ' and ',
    )}
    and (${any(text)} = 1 or ${position}(lower(g.recipient_name), ${text ?? ''}) > 0
      or ${position}(lower(g.sender_name), ${text ?? ''}) > 0 or ${position}(lower(g.note), ${text ?? ''}) > 0)
    and case ${state ?? ''}
      when '' then true
      when 'disabled' then g.disabled_at is not null
      when 'expired' then g.disabled_at is null and g.expires_on < ${today}
      when 'suspended' then g.suspended_at is not null and ${isInForce}
      when 'empty' then g.suspended_at is null and ${isInForce} and g.balance = 0
      when 'scheduled' then g.suspended_at is null and ${isInForce}
        and g.balance > 0 and ${scheduledAt(storeId, now)} is not null
      else g.suspended_at is null and ${isInForce} and g.balance > 0 and ${scheduledAt(storeId, now)} is null
    end
    and (${any(emailStatus)} = 1 or ${emailStatusAt(storeId, now)} = ${emailStatus ?? ''})
  then 1 else 0 end = 1`;
}
