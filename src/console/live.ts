/** The changes that open pages show as they happen. */

import type { ConsoleRoute } from './route.ts';

export const liveRoutes: readonly ConsoleRoute[] = [];
