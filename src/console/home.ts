/** The first page: it leads to setup, sign-in, the till or today, by state and role. */

import type { ConsoleRoute } from './route.ts';

export const homeRoutes: readonly ConsoleRoute[] = [];
