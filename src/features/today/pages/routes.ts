/** The pages and forms of this feature. */

import type { FeaturePages } from '../../../pages/kit/server.ts';
import { todayRoutes } from './today.ts';
import { liveRoutes } from './live.ts';

export const todayPages: FeaturePages = {
  routes: [...todayRoutes, ...liveRoutes],
};
