/** Customers and their ids on the storefront. */

import type { Context } from '../../storage/context.ts';
import type { Customer } from '../../cards/domain/card.ts';
import type { CustomerAccount } from '../domain/customer.ts';
import type { EmailAddress } from '../../domain/email-address.ts';
import { customerCreatedEvent } from '../../events/domain/event.ts';
import { Fault } from '../../domain/fault.ts';
import {
  findCustomer,
  findCustomerByEmail,
  findLinkedCustomerId,
  findOrInsertCustomer,
  listCustomersBefore,
  setStorefrontCustomerId,
  type ResolvedCustomer,
} from '../storage/customer.ts';
import { recordEvent } from '../../events/storage/event.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';

const taken = 'is taken';
const alreadyLinked = 'cannot replace the one that the customer already has';

/** @throws Fault `not-found`. */
export function* showCustomer(storeId: number, id: number): Script<CustomerAccount> {
  const customer = yield* findCustomer(storeId, id);
  if (!customer) throw new Fault('not-found');
  return customer;
}

/**
 * The store's customers, newest first; with an address, only its customer.
 * @param before the id before which the page begins; null: the first page.
 * @returns at most `limit` customers, and whether there are more.
 */
export function* pageOfCustomers(
  storeId: number,
  {
    address,
    before,
    limit,
  }: { readonly address: EmailAddress | null; readonly before: number | null; readonly limit: number },
): Script<{ readonly customers: readonly CustomerAccount[]; readonly hasMore: boolean }> {
  if (address) {
    const found = yield* findCustomerByEmail(storeId, address);
    return { customers: found && (before === null || found.id < before) ? [found] : [], hasMore: false };
  }
  const found = yield* listCustomersBefore(storeId, {
    before: before ?? Number.MAX_SAFE_INTEGER,
    limit: limit + 1,
  });
  return { customers: found.slice(0, limit), hasMore: found.length > limit };
}

/** @throws Fault `not-found`. */
export function* showCustomerByEmail(storeId: number, address: EmailAddress): Script<CustomerAccount> {
  const customer = yield* findCustomerByEmail(storeId, address);
  if (!customer) throw new Fault('not-found', { detail: `there is no customer ${address.address}` });
  return customer;
}

/** Publishes a customer that this transaction has created. */
export function* recordIfNewCustomer(
  ctx: Context,
  storeId: number,
  { customer, isNew }: ResolvedCustomer,
): Script<Customer> {
  if (isNew) yield* recordEvent(ctx, customerCreatedEvent(ctx.keys.publicIds, storeId, customer));
  return { id: customer.id, email: customer.email };
}

/** The customer with an address, who is created and published if there is none. */
export function* findOrRecordCustomer(
  ctx: Context,
  storeId: number,
  address: EmailAddress,
): Script<Customer> {
  return yield* recordIfNewCustomer(ctx, storeId, yield* findOrInsertCustomer(ctx, storeId, address));
}

/**
 * Sets the storefront's id of a customer, or clears it with null.
 * @throws Fault `invalid-parameter` if another customer has it.
 */
export function* linkCustomer(
  storeId: number,
  customer: CustomerAccount,
  storefrontCustomerId: number | null,
): Script<CustomerAccount> {
  if (customer.storefrontCustomerId === storefrontCustomerId) return customer;
  if (!(yield* setStorefrontCustomerId(storeId, customer.id, storefrontCustomerId)))
    throw new Fault('invalid-parameter', { errors: { storefront_customer_id: [taken] } });
  return { ...customer, storefrontCustomerId };
}

/**
 * Links the customer of a new card. An existing link is never replaced.
 * @returns the linked customer, or the error message.
 */
export function* linkNewCustomer(
  storeId: number,
  customer: CustomerAccount,
  storefrontCustomerId: number,
): Script<CustomerAccount | string> {
  const present = customer.storefrontCustomerId;
  if (present === storefrontCustomerId) return customer;
  if (present !== null) return alreadyLinked;
  const isLinked = yield* setStorefrontCustomerId(storeId, customer.id, storefrontCustomerId);
  return isLinked ? { ...customer, storefrontCustomerId } : taken;
}

/** The error message if the customer of an address, who may not exist yet, cannot be linked; null if possible. */
export function* findLinkError(
  storeId: number,
  {
    address,
    storefrontCustomerId,
  }: { readonly address: EmailAddress; readonly storefrontCustomerId: number },
): Script<string | null> {
  const [customer, linkedId] = yield* parallel(
    findCustomerByEmail(storeId, address),
    findLinkedCustomerId(storeId, storefrontCustomerId),
  );
  const present = customer?.storefrontCustomerId ?? null;
  if (present !== null && present !== storefrontCustomerId) return alreadyLinked;
  return linkedId !== undefined && linkedId !== customer?.id ? taken : null;
}
