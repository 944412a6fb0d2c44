/** The till: find a card and redeem it. */

import type { ConsoleRoute } from './route.ts';

export const tillRoutes: readonly ConsoleRoute[] = [];
