/** Customers, unique by email address within a store. */

import type { Context } from '../../storage/context.ts';
import type { CustomerAccount } from '../domain/customer.ts';
import type { EmailAddress } from '../../domain/email-address.ts';
import { columns, integer, integerOrNull, text, type RowOf } from '../../../database/sql/columns.ts';
import {
  all,
  first,
  sql,
  parallel,
  RetryTransaction,
  toNumber,
  type Script,
} from '../../../database/sql/sql.ts';
import { forKeyShare } from '../../../database/sql/fragments.ts';

const customers = columns({
  id: integer('id'),
  email: text('email'),
  storefront_customer_id: integerOrNull('storefrontCustomerId'),
  created_at: integer('createdAt'),
});

type CustomerRow = RowOf<typeof customers>;

const toCustomer: (row: CustomerRow) => CustomerAccount = customers.read;

/** Returns undefined also for an erased customer. */
export function* findCustomer(storeId: number, id: number): Script<CustomerAccount | undefined> {
  const row = yield* first(sql<CustomerRow>`
    select ${customers.names} from customers
    where store_id = ${storeId} and id = ${id} and erased_at is null`);
  return row && toCustomer(row);
}

export function* findCustomerByEmail(
  storeId: number,
  { key }: EmailAddress,
): Script<CustomerAccount | undefined> {
  const row = yield* first(sql<CustomerRow>`
    select ${customers.names} from customers
    where store_id = ${storeId} and email_key = ${key}`);
  return row && toCustomer(row);
}

/** Returns the customers with ids below `before`, newest first. */
export function* listCustomersBefore(
  storeId: number,
  { before, limit }: { readonly before: number; readonly limit: number },
): Script<readonly CustomerAccount[]> {
  const rows = yield* all(sql<CustomerRow>`
    select ${customers.names} from customers
    where store_id = ${storeId} and id < ${before} and erased_at is null order by id desc limit ${limit}`);
  return rows.map(toCustomer);
}

/** Returns the id of the customer with this storefront customer id. */
export function* findLinkedCustomerId(
  storeId: number,
  storefrontCustomerId: number,
): Script<number | undefined> {
  const row = yield* first(sql<{ id: bigint }>`
    select id from customers where store_id = ${storeId} and storefront_customer_id = ${storefrontCustomerId}`);
  return row && toNumber(row.id);
}

/**
 * Sets or clears a customer's storefront id. If two transactions set the same id, the unique index rejects one.
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

/** Finds a customer as `findCustomerByEmail` does. The customer is not erased until the transaction ends. */
function* lockCustomerByEmail(storeId: number, { key }: EmailAddress): Script<CustomerAccount | undefined> {
  const row = yield* first(sql<CustomerRow>`
    select ${customers.names} from customers
    where store_id = ${storeId} and email_key = ${key} ${forKeyShare}`);
  return row && toCustomer(row);
}

/** A customer, and whether this transaction has created it. */
export type ResolvedCustomer = { readonly customer: CustomerAccount; readonly isNew: boolean };

/**
 * Returns the customer with an address, and creates it if it does not exist. Concurrent transactions create one
 * customer: the insert waits for a concurrent insert of the same address, and the select runs after the insert.
 */
export function* findOrInsertCustomer(
  ctx: Context,
  storeId: number,
  address: EmailAddress,
): Script<ResolvedCustomer> {
  const account: CustomerAccount = {
    id: ctx.random.id(),
    email: address.address,
    storefrontCustomerId: null,
    createdAt: ctx.clock.now(),
  };
  const [inserted, customer] = yield* parallel(
    first(sql<{ id: bigint }>`
      insert into customers (store_id, ${customers.names}, email_key)
      values (${storeId}, ${customers.values(account)}, ${address.key})
      on conflict (store_id, email_key) do nothing
      returning id`),
    lockCustomerByEmail(storeId, address),
  );
  if (!customer) throw new RetryTransaction('the customer was erased');
  return { customer, isNew: inserted !== undefined };
}
