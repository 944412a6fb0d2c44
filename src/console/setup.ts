/** The first run: the shop and its owner. */

import type { ConsoleRoute } from './route.ts';

export const setupRoutes: readonly ConsoleRoute[] = [];
