/** The settings of the buy page and its payment providers. Staff change them with `staff-actions/online-sales.ts`. */

import type { SalePage } from '../../domain/online-sales/rules.ts';
import type { Store } from '../../domain/stores/store.ts';
import type { Context } from '../../storage/context.ts';
import type { StoreProvider } from '../../storage/online-sales/provider.ts';
import type { Script } from '../../storage/sql/sql.ts';

/** A reason for which a buy page cannot be opened. */
export type OpeningObstacle =
  'no-terms' | 'no-vat' | 'no-provider' | 'test-provider' | 'no-emails' | 'restored-copy' | 'currency';

export type SaleSettings = {
  /** The settings, or those of a store that has none. */
  readonly page: SalePage;
  readonly isSaved: boolean;
  readonly providers: readonly StoreProvider[];
  /** Without one, the page can be opened. An open page with one sells nothing. */
  readonly obstacles: readonly OpeningObstacle[];
};

export function* findSaleSettings(ctx: Context, store: Store): Script<SaleSettings> {
  void [ctx, store];
  throw new Error('not built yet');
}
