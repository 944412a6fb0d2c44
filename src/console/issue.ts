/** Issuing a card, and the page that shows its code. */

import type { ConsoleRoute } from './route.ts';

export const issueRoutes: readonly ConsoleRoute[] = [];
