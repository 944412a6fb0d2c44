/** The requests of the pages to payment providers. `features/online-sales/start/online-sales.ts` makes them, because scripts make none. */

import type {
  ProviderAccount,
  ProviderCredential,
  ProviderHint,
  ProviderKind,
  ProviderOutcome,
} from '../domain/payment.ts';
import type { OnlineSale, SaleKey } from '../domain/sale.ts';

export type Checkout = {
  /**
   * Creates the session of a new sale, and returns the sale with it. Without a response of the provider the sale stays
   * `new`: the form can be sent again.
   */
  readonly openSession: (key: SaleKey) => Promise<OnlineSale>;
  /** Reads the payment at the provider and settles the sale. Without a response the sale is returned as it is. */
  readonly refresh: (key: SaleKey) => Promise<OnlineSale>;
  /** Does the same for the page of an order, at most once in some seconds however often it is requested. */
  readonly follow: (key: SaleKey) => Promise<void>;
  /** Sends the refunds of a sale that the provider has not confirmed, and returns the sale after it. */
  readonly sendRefunds: (key: SaleKey) => Promise<OnlineSale>;
  /**
   * Makes the sales due that a notification is about, and returns them. It makes no request, so that notifications can
   * neither wait for a provider nor be lost with the process.
   */
  readonly receiveHint: (
    hint: ProviderHint & { readonly storeId: number; readonly kind: ProviderKind },
  ) => Promise<readonly SaleKey[]>;
  /** The account of a key that is not saved yet. */
  readonly examine: (
    kind: ProviderKind,
    credential: ProviderCredential,
  ) => Promise<ProviderOutcome<ProviderAccount>>;
};
