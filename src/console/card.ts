/** The page of a card. */

import type { ConsoleRoute } from './route.ts';

export const cardRoutes: readonly ConsoleRoute[] = [];
