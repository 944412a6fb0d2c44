/** Lists of gift cards, and the details of one card. */

import Type, { type Static } from 'typebox';
import type { Context } from '../context.ts';
import type { EmailAddress } from '../domain/email-address.ts';
import { FieldErrors, Fault } from '../domain/fault.ts';
import { detailRecordOf } from '../domain/record.ts';
import { detailGiftCardSchema, listedGiftCardSchema, type DetailRecord } from '../domain/schemas.ts';
import type { Store } from '../domain/store.ts';
import { lowerLetters, searchedTag } from '../domain/tags.ts';
import { cardEtagOf } from '../http/etag.ts';
import type { RequestContext } from '../http/request-context.ts';
import { countCards, listCards, showCardDetails } from '../service/card-list.ts';
import { cardAt, listCardsAt } from '../service/past-card.ts';
import { today } from '../service/money.ts';
import { showCustomer } from '../service/customer.ts';
import type { CardFilter, CardPosition, Range } from '../storage/card-list.ts';
import { findCustomerByEmail } from '../storage/customer.ts';
import type { Script } from '../storage/sql.ts';
import { asOf, recordedFromHeader } from './as-of.ts';
import { cursorOf, nextLink, nextCursorSchema, readCursor, type CursorScope } from './cursor.ts';
import * as examples from './examples.ts';
import type { Values } from './field.ts';
import { limitDefault } from './list.ts';
import { cardFilters, cardPage, customerEmail, sorts } from './list-fields.ts';
import { read } from './operation.ts';

/** The page of a list, at present or at an instant in the past. */
const pageQuery = { ...cardPage, as_of: asOf };

type SentFilters = Values<typeof cardFilters>;
type SentPage = Values<typeof pageQuery>;

/**
 * The range between two ends, of which one can be absent; null if both are.
 * @throws Fault `invalid-query` if the first is after the second.
 */
function rangeOf<T extends string | number | bigint>(
  name: string,
  { min, max }: { readonly min: T | undefined; readonly max: T | undefined },
  widest: Range<T>,
): Range<T> | null {
  if (min === undefined && max === undefined) return null;
  if (min !== undefined && max !== undefined && min > max) {
    const errors = new FieldErrors();
    errors.add(`${name}_max`, `must not be less than ${name}_min`);
    throw new Fault('invalid-query', { errors: errors.toErrors() });
  }
  return { min: min ?? widest.min, max: max ?? widest.max };
}

const allInstants = { min: -8_640_000_000_000_000, max: 8_640_000_000_000_000 };
const allDays = { min: '0000-01-01', max: '9999-12-31' };
const allAmounts = { min: 0n, max: 2n ** 63n - 1n };

/** @throws Fault `invalid-query` if an end of a range is after the other one. */
function filterOf(sent: SentFilters, customerId: number | null): CardFilter {
  const { created_at_min, created_at_max, disabled_at_min, disabled_at_max } = sent;
  return {
    state: sent.state ?? null,
    emailStatus: sent.email_status ?? null,
    customerId,
    createdAt: rangeOf('created_at', { min: created_at_min, max: created_at_max }, allInstants),
    disabledAt: rangeOf('disabled_at', { min: disabled_at_min, max: disabled_at_max }, allInstants),
    expiresOn: rangeOf('expires_on', { min: sent.expires_on_min, max: sent.expires_on_max }, allDays),
    balance: rangeOf('balance', { min: sent.balance_min?.minor, max: sent.balance_max?.minor }, allAmounts),
    orderId: sent.order_id ?? null,
    lastCharacters: sent.last_characters ?? null,
    note: sent.note === undefined ? null : lowerLetters(sent.note),
    tag: sent.tag === undefined ? null : searchedTag(sent.tag),
  };
}

/** The id of the customer with an address: 0, which no customer has, if there is none; null without an address. */
function* customerIdOf(storeId: number, address: EmailAddress | undefined): Script<number | null> {
  if (!address) return null;
  return (yield* findCustomerByEmail(storeId, address))?.id ?? 0;
}

type ListRequest = {
  readonly ctx: Context;
  readonly store: Store;
  readonly requestContext: RequestContext;
  readonly query: SentFilters & SentPage;
};

function* pageOf(
  { ctx, store, requestContext, query }: ListRequest,
  customerId: number | null,
): Script<{
  readonly body: {
    readonly gift_cards: Static<typeof listedGiftCardSchema>[];
    readonly next_cursor: string | null;
  };
  readonly headers: { readonly link?: string; readonly 'recorded-from'?: string };
}> {
  const { sort: sortName = '-created_at', limit = limitDefault, cursor, fields, as_of: instant } = query;
  const filter = filterOf(query, customerId);
  const { publicIds } = ctx.keys;
  const scope: CursorScope = ['gift_cards', store.id, sortName, filter, instant];
  const after = cursor === undefined ? null : positionIn(ctx, scope, cursor);
  const command = { store, filter, sort: sorts[sortName], after, limit };
  const past = instant === undefined ? null : yield* listCardsAt(ctx, command, instant);
  const { cards, next } = past ?? (yield* listCards(ctx, command));
  const nextCursor = next && cursorOf(ctx, scope, contentOf(ctx, next));
  const day = past?.today ?? today(ctx, store);
  return {
    body: {
      gift_cards: cards.map(({ card, emailStatus }) =>
        withFields(detailRecordOf(publicIds, card, { today: day, emailStatus }), fields),
      ),
      next_cursor: nextCursor,
    },
    headers: {
      ...nextLink(requestContext, nextCursor),
      ...(past && recordedFromHeader(past.cards, past)),
    },
  };
}

/** The position before the cards that never expire has no card. */
function contentOf({ keys }: Context, { id, balance, expiresOn }: CardPosition) {
  return [id === 0 ? 0 : keys.publicIds.of(id), balance.toString(), expiresOn];
}

function positionIn(ctx: Context, scope: CursorScope, text: string): CardPosition {
  // The cursor has what `contentOf` returned.
  const [publicId, balance, expiresOn] = readCursor(ctx, scope, text) as [number, string, string | null];
  return { id: ctx.keys.publicIds.read(publicId) ?? 0, balance: BigInt(balance), expiresOn };
}

function withFields(
  record: DetailRecord,
  fields: readonly (keyof DetailRecord)[] | undefined,
): Partial<DetailRecord> {
  if (!fields) return record;
  return Object.fromEntries(fields.map((name) => [name, record[name]]));
}

const cardList = {
  description: 'A page of gift cards.',
  members: {
    gift_cards: Type.Array(listedGiftCardSchema),
    next_cursor: nextCursorSchema,
  },
  example: { gift_cards: [examples.detailedCard], next_cursor: examples.exampleCursor },
  headers: ['Link', 'Recorded-From'] as const,
};

const pagesText =
  'All filters can be combined. The service reads a bounded number of cards for one page, so a page can have fewer cards than `limit`, or none, and still have a next page: continue until `next_cursor` is null. Cards that are issued between two pages do not shift the others; a card whose balance or expiry changes can move to another page of a list that is sorted by it. With `as_of`, the filters apply to the cards as they were then, the only order is that of creation, and the service compares at most 150 cards for one page.';

export const listGiftCards = read({
  id: 'listGiftCards',
  isLong: true,
  path: '/gift_cards',
  scopes: ['read_gift_cards'],
  tag: 'Gift cards',
  summary: 'List gift cards',
  description: `Returns the store’s gift cards, newest first, each with everything except its code. ${pagesText}`,
  query: { ...cardFilters, email: customerEmail, ...pageQuery },
  response: cardList,
  errors: [],
  sample: { query: 'state=active&balance_min=10.00&limit=50' },
  *run(request) {
    return yield* pageOf(request, yield* customerIdOf(request.store.id, request.query.email));
  },
});

export const countGiftCards = read({
  id: 'countGiftCards',
  isLong: true,
  path: '/gift_cards/count',
  scopes: ['read_gift_cards'],
  tag: 'Gift cards',
  summary: 'Count gift cards',
  description:
    'Returns the number of gift cards that meet the filters of the list. The count is exact if at most 10,000 cards have to be read, or 2,500 for `state=scheduled` and `email_status`; otherwise it stops there, and `precision` is `at_least`.',
  query: { ...cardFilters, email: customerEmail },
  response: {
    description: 'The number of gift cards.',
    members: {
      count: Type.Integer({ minimum: 0, description: 'The number of cards that were found.' }),
      precision: Type.Enum(['exact', 'at_least'], {
        description: '`at_least`: there can be more cards than `count`.',
      }),
    },
    example: { count: 128, precision: 'exact' },
  },
  errors: [],
  sample: { query: 'state=active' },
  *run({ ctx, store, query }) {
    const customerId = yield* customerIdOf(store.id, query.email);
    const { count, isExact } = yield* countCards(ctx, { store, filter: filterOf(query, customerId) });
    return { body: { count, precision: isExact ? ('exact' as const) : ('at_least' as const) } };
  },
});

export const retrieveGiftCardDetails = read({
  id: 'retrieveGiftCardDetails',
  path: '/gift_cards/:gift_card_id',
  scopes: ['read_gift_cards'],
  tag: 'Gift cards',
  summary: 'Retrieve a gift card’s details',
  description:
    'Returns the record of the gift card, and also its state, the held and available amounts, the status of its email, names and tags. The `ETag` is that of the card. It does not change when an email is delivered or the card expires, so such a response is never a 304. With `as_of`, the card is as it was then: 404 if it did not exist yet; the `ETag` matches no version; texts that were erased since are null; emails that were deleted since do not count.',
  query: { as_of: asOf },
  response: {
    description: 'The gift card.',
    members: { gift_card: detailGiftCardSchema },
    example: { gift_card: examples.detailedCard },
    headers: ['ETag', 'Recorded-From'],
  },
  isConditional: true,
  errors: ['not-found'],
  *run({ ctx, store, ids, query }) {
    const { publicIds } = ctx.keys;
    if (query.as_of !== undefined) {
      const past = yield* cardAt(store, ids.gift_card_id, query.as_of);
      return {
        body: { gift_card: detailRecordOf(publicIds, past.card, past) },
        headers: {
          etag: cardEtagOf(publicIds, { ...past.card, version: 0 }),
          ...recordedFromHeader([past], past),
        },
        isVolatile: true,
      };
    }
    const found = yield* showCardDetails(ctx, { storeId: store.id, cardId: ids.gift_card_id });
    const { card, emailStatus, expiredHeld } = found;
    const gift_card = detailRecordOf(publicIds, card, { today: today(ctx, store), emailStatus });
    return {
      body: { gift_card },
      headers: { etag: cardEtagOf(publicIds, card) },
      // None of these changes is a new version of the card.
      isVolatile: gift_card.state === 'expired' || expiredHeld > 0n || emailStatus !== 'none',
    };
  },
});

export const listCustomerGiftCards = read({
  id: 'listCustomerGiftCards',
  isLong: true,
  path: '/customers/:customer_id/gift_cards',
  scopes: ['read_gift_cards'],
  tag: 'Customers',
  summary: 'List a customer’s gift cards',
  description: `Returns the gift cards of which the customer is the customer or the recipient, newest first. ${pagesText}`,
  query: { ...cardFilters, ...pageQuery },
  response: cardList,
  errors: ['not-found'],
  sample: { query: 'state=active' },
  *run(request) {
    const { id } = yield* showCustomer(request.store.id, request.ids.customer_id);
    return yield* pageOf(request, id);
  },
});
