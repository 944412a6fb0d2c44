/** Customers as the API shows them. */

import type { Customer } from '../../cards/domain/card.ts';
import { formatInstant } from '../../domain/day.ts';
import type { PublicIds } from '../../../platform/public-id.ts';
import type { CustomerRecord } from './customer-schemas.ts';

/** A customer with all stored fields. */
export type CustomerAccount = Customer & {
  /** The customer's id on the storefront, unique in the store; null: not linked. */
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
