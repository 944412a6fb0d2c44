/** The devices on which cashiers sign in with a PIN. */

import type { ConsoleRoute } from './route.ts';

export const tillDeviceRoutes: readonly ConsoleRoute[] = [];
