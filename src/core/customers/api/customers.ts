/** Customers and their ids on the storefront. */

import Type from 'typebox';
import { customerRecordOf, type CustomerAccount } from '../domain/customer.ts';
import { FieldErrors } from '../../domain/fault.ts';
import type { PublicIds } from '../../../platform/public-id.ts';
import { customerSchema } from '../domain/customer-schemas.ts';
import { linkCustomer, pageOfCustomers, showCustomer } from '../service/customer.ts';
import { cursorOf, readCursor, type CursorScope } from '../../requests/service/cursor.ts';
import { cursor, nextLink, nextCursorSchema } from '../../../api/cursor.ts';
import * as examples from '../../../api/examples.ts';
import { echoed } from '../../../api/field.ts';
import * as fields from '../../cards/api/fields.ts';
import { limit, limitDefault } from '../../../api/list.ts';
import { read, write } from '../../../api/operation.ts';

const oneCustomer = {
  description: 'The customer.',
  members: { customer: customerSchema },
  example: { customer: examples.customer },
};

function customerResult(publicIds: PublicIds, customer: CustomerAccount) {
  return { body: { customer: customerRecordOf(publicIds, customer) } };
}

export const listCustomers = read({
  id: 'listCustomers',
  isLong: true,
  path: '/customers',
  scopes: ['read_gift_cards'],
  tag: 'Customers',
  summary: 'List customers',
  description:
    'Returns the store’s customers, newest first. Continue with `next_cursor` until it is null. Customers who are created between two pages do not shift the others.',
  query: { email: fields.customersEmail, limit, cursor },
  response: {
    description: 'A page of customers.',
    members: { customers: Type.Array(customerSchema), next_cursor: nextCursorSchema },
    example: { customers: [examples.customer], next_cursor: null },
    headers: ['Link'],
  },
  errors: [],
  sample: { query: 'email=ada@example.com' },
  *run({ ctx, store, query, requestContext }) {
    const { publicIds } = ctx.keys;
    const scope: CursorScope = ['customers', store.id, query.email?.key ?? null];
    const [sent] = query.cursor === undefined ? [null] : readCursor(ctx, scope, query.cursor);
    const { customers, hasMore } = yield* pageOfCustomers(store.id, {
      address: query.email ?? null,
      before: typeof sent === 'number' ? (publicIds.read(sent) ?? null) : null,
      limit: query.limit ?? limitDefault,
    });
    const last = customers.at(-1);
    const nextCursor = last && hasMore ? cursorOf(ctx, scope, [publicIds.of(last.id)]) : null;
    return {
      body: {
        customers: customers.map((customer) => customerRecordOf(publicIds, customer)),
        next_cursor: nextCursor,
      },
      headers: nextLink(requestContext, nextCursor),
    };
  },
});

export const retrieveCustomer = read({
  id: 'retrieveCustomer',
  path: '/customers/:customer_id',
  scopes: ['read_gift_cards'],
  tag: 'Customers',
  summary: 'Retrieve a customer',
  description: 'Returns the customer of this store with the id.',
  response: oneCustomer,
  errors: ['not-found'],
  *run({ ctx, store, ids }) {
    return customerResult(ctx.keys.publicIds, yield* showCustomer(store.id, ids.customer_id));
  },
});

export const updateCustomer = write({
  id: 'updateCustomer',
  method: 'PUT',
  path: '/customers/:customer_id',
  scopes: ['write_gift_cards'],
  tag: 'Customers',
  summary: 'Update a customer',
  description:
    'Sets the customer’s id on the storefront, or clears it with null. The app proxy signs that id as `logged_in_customer_id`: a signed-in customer can search for their own cards, if the store allows it. An id belongs to one customer of the store.',
  body: {
    name: 'UpdateCustomer',
    wrapper: 'customer',
    fields: {
      storefront_customer_id: fields.storefrontCustomerId,
      id: echoed('id'),
      email: echoed('email'),
      created_at: echoed('created_at'),
    },
    example: { storefront_customer_id: examples.customer.storefront_customer_id },
  },
  response: { ...oneCustomer, status: 200 },
  errors: ['not-found'],
  *run({ ctx, store, ids, body }) {
    const { publicIds } = ctx.keys;
    const customer = yield* showCustomer(store.id, ids.customer_id);
    const { storefront_customer_id: linked = customer.storefrontCustomerId, ...readOnly } = body;
    assertUnchanged(readOnly, customerRecordOf(publicIds, customer));
    return customerResult(publicIds, yield* linkCustomer(store.id, customer, linked));
  },
});

/** @throws Fault `invalid-parameter` if a read-only field was sent with another value than the current one. */
function assertUnchanged(
  sent: Readonly<Record<string, unknown>>,
  current: Readonly<Record<string, unknown>>,
): void {
  const errors = new FieldErrors();
  for (const [name, value] of Object.entries(sent)) {
    if (value !== current[name]) errors.add(name, 'cannot be changed');
  }
  errors.throwIfAny();
}
