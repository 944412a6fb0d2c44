/** Customers: known by their e-mail address, one each a store. */

import assert from 'node:assert/strict';
import type { Context } from '../context.ts';
import type { Customer } from '../domain/card.ts';
import type { EmailAddress } from '../domain/email.ts';
import { first, sql, together, toNumber, type Script } from './sql.ts';

type CustomerRow = { readonly id: bigint; readonly email: string };

function toCustomer({ id, email }: CustomerRow): Customer {
  return { id: toNumber(id), email };
}

export function* findCustomer(storeId: number, { key }: EmailAddress): Script<Customer | undefined> {
  const row = yield* first(sql<CustomerRow>`
    select id, email from customers where store_id = ${storeId} and email_key = ${key}`);
  return row && toCustomer(row);
}

/**
 * The customer of an address, made if there is none yet. However many transactions race, the
 * unique key lets one of them insert, and the others find what it inserted: the look comes behind
 * the insertion, which waits for whoever is just inserting the same.
 */
export function* findOrInsertCustomer(
  ctx: Context,
  storeId: number,
  address: EmailAddress,
): Script<{ readonly customer: Customer; readonly isNew: boolean }> {
  const [inserted, customer] = yield* together(
    first(sql<{ id: bigint }>`
      insert into customers (store_id, id, email, email_key, created_at)
      values (${storeId}, ${ctx.chance.id()}, ${address.address}, ${address.key}, ${ctx.clock.now()})
      on conflict (store_id, email_key) do nothing
      returning id`),
    findCustomer(storeId, address),
  );
  assert(customer, 'a customer is neither there nor inserted');
  return { customer, isNew: inserted !== undefined };
}
