/** The ledger of a gift card. */

import Type from 'typebox';
import { transactionOf } from '../../cards/domain/record.ts';
import { transactionSchema } from '../../cards/domain/schemas.ts';
import { transferKinds } from '../domain/ledger.ts';
import { pageOfTransfers } from '../service/lists.ts';
import { listCardTransfers, showTransfer } from '../service/movements.ts';
import * as examples from '../../../api/examples.ts';
import { nextCursorSchema, nextLink } from '../../../api/cursor.ts';
import { limitDefault, list, recordsOf } from '../../../api/list.ts';
import { choice } from '../../cards/api/list-fields.ts';
import { movementFilters } from './movement-fields.ts';
import { read } from '../../../api/operation.ts';

export const listTransactions = list({
  id: 'listTransactions',
  path: '/gift_card/:gift_card_id/transactions',
  scopes: ['read_gift_cards'],
  tag: 'History',
  summary: 'List a gift card’s transactions',
  description: 'Returns the card’s entries in the ledger, newest first. `Link` has the neighboring pages.',
  member: 'transactions',
  record: transactionSchema,
  example: examples.transaction,
  responseDescription: 'A page of transactions.',
  cursor: { isPublic: true, of: ({ id }) => id },
  errors: ['not-found'],
  sample: { query: 'limit=50' },
  *page({ ctx, store, ids }, page) {
    const found = yield* listCardTransfers({ storeId: store.id, cardId: ids.gift_card_id }, page);
    return recordsOf(found, (transfer) => transactionOf(ctx.keys.publicIds, transfer));
  },
});

const boundedText =
  'All filters can be combined. The service reads a bounded number of rows for one page, so a page can be short, or empty, and still have a next page: continue until `next_cursor` is null. A text that was erased is not found.';

export const listStoreTransactions = read({
  id: 'listStoreTransactions',
  isLong: true,
  path: '/transactions',
  scopes: ['read_gift_cards'],
  tag: 'History',
  summary: 'List transactions',
  description: `Returns the entries in the ledger of all cards, newest first. ${boundedText}`,
  query: { kind: choice(transferKinds, 'Only transactions of this kind.', 'debit'), ...movementFilters },
  response: {
    description: 'A page of transactions.',
    members: { transactions: Type.Array(transactionSchema), next_cursor: nextCursorSchema },
    example: { transactions: [examples.transaction], next_cursor: examples.exampleCursor },
    headers: ['Link'],
  },
  errors: [],
  sample: { query: 'order_reference=B-1017' },
  *run({ ctx, store, query, requestContext }) {
    const { cursor, limit = limitDefault, ...sent } = query;
    const { items, nextCursor } = yield* pageOfTransfers(ctx, { store, sent, cursor, limit });
    return {
      body: {
        transactions: items.map((transfer) => transactionOf(ctx.keys.publicIds, transfer)),
        next_cursor: nextCursor,
      },
      headers: nextLink(requestContext, nextCursor),
    };
  },
});

export const retrieveTransaction = read({
  id: 'retrieveTransaction',
  path: '/transactions/:transaction_id',
  scopes: ['read_gift_cards'],
  tag: 'History',
  summary: 'Retrieve a transaction',
  description: 'Returns one entry of the ledger.',
  response: {
    description: 'The transaction.',
    members: { transaction: transactionSchema },
    example: { transaction: examples.transaction },
  },
  errors: ['not-found'],
  *run({ ctx, store, ids }) {
    const transfer = yield* showTransfer(store.id, ids.transaction_id);
    return { body: { transaction: transactionOf(ctx.keys.publicIds, transfer) } };
  },
});
