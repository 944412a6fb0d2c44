/** The pages and forms of this feature, and its other files and services. */

import type { FeaturePages } from '../../../pages/kit/server.ts';
import { onlineSaleRoutes } from './sale.ts';
import { onlineSaleSettingsRoutes } from './settings/page.ts';
import { sandboxPaymentRoutes } from './payments/sandbox.ts';
import { buyRoutes } from './buy/buy.ts';
import { orderRoutes } from './buy/order-actions.ts';
import { addPaymentHints } from './payments/hints.ts';

export const onlineSalesPages: FeaturePages = {
  routes: [
    ...onlineSaleRoutes,
    ...onlineSaleSettingsRoutes,
    ...sandboxPaymentRoutes,
    ...buyRoutes,
    ...orderRoutes,
  ],
  endpoints: [addPaymentHints],
};
