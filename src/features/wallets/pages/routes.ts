/** The pages and forms of this feature, and its other files and services. */

import type { FeaturePages } from '../../../pages/kit/server.ts';
import { walletRoutes } from './settings.ts';
import { addAppleService } from './apple-service.ts';

export const walletsPages: FeaturePages = {
  routes: [...walletRoutes],
  endpoints: [addAppleService],
};
