/** The receipts and the totals of a day at the till. */

import type { ConsoleRoute } from './route.ts';

export const tillDayRoutes: readonly ConsoleRoute[] = [];
