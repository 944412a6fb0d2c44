/** The changes of a card. */

import { adjustRoutes } from './card-adjust.ts';
import { disableRoutes } from './card-disable.ts';
import { doneRoutes } from './card-done.ts';
import { editRoutes } from './card-edit.ts';
import { holdReleaseRoutes } from './card-hold.ts';
import { redeemRoutes } from './card-redeem.ts';
import { refundRoutes } from './card-refund.ts';
import { resendRoutes } from './card-resend.ts';
import type { ConsoleRoute } from './route.ts';

export const cardActionRoutes: readonly ConsoleRoute[] = [
  ...redeemRoutes,
  ...refundRoutes,
  ...holdReleaseRoutes,
  ...adjustRoutes,
  ...editRoutes,
  ...resendRoutes,
  ...disableRoutes,
  ...doneRoutes,
];
