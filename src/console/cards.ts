/** The list of cards: search, filters, pages and export. */

import type { ConsoleRoute } from './route.ts';

export const cardsRoutes: readonly ConsoleRoute[] = [];
