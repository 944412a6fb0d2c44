/** The till: find a card and redeem it. */

import type { ConsoleRoute } from './route.ts';
import { tillAmountRoutes } from './till-amount.ts';
import { tillResultRoutes } from './till-result.ts';
import { tillScanRoutes } from './till-scan.ts';
import { tillUndoRoutes } from './till-undo.ts';

export const tillRoutes: readonly ConsoleRoute[] = [
  ...tillScanRoutes,
  ...tillAmountRoutes,
  ...tillResultRoutes,
  ...tillUndoRoutes,
];
