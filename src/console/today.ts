/** Today: what is owed, what happened, and what needs attention. */

import type { ConsoleRoute } from './route.ts';

export const todayRoutes: readonly ConsoleRoute[] = [];
