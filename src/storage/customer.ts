/** Customers: known by their e-mail address, one each a store. */

import assert from 'node:assert/strict';
import type { Context } from '../context.ts';
import type { CustomerAccount } from '../domain/customer.ts';
import type { EmailAddress } from '../domain/email.ts';
import { first, sql, together, toNumber, toNumberOrNull, type Script } from './sql.ts';

type CustomerRow = {
  readonly id: bigint;
  readonly email: string;
  readonly storefront_customer_id: bigint | null;
  readonly created_at: bigint;
};

function toCustomer(row: CustomerRow): CustomerAccount {
  return {
    id: toNumber(row.id),
    email: row.email,
    storefrontCustomerId: toNumberOrNull(row.storefront_customer_id),
    createdAt: toNumber(row.created_at),
  };
}

export function* findCustomer(storeId: number, id: number): Script<CustomerAccount | undefined> {
  const row = yield* first(sql<CustomerRow>`
    select id, email, storefront_customer_id, created_at from customers
    where store_id = ${storeId} and id = ${id}`);
  return row && toCustomer(row);
}

export function* findCustomerByEmail(
  storeId: number,
  { key }: EmailAddress,
): Script<CustomerAccount | undefined> {
  const row = yield* first(sql<CustomerRow>`
    select id, email, storefront_customer_id, created_at from customers
    where store_id = ${storeId} and email_key = ${key}`);
  return row && toCustomer(row);
}

/** The id of the customer who has this id on the storefront. */
export function* findLinkedCustomerId(
  storeId: number,
  storefrontCustomerId: number,
): Script<number | undefined> {
  const row = yield* first(sql<{ id: bigint }>`
    select id from customers where store_id = ${storeId} and storefront_customer_id = ${storefrontCustomerId}`);
  return row && toNumber(row.id);
}

/**
 * Sets or clears the storefront's id of a customer. The unique key decides where two customers race for one id.
 * @returns false if the customer does not exist, or another customer has the id.
 */
export function* setStorefrontCustomerId(
  storeId: number,
  id: number,
  storefrontCustomerId: number | null,
): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    update customers set storefront_customer_id = ${storefrontCustomerId}
    where store_id = ${storeId} and id = ${id} and not exists (
      select 1 from customers other
      where other.store_id = ${storeId} and other.storefront_customer_id = ${storefrontCustomerId ?? 0}
        and other.id <> ${id})
    returning id`);
  return row !== undefined;
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
): Script<{ readonly customer: CustomerAccount; readonly isNew: boolean }> {
  const [inserted, customer] = yield* together(
    first(sql<{ id: bigint }>`
      insert into customers (store_id, id, email, email_key, created_at)
      values (${storeId}, ${ctx.chance.id()}, ${address.address}, ${address.key}, ${ctx.clock.now()})
      on conflict (store_id, email_key) do nothing
      returning id`),
    findCustomerByEmail(storeId, address),
  );
  assert(customer, 'a customer is neither there nor inserted');
  return { customer, isNew: inserted !== undefined };
}
