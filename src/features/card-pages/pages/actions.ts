/** The changes of a card. */

import { addRoutes } from './add.ts';
import { adjustRoutes } from './adjust.ts';
import { disableRoutes } from './disable.ts';
import { doneRoutes } from './done.ts';
import { editRoutes } from './edit.ts';
import { holdReleaseRoutes } from './hold.ts';
import { redeemRoutes } from './redeem.ts';
import { refundRoutes } from './refund.ts';
import { resendRoutes } from './resend.ts';
import { suspendRoutes } from './suspend.ts';
import type { ConsoleRoute } from '../../../pages/kit/route.ts';

export const cardActionRoutes: readonly ConsoleRoute[] = [
  ...redeemRoutes,
  ...refundRoutes,
  ...holdReleaseRoutes,
  ...addRoutes,
  ...adjustRoutes,
  ...editRoutes,
  ...resendRoutes,
  ...suspendRoutes,
  ...disableRoutes,
  ...doneRoutes,
];
