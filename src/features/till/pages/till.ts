/** The till: find a card and redeem it. */

import type { ConsoleRoute } from '../../../pages/kit/route.ts';
import { tillAmountRoutes } from './amount.ts';
import { tillResultRoutes } from './result.ts';
import { tillScanRoutes } from './scan.ts';
import { tillUndoRoutes } from './undo.ts';

export const tillRoutes: readonly ConsoleRoute[] = [
  ...tillScanRoutes,
  ...tillAmountRoutes,
  ...tillResultRoutes,
  ...tillUndoRoutes,
];
