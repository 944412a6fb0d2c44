/** The changes of a card. */

import type { ConsoleRoute } from './route.ts';

export const cardActionRoutes: readonly ConsoleRoute[] = [];
