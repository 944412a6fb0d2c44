/** Customers as the API shows them. */

import type { Customer } from './card.ts';
import { formatInstant } from './day.ts';
import type { PublicId, PublicIds } from './public-id.ts';

/** A customer with everything that is stored. */
export type CustomerAccount = Customer & {
  /** The id that the storefront has given to the customer, unique in the store; null: not linked. */
  readonly storefrontCustomerId: number | null;
  /** Instant in ms. */
  readonly createdAt: number;
};

export type CustomerRecord = {
  readonly id: PublicId;
  readonly email: string;
  readonly storefront_customer_id: number | null;
  readonly created_at: string;
};

export function customerRecordOf(ids: PublicIds, customer: CustomerAccount): CustomerRecord {
  return {
    id: ids.of(customer.id),
    email: customer.email,
    storefront_customer_id: customer.storefrontCustomerId,
    created_at: formatInstant(customer.createdAt),
  };
}
