/** The payment providers of stores, with their sealed keys. */

import type { ProviderKind } from '../../domain/online-sales/payment.ts';

/** A provider that a store has set up, without its keys. */
export type StoreProvider = {
  readonly storeId: number;
  readonly kind: ProviderKind;
  /** Whether it takes no real money. A store can have both keys of a provider. */
  readonly isTest: boolean;
  /** The account at the provider, as people read it. */
  readonly account: string;
  /** Whether new sales are paid there. Sales of another one are still read and refunded. */
  readonly isActive: boolean;
  readonly hasHintSecret: boolean;
  readonly keySetAt: number;
  /** Since when its requests fail, and the last reason; null: they do not. */
  readonly failingSince: number | null;
  readonly failure: string | null;
  /** The instant up to which its movements were compared with the sales (ms); null: never. */
  readonly comparedUntil: number | null;
};
