/** The ledger of a gift card. */

import { transactionOf } from '../domain/record.ts';
import { transactionSchema } from '../domain/schemas.ts';
import { listCardTransfers, showTransfer } from '../service/money/movements.ts';
import * as examples from './examples.ts';
import { list, recordsOf } from './list.ts';
import { read } from './operation.ts';

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
