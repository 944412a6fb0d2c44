/** Begins online sales: a submitted form becomes one row, however often it is submitted. */

import type { PaymentSession } from '../../domain/online-sales/payment.ts';
import type { SalePage } from '../../domain/online-sales/rules.ts';
import type { OnlineSale, SaleForm, SaleKey } from '../../domain/online-sales/sale.ts';
import type { Store } from '../../domain/stores/store.ts';
import type { Context } from '../../storage/context.ts';
import type { Secret } from '../../platform/secret.ts';
import type { StoreProvider } from '../../storage/online-sales/provider.ts';
import type { Script } from '../../storage/sql/sql.ts';

/** A store that sells online. */
export type BuyPage = {
  readonly store: Store;
  readonly page: SalePage;
  /** The provider of new sales; null: none was set up. */
  readonly provider: StoreProvider | null;
  /** Whether visitors can buy. A provider that takes no real money sells to visitors only in a sandbox. */
  readonly isOpen: boolean;
};

/** The buy page of a store; undefined: there is no such store, or it never set one up. @throws Fault `store-closed`. */
export function* findBuyPage(ctx: Context, domain: string): Script<BuyPage | undefined> {
  void [ctx, domain];
  throw new Error('not built yet');
}

export type SaleRequest = {
  readonly buy: BuyPage;
  readonly form: SaleForm;
  /** The key of the rendered form. */
  readonly key: string;
  /** The visitor's network, as `networkOf` of `http/client-address.ts` returns it. */
  readonly network: string;
  readonly language: string;
  /** Whether a signed-in owner tries the page, which then need not be open. */
  readonly isTrial: boolean;
};

/**
 * @returns the sale of the form, and whether it is new. A repeated form with other content changes nothing.
 * @throws Fault `not-found` if the page is closed, `too-many-requests` with the extension `limit` (`address`, `network`
 * or `store`), `invalid-parameter`.
 */
export function* beginSale(
  ctx: Context,
  request: SaleRequest,
): Script<{ readonly sale: OnlineSale; readonly isNew: boolean }> {
  void [ctx, request];
  throw new Error('not built yet');
}

/** Records the session of a new sale. A sale that has one does not change. */
export function* recordSession(ctx: Context, key: SaleKey, session: PaymentSession): Script<OnlineSale> {
  void [ctx, key, session];
  throw new Error('not built yet');
}

/** The token in the link to the page of an order, which is neither stored nor guessable. */
export function saleToken(ctx: Pick<Context, 'keys'>, sale: OnlineSale): string {
  void [ctx, sale];
  throw new Error('not built yet');
}

/** A sale as its buyer sees it. */
export type OpenSale = {
  readonly store: Store;
  readonly sale: OnlineSale;
  /** The code that the buyer can see, by the rules of `SaleWithCode`; null: none. */
  readonly code: Secret | null;
};

/** Opens the link of an order; undefined: it is not one of the store. @throws Fault `store-closed`. */
export function* openSale(ctx: Context, domain: string, token: string): Script<OpenSale | undefined> {
  void [ctx, domain, token];
  throw new Error('not built yet');
}
