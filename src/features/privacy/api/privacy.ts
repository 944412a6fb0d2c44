/** The personal data of customers: export and erase it. */

import { Readable } from 'node:stream';
import { erasureRecordOf } from '../domain/erasure-record.ts';
import { erasureSchema } from '../../../core/customers/domain/customer-schemas.ts';
import { showCustomer } from '../../../core/customers/service/customer.ts';
import { customerExport } from '../service/export.ts';
import { showErasure, startErasure } from '../service/erasure.ts';
import * as examples from '../../../api/examples.ts';
import * as fields from '../../../core/cards/api/fields.ts';
import { read, write } from '../../../api/operation.ts';
import { stream } from '../../../api/operation-stream.ts';

const oneErasure = {
  description: 'The erasure, and what it has erased so far.',
  members: { erasure: erasureSchema },
  example: { erasure: examples.erasure },
};

export const exportCustomer = stream({
  id: 'exportCustomer',
  path: '/customers/:customer_id/export',
  scopes: ['manage_customers'],
  tag: 'Customers',
  summary: 'Export a customer',
  description:
    'Returns everything that is stored about the customer as one JSON document: the customer, the gift cards that they bought or received, each with the time at which its page was first opened (`viewed_at`), its transactions, holds and the emails to this customer, the online sales, and the events that mention them. No code is included. The response is streamed: check that it ends, because an error after its first byte closes the connection. A gift card can also contain the address of another person.',
  query: {},
  response: {
    description: 'The document, with the members `customer`, `gift_cards`, `online_sales` and `events`.',
    type: 'application/json',
    example: JSON.stringify({ customer: examples.customer, gift_cards: [], online_sales: [], events: [] }),
  },
  errors: ['not-found'],
  async open({ ctx, storage, caller, request }, _query, { customer_id: customerId }) {
    const { store } = caller;
    // An unknown customer is rejected here, while an error response is possible.
    await storage.read(() => showCustomer(store.id, customerId));
    const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
    const parts = request.method === 'HEAD' ? [] : customerExport({ ctx, storage, store }, customerId);
    return { status: 200, headers, stream: Readable.from(parts) };
  },
});

export const eraseCustomer = write({
  id: 'eraseCustomer',
  method: 'POST',
  path: '/customers/:customer_id/erase',
  scopes: ['manage_customers'],
  tag: 'Customers',
  summary: 'Erase a customer',
  description:
    'Erases the customer’s personal data, which cannot be undone: the email address, the storefront id, the messages of their gift cards, emails, webhook responses, and their data in events. The money stays: balances, transactions and reports do not change. The customer is immediately no longer found, and the same address becomes a new customer. The rest is erased in the background: `GET …/erasure` returns the progress. Each gift card of the customer gets a new version and a `gift_card.updated` event; at the end, `customer.erased` is published, so that subscribers can erase their copies. Emails that were not sent are cancelled: `unsent_gift_card_ids` lists gift cards whose code was not sent. A repeated request returns the same erasure.',
  body: {
    name: 'EraseCustomer',
    wrapper: 'customer',
    fields: { erase_notes: fields.eraseNotes },
    example: { erase_notes: true },
  },
  response: { ...oneErasure, status: 202 },
  errors: ['not-found'],
  *run({ ctx, caller, store, ids, body: { erase_notes: eraseNotes = false } }) {
    const erasure = yield* startErasure(ctx, {
      storeId: store.id,
      customerId: ids.customer_id,
      eraseNotes,
      actor: caller.actor,
    });
    return { body: { erasure: erasureRecordOf(ctx.keys.publicIds, erasure) } };
  },
});

export const retrieveErasure = read({
  id: 'retrieveErasure',
  path: '/customers/:customer_id/erasure',
  scopes: ['manage_customers'],
  tag: 'Customers',
  summary: 'Retrieve an erasure',
  description: 'Returns the erasure of the customer and its progress.',
  response: oneErasure,
  errors: ['not-found'],
  *run({ ctx, store, ids }) {
    const erasure = yield* showErasure({ storeId: store.id, customerId: ids.customer_id });
    return { body: { erasure: erasureRecordOf(ctx.keys.publicIds, erasure) } };
  },
});
