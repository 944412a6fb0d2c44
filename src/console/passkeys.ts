/** Passkeys: adding, removing, and signing in with one. */

import type { ConsoleRoute } from './route.ts';

export const passkeyRoutes: readonly ConsoleRoute[] = [];
