/** Customers as the API shows them. */

import type { Customer } from './card.ts';
import { formatInstant } from './day.ts';
import type { PublicIds } from './public-id.ts';
import type { CustomerRecord } from './schemas.ts';

/** A customer with everything that is stored. */
export type CustomerAccount = Customer & {
  /** The id that the storefront has given to the customer, unique in the store; null: not linked. */
  readonly storefrontCustomerId: number | null;
  /** Instant in ms. */
  readonly createdAt: number;
};

export function customerRecordOf(ids: PublicIds, customer: CustomerAccount): CustomerRecord {
  return {
    id: ids.of(customer.id),
    email: customer.email,
    storefront_customer_id: customer.storefrontCustomerId,
    created_at: formatInstant(customer.createdAt),
  };
}
