/** The number of gift cards, which the books have if there are many. */

import Type from 'typebox';
import { cardFilters, customerEmail } from '../../../core/cards/api/list-fields.ts';
import { customerIdOf, filterOf } from '../../../core/cards/service/filter.ts';
import { countCards, type CardCount } from '../../../core/cards/service/list.ts';
import { read } from '../../../api/operation.ts';
import { reportRunsTool } from '../service/report-runs.ts';
import { exactCount } from '../service/card-count.ts';

function countBodyOf({ count, isExact }: CardCount) {
  return { count, precision: isExact ? ('exact' as const) : ('at_least' as const) };
}

export const countGiftCards = read({
  id: 'countGiftCards',
  isLong: true,
  path: '/gift_cards/count',
  scopes: ['read_gift_cards'],
  tag: 'Gift cards',
  summary: 'Count gift cards',
  description:
    'Returns the number of gift cards that meet the filters of the list. The count is exact if at most 10,000 cards have to be read, or 2,500 for `state=scheduled` and `email_status`, and for `state=expired` or `state=disabled` alone, if the books of the last days are closed. Otherwise it stops there, and `precision` is `at_least`.',
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
    return { body: countBodyOf(yield* countCards(ctx, { store, filter: filterOf(query, customerId) })) };
  },
  async complete({ store, query, requestContext: { tools, request } }, { body }) {
    // The books have no customers.
    if (query.email !== undefined || !('precision' in body) || body.precision === 'exact') return { body };
    const counted = { count: body.count, isExact: false };
    const filter = filterOf(query, null);
    return {
      body: countBodyOf(
        await exactCount(tools.of(reportRunsTool), { store, signal: request.signal }, { filter, counted }),
      ),
    };
  },
});
