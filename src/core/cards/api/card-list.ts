/** Lists of gift cards, and the details of one card. */

import Type, { type Static } from 'typebox';
import type { Context } from '../../storage/context.ts';
import { detailRecordOf } from '../domain/record.ts';
import { detailGiftCardSchema, listedGiftCardSchema, type DetailRecord } from '../domain/schemas.ts';
import type { Store } from '../../stores/domain/store.ts';
import { cardEtagOf } from '../../../http/etag.ts';
import type { RequestContext } from '../../../http/request-context.ts';
import { cardCursorOf, customerIdOf, filterOf, readCardCursor, sorts } from '../service/filter.ts';
import { listCards, showCardDetails } from '../service/list.ts';
import type { CursorScope } from '../../requests/service/cursor.ts';
import { cardAt, listCardsAt } from '../service/past-card.ts';
import { today } from '../../stores/service/day.ts';
import { showCustomer } from '../../customers/service/customer.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { asOf, recordedFromHeader } from './as-of.ts';
import { nextLink, nextCursorSchema } from '../../../api/cursor.ts';
import * as examples from '../../../api/examples.ts';
import type { Values } from '../../../api/field.ts';
import { limitDefault } from '../../../api/list.ts';
import { cardFilters, cardPage, customerEmail } from './list-fields.ts';
import { read } from '../../../api/operation.ts';

/** The page of a list, at present or at an instant in the past. */
const pageQuery = { ...cardPage, as_of: asOf };

type SentFilters = Values<typeof cardFilters>;
type SentPage = Values<typeof pageQuery>;

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
  const after = cursor === undefined ? null : readCardCursor(ctx, scope, cursor);
  const command = { store, filter, sort: sorts[sortName], after, limit };
  const past = instant === undefined ? null : yield* listCardsAt(ctx, command, instant);
  const { cards, next } = past ?? (yield* listCards(ctx, command));
  const nextCursor = next && cardCursorOf(ctx, scope, next);
  const day = past?.today ?? today(ctx, store);
  return {
    body: {
      gift_cards: cards.map(({ card, emailStatus }) =>
        withFields(detailRecordOf(publicIds, card, { today: day, emailStatus }), fields),
      ),
      next_cursor: nextCursor,
    },
    headers: { ...nextLink(requestContext, nextCursor), ...(past && recordedFromHeader(past.cards, past)) },
  };
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
  members: { gift_cards: Type.Array(listedGiftCardSchema), next_cursor: nextCursorSchema },
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
