/** Generated from the OpenAPI document by `npm run client:generate`. A test compares it. */

import type { EventStream, StreamOptions } from '../event-stream.ts';
import type { List } from '../list.ts';
import type { ConditionalWriteOptions, RequestOptions, WriteOptions } from '../options.ts';
import type * as t from './types.ts';

export interface CardsSearchQuery {
  /** The last 4 characters of the code, case-insensitive. Letters that look like digits, and the keys of a German, Swiss, French or Belgian keyboard, are other readings; a card that matches as given precedes theirs. */
  last_characters: string;
  /** The email address of the card’s customer or recipient. */
  email: string;
}

export interface CardsListQuery {
  /** Only cards in this state. */
  state?: 'disabled' | 'expired' | 'suspended' | 'empty' | 'scheduled' | 'active' | undefined;
  /** Only cards whose newest email with the code was not delivered: `bounced` (rejected permanently), or `dead` (not accepted in 72 hours). */
  email_status?: 'bounced' | 'dead' | undefined;
  /** Only cards that were issued at this time or later: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. */
  created_at_min?: string | undefined;
  /** Only cards that were issued at this time or earlier: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. A date includes the whole day. */
  created_at_max?: string | undefined;
  /** Only cards that were disabled at this time or later: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. */
  disabled_at_min?: string | undefined;
  /** Only cards that were disabled at this time or earlier: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. A date includes the whole day. */
  disabled_at_max?: string | undefined;
  /** Only cards whose last transaction (issue, top-up, redemption, refund or adjustment) was made at this time or later: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. */
  last_activity_at_min?: string | undefined;
  /** Only cards whose last transaction (issue, top-up, redemption, refund or adjustment) was made at this time or earlier: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. A date includes the whole day. */
  last_activity_at_max?: string | undefined;
  /** Only cards whose last valid day is this day or later. */
  expires_on_min?: string | undefined;
  /** Only cards whose last valid day is this day or earlier. */
  expires_on_max?: string | undefined;
  /** Only cards with this balance or more. */
  balance_min?: string | undefined;
  /** Only cards with this balance or less. */
  balance_max?: string | undefined;
  /** Only cards that were sold with this order. */
  order_id?: number | undefined;
  /** Only cards that this batch issued. */
  batch_id?: number | undefined;
  /** Only cards whose code ends with these 4 characters, case-insensitive. */
  last_characters?: string | undefined;
  /** Only cards whose note contains this text. The letters A to Z are compared without regard to case. */
  note?: string | undefined;
  /** Only cards with this external id. */
  external_id?: string | undefined;
  /** Only cards with this tag. The letters A to Z are compared without regard to case. */
  tag?: string | undefined;
  /** Only cards whose customer or recipient has this email address. */
  email?: string | undefined;
  /** The order of the cards; with `-`, descending. `-created_at` by default: newest first. `expires_on`: cards that never expire are last in both directions. `balance`: only if the filters `email`, `order_id`, `email_status`, `disabled_at_…`, `expires_on_…` or `state=scheduled` leave at most 2,000 cards, or `created_at_…` at most 10,000, before the other filters apply: the service has no index of balances, because it would make every movement slower. Every store with at most 10,000 cards can sort by it. */
  sort?: '-created_at' | 'created_at' | '-balance' | 'balance' | '-expires_on' | 'expires_on' | undefined;
  /** The size of the page, 50 by default. */
  limit?: number | undefined;
  /** The page after this position: `next_cursor` of the page before, with the same filters and sort. By default the first page. */
  cursor?: string | undefined;
  /** Only these fields of each card, separated by commas, in the order of the record. By default all fields. */
  fields?: string | undefined;
  /** A date and time with seconds, and `Z` or an offset, such as `2026-08-15T12:37:38Z`. The response is what it was then, with everything of that second; fractions of a second are compared to the millisecond. Entries of one card are included in the order in which they were made, even if the clocks of servers differed. A time in the future is rejected. The state in the last seconds can still change: a request that is in progress can have an earlier time. */
  as_of?: string | undefined;
}

export interface CardsCountQuery {
  /** Only cards in this state. */
  state?: 'disabled' | 'expired' | 'suspended' | 'empty' | 'scheduled' | 'active' | undefined;
  /** Only cards whose newest email with the code was not delivered: `bounced` (rejected permanently), or `dead` (not accepted in 72 hours). */
  email_status?: 'bounced' | 'dead' | undefined;
  /** Only cards that were issued at this time or later: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. */
  created_at_min?: string | undefined;
  /** Only cards that were issued at this time or earlier: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. A date includes the whole day. */
  created_at_max?: string | undefined;
  /** Only cards that were disabled at this time or later: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. */
  disabled_at_min?: string | undefined;
  /** Only cards that were disabled at this time or earlier: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. A date includes the whole day. */
  disabled_at_max?: string | undefined;
  /** Only cards whose last transaction (issue, top-up, redemption, refund or adjustment) was made at this time or later: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. */
  last_activity_at_min?: string | undefined;
  /** Only cards whose last transaction (issue, top-up, redemption, refund or adjustment) was made at this time or earlier: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. A date includes the whole day. */
  last_activity_at_max?: string | undefined;
  /** Only cards whose last valid day is this day or later. */
  expires_on_min?: string | undefined;
  /** Only cards whose last valid day is this day or earlier. */
  expires_on_max?: string | undefined;
  /** Only cards with this balance or more. */
  balance_min?: string | undefined;
  /** Only cards with this balance or less. */
  balance_max?: string | undefined;
  /** Only cards that were sold with this order. */
  order_id?: number | undefined;
  /** Only cards that this batch issued. */
  batch_id?: number | undefined;
  /** Only cards whose code ends with these 4 characters, case-insensitive. */
  last_characters?: string | undefined;
  /** Only cards whose note contains this text. The letters A to Z are compared without regard to case. */
  note?: string | undefined;
  /** Only cards with this external id. */
  external_id?: string | undefined;
  /** Only cards with this tag. The letters A to Z are compared without regard to case. */
  tag?: string | undefined;
  /** Only cards whose customer or recipient has this email address. */
  email?: string | undefined;
}

export interface CardsRetrieveDetailsQuery {
  /** A date and time with seconds, and `Z` or an offset, such as `2026-08-15T12:37:38Z`. The response is what it was then, with everything of that second; fractions of a second are compared to the millisecond. Entries of one card are included in the order in which they were made, even if the clocks of servers differed. A time in the future is rejected. The state in the last seconds can still change: a request that is in progress can have an earlier time. */
  as_of?: string | undefined;
}

export interface CardsListHoldsQuery {
  /** The size of the page, 50 by default. */
  limit?: number | undefined;
  /** Only records older than the one with this id. */
  before?: number | undefined;
  /** Only records newer than the one with this id. */
  after?: number | undefined;
}

export interface CardsListTransactionsQuery {
  /** The size of the page, 50 by default. */
  limit?: number | undefined;
  /** Only records older than the one with this id. */
  before?: number | undefined;
  /** Only records newer than the one with this id. */
  after?: number | undefined;
}

export interface CardsListHistoryQuery {
  /** The size of the page, 50 by default. */
  limit?: number | undefined;
  /** Only records older than the one with this id. */
  before?: number | undefined;
  /** Only records newer than the one with this id. */
  after?: number | undefined;
}

export interface CardsListEmailsQuery {
  /** The size of the page, 50 by default. */
  limit?: number | undefined;
  /** Only records older than the one with this id. */
  before?: number | undefined;
  /** Only records newer than the one with this id. */
  after?: number | undefined;
}

export interface CardsProveQuery {
  /** The size of the page, 50 by default. */
  limit?: number | undefined;
  /** Only transactions after the one with this number in the chain. */
  after?: number | undefined;
  /** Only changes after the one with this number in the chain. */
  changes_after?: number | undefined;
}

export interface HoldsListQuery {
  /** Only holds with this status. */
  status?: 'open' | 'captured' | 'voided' | 'expired' | undefined;
  /** Only those with this reference. */
  reference?: string | undefined;
  /** Only those of this order, as text. */
  order_reference?: string | undefined;
  /** Only those with this external id. */
  external_id?: string | undefined;
  /** Only those of this order. */
  order_id?: number | undefined;
  /** Only those at this location; `none`: only those at no location. */
  location_id?: number | 'none' | undefined;
  /** Only those of this caller. */
  actor?: string | undefined;
  /** Only those that were created at this time or later: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. */
  created_at_min?: string | undefined;
  /** Only those that were created at this time or earlier: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. A date includes the whole day. */
  created_at_max?: string | undefined;
  /** The size of the page, 50 by default. */
  limit?: number | undefined;
  /** The page after this position: `next_cursor` of the page before, with the same filters and sort. By default the first page. */
  cursor?: string | undefined;
}

export interface TransactionsListQuery {
  /** Only transactions of this kind. */
  kind?: 'issue' | 'adjustment' | 'debit' | 'credit' | 'top_up' | 'capture' | 'reversal' | undefined;
  /** Only those with this reference. */
  reference?: string | undefined;
  /** Only those of this order, as text. */
  order_reference?: string | undefined;
  /** Only those with this external id. */
  external_id?: string | undefined;
  /** Only those of this order. */
  order_id?: number | undefined;
  /** Only those at this location; `none`: only those at no location. */
  location_id?: number | 'none' | undefined;
  /** Only those of this caller. */
  actor?: string | undefined;
  /** Only those that were created at this time or later: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. */
  created_at_min?: string | undefined;
  /** Only those that were created at this time or earlier: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. A date includes the whole day. */
  created_at_max?: string | undefined;
  /** The size of the page, 50 by default. */
  limit?: number | undefined;
  /** The page after this position: `next_cursor` of the page before, with the same filters and sort. By default the first page. */
  cursor?: string | undefined;
}

export interface BatchesListQuery {
  /** The size of the page, 50 by default. */
  limit?: number | undefined;
  /** Only records older than the one with this id. */
  before?: number | undefined;
  /** Only records newer than the one with this id. */
  after?: number | undefined;
}

export interface BatchesListCardsQuery {
  /** The size of the page, 50 by default. */
  limit?: number | undefined;
  /** Only gift cards from this place in the batch on. By default all, from 0. */
  from?: number | undefined;
  /** The form of the response; absent: as `Accept` says, or JSON. */
  format?: 'json' | 'csv' | undefined;
}

export interface StocksListQuery {
  /** The size of the page, 50 by default. */
  limit?: number | undefined;
  /** Only records older than the one with this id. */
  before?: number | undefined;
  /** Only records newer than the one with this id. */
  after?: number | undefined;
}

export interface StocksListCodesQuery {
  /** The size of the page, 50 by default. */
  limit?: number | undefined;
  /** Only codes from this place in the stock on. By default all, from 0. */
  from?: number | undefined;
  /** The form of the response; absent: as `Accept` says, or JSON. */
  format?: 'json' | 'csv' | undefined;
}

export interface LocationsListQuery {
  /** The size of the page, 50 by default. */
  limit?: number | undefined;
  /** Only records older than the one with this id. */
  before?: number | undefined;
  /** Only records newer than the one with this id. */
  after?: number | undefined;
}

export interface CustomersListQuery {
  /** Only the customer with this email address. */
  email?: string | undefined;
  /** The size of the page, 50 by default. */
  limit?: number | undefined;
  /** The page after this position: `next_cursor` of the page before, with the same filters and sort. By default the first page. */
  cursor?: string | undefined;
}

export interface CustomersListCardsQuery {
  /** Only cards in this state. */
  state?: 'disabled' | 'expired' | 'suspended' | 'empty' | 'scheduled' | 'active' | undefined;
  /** Only cards whose newest email with the code was not delivered: `bounced` (rejected permanently), or `dead` (not accepted in 72 hours). */
  email_status?: 'bounced' | 'dead' | undefined;
  /** Only cards that were issued at this time or later: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. */
  created_at_min?: string | undefined;
  /** Only cards that were issued at this time or earlier: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. A date includes the whole day. */
  created_at_max?: string | undefined;
  /** Only cards that were disabled at this time or later: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. */
  disabled_at_min?: string | undefined;
  /** Only cards that were disabled at this time or earlier: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. A date includes the whole day. */
  disabled_at_max?: string | undefined;
  /** Only cards whose last transaction (issue, top-up, redemption, refund or adjustment) was made at this time or later: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. */
  last_activity_at_min?: string | undefined;
  /** Only cards whose last transaction (issue, top-up, redemption, refund or adjustment) was made at this time or earlier: a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included. A date includes the whole day. */
  last_activity_at_max?: string | undefined;
  /** Only cards whose last valid day is this day or later. */
  expires_on_min?: string | undefined;
  /** Only cards whose last valid day is this day or earlier. */
  expires_on_max?: string | undefined;
  /** Only cards with this balance or more. */
  balance_min?: string | undefined;
  /** Only cards with this balance or less. */
  balance_max?: string | undefined;
  /** Only cards that were sold with this order. */
  order_id?: number | undefined;
  /** Only cards that this batch issued. */
  batch_id?: number | undefined;
  /** Only cards whose code ends with these 4 characters, case-insensitive. */
  last_characters?: string | undefined;
  /** Only cards whose note contains this text. The letters A to Z are compared without regard to case. */
  note?: string | undefined;
  /** Only cards with this external id. */
  external_id?: string | undefined;
  /** Only cards with this tag. The letters A to Z are compared without regard to case. */
  tag?: string | undefined;
  /** The order of the cards; with `-`, descending. `-created_at` by default: newest first. `expires_on`: cards that never expire are last in both directions. `balance`: only if the filters `email`, `order_id`, `email_status`, `disabled_at_…`, `expires_on_…` or `state=scheduled` leave at most 2,000 cards, or `created_at_…` at most 10,000, before the other filters apply: the service has no index of balances, because it would make every movement slower. Every store with at most 10,000 cards can sort by it. */
  sort?: '-created_at' | 'created_at' | '-balance' | 'balance' | '-expires_on' | 'expires_on' | undefined;
  /** The size of the page, 50 by default. */
  limit?: number | undefined;
  /** The page after this position: `next_cursor` of the page before, with the same filters and sort. By default the first page. */
  cursor?: string | undefined;
  /** Only these fields of each card, separated by commas, in the order of the record. By default all fields. */
  fields?: string | undefined;
  /** A date and time with seconds, and `Z` or an offset, such as `2026-08-15T12:37:38Z`. The response is what it was then, with everything of that second; fractions of a second are compared to the millisecond. Entries of one card are included in the order in which they were made, even if the clocks of servers differed. A time in the future is rejected. The state in the last seconds can still change: a request that is in progress can have an earlier time. */
  as_of?: string | undefined;
}

export interface CheckpointsListQuery {
  /** The size of the page, 50 by default. */
  limit?: number | undefined;
  /** Only records older than the one with this id. */
  before?: number | undefined;
  /** Only records newer than the one with this id. */
  after?: number | undefined;
}

export interface CheckpointsProveConsistencyQuery {
  /** The size of the earlier checkpoint. */
  from: number;
  /** The size of the later checkpoint, at most the present size of the log. */
  to: number;
}

export interface CheckpointsListLeavesQuery {
  /** Only leaves after this number of leaves. */
  after?: number | undefined;
  /** The size of the page, 50 by default. */
  limit?: number | undefined;
}

export interface EventsListQuery {
  /** The size of the page, 50 by default. */
  limit?: number | undefined;
  /** Only events committed after the event with this id. `latest`: only events committed from now on. */
  after?: number | 'latest' | undefined;
}

export interface EventsStreamQuery {
  /** Only events committed after the event with this id. `latest`: only events committed from now on. */
  after?: number | 'latest' | undefined;
}

export interface ReportsLiabilityQuery {
  /** The moment of the report: a date and time with `Z` or an offset, or a date, which means the end of that day in the store’s time zone. A time in whole seconds includes the whole second. Not in the future. Default: now. */
  as_of?: string | undefined;
  /** The form of the response; absent: as `Accept` says, or JSON. */
  format?: 'json' | 'csv' | undefined;
}

export interface ReportsJournalQuery {
  /** The first day, in the store’s time zone. */
  from: string;
  /** The last day, today at the latest. A report has at most 366 days. */
  to: string;
  /** Splits the lines by location; absent: those of all are together. */
  by?: 'location' | undefined;
  /** The form of the response; absent: as `Accept` says, or JSON. */
  format?: 'json' | 'csv' | undefined;
}

export interface ReportsAgingQuery {
  /** The moment of the report: a date and time with `Z` or an offset, or a date, which means the end of that day in the store’s time zone. A time in whole seconds includes the whole second. Not in the future. Default: now. */
  as_of?: string | undefined;
  /** The form of the response; absent: as `Accept` says, or JSON. */
  format?: 'json' | 'csv' | undefined;
}

export interface ReportsActivityQuery {
  /** The rows are days, months, or the actors or the locations of the transactions. */
  by: 'day' | 'month' | 'actor' | 'location';
  /** The first day, in the store’s time zone. */
  from: string;
  /** The last day, today at the latest. A report has at most 366 days. */
  to: string;
  /** Only transactions at this location; `none`: only those at no location. */
  location_id?: number | 'none' | undefined;
  /** The form of the response; absent: as `Accept` says, or JSON. */
  format?: 'json' | 'csv' | undefined;
}

export interface ReportsBreakageQuery {
  /** The first day, in the store’s time zone. */
  from: string;
  /** The last day, today at the latest. A report has at most 366 days. */
  to: string;
  /** The form of the response; absent: as `Accept` says, or JSON. */
  format?: 'json' | 'csv' | undefined;
}

export interface WebhooksListDeliveriesQuery {
  /** The size of the page, 50 by default. */
  limit?: number | undefined;
  /** Only records older than the one with this id. */
  before?: number | undefined;
  /** Only records newer than the one with this id. */
  after?: number | undefined;
}

export interface Resources {
  readonly cards: {
    /**
     * Create a gift card. `POST /gift_card`
     *
     * Issues a gift card. If an email address does not belong to a customer of the store, a customer is created in the same transaction. The code is only in this response, and in its replays under the same `Idempotency-Key`. If the store sends email, the card is emailed to its recipient, or to its customer if it has no recipient; a customer who bought the card for another recipient gets a receipt without the code. `send_on` schedules the email, `notify: false` suppresses it. With `suspend: true` the card cannot be used, and no email is sent, until it is resumed. Without a mail server the card is still issued, and the response has `Email-Status: not-configured`. With the `code` of a printed card that is in stock, the card is activated: `initial_value` must be the value of the stock, or within its limits, and the stock’s validity sets `expires_on`, which then cannot be sent.
     *
     * Scope: `write_gift_cards`.
     */
    create(
      body: t.CreateGiftCard & { external_id?: null | undefined },
      options?: WriteOptions,
    ): Promise<t.CreateGiftCardResult>;
    /**
     * Create a gift card. `POST /gift_card`
     *
     * Issues a gift card. If an email address does not belong to a customer of the store, a customer is created in the same transaction. The code is only in this response, and in its replays under the same `Idempotency-Key`. If the store sends email, the card is emailed to its recipient, or to its customer if it has no recipient; a customer who bought the card for another recipient gets a receipt without the code. `send_on` schedules the email, `notify: false` suppresses it. With `suspend: true` the card cannot be used, and no email is sent, until it is resumed. Without a mail server the card is still issued, and the response has `Email-Status: not-configured`. With the `code` of a printed card that is in stock, the card is activated: `initial_value` must be the value of the stock, or within its limits, and the stock’s validity sets `expires_on`, which then cannot be sent.
     *
     * Scope: `write_gift_cards`.
     */
    create(
      body: t.CreateGiftCard,
      options?: WriteOptions,
    ): Promise<t.CreateGiftCardResult | t.CreateGiftCardRepetitionResult>;

    /**
     * Search for a gift card. `GET /gift_card`
     *
     * Returns the card whose code ends with `last_characters` and whose customer or recipient has the email address. If several match, an active card precedes suspended ones, and these precede disabled and expired ones; then the newest. In a signed request of the app proxy, if the store allows it, a signed-in customer can search for their own cards without a token: `logged_in_customer_id` is matched with the customer’s `storefront_customer_id`, and any other address returns 404.
     *
     * Scope: `read_gift_cards`.
     */
    search(query: CardsSearchQuery, options?: RequestOptions): Promise<t.SearchGiftCardResult>;

    /**
     * Retrieve a gift card. `GET /gift_card/{gift_card_id}`
     *
     * Returns the gift card of this store with the id. A card of another store returns 404.
     *
     * Scope: `read_gift_cards`.
     */
    retrieve(giftCardId: number, options?: RequestOptions): Promise<t.RetrieveGiftCardResult>;

    /**
     * Update a gift card. `PUT /gift_card/{gift_card_id}`
     *
     * Changes the fields that are sent, all of them or none; an update that changes nothing succeeds. Disabling is permanent, except within the store’s undo window; the balance and expiry date of a disabled card cannot change, nor the balance of a suspended one; its note, names and tags can. Every change of the balance is one entry in the ledger.
     *
     * Scope: `write_gift_cards`.
     */
    update(
      giftCardId: number,
      body?: t.UpdateGiftCard,
      options?: ConditionalWriteOptions,
    ): Promise<t.UpdateGiftCardResult>;

    /**
     * List gift cards. `GET /gift_cards`
     *
     * Returns the store’s gift cards, newest first, each with everything except its code. All filters can be combined. The service reads a bounded number of cards for one page, so a page can have fewer cards than `limit`, or none, and still have a next page: continue until `next_cursor` is null. Cards that are issued between two pages do not shift the others; a card whose balance or expiry changes can move to another page of a list that is sorted by it. With `as_of`, the filters apply to the cards as they were then, the only order is that of creation, and the service compares at most 150 cards for one page.
     *
     * Scope: `read_gift_cards`.
     */
    list(
      query?: CardsListQuery & { fields?: undefined },
      options?: RequestOptions,
    ): List<
      Omit<t.ListGiftCardsResult, 'gift_cards'> & { gift_cards: Required<t.ListedGiftCard>[] },
      Required<t.ListedGiftCard>
    >;
    /**
     * List gift cards. `GET /gift_cards`
     *
     * Returns the store’s gift cards, newest first, each with everything except its code. All filters can be combined. The service reads a bounded number of cards for one page, so a page can have fewer cards than `limit`, or none, and still have a next page: continue until `next_cursor` is null. Cards that are issued between two pages do not shift the others; a card whose balance or expiry changes can move to another page of a list that is sorted by it. With `as_of`, the filters apply to the cards as they were then, the only order is that of creation, and the service compares at most 150 cards for one page.
     *
     * Scope: `read_gift_cards`.
     */
    list(query?: CardsListQuery, options?: RequestOptions): List<t.ListGiftCardsResult, t.ListedGiftCard>;

    /**
     * Count gift cards. `GET /gift_cards/count`
     *
     * Returns the number of gift cards that meet the filters of the list. The count is exact if at most 10,000 cards have to be read, or 2,500 for `state=scheduled` and `email_status`, and for `state=expired` or `state=disabled` alone, if the books of the last days are closed. Otherwise it stops there, and `precision` is `at_least`.
     *
     * Scope: `read_gift_cards`.
     */
    count(query?: CardsCountQuery, options?: RequestOptions): Promise<t.CountGiftCardsResult>;

    /**
     * Retrieve a gift card’s details. `GET /gift_cards/{gift_card_id}`
     *
     * Returns the record of the gift card, and also its state, the held and available amounts, the status of its email, names and tags. The `ETag` is that of the card. It does not change when an email is delivered or the card expires, so such a response is never a 304. With `as_of`, the card is as it was then: 404 if it did not exist yet; the `ETag` matches no version; texts that were erased since are null; emails that were deleted since do not count.
     *
     * Scope: `read_gift_cards`.
     */
    retrieveDetails(
      giftCardId: number,
      query?: CardsRetrieveDetailsQuery,
      options?: RequestOptions,
    ): Promise<t.RetrieveGiftCardDetailsResult>;

    /**
     * Look up a gift card by its code. `POST /gift_card/lookup`
     *
     * Returns the gift card with the code. The code is in the body, never in a URL. Failed lookups are limited per caller. For a caller without `read_gift_cards`, a disabled, expired or suspended card is not found. A caller with `write_gift_cards` gets `not-activated` for the code of a printed card that is in stock; for others it is not found.
     *
     * Scope: `read_gift_cards` or `redeem_gift_cards`.
     */
    lookup(body: t.LookUp, options?: RequestOptions): Promise<t.LookUpGiftCardResult>;

    /**
     * Retrieve a gift card’s balance. `GET /gift_card/{gift_card_id}/balance`
     *
     * Returns the amount that can be spent and the state of the card, for a till that knows the id. `available` is the balance minus open holds, or 0 if the card cannot be spent.
     *
     * Scope: `read_gift_cards` or `redeem_gift_cards`.
     */
    retrieveBalance(giftCardId: number, options?: RequestOptions): Promise<t.RetrieveBalanceResult>;

    /**
     * Redeem a gift card by its code. `POST /gift_card/redeem`
     *
     * Looks up a gift card by its code and debits it in one request, with the rules of both operations.
     *
     * Scope: `redeem_gift_cards`.
     */
    redeem(body: t.Redeem, options?: ConditionalWriteOptions): Promise<t.RedeemGiftCardResult>;

    /**
     * Debit a gift card. `POST /gift_card/{gift_card_id}/debit`
     *
     * Debits an amount from the available balance (the balance minus open holds). Fails with `insufficient-balance`, which reports the available amount, unless `partial` is set; then it debits the available amount. Concurrent debits never overspend.
     *
     * Scope: `redeem_gift_cards`.
     */
    debit(
      giftCardId: number,
      body: t.Debit,
      options?: ConditionalWriteOptions,
    ): Promise<t.DebitGiftCardResult>;

    /**
     * Credit a gift card. `POST /gift_card/{gift_card_id}/credit`
     *
     * Adds an amount to an active gift card. The balance cannot exceed the store’s own limit. With the kind `top_up` it is a sale: it has its own account in the journal, its VAT is that of the card, and the holder of the card gets a receipt by email. A top-up can also set a later `expires_on`, in the same transaction; an expired card cannot be topped up.
     *
     * Scope: `write_gift_cards`.
     */
    credit(
      giftCardId: number,
      body: t.Credit,
      options?: ConditionalWriteOptions,
    ): Promise<t.CreditGiftCardResult>;

    /**
     * Re-enable a gift card. `POST /gift_card/{gift_card_id}/undo`
     *
     * Re-enables a disabled gift card within the store’s undo window (off by default, at most 60 minutes). Until then the card cannot be used, and `disabled_at` has the time of the disabling. Released holds stay released.
     *
     * Scope: `write_gift_cards`.
     */
    reenable(giftCardId: number, options?: ConditionalWriteOptions): Promise<t.ReenableGiftCardResult>;

    /**
     * Suspend a gift card. `POST /gift_card/{gift_card_id}/suspend`
     *
     * Suspends the gift card until it is resumed, for example during a dispute. It cannot be debited, redeemed, held or credited, and its balance cannot be updated. Holds from before can be captured and voided, and transactions can be reversed. Its emails wait, and its reminders are not sent. A suspended card that expires is `expired`. A card that is already suspended does not change.
     *
     * Scope: `write_gift_cards`.
     */
    suspend(
      giftCardId: number,
      body?: t.Suspend,
      options?: ConditionalWriteOptions,
    ): Promise<t.SuspendGiftCardResult>;

    /**
     * Resume a gift card. `POST /gift_card/{gift_card_id}/resume`
     *
     * Ends the suspension of the gift card, and sends the emails that waited for it. A card that is not suspended does not change.
     *
     * Scope: `write_gift_cards`.
     */
    resume(giftCardId: number, options?: ConditionalWriteOptions): Promise<t.ResumeGiftCardResult>;

    /**
     * Create a hold. `POST /gift_card/{gift_card_id}/holds`
     *
     * Reserves an amount for a checkout. No other request can spend it until the hold is captured or voided, or expires.
     *
     * Scope: `redeem_gift_cards`.
     */
    hold(
      giftCardId: number,
      body: t.CreateHold,
      options?: ConditionalWriteOptions,
    ): Promise<t.CreateHoldResult>;

    /**
     * List a gift card’s holds. `GET /gift_card/{gift_card_id}/holds`
     *
     * Returns open and closed holds, newest first. `Link` has the neighboring pages.
     *
     * Scope: `read_gift_cards` or `redeem_gift_cards`.
     */
    listHolds(
      giftCardId: number,
      query?: CardsListHoldsQuery,
      options?: RequestOptions,
    ): List<t.ListHoldsResult, t.Hold>;

    /**
     * List a gift card’s transactions. `GET /gift_card/{gift_card_id}/transactions`
     *
     * Returns the card’s entries in the ledger, newest first. `Link` has the neighboring pages.
     *
     * Scope: `read_gift_cards`.
     */
    listTransactions(
      giftCardId: number,
      query?: CardsListTransactionsQuery,
      options?: RequestOptions,
    ): List<t.ListTransactionsResult, t.Transaction>;

    /**
     * List a gift card’s changes. `GET /gift_card/{gift_card_id}/history`
     *
     * Returns the creation of the card and every change of its state, expiry, note, names, tags and code, newest first. Its money is in its transactions. An update that changes several fields is one entry. `expired` entries are derived from the expiry date and the store’s time zone at that time; they have the id of the entry before them, and are in addition to `limit`. The order is that in which the changes were made, even if the clocks of servers differed. `Link` has the neighboring pages.
     *
     * Scope: `read_gift_cards`.
     */
    listHistory(
      giftCardId: number,
      query?: CardsListHistoryQuery,
      options?: RequestOptions,
    ): List<t.ListHistoryResult, t.HistoryEntry>;

    /**
     * List the emails of a gift card. `GET /gift_card/{gift_card_id}/deliveries`
     *
     * Returns the emails about the card, newest first. An email is `scheduled`, `queued` or `deferred` (retried later) until it is `sent` (accepted by a mail server), `kept` (on the machine of the service and not sent, because it has no mail server), `bounced` (rejected permanently), `dead` (not accepted within 72 hours) or `cancelled` (out of date: the card has another code, is disabled or has expired).
     *
     * Scope: `read_gift_cards`.
     */
    listEmails(
      giftCardId: number,
      query?: CardsListEmailsQuery,
      options?: RequestOptions,
    ): List<t.ListGiftCardEmailsResult, t.EmailDelivery>;

    /**
     * Email a gift card again. `POST /gift_card/{gift_card_id}/notify`
     *
     * Codes are not stored in clear, so the card gets a new code, which is emailed to its recipient, or to its customer if it has no recipient. The old code stops working immediately: it is not found, and its use is recorded as the event `gift_card.retired_code_used`. Id, balance, holds and history stay. A card can be emailed again to the same address once a minute, and at most 10 times within 24 hours; an earlier request is a 429 with `Retry-After` and changes nothing, so the code stays. The email of the creation does not count.
     *
     * Scope: `write_gift_cards`.
     */
    notify(giftCardId: number, options?: ConditionalWriteOptions): Promise<t.NotifyGiftCardHolderResult>;

    /**
     * Rotate a gift card’s code. `POST /gift_card/{gift_card_id}/rotate_code`
     *
     * Gives the card a new code without sending an email: only this response contains the code. Queued emails with the old code are cancelled.
     *
     * Scope: `write_gift_cards`.
     */
    rotateCode(giftCardId: number, options?: ConditionalWriteOptions): Promise<t.RotateGiftCardCodeResult>;

    /**
     * Prove a gift card’s chains. `GET /gift_card/{gift_card_id}/proof`
     *
     * Returns the card’s transactions and its other changes as two chains, oldest entry first, in a form that a client can recompute, and proofs that the store’s log contains them. Each hash covers the one before, so the proof of one entry is a proof of all entries before it. The proven entry is the newest one that the log contains. An entry reaches the log about a second after its commit; until then `proven` is lower than `length`: repeat the request to have it proven. Long chains have several pages: continue with `after` and `changes_after`.
     *
     * Scope: `read_gift_cards`.
     */
    prove(
      giftCardId: number,
      query?: CardsProveQuery,
      options?: RequestOptions,
    ): Promise<t.ProveGiftCardResult>;
  };

  readonly holds: {
    /**
     * List holds. `GET /holds`
     *
     * Returns the holds of all cards, newest first, with the filters and pages of the list of transactions. `status=open` finds what a checkout left behind.
     *
     * Scope: `read_gift_cards`.
     */
    list(query?: HoldsListQuery, options?: RequestOptions): List<t.ListStoreHoldsResult, t.Hold>;

    /**
     * Retrieve a hold. `GET /holds/{hold_id}`
     *
     * Returns the current state of the hold and its gift card.
     *
     * Scope: `read_gift_cards` or `redeem_gift_cards`.
     */
    retrieve(holdId: number | `external:${string}`, options?: RequestOptions): Promise<t.RetrieveHoldResult>;

    /**
     * Extend a hold. `POST /holds/{hold_id}/extend`
     *
     * Extends a hold to `expires_in` seconds from now. It never shortens a hold: if the hold lasts longer already, the response is a 200 and nothing changes. Beyond the store’s limit, counted from the creation of the hold, the error names the latest time. It works on a card that has expired since.
     *
     * Scope: `redeem_gift_cards`.
     */
    extend(
      holdId: number | `external:${string}`,
      body: t.ExtendHold,
      options?: ConditionalWriteOptions,
    ): Promise<t.ExtendHoldResult>;

    /**
     * Capture a hold. `POST /holds/{hold_id}/capture`
     *
     * Debits the reserved amount or a part of it, and releases the rest. The debit has the order, the references and the note of the hold, unless the request names others. A hold can be captured only once, also after the card has expired or was suspended, but not after the hold has.
     *
     * Scope: `redeem_gift_cards`.
     */
    capture(
      holdId: number | `external:${string}`,
      body?: t.Capture,
      options?: ConditionalWriteOptions,
    ): Promise<t.CaptureHoldResult>;

    /**
     * Void a hold. `POST /holds/{hold_id}/void`
     *
     * Releases the reserved amount. If the path has an unused `external:` id, the response is a 404, and a hold with that id that arrives later is rejected with `external-id-used`.
     *
     * Scope: `redeem_gift_cards`.
     */
    void(holdId: number | `external:${string}`, options?: ConditionalWriteOptions): Promise<t.VoidHoldResult>;
  };

  readonly transactions: {
    /**
     * List transactions. `GET /transactions`
     *
     * Returns the entries in the ledger of all cards, newest first. All filters can be combined. The service reads a bounded number of rows for one page, so a page can be short, or empty, and still have a next page: continue until `next_cursor` is null. A text that was erased is not found.
     *
     * Scope: `read_gift_cards`.
     */
    list(
      query?: TransactionsListQuery,
      options?: RequestOptions,
    ): List<t.ListStoreTransactionsResult, t.Transaction>;

    /**
     * Retrieve a transaction. `GET /transactions/{transaction_id}`
     *
     * Returns one entry of the ledger.
     *
     * Scope: `read_gift_cards`.
     */
    retrieve(
      transactionId: number | `external:${string}`,
      options?: RequestOptions,
    ): Promise<t.RetrieveTransactionResult>;

    /**
     * Reverse a transaction. `POST /transactions/{transaction_id}/reverse`
     *
     * Reverses a debit or capture in whole or in part, at most its amount, or a credit or top-up, at most the balance minus open holds. A credit or top-up requires `write_gift_cards`, the others `redeem_gift_cards`. The reversal works on an expired or suspended card, not on a disabled one. It has the order and the references of the transaction, unless the request names others.
     *
     * Scope: `redeem_gift_cards` or `write_gift_cards`.
     */
    reverse(
      transactionId: number | `external:${string}`,
      body?: t.Reverse,
      options?: ConditionalWriteOptions,
    ): Promise<t.ReverseTransactionResult>;
  };

  readonly batches: {
    /**
     * Create a batch. `POST /batches`
     *
     * Issues many gift cards: `count` equal ones, or those in `cards`, at most 10,000. All parameters are validated before the response; if any is invalid, nothing is issued, and at most 100 errors are returned. The gift cards are issued after the response: `GET /batches/{batch_id}` returns the progress, and `GET /batches/{batch_id}/cards` the gift cards with their codes. At the end, `batch.completed` is published. Gift cards with an email address are emailed, as by `POST /gift_card`. With `dry_run=true`, the response has the count and the total, and nothing is issued. The body can have 4 MiB. A store can have 20 running batches. A `code` that is taken is a failed lookup, so a batch can have at most as many codes as the caller has failed lookups left.
     *
     * Scope: `write_gift_cards`.
     */
    create(body?: t.CreateBatch, options?: WriteOptions): Promise<t.CreateBatchResult>;

    /**
     * List batches. `GET /batches`
     *
     * Returns the store’s batches, newest first. `Link` has the neighboring pages.
     *
     * Scope: `read_gift_cards` or `write_gift_cards`.
     */
    list(query?: BatchesListQuery, options?: RequestOptions): List<t.ListBatchesResult, t.Batch>;

    /**
     * Retrieve a batch. `GET /batches/{batch_id}`
     *
     * Returns the batch and its progress. `failures` has the reasons why gift cards were not issued, at most 100.
     *
     * Scope: `read_gift_cards` or `write_gift_cards`.
     */
    retrieve(batchId: number, options?: RequestOptions): Promise<t.RetrieveBatchResult>;

    /**
     * List the gift cards of a batch. `GET /batches/{batch_id}/cards`
     *
     * Returns the issued gift cards in the order of the request. Their codes are included for callers with `write_gift_cards` while the batch is running and until `codes_until`, 24 hours after its completion; afterwards they are erased. A gift card that was emailed has no code here. As JSON, a page; as CSV, with `format=csv` or `Accept: text/csv`, all from `from` on.
     *
     * Scope: `read_gift_cards` or `write_gift_cards`.
     */
    listCards(
      batchId: number,
      query: BatchesListCardsQuery & { format: 'csv' },
      options?: RequestOptions,
    ): Promise<string>;
    /**
     * List the gift cards of a batch. `GET /batches/{batch_id}/cards`
     *
     * Returns the issued gift cards in the order of the request. Their codes are included for callers with `write_gift_cards` while the batch is running and until `codes_until`, 24 hours after its completion; afterwards they are erased. A gift card that was emailed has no code here. As JSON, a page; as CSV, with `format=csv` or `Accept: text/csv`, all from `from` on.
     *
     * Scope: `read_gift_cards` or `write_gift_cards`.
     */
    listCards(
      batchId: number,
      query?: BatchesListCardsQuery & { format?: 'json' | undefined },
      options?: RequestOptions,
    ): List<t.ListBatchCardsResult, t.BatchGiftCard>;
  };

  readonly stocks: {
    /**
     * Create a stock. `POST /stocks`
     *
     * Adds codes of printed cards to the stock: `count` generated ones, or the store’s own in `codes`, at most 10,000. A code in stock is neither a gift card nor money that the store owes, and counts as used: only its activation takes it. `POST /gift_card` with the `code` activates it: with the fixed value of the stock, or a value within its limits. The codes are added after the response, in a few seconds; at the end, `stock.completed` is published. `GET /stocks/{stock_id}/codes` returns them for printing until `codes_until`. With `dry_run=true`, nothing is added. The body can have 4 MiB. Print the codes so that they are covered: who reads a code before the sale can spend the card after it.
     *
     * Scope: `write_gift_cards`.
     */
    create(body?: t.CreateStock, options?: WriteOptions): Promise<t.CreateStockResult>;

    /**
     * List stocks. `GET /stocks`
     *
     * Returns the store’s stocks, newest first, each with the number of codes that were printed, sold, voided, and are left. `Link` has the neighboring pages.
     *
     * Scope: `read_gift_cards`.
     */
    list(query?: StocksListQuery, options?: RequestOptions): List<t.ListStocksResult, t.Stock>;

    /**
     * Retrieve a stock. `GET /stocks/{stock_id}`
     *
     * Returns the stock with the number of its codes. `failures` has the reasons why codes were not added, at most 100.
     *
     * Scope: `read_gift_cards`.
     */
    retrieve(stockId: number, options?: RequestOptions): Promise<t.RetrieveStockResult>;

    /**
     * Void codes of a stock. `POST /stocks/{stock_id}/void`
     *
     * Voids all codes that are left, or those in `codes`, such as the ones of lost cards. A voided code can never be activated or used again. A code that was voided before stays voided; one that was activated, or is not in the stock, is rejected, and nothing is voided. `stock.voided` is published.
     *
     * Scope: `write_gift_cards`.
     */
    void(stockId: number, body?: t.VoidStock, options?: WriteOptions): Promise<t.VoidStockResult>;

    /**
     * Download the codes of a stock. `GET /stocks/{stock_id}/codes`
     *
     * Returns the codes that are left, without those that were activated or voided, until `codes_until`, 24 hours after the stock is complete; afterwards they are erased, and the response is 404. Each download publishes `stock.codes_read`. As JSON, a page; as CSV, with `format=csv` or `Accept: text/csv`, all from `from` on.
     *
     * Scope: `write_gift_cards`.
     */
    listCodes(
      stockId: number,
      query: StocksListCodesQuery & { format: 'csv' },
      options?: RequestOptions,
    ): Promise<string>;
    /**
     * Download the codes of a stock. `GET /stocks/{stock_id}/codes`
     *
     * Returns the codes that are left, without those that were activated or voided, until `codes_until`, 24 hours after the stock is complete; afterwards they are erased, and the response is 404. Each download publishes `stock.codes_read`. As JSON, a page; as CSV, with `format=csv` or `Accept: text/csv`, all from `from` on.
     *
     * Scope: `write_gift_cards`.
     */
    listCodes(
      stockId: number,
      query?: StocksListCodesQuery & { format?: 'json' | undefined },
      options?: RequestOptions,
    ): List<t.ListStockCodesResult, t.StockCode>;
  };

  readonly locations: {
    /**
     * Create a location. `POST /locations`
     *
     * Creates a shop of the store, of which it has at most 1,000. An access token or a till can belong to a location; movements of other callers can name one as `location_id`. Reports split movements by it.
     *
     * Scope: `write_gift_cards`.
     */
    create(body: t.CreateLocation, options?: WriteOptions): Promise<t.CreateLocationResult>;

    /**
     * List locations. `GET /locations`
     *
     * Returns the store’s locations, also closed ones, newest first. `Link` has the neighboring pages.
     *
     * Scope: `read_gift_cards`.
     */
    list(query?: LocationsListQuery, options?: RequestOptions): List<t.ListLocationsResult, t.Location>;

    /**
     * Retrieve a location. `GET /locations/{location_id}`
     *
     * Returns a location of the store, also a closed one.
     *
     * Scope: `read_gift_cards`.
     */
    retrieve(locationId: number, options?: RequestOptions): Promise<t.RetrieveLocationResult>;

    /**
     * Update a location. `PUT /locations/{location_id}`
     *
     * Absent fields keep their values. A closed location accepts no new movements: a request that names it, and any movement of an access token or a till that belongs to it, is rejected. It is never deleted, because entries of the ledger have it.
     *
     * Scope: `write_gift_cards`.
     */
    update(
      locationId: number,
      body?: t.UpdateLocation,
      options?: WriteOptions,
    ): Promise<t.UpdateLocationResult>;
  };

  readonly customers: {
    /**
     * List customers. `GET /customers`
     *
     * Returns the store’s customers, newest first. Continue with `next_cursor` until it is null. Customers who are created between two pages do not shift the others.
     *
     * Scope: `read_gift_cards`.
     */
    list(query?: CustomersListQuery, options?: RequestOptions): List<t.ListCustomersResult, t.Customer>;

    /**
     * Retrieve a customer. `GET /customers/{customer_id}`
     *
     * Returns the customer of this store with the id.
     *
     * Scope: `read_gift_cards`.
     */
    retrieve(customerId: number, options?: RequestOptions): Promise<t.RetrieveCustomerResult>;

    /**
     * Update a customer. `PUT /customers/{customer_id}`
     *
     * Sets the customer’s id on the storefront, or clears it with null. The app proxy signs that id as `logged_in_customer_id`: a signed-in customer can search for their own cards, if the store allows it. An id belongs to one customer of the store.
     *
     * Scope: `write_gift_cards`.
     */
    update(
      customerId: number,
      body?: t.UpdateCustomer,
      options?: WriteOptions,
    ): Promise<t.UpdateCustomerResult>;

    /**
     * Export a customer. `GET /customers/{customer_id}/export`
     *
     * Returns everything that is stored about the customer as one JSON document: the customer, the gift cards that they bought or received, each with the time at which its page was first opened (`viewed_at`), its transactions, holds and the emails to this customer, the online sales, and the events that mention them. No code is included. The response is streamed: check that it ends, because an error after its first byte closes the connection. A gift card can also contain the address of another person.
     *
     * Scope: `manage_customers`.
     */
    export(customerId: number, options?: RequestOptions): Promise<t.ExportCustomerResult>;

    /**
     * Erase a customer. `POST /customers/{customer_id}/erase`
     *
     * Erases the customer’s personal data, which cannot be undone: the email address, the storefront id, the messages of their gift cards, emails, webhook responses, and their data in events. The money stays: balances, transactions and reports do not change. The customer is immediately no longer found, and the same address becomes a new customer. The rest is erased in the background: `GET …/erasure` returns the progress. Each gift card of the customer gets a new version and a `gift_card.updated` event; at the end, `customer.erased` is published, so that subscribers can erase their copies. Emails that were not sent are cancelled: `unsent_gift_card_ids` lists gift cards whose code was not sent. A repeated request returns the same erasure.
     *
     * Scope: `manage_customers`.
     */
    erase(customerId: number, body?: t.EraseCustomer, options?: WriteOptions): Promise<t.EraseCustomerResult>;

    /**
     * Retrieve an erasure. `GET /customers/{customer_id}/erasure`
     *
     * Returns the erasure of the customer and its progress.
     *
     * Scope: `manage_customers`.
     */
    retrieveErasure(customerId: number, options?: RequestOptions): Promise<t.RetrieveErasureResult>;

    /**
     * List a customer’s gift cards. `GET /customers/{customer_id}/gift_cards`
     *
     * Returns the gift cards of which the customer is the customer or the recipient, newest first. All filters can be combined. The service reads a bounded number of cards for one page, so a page can have fewer cards than `limit`, or none, and still have a next page: continue until `next_cursor` is null. Cards that are issued between two pages do not shift the others; a card whose balance or expiry changes can move to another page of a list that is sorted by it. With `as_of`, the filters apply to the cards as they were then, the only order is that of creation, and the service compares at most 150 cards for one page.
     *
     * Scope: `read_gift_cards`.
     */
    listCards(
      customerId: number,
      query?: CustomersListCardsQuery & { fields?: undefined },
      options?: RequestOptions,
    ): List<
      Omit<t.ListCustomerGiftCardsResult, 'gift_cards'> & { gift_cards: Required<t.ListedGiftCard>[] },
      Required<t.ListedGiftCard>
    >;
    /**
     * List a customer’s gift cards. `GET /customers/{customer_id}/gift_cards`
     *
     * Returns the gift cards of which the customer is the customer or the recipient, newest first. All filters can be combined. The service reads a bounded number of cards for one page, so a page can have fewer cards than `limit`, or none, and still have a next page: continue until `next_cursor` is null. Cards that are issued between two pages do not shift the others; a card whose balance or expiry changes can move to another page of a list that is sorted by it. With `as_of`, the filters apply to the cards as they were then, the only order is that of creation, and the service compares at most 150 cards for one page.
     *
     * Scope: `read_gift_cards`.
     */
    listCards(
      customerId: number,
      query?: CustomersListCardsQuery,
      options?: RequestOptions,
    ): List<t.ListCustomerGiftCardsResult, t.ListedGiftCard>;
  };

  readonly checkpoints: {
    /**
     * List checkpoints. `GET /checkpoints`
     *
     * Returns the checkpoints of the store’s log, newest first. The service creates one after the end of each day in the store’s time zone, unless nothing was added to the log since the last one. The event `checkpoint.created` publishes each of them. `Link` has the neighboring pages.
     *
     * Scope: `read_reports`.
     */
    list(query?: CheckpointsListQuery, options?: RequestOptions): List<t.ListCheckpointsResult, t.Checkpoint>;

    /**
     * Create a checkpoint. `POST /checkpoints`
     *
     * Adds new entries to the log, at most 2,000, and signs its size and root. The background job adds entries about a second after their commit, so a checkpoint seldom lacks one. If nothing was added since the last checkpoint, the operation returns that one.
     *
     * Scope: `read_reports`.
     */
    create(options?: WriteOptions): Promise<t.CreateCheckpointResult>;

    /**
     * Prove that a checkpoint continues another. `GET /checkpoints/consistency`
     *
     * Returns a consistency proof (RFC 9162, section 2.1.4). With it and the roots of both checkpoints, a client verifies that the log still begins with the entries that it had at the earlier checkpoint.
     *
     * Scope: `read_reports`.
     */
    proveConsistency(
      query: CheckpointsProveConsistencyQuery,
      options?: RequestOptions,
    ): Promise<t.ProveConsistencyResult>;

    /**
     * List the leaves of the log. `GET /checkpoints/leaves`
     *
     * Returns the hashes of the log’s leaves in their order: continue with `after`. From all leaves up to the size of a checkpoint, a client computes its root, and finds the place of each entry whose content it has. A leaf reveals neither a card nor an amount.
     *
     * Scope: `read_reports`.
     */
    listLeaves(query?: CheckpointsListLeavesQuery, options?: RequestOptions): Promise<t.ListLeavesResult>;

    /**
     * Retrieve the public keys of checkpoints. `GET /checkpoints/key`
     *
     * Returns the verifier keys (c2sp.org/signed-note) of the store’s log: the current one first, and those before it. The first checkpoint of a new key is also signed with the key before it. Keep the key of your first checkpoint: accept another key only if a key that you trust has signed a checkpoint together with it. Responds with 404 until the log has its first entry.
     *
     * Scope: `read_reports`.
     */
    listKeys(options?: RequestOptions): Promise<t.ListCheckpointKeysResult>;
  };

  readonly events: {
    /**
     * List events. `GET /events`
     *
     * Returns events in the order in which they were committed, oldest first. `Link` has the page after the last event, including events that are committed later: a client that follows it receives every event once, in order. `after=latest` returns no events and a `Link` to the events committed from now on, also for a store without events. An event can appear shortly after the response to its change, while an earlier change is being committed. Events are stored for a time that the operator sets, 400 days by default. If the event in `after` has been erased, the response is 410 `events-erased`, so that a client notices that it has missed events: it reads the present state, and continues with `after=latest`.
     *
     * Scope: `read_events`.
     */
    list(query?: EventsListQuery, options?: RequestOptions): List<t.ListEventsResult, t.Event>;

    /**
     * Stream events. `GET /events/stream`
     *
     * Server-sent events: `id` is the event’s id, `event` its type, `data` the event as JSON. A client that reconnects with `Last-Event-ID` continues after that event and receives every later one; without it, the stream starts with the next event. A comment every 15 seconds keeps the connection open. The stream ends when the service stops, and about a second after the token is revoked: it returns no event that was written after that. The server closes it if the client reads nothing for half a minute. A store can have 16 streams at once per process, and a token 8 of them; at the limit, a stream whose client reads nothing is closed for a new one.
     *
     * Scope: `read_events`.
     */
    stream(query?: EventsStreamQuery, options?: StreamOptions): EventStream;

    /**
     * Retrieve an event. `GET /events/{event_id}`
     *
     * Returns the event as webhooks receive it.
     *
     * Scope: `read_events`.
     */
    retrieve(eventId: number, options?: RequestOptions): Promise<t.RetrieveEventResult>;

    /**
     * Redeliver an event. `POST /events/{event_id}/redeliver`
     *
     * Sends the event again to one webhook, or to every active webhook that subscribes to its type, delivered before or not. The message and its `webhook-id` are the same. The attempts start over.
     *
     * Scope: `manage_webhooks`.
     */
    redeliver(eventId: number, body?: t.Redeliver, options?: WriteOptions): Promise<t.RedeliverEventResult>;
  };

  readonly reports: {
    /**
     * Report the liability. `GET /reports/liability`
     *
     * Returns what the store owes to the holders of its cards at a moment: `outstanding` is `issued` + `topped_up` − `redeemed` + `refunded` + `adjusted`, and also `available` + `on_hold` + `expired` + `disabled`. A suspended card is in `available` and `on_hold`. The reversal of a top-up lowers `topped_up`, and a cancelled sale `issued`; the reversal of a redemption is `refunded`, also if it undid a redemption at the till, which stays in `redeemed`. These amounts include VAT. `outstanding_net` is the contract liability (deferred revenue): it does not include VAT that was due at the sale of single-purpose cards.
     *
     * Scope: `read_reports`.
     */
    liability(query: ReportsLiabilityQuery & { format: 'csv' }, options?: RequestOptions): Promise<string>;
    /**
     * Report the liability. `GET /reports/liability`
     *
     * Returns what the store owes to the holders of its cards at a moment: `outstanding` is `issued` + `topped_up` − `redeemed` + `refunded` + `adjusted`, and also `available` + `on_hold` + `expired` + `disabled`. A suspended card is in `available` and `on_hold`. The reversal of a top-up lowers `topped_up`, and a cancelled sale `issued`; the reversal of a redemption is `refunded`, also if it undid a redemption at the till, which stays in `redeemed`. These amounts include VAT. `outstanding_net` is the contract liability (deferred revenue): it does not include VAT that was due at the sale of single-purpose cards.
     *
     * Scope: `read_reports`.
     */
    liability(
      query?: ReportsLiabilityQuery & { format?: 'json' | undefined },
      options?: RequestOptions,
    ): Promise<t.ReportLiabilityResult>;

    /**
     * Report the journal. `GET /reports/journal`
     *
     * Returns double-entry lines of each day. The debits of a day equal its credits, and the credits less the debits of the liability accounts are the change of the liability. `largesse store update --account` sets the names of the accounts. `sales`, `top_ups` and `redemptions` are clearing accounts: the till or checkout makes the other entry, `sales` and `top_ups` against the payment and `redemptions` against revenue. The sale or top-up of a single-purpose card credits its VAT to `vat_payable`, and only the reversal of a sale or top-up takes it back; the other lines of such cards are without VAT. Moves between states within a day are netted. With `by=location` the lines of each location are apart, as of a cost center: the debits of a location equal its credits on each day, and moves between states have no location.
     *
     * Scope: `read_reports`.
     */
    journal(query: ReportsJournalQuery & { format: 'csv' }, options?: RequestOptions): Promise<string>;
    /**
     * Report the journal. `GET /reports/journal`
     *
     * Returns double-entry lines of each day. The debits of a day equal its credits, and the credits less the debits of the liability accounts are the change of the liability. `largesse store update --account` sets the names of the accounts. `sales`, `top_ups` and `redemptions` are clearing accounts: the till or checkout makes the other entry, `sales` and `top_ups` against the payment and `redemptions` against revenue. The sale or top-up of a single-purpose card credits its VAT to `vat_payable`, and only the reversal of a sale or top-up takes it back; the other lines of such cards are without VAT. Moves between states within a day are netted. With `by=location` the lines of each location are apart, as of a cost center: the debits of a location equal its credits on each day, and moves between states have no location.
     *
     * Scope: `read_reports`.
     */
    journal(
      query: ReportsJournalQuery & { format?: 'json' | undefined },
      options?: RequestOptions,
    ): Promise<t.ReportJournalResult>;

    /**
     * Report the liability by age. `GET /reports/aging`
     *
     * Returns what the store owes at a moment by the month in which the cards were issued. `active` includes amounts on hold. `issued_to_date` and `redeemed_to_date` are of the same cards: with them, breakage can be recognized in proportion to redemptions (ASC 606-10-55-46, IFRS 15 B44 to B47).
     *
     * Scope: `read_reports`.
     */
    aging(query: ReportsAgingQuery & { format: 'csv' }, options?: RequestOptions): Promise<string>;
    /**
     * Report the liability by age. `GET /reports/aging`
     *
     * Returns what the store owes at a moment by the month in which the cards were issued. `active` includes amounts on hold. `issued_to_date` and `redeemed_to_date` are of the same cards: with them, breakage can be recognized in proportion to redemptions (ASC 606-10-55-46, IFRS 15 B44 to B47).
     *
     * Scope: `read_reports`.
     */
    aging(
      query?: ReportsAgingQuery & { format?: 'json' | undefined },
      options?: RequestOptions,
    ): Promise<t.ReportAgingResult>;

    /**
     * Report the activity. `GET /reports/activity`
     *
     * Returns the transactions of a period by day, month, actor or location. Days and months without transactions have no row. The rows of all locations, with the one of no location, add up to the report that is not split.
     *
     * Scope: `read_reports`.
     */
    activity(query: ReportsActivityQuery & { format: 'csv' }, options?: RequestOptions): Promise<string>;
    /**
     * Report the activity. `GET /reports/activity`
     *
     * Returns the transactions of a period by day, month, actor or location. Days and months without transactions have no row. The rows of all locations, with the one of no location, add up to the report that is not split.
     *
     * Scope: `read_reports`.
     */
    activity(
      query: ReportsActivityQuery & { format?: 'json' | undefined },
      options?: RequestOptions,
    ): Promise<t.ReportActivityResult>;

    /**
     * Report expired balances. `GET /reports/breakage`
     *
     * Returns the balances of expired cards by month: `closing` is `opening` + `expired` − `restored` − `disabled` + `adjusted`. `restored` is the balance of cards that were given a later expiry, `adjusted` the net of the transactions of expired cards. The amounts are expired balances and not revenue. They stay a contract liability (deferred revenue) in these books: the law decides whether and when the store can keep them (escheat, limitation, consumer law), and the store’s accountant decides what to post.
     *
     * Scope: `read_reports`.
     */
    breakage(query: ReportsBreakageQuery & { format: 'csv' }, options?: RequestOptions): Promise<string>;
    /**
     * Report expired balances. `GET /reports/breakage`
     *
     * Returns the balances of expired cards by month: `closing` is `opening` + `expired` − `restored` − `disabled` + `adjusted`. `restored` is the balance of cards that were given a later expiry, `adjusted` the net of the transactions of expired cards. The amounts are expired balances and not revenue. They stay a contract liability (deferred revenue) in these books: the law decides whether and when the store can keep them (escheat, limitation, consumer law), and the store’s accountant decides what to post.
     *
     * Scope: `read_reports`.
     */
    breakage(
      query: ReportsBreakageQuery & { format?: 'json' | undefined },
      options?: RequestOptions,
    ): Promise<t.ReportBreakageResult>;
  };

  readonly webhooks: {
    /**
     * Create a webhook. `POST /webhooks`
     *
     * Posts every matching event that is committed from now on to the URL, signed by the [Standard Webhooks](https://www.standardwebhooks.com) scheme. Only this response contains the secret. A store can have 20 webhooks.
     *
     * Scope: `manage_webhooks`.
     */
    create(body: t.CreateWebhook, options?: WriteOptions): Promise<t.CreateWebhookResult>;

    /**
     * List webhooks. `GET /webhooks`
     *
     * Returns all webhooks of the store, oldest first, without their secrets.
     *
     * Scope: `manage_webhooks`.
     */
    list(options?: RequestOptions): Promise<t.ListWebhooksResult>;

    /**
     * Retrieve a webhook. `GET /webhooks/{webhook_id}`
     *
     * Returns the webhook, including whether it is failing or paused, and since when.
     *
     * Scope: `manage_webhooks`.
     */
    retrieve(webhookId: number, options?: RequestOptions): Promise<t.RetrieveWebhookResult>;

    /**
     * Update a webhook. `PUT /webhooks/{webhook_id}`
     *
     * Absent fields keep their values. While a webhook is paused, nothing is sent and no new events are queued for it; read missed events with `GET /events` and redeliver them. Resuming it sends the queued deliveries and clears its failures.
     *
     * Scope: `manage_webhooks`.
     */
    update(
      webhookId: number,
      body?: t.UpdateWebhook,
      options?: ConditionalWriteOptions,
    ): Promise<t.UpdateWebhookResult>;

    /**
     * Delete a webhook. `DELETE /webhooks/{webhook_id}`
     *
     * Deletes the webhook and the log of its deliveries. Queued deliveries are not sent.
     *
     * Scope: `manage_webhooks`.
     */
    delete(webhookId: number, options?: ConditionalWriteOptions): Promise<t.DeleteWebhookResult>;

    /**
     * Rotate a webhook’s secret. `POST /webhooks/{webhook_id}/rotate_secret`
     *
     * Messages carry a signature of the new secret immediately, and also one of the old secret for 24 hours, so that the receiver can switch during that time.
     *
     * Scope: `manage_webhooks`.
     */
    rotateSecret(webhookId: number, options?: ConditionalWriteOptions): Promise<t.RotateWebhookSecretResult>;

    /**
     * Test a webhook. `POST /webhooks/{webhook_id}/test`
     *
     * Sends the event `webhook.test`, whether or not the webhook subscribes to it. Retrieve the delivery to see the result.
     *
     * Scope: `manage_webhooks`.
     */
    test(webhookId: number, options?: WriteOptions): Promise<t.TestWebhookResult>;

    /**
     * List a webhook’s deliveries. `GET /webhooks/{webhook_id}/deliveries`
     *
     * Returns the deliveries of the last 30 days, newest first: `queued`, `retrying`, `delivered`, or `dead` after 72 hours of attempts. `before` and `after` are ids of events.
     *
     * Scope: `manage_webhooks`.
     */
    listDeliveries(
      webhookId: number,
      query?: WebhooksListDeliveriesQuery,
      options?: RequestOptions,
    ): List<t.ListDeliveriesResult, t.Delivery>;

    /**
     * Retrieve a delivery. `GET /webhooks/{webhook_id}/deliveries/{event_id}`
     *
     * Returns the delivery with the log of all its attempts, oldest first.
     *
     * Scope: `manage_webhooks`.
     */
    retrieveDelivery(
      webhookId: number,
      eventId: number,
      options?: RequestOptions,
    ): Promise<t.RetrieveDeliveryResult>;
  };

  readonly testClock: {
    /**
     * Retrieve the test clock. `GET /test_clock`
     *
     * Returns the time of the sandbox, and what its last advance has done. Only a sandbox has this operation: a live service responds 404.
     *
     * Scope: `read_gift_cards`.
     */
    retrieve(options?: RequestOptions): Promise<t.RetrieveTestClockResult>;

    /**
     * Advance the test clock. `POST /test_clock`
     *
     * Moves the time of the sandbox forward, runs everything that becomes due, in order, and responds when it is done: holds and cards expire, scheduled emails and reminders are kept, webhooks are sent and retried, days are closed, and old data is erased. `done` counts it in all stores of the sandbox. A year takes about a minute. The time continues from there. What others check stays the real time: timestamps of webhook signatures, the app proxy’s `timestamp`, sessions, limits, and how long an `Idempotency-Key` is kept. A client that does not wait changes nothing: the advance continues, and if the service ends, its next start continues it. Until it has ended, another advance is a 409. The last `to`, sent again, returns what it has done. Only a sandbox has this operation: a live service responds 404.
     *
     * Scope: `write_gift_cards`.
     */
    advance(body?: t.TestClockAdvance, options?: WriteOptions): Promise<t.AdvanceTestClockResult>;
  };

  readonly service: {
    /**
     * Check health. `GET /healthz`
     *
     * Checks that the process responds, and nothing else.
     */
    health(options?: RequestOptions): Promise<t.HealthResult>;

    /**
     * Check readiness. `GET /readyz`
     *
     * Checks that the database accepts writes, its disk has free space, its schema is current, and no second server of `DATABASE_URL` accepts writes. `details.mail` says how email is sent: `smtp`, `folder` (in development without `SMTP_URL` emails are kept on this machine), or `none: …` with the reason; a service that sends no email is still ready.
     */
    readiness(options?: RequestOptions): Promise<t.ReadinessResult>;

    /**
     * Retrieve metrics. `GET /metrics`
     *
     * Prometheus’s text format. For scrapers on the same machine, at a loopback address or `localhost`, or with `Authorization: Bearer` and the value of `METRICS_TOKEN`, if it is set.
     */
    metrics(options?: RequestOptions): Promise<string>;

    /**
     * Retrieve this description. `GET /openapi.json`
     *
     * OpenAPI 3.1.
     */
    openapi(options?: RequestOptions): Promise<t.OpenapiResult>;
  };
}
