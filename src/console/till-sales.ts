/** The till: sell a card and refund to one. */

import type { ConsoleRoute } from './route.ts';

export const tillSaleRoutes: readonly ConsoleRoute[] = [];
